"""Outputs of any learner: its score of the canary. The event that needs no insight."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.pairs import Pair, Records, Target, with_canary
from privcurve.learners.base import CodedClassifier

# Fitted models held at once.
BATCH = 500


def sample_canary_scores(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Train n times, and score the canary with its left label less with its right one.

    Parameters
    ----------
    learner : CodedClassifier
        Not fitted.
    pair : Pair
    side : Records
        What is trained on.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,)
    """
    signs = np.array([pair.left.signs[pair.where], -pair.right.signs[pair.where]], dtype=float)
    scores = np.empty(n)
    with warnings.catch_warnings():
        # A fit that warns is part of what is audited.
        warnings.simplefilter("ignore")
        for start in range(0, n, BATCH):
            size = min(BATCH, n - start)
            fitted = learner.fit_many(
                side.codes, side.signs, [{}] * size, [rng] * size, side.counts
            )
            for i, model in enumerate(fitted, start):
                scores[i] = model.decision_function(pair.canaries) @ signs
    return scores


def rare_canary(base: Records) -> NDArray[Any]:
    """Choose a canary that is unlike the others: the rarest code of each column.

    Parameters
    ----------
    base : Records
    """
    columns = zip(base.codes.T, base.n_bins, strict=True)
    return np.array([np.argmin(np.bincount(column, minlength=bins)) for column, bins in columns])


def rare_canary_pair(target: Target) -> Pair:
    """Put that canary into a dataset."""
    return with_canary(target, rare_canary(target.records))
