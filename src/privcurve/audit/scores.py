"""Outputs of any learner: its score of the canary. The event that needs no insight."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, Target, with_canary
from privcurve.coding import Floats, Records
from privcurve.learners.base import CodedClassifier


def sample_canary_scores(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> Floats:
    """Train n times, and score the canary with its left label less with its right one.

    All but the pair is given as to :func:`~privcurve.audit.fits.fits`.
    """
    canaries, labels = pair.canaries, pair.labels
    with warnings.catch_warnings():
        # A fit that warns is part of what is audited.
        warnings.simplefilter("ignore")
        scores = [model._scores(canaries) @ labels for model in fits(learner, side, n, rng)]
    return np.array(scores)


def rare_canary(base: Records) -> NDArray[Any]:
    """Choose a canary that is unlike the others: the rarest code of each column."""
    columns = zip(base.codes.T, base.n_bins, strict=True)
    return np.array([np.argmin(np.bincount(column, minlength=bins)) for column, bins in columns])


def rare_canary_pair(target: Target) -> Pair:
    """Put that canary into a dataset."""
    return with_canary(target, rare_canary(target.records))
