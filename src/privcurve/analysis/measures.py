"""Compute measures of classifiers, and the standard error of their means over repeats."""

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
    """Return a Boolean array that says which rows are predicted correctly.

    `scores` have the shape (n_rows,), where zero counts as negative, or (n_rows, n_classes), where
    the first of several largest scores counts. Labels are −1 and +1; or 0, 1, … for more than two
    classes.
    """
    return np.asarray(decide(scores) == np.maximum(labels, 0))


def accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the share of correctly classified records (:func:`right_answers`).

    `counts` says how many records each row stands for.
    """
    right = right_answers(scores, labels)
    return float(counts[right].sum() / counts.sum())


def balanced_accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the mean over classes of the share of correctly classified records of the class.

    Classes without records are omitted.
    """
    places = np.maximum(labels, 0)
    totals = np.bincount(places, weights=counts)
    right = np.bincount(places, weights=counts * right_answers(scores, labels))
    occur = totals > 0
    return math.fsum(right[occur] / totals[occur]) / int(occur.sum())


def _rank(scores: Array) -> Array:
    """Return integers from 0 in the order of the scores; equal scores get equal integers.

    If the scores are numbers of votes, the result is each doubled score minus the smallest doubled
    score. This needs no sorting, and is many times faster.
    """
    # Votes are integers or, as a broken tie counts as half a vote, multiples of one half. Doubled
    # votes are therefore integers in the order of the votes.
    halves = 2 * scores
    rounded = halves.astype(np.int64)
    if np.array_equal(rounded, halves) and np.ptp(rounded) < 2**17:
        return np.asarray(rounded - rounded.min())
    return np.asarray(np.unique(scores, return_inverse=True)[1])


def _average_over_classes(
    compute: Callable[[Array, Array, Array], float], scores: Array, labels: Array, counts: Array
) -> float:
    """Return a measure; for more than two classes, its mean over the classes that occur.

    `compute` returns the measure of one class against the rest. Its arguments are the scores of the
    class, whether each record is of this class, and `counts`.
    """
    if scores.ndim == 1:
        return compute(scores, labels > 0, counts)
    parts = [compute(scores[:, k], labels == k, counts) for k in np.unique(labels)]
    return math.fsum(parts) / len(parts)


def auc(scores: Array, labels: Array, counts: Array) -> float:
    """Return the area under the ROC curve, ties counted half; NaN if only one class occurs.

    For more than two classes, `scores` have a column per class. The result is then the mean of the
    areas of each class against the rest, over the classes that occur (macro average).
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
    # The sum is exact, as all its terms are integers or halves.
    return float((above * (np.cumsum(below) - below / 2)).sum() / pairs)


def average_precision(scores: Array, labels: Array, counts: Array) -> float:
    """Return the average precision over the positive records; NaN if only one class occurs.

    The precision of a record is the share of positive records among all records whose score is at
    least as high. Random scores have an average precision of about the share of positive records.
    For more than two classes the result is the mean over the occurring classes, each against the
    rest (macro average).
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
    """Return the mean negative log-likelihood of the labels, in nats.

    `probabilities` have the shape (n_rows, n_classes).
    """
    chances = probabilities[np.arange(len(labels)), _columns_of(probabilities, labels)]
    # As in scikit-learn, probabilities are clipped by the precision of float64: no loss is
    # infinite.
    eps = np.finfo(np.float64).eps
    losses = -arithmetic.logs(np.clip(chances, eps, 1 - eps))
    return float(arithmetic.dot(counts.astype(np.float64), losses) / counts.sum())


