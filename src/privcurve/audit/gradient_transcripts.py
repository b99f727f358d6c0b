"""Transcripts of DPBoost: its splits, and in which cells its leaf values lie.

One tree of one split is enumerated; more are sampled from real fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.fits import sample_numbered
from privcurve.audit.pairs import Pair, Records
from privcurve.kernels.dpboost import grow_tree, part_gain
from privcurve.learners.dpboost import THRESHOLD, DPBoostClassifier
from privcurve.privacy.calibration.dpboost import leaf_bounds
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    exponential_probabilities,
    permute_and_flip_probabilities,
)


def leaf_cuts(learner: DPBoostClassifier) -> NDArray[np.float64]:
    """Give the ends of the cells that a leaf value of a first tree is put into.

    They are 0, the values of a leaf of one record, ±1/(1 + λ), their halves, and the bounds
    of any leaf. Two Laplace densities differ most in their tails, so with δ = 0 the cells
    lose nothing.

    Parameters
    ----------
    learner : DPBoostClassifier

    Returns
    -------
    ndarray of shape (n_cuts,)
    """
    single = 1.0 / (1.0 + float(learner.regularisation))
    bound = float(leaf_bounds(1, float(learner.learning_rate))[0])
    return np.unique([-bound, -single, -single / 2, 0.0, single / 2, single, bound])


def gradient_tree_distribution(learner: DPBoostClassifier, side: Records) -> NDArray[np.float64]:
    """Give the probability of every split and every pair of cells of the two leaf values.

    Sums and gains come from the learner's own kernel; rate, mechanism and scale from its own
    calibration; only the random choices are made exact.

    Parameters
    ----------
    learner : DPBoostClassifier
        Not fitted; epsilon finite. One tree, of depth 1.
    side : Records
        In a domain with at least one question.

    Returns
    -------
    ndarray of shape (n_splits · n_cells ** 2,)

    Raises
    ------
    ValueError
        If the learner grows more than one split.
    """
    if (learner.n_trees, learner.max_depth) != (1, 1):
        raise ValueError(
            f"n_trees = {learner.n_trees}, max_depth = {learner.max_depth}: only one tree of one "
            "split can be enumerated"
        )
    noise = learner._noise()
    bound = float(leaf_bounds(1, float(learner.learning_rate))[0])
    gains, parts = [], []
    for sums, totals in _each_split(learner, side):
        gains.append(
            sum(part_gain(s, n, learner.regularisation) for s, n in zip(sums, totals, strict=True))
        )
        values = -sums / np.where(totals > 0, totals + learner.regularisation, 1.0)
        centres = np.clip(values, -bound, bound)
        parts.append(_cell_chances(centres, float(noise.leaf_scales[0]), leaf_cuts(learner)))
    exponential = noise.mechanism == EXPONENTIAL
    chances = exponential_probabilities if exponential else permute_and_flip_probabilities
    of_splits = chances(np.array(gains), noise.split_rate)
    return np.concatenate(
        [
            chance * np.multiply.outer(first, second).ravel()
            for chance, (first, second) in zip(of_splits, parts, strict=True)
        ]
    )


def _each_split(
    learner: DPBoostClassifier, side: Records
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Give gradient sum and number of both leaves, for each split of the domain."""
    starts = np.concatenate([[0], np.cumsum(side.n_bins)]).astype(np.int64)
    rows = np.repeat(np.arange(len(side.signs)), side.counts)
    # The first prediction is 0.
    gradients = -side.signs[rows].astype(np.float64)
    found = []
    for b in range(int(starts[-1])):
        split = np.empty(1, dtype=np.int64)
        # At rate 0 the noise decides.
        wish = np.zeros((1, int(starts[-1])))
        wish[0, b] = 1.0
        leaves = grow_tree(
            side.codes, rows, gradients, np.ones(len(rows)), starts, 1,
            learner.splits == THRESHOLD, float(learner.regularisation), 0.0, wish, split,
        )  # fmt: skip
        # Another split is grown where b is no question.
        if split[0] == b:
            found.append(leaves)
    return found


def _cell_chances(
    centres: NDArray[np.float64], scale: float, cuts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give the probability of each cell for Laplace noise around each centre."""
    x = (cuts - centres[:, None]) / scale
    below = np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)
    ends = np.concatenate([np.zeros((len(x), 1)), below, np.ones((len(x), 1))], axis=1)
    return np.diff(ends, axis=1)


def sample_gradient_trees(
    learner: DPBoostClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times, and number the splits and the cells of the leaf values of each fit."""
    cuts = leaf_cuts(learner)

    def released(model: DPBoostClassifier) -> list[NDArray[np.int64]]:
        return [model.splits_, np.searchsorted(cuts, model.leaf_values_ / model.learning_rate)]

    return sample_numbered(released, learner, side, n, rng)
