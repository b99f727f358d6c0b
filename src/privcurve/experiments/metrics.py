"""Scores of a fitted learner on distinct rows with counts."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Records, class_labels, decide
from privcurve.experiments import canonical
from privcurve.lazy import arithmetic
from privcurve.parts import PartedRecords, Totals
from privcurve.privacy.budget import implies

Array = NDArray[Any]

# Rows that are scored at a time.
AT_ONCE = 65_536


def right_answers(scores: Array, labels: Array) -> Array:
    """Return which rows are right, by scores of shape (n_rows,) or (n_rows, n_classes).

    Zero counts as negative; of classes with equal scores the first one counts. Labels are −1 and
    +1, or 0, 1, … for more than two classes.
    """
    return np.asarray(decide(scores) == np.maximum(labels, 0))


class RightRows:
    """Some records, and a fitted learner that scores them."""

    def __init__(self, records: Records, learner: Any) -> None:
        self._records, self._learner = records, learner

    def n_right(self) -> int:
        """Count the records that are classified correctly, some rows at a time."""
        codes, labels, counts, _ = self._records
        total = 0
        for start in range(0, len(labels), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            scores = self._learner.score_codes(np.ascontiguousarray(codes[some]))
            total += int(counts[some][right_answers(scores, labels[some])].sum())
        return total


def accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the share of records that are classified correctly; see :func:`right_answers`."""
    right = right_answers(scores, labels)
    return float(counts[right].sum() / counts.sum())


def balanced_accuracy(scores: Array, labels: Array, counts: Array) -> float:
    """Return the mean over the classes that occur of the share of right answers."""
    places = np.maximum(labels, 0)
    totals = np.bincount(places, weights=counts)
    right = np.bincount(places, weights=counts * right_answers(scores, labels))
    occur = totals > 0
    return math.fsum(right[occur] / totals[occur]) / int(occur.sum())


def auc(scores: Array, labels: Array, counts: Array) -> float:
    """Return the area under the ROC curve, ties counted half; NaN if only one class occurs.

    For more than two classes, with a column of scores each, it is the mean over the classes that
    occur of one against the rest (macro).
    """
    if scores.ndim == 1:
        return _compute_area(scores, labels > 0, counts)
    areas = [_compute_area(scores[:, k], labels == k, counts) for k in np.unique(labels)]
    return math.fsum(areas) / len(areas)


def _compute_area(scores: Array, positive: Array, counts: Array) -> float:
    """Return the area of one class against the rest.

    Scores of a vote need no sorting, which is many times faster than a general routine.
    """
    # A broken tie counts as half a vote.
    halves = 2 * scores
    rounded = halves.astype(np.int64)
    if np.array_equal(rounded, halves) and np.ptp(rounded) < 2**17:
        rank = rounded - rounded.min()
    else:
        rank = np.unique(scores, return_inverse=True)[1]
    above = np.bincount(rank, weights=counts * positive)
    below = np.bincount(rank, weights=counts * ~positive)
    pairs = above.sum() * below.sum()
    if pairs == 0:
        return float("nan")
    # Exact: all numbers are whole or halves.
    return float((above * (np.cumsum(below) - below / 2)).sum() / pairs)


def log_loss(probabilities: Array, labels: Array, counts: Array) -> float:
    """Return the mean negative log-likelihood in nats; `probabilities` (n_rows, n_classes)."""
    columns = np.searchsorted(class_labels(probabilities.shape[1]), labels)
    chances = probabilities[np.arange(len(labels)), columns]
    # As in scikit-learn, probabilities are clipped to the float64 precision.
    eps = np.finfo(np.float64).eps
    losses = -arithmetic.logs(np.clip(chances, eps, 1 - eps))
    return float(arithmetic.dot(counts.astype(np.float64), losses) / counts.sum())


def fits_log_odds(learner: Any) -> bool:
    """Return whether a learner has a log loss: its probabilities are fitted, not from votes."""
    from_votes = getattr(learner, "chances_by_link", False)
    return hasattr(learner, "predict_proba") and not from_votes


def failure(error: Exception) -> dict[str, Any]:
    """Return the result of a run that could not be trained."""
    return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def measures(learner: Any) -> str | None:
    """Write the measures of a fitted learner (``measures_``) as JSON; None if it has none.

    A flat mapping of numbers, such as nodes or rounds; NaN becomes null.
    """
    numbers = {name: float(v) for name, v in (getattr(learner, "measures_", None) or {}).items()}
    if not numbers:
        return None
    return canonical.text({name: None if math.isnan(v) else v for name, v in numbers.items()})


def _is_within(epsilon: float, delta: float, budget: tuple[float, float]) -> bool:
    # A ledger adds up to ε up to rounding and the tolerance of the search for its noise.
    return epsilon <= budget[0] * (1 + 1e-6) and delta <= budget[1] * (1 + 1e-6)


def score(
    learner: Any,
    train: Records | PartedRecords,
    scored: Records,
    seconds: float,
    relation: str | None = None,
    budget: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Return the result columns of a run, plain JSON values: the scores of a fitted learner.

    The fit took `seconds`. The statement of a private fit must imply the neighbour relation, and
    neither it nor its ledger may exceed the budget (ε, δ); otherwise the run has failed.
    """
    values = learner.score_codes(scored.codes)
    if not np.isfinite(values).all():
        return failure(FloatingPointError("the model gives scores that are not finite"))
    loss, ranked = None, values
    # For AUC a class's scores must be comparable between records, as probabilities are.
    by_chance = values.ndim == 2 and hasattr(learner, "predict_proba")
    if by_chance or fits_log_odds(learner):
        if hasattr(learner, "chances"):
            chances = learner.chances(values)
        else:
            chances = learner.predict_proba(scored.codes)
        ranked = chances if by_chance else values
        if fits_log_odds(learner):
            loss = log_loss(chances, scored.labels, scored.counts)
    # If each answer costs privacy, training records are not scored.
    train_accuracy = None
    if not getattr(learner, "scores_cost_answers", False):
        train_accuracy = Totals(train, partial(RightRows, learner=learner)).ask("n_right") / train.n
    statement = learner.privacy_
    if relation and statement.private and not implies(statement.neighbours, relation):
        why = f"the statement is for {statement.neighbours!r}, not for {relation!r}"
        return failure(ValueError(why))
    spent = float(statement.epsilon_spent)
    charged = max(spent, statement.epsilon)
    if budget is not None and not _is_within(charged, statement.delta, budget):
        why = (
            f"the statement is for epsilon = {statement.epsilon:g} and delta = "
            f"{statement.delta:g}, and its ledger adds up to epsilon = {spent:g}: more than "
            f"epsilon = {budget[0]:g} and delta = {budget[1]:g}, which were asked for"
        )
        return failure(ValueError(why))
    measured = measures(learner)
    return {
        "neighbours": statement.neighbours,
        "epsilon_spent": spent,
        "accuracy": accuracy(values, scored.labels, scored.counts),
        "balanced_accuracy": balanced_accuracy(values, scored.labels, scored.counts),
        "auc": auc(ranked, scored.labels, scored.counts),
        "log_loss": loss,
        "train_accuracy": train_accuracy,
        "n_train": train.n,
        "n_features_used": int(learner.n_features_used_),
        "fit_seconds": round(seconds, 6),
        "status": "ok",
        "error": None,
        **({} if measured is None else {"measures": measured}),
    }
