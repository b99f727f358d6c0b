"""Scores of a fitted learner on distinct rows with counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.experiments import canonical
from privcurve.experiments.splits import Part
from privcurve.privacy.budget import implies

Array = NDArray[Any]


def accuracy(scores: Array, signs: Array, counts: Array) -> float:
    """Share of records with the right sign; a score of zero counts as negative."""
    right = (scores > 0) == (signs > 0)
    return float(counts[right].sum() / counts.sum())


def balanced_accuracy(scores: Array, signs: Array, counts: Array) -> float:
    """Mean of the two classes' shares of right answers (of one, if only one is there)."""
    right = (scores > 0) == (signs > 0)
    shares = [
        counts[right & (signs == sign)].sum() / counts[signs == sign].sum()
        for sign in (-1, 1)
        if (signs == sign).any()
    ]
    return float(np.mean(shares))


def auc(scores: Array, signs: Array, counts: Array) -> float:
    """Area under the ROC curve, ties counted half; NaN if there is one class only.

    Scores of a vote need no sorting: this is many times faster than a general
    routine, and is called once a cell.
    """
    positive = signs > 0
    # A broken tie is half a vote.
    halves = 2 * scores
    whole = halves.astype(np.int64)
    if np.array_equal(whole, halves) and np.ptp(whole) < 2**17:
        rank = whole - whole.min()
    else:
        rank = np.unique(scores, return_inverse=True)[1]
    above = np.bincount(rank, weights=counts * positive)
    below = np.bincount(rank, weights=counts * ~positive)
    pairs = above.sum() * below.sum()
    if pairs == 0:
        return float("nan")
    return float((above * (np.cumsum(below) - below / 2)).sum() / pairs)


def log_loss(probabilities: Array, signs: Array, counts: Array) -> float:
    """Mean negative log-likelihood of the labels, in nats.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, 2)
        Of the negative and the positive label.
    signs, counts : ndarray of shape (n_rows,)
    """
    from sklearn.metrics import log_loss as sklearn_log_loss

    value = sklearn_log_loss(signs, probabilities, sample_weight=counts, labels=[-1, 1])
    return float(value)


def failure(error: Exception) -> dict[str, Any]:
    """Give the result of a cell that could not be trained."""
    return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def measures(learner: Any) -> str | None:
    """Write what a fitted learner measured of itself (``measures_``) as JSON; None if nothing.

    A flat mapping of numbers, such as nodes or rounds; what is not a number becomes null.
    """
    found = getattr(learner, "measures_", None)
    if not found:
        return None
    plain = {name: float(value) for name, value in found.items()}
    return canonical.text({name: None if math.isnan(v) else v for name, v in plain.items()})


def score(
    learner: Any, train: Part, scored: Part, seconds: float, relation: str | None = None
) -> dict[str, Any]:
    """Score a fitted learner.

    Parameters
    ----------
    learner : fitted learner
    train, scored : Part
    seconds : float
        What the fit took.
    relation : str, optional
        The neighbour relation that the statement must name or imply, if the fit was private.

    Returns
    -------
    dict
        The result columns of a cell, plain JSON values.
    """
    values = learner.decision_function(scored.X)
    if not np.isfinite(values).all():
        return failure(FloatingPointError("the model gives scores that are not finite"))
    loss = None
    if hasattr(learner, "predict_proba"):
        loss = log_loss(learner.predict_proba(scored.X), scored.y, scored.counts)
    # Of a learner whose every answer costs privacy, records of training are not asked again.
    train_accuracy = None
    if not getattr(learner, "scores_cost_answers", False):
        train_accuracy = accuracy(learner.decision_function(train.X), train.y, train.counts)
    statement = learner.privacy_
    asked = relation if statement.private else None
    if asked is not None and not implies(statement.neighbours, asked):
        return failure(
            ValueError(f"the statement is for {statement.neighbours!r}, not for {relation!r}")
        )
    own = measures(learner)
    return {
        "neighbours": statement.neighbours,
        "epsilon_spent": float(statement.epsilon_spent),
        "accuracy": accuracy(values, scored.y, scored.counts),
        "balanced_accuracy": balanced_accuracy(values, scored.y, scored.counts),
        "auc": auc(values, scored.y, scored.counts),
        "log_loss": loss,
        "train_accuracy": train_accuracy,
        "n_train": int(train.counts.sum()),
        "n_features_used": int(learner.n_features_used_),
        "fit_seconds": round(seconds, 6),
        "status": "ok",
        "error": None,
        **({} if own is None else {"measures": own}),
    }
