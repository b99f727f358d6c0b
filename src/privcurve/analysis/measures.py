"""Measures of classifiers, and the standard error of their means over repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import class_labels, decide
from privcurve.lazy import arithmetic, pd

Array = NDArray[Any]

ACCURACY, AUC = "accuracy", "auc"
TEST = "test"


def right_answers(scores: Array, labels: Array) -> Array:
    """Return which rows are predicted correctly, for scores (n_rows,) or (n_rows, n_classes).

    Zero counts as negative; ties between classes go to the first one. Labels are −1 and +1, or 0,
    1, … for more than two classes.
    """
    return np.asarray(decide(scores) == np.maximum(labels, 0))


def accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the share of correctly classified records; see :func:`right_answers`."""
    right = right_answers(scores, labels)
    return float(counts[right].sum() / counts.sum())


def balanced_accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the mean over classes of the share of a class's records that are predicted correctly.

    Classes that do not occur are left out.
    """
    places = np.maximum(labels, 0)
    totals = np.bincount(places, weights=counts)
    right = np.bincount(places, weights=counts * right_answers(scores, labels))
    occur = totals > 0
    return math.fsum(right[occur] / totals[occur]) / int(occur.sum())


def _rank(scores: Array) -> Array:
    """Return an integer for each score, from 0, that orders the scores; equal scores share one.

    Scores of a vote are integers or halves and need no sorting, which is many times faster.
    """
    # Halves occur as a broken tie counts as half a vote.
    halves = 2 * scores
    rounded = halves.astype(np.int64)
    if np.array_equal(rounded, halves) and np.ptp(rounded) < 2**17:
        return np.asarray(rounded - rounded.min())
    return np.asarray(np.unique(scores, return_inverse=True)[1])


def _average_over_classes(
    compute: Callable[[Array, Array, Array], float], scores: Array, labels: Array, counts: Array
) -> float:
    """Compute a measure; for more than two classes, its mean over classes, each against the rest.

    `compute` takes scores, whether each record is positive, and counts.
    """
    if scores.ndim == 1:
        return compute(scores, labels > 0, counts)
    parts = [compute(scores[:, k], labels == k, counts) for k in np.unique(labels)]
    return math.fsum(parts) / len(parts)


def auc(scores: Array, labels: Array, counts: Array) -> float:
    """Return the area under the ROC curve, ties counted half; NaN if only one class occurs.

    For more than two classes, `scores` have a column per class. The result is then the mean over
    the occurring classes of the area of one class against the rest (macro average).
    """
    return _average_over_classes(_compute_area, scores, labels, counts)


def _compute_area(scores: Array, positive: Array, counts: Array) -> float:
    """Return the area under the ROC curve of one class against the rest."""
    rank = _rank(scores)
    above = np.bincount(rank, weights=counts * positive)
    below = np.bincount(rank, weights=counts * ~positive)
    pairs = above.sum() * below.sum()
    if pairs == 0:
        return float("nan")
    # Exact: all numbers are integers or halves.
    return float((above * (np.cumsum(below) - below / 2)).sum() / pairs)


def average_precision(scores: Array, labels: Array, counts: Array) -> float:
    """Return the average precision over the positive records; NaN if only one class occurs.

    The precision of a record is the share of positive records among all records whose score is at
    least as high. Random scores get the share of positive records. For more than two classes the
    result is the mean over the occurring classes, each against the rest (macro average).
    """
    return _average_over_classes(_compute_precision, scores, labels, counts)


def _compute_precision(scores: Array, positive: Array, counts: Array) -> float:
    """Return the average precision of one class against the rest."""
    rank = _rank(scores)
    right = np.bincount(rank, weights=counts * positive)[::-1]
    wrong = np.bincount(rank, weights=counts * ~positive)[::-1]
    if right.sum() == 0 or wrong.sum() == 0:
        return float("nan")
    occur = right > 0
    n_right, n_wrong = np.cumsum(right)[occur], np.cumsum(wrong)[occur]
    return math.fsum(right[occur] * (n_right / (n_right + n_wrong))) / float(right.sum())


def log_loss(probabilities: Array, labels: Array, counts: Array) -> float:
    """Return the mean negative log-likelihood in nats.

    `probabilities` have the shape (n_rows, n_classes).
    """
    chances = probabilities[np.arange(len(labels)), _columns_of(probabilities, labels)]
    # As in scikit-learn, probabilities are clipped to the float64 precision.
    eps = np.finfo(np.float64).eps
    losses = -arithmetic.logs(np.clip(chances, eps, 1 - eps))
    return float(arithmetic.dot(counts.astype(np.float64), losses) / counts.sum())


def brier(probabilities: Array, labels: Array, counts: Array) -> float:
    """Return the Brier score: half of the mean over records of Σ_k (p_k − y_k)².

    y_k is 1 for the record's class and else 0. For two classes the score is the mean of (p − y)²
    of the positive class. `probabilities` have the shape (n_rows, n_classes).
    """
    columns = _columns_of(probabilities, labels)
    losses = np.zeros(len(labels))
    for k in range(probabilities.shape[1]):
        off = probabilities[:, k] - (columns == k)
        losses += off * off
    return float(arithmetic.dot(counts.astype(np.float64), losses) / (2 * counts.sum()))


def _columns_of(probabilities: Array, labels: Array) -> Array:
    """Return, for each label, the index of its column in `probabilities`."""
    return np.asarray(np.searchsorted(class_labels(probabilities.shape[1]), labels))


# Inputs of a measure: scores for decisions, scores that rank records, or fitted probabilities.
SCORES, RANKS, CHANCES = "scores", "ranks", "chances"


class Measure(NamedTuple):
    """One measure of classifiers.

    Attributes
    ----------
    title : str
        Its name in tables.
    cost : str
        Its name as a cost, which is lower for better classifiers.
    compute : callable
        ``compute(given, labels, counts)``, where `given` is the input that `needs` names, and
        `counts` says how often each row occurs.
    needs : str
        `SCORES`, `RANKS` or `CHANCES`.
    less_is_better : bool
        Whether the measure is itself a cost; otherwise its cost is 1 minus the measure.
    in_tables : bool
        Whether every table of accuracy has the measure. Tables have other measures only in studies
        that select settings by them.
    is_ranked : bool
        Whether methods are compared by this measure in studies that do not name measures.
    is_new : bool
        Whether stored runs may lack the measure. Such runs are retrained if a study needs it.
    """

    title: str
    cost: str
    compute: Callable[[Array, Array, Array], float]
    needs: str = SCORES
    less_is_better: bool = False
    in_tables: bool = True
    is_ranked: bool = True
    is_new: bool = False


MEASURES: Mapping[str, Measure] = {
    ACCURACY: Measure("accuracy", "error", accuracy),
    "balanced_accuracy": Measure(
        "balanced accuracy", "balanced error", balanced_accuracy, is_ranked=False
    ),
    AUC: Measure("AUC", "1 − AUC", auc, RANKS),
    "log_loss": Measure("log loss", "log loss", log_loss, CHANCES, less_is_better=True),
    "average_precision": Measure(
        "average precision", "1 − average precision", average_precision, RANKS,
        in_tables=False, is_ranked=False, is_new=True,
    ),
    "brier": Measure(
        "Brier score", "Brier score", brier, CHANCES,
        less_is_better=True, in_tables=False, is_ranked=False, is_new=True,
    ),
}  # fmt: skip
IN_TABLES = tuple(name for name, measure in MEASURES.items() if measure.in_tables)
RANKED = tuple(name for name, measure in MEASURES.items() if measure.is_ranked)
# Measures for which lower is better.
LOSSES = tuple(name for name, measure in MEASURES.items() if measure.less_is_better)
# Measures that stored runs may lack.
NEW = tuple(name for name, measure in MEASURES.items() if measure.is_new)
NO_LOG_LOSS = "Learners that fit votes, not log-odds, have no log loss."


def ranked_by(metric: str) -> tuple[str, ...]:
    """Return the measures by which a study compares methods: `RANKED`, and its own `metric`."""
    return tuple(dict.fromkeys((*RANKED, metric)))


def check_measures(names: object, of: Collection[str] = MEASURES) -> None:
    """Raise ValueError unless `names` is a non-empty list of measures in `of`."""
    if not (isinstance(names, list | tuple) and names and all(name in of for name in names)):
        raise ValueError(f"measures must be a list of {', '.join(of)}; got {names!r}")


def cost(values: pd.DataFrame | pd.Series, measure: str) -> Any:
    """Return scores as costs: lower is better, and 0 is best."""
    return values if measure in LOSSES else 1 - values


def add_errors(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the runs with a new column ``error``: the measure as a cost, NaN for failed runs.

    A method without a selected setting gets a failed run for each split. If a successful run of a
    method on a dataset lacks the measure, all runs of this method on this dataset are dropped:
    methods that fit votes have no log loss, and a scored part with one label has no AUC.
    """
    runs = _add_failed(runs)
    good = runs["status"].eq("ok") & runs[ACCURACY].notna()
    values = runs[measure].astype(float).where(good)
    lacks = (good & values.isna()).groupby([runs["dataset"], runs["method"]]).transform("any")
    return runs.assign(error=cost(values, measure))[~lacks]