def brier(probabilities: Array, labels: Array, counts: Array) -> float:
    """Return the Brier score: half of the mean over records of Σ_k (p_k − y_k)².

    p_k is the probability of class k, and y_k is 1 for the record's class, else 0. For two classes
    the score is the mean of (p − y)² for the positive class. `probabilities` have the shape
    (n_rows, n_classes).
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


# Inputs that measures need: scores that decide the label, scores that rank records, and fitted
# probabilities.
SCORES, RANKS, CHANCES = "scores", "ranks", "chances"


class Measure(NamedTuple):
    """One measure of classifiers.

    Attributes
    ----------
    title : str
        Name of the measure in tables.
    cost : str
        Name of the measure as a cost, which is lower for better classifiers.
    compute : callable
        ``compute(given, labels, counts)``, where `given` is the input that `needs` names, and
        `counts` says how often each row occurs.
    needs : str
        `SCORES`, `RANKS` or `CHANCES`.
    less_is_better : bool
        Whether the measure is itself a cost. If not, its cost is 1 minus the measure.
    in_tables : bool
        Whether the table ``accuracy`` of every study has the measure. If False, only studies that
        select settings by the measure have it.
    is_ranked : bool
        Whether methods are compared by the measure in studies that name no measures.
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
# Measures for which a lower value is better.
LOSSES = tuple(name for name, measure in MEASURES.items() if measure.less_is_better)
# Measures that runs stored by earlier versions may lack.
NEW = tuple(name for name, measure in MEASURES.items() if measure.is_new)
NO_LOG_LOSS = "Learners that fit votes, not log-odds, have no log loss."


def ranked_by(metric: str) -> tuple[str, ...]:
    """Return the measures by which a study compares methods: `RANKED` and the study's `metric`."""
    return tuple(dict.fromkeys((*RANKED, metric)))


def check_measures(names: object, of: Collection[str] = MEASURES) -> None:
    """Raise ValueError unless `names` is a non-empty list of names in `of`."""
    if not (isinstance(names, list | tuple) and names and all(name in of for name in names)):
        raise ValueError(f"measures must be a list of {', '.join(of)}; got {names!r}")


def cost(values: pd.DataFrame | pd.Series, measure: str) -> Any:
    """Return values of a measure as costs: lower is better, and 0 is best."""
    return values if measure in LOSSES else 1 - values


def add_errors(runs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the runs with a new column ``error``: the measure as a cost, NaN for failed runs.

    A method without a selected setting gets a failed run for each split. If a successful run of a
    method on a dataset lacks the measure, all runs of the method on the dataset are dropped. For
    example, methods that fit votes have no log loss, and a scoring part with only one label gives
    no AUC.
    """
    runs = _add_failed(runs)
    good = runs["status"].eq("ok") & runs[ACCURACY].notna()
    values = runs[measure].astype(float).where(good)
    lacks = (good & values.isna()).groupby([runs["dataset"], runs["method"]]).transform("any")
    return runs.assign(error=cost(values, measure))[~lacks]


def _add_failed(runs: pd.DataFrame) -> pd.DataFrame:
    """If a method has runs at an ε on some datasets only, add failed runs on the other datasets."""
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
    """Return the share of the records that the fold `fold` scores; 0 for a test part.

    A fold is written as ``2/5`` (the share is 1/5), a hold-out as ``3@0.1`` (the share is 0.1).
    """
    if fold == TEST:
        return 0.0
    _, folds, number = fold.partition("/")
    return 1 / int(number) if folds else float(fold.partition("@")[2])


def error_factor(n: int, share: float) -> float:
    """Return the factor from a standard deviation over repeats to the standard error of the mean.

    `n` is the number of repeats. `share` is the share h of the records that a repeat holds out and
    scores; 0 for a test part. If all repeats score one test part, the factor is 1/√n, and the
    standard error covers the noise of training alone (for a method that trains on a share of the
    records, also the draw of this share). Hold-outs and folds of several repeats overlap, and so do
    their training parts. The factor is then √(1/n + h/(1 − h)) (Nadeau and Bengio 2003, *Inference
    for the generalization error*, Machine Learning 52), also for methods that train on a share of
    the records.
    """
    return math.sqrt(1 / n + share / (1 - share))