def _add_failed(runs: pd.DataFrame) -> pd.DataFrame:
    """Add failed runs where a method has none, at an ε at which it has runs on other datasets."""
    names = [name for name in ("method", "learner") if name in runs]
    methods: dict[Any, Any] = {
        epsilon: part[names].drop_duplicates().to_dict("records")
        for epsilon, part in runs.groupby("epsilon")
    }
    added = []
    for (epsilon, _), part in runs.groupby(["epsilon", "dataset"]):
        splits = part[["epsilon", "dataset", "fold", "repeat"]].drop_duplicates()
        added += [
            splits.assign(**method, status="failed")
            for method in methods[epsilon]
            if method["method"] not in set(part["method"])
        ]
    return pd.concat([runs, *added], ignore_index=True) if added else runs


def share_held_out(fold: str) -> float:
    """Return the share of the records on which a fold scores; 0 for a separate test part.

    Folds are written as ``2/5`` (the share is 1/5) or with the share after ``@``.
    """
    if fold == TEST:
        return 0.0
    _, folds, number = fold.partition("/")
    return 1 / int(number) if folds else float(fold.partition("@")[2])


def error_factor(n: int, share: float) -> float:
    """Return the standard error of a mean over `n` repeats per standard deviation of a repeat.

    `share` is the share h of the records that a repeat holds out and scores; 0 for a test part. On
    a test part, which all repeats score, the factor is 1/√n. The standard error then covers the
    noise of training alone (and the draw of the training records, if a method trains on a share of
    them). Hold-outs and folds of several repeats overlap, and so do their training parts. The
    factor is then √(1/n + h/(1 − h)) (Nadeau and Bengio 2003, *Inference for the generalization
    error*, Machine Learning 52), also for methods that train on a share of the other records.
    """
    return math.sqrt(1 / n + share / (1 - share))
