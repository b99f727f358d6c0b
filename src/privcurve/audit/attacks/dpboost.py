"""Transcripts of DPBoost: its splits, and in which cells its leaf values lie.

One tree of one split is enumerated; more are sampled from real fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import chances_of, many_parts, sampled, whole_state
from privcurve.audit.attacks.pairs import (
    crossed_columns,
    rare_in_part,
    three_bins,
    two_columns,
)
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import sample_numbered
from privcurve.audit.pairs import Pair, Records, Target, added, records
from privcurve.coding import bin_starts
from privcurve.kernels.dpboost import grow_tree, part_gain
from privcurve.learners.dpboost import THRESHOLD, DPBoostClassifier
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, PUBLISHED, REPLACE_ONE
from privcurve.privacy.calibration.dpboost import GRADIENT_BOUND, chunk_ends, leaf_bounds, leaf_l1


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
    of_splits, of_leaves = learner._guarantee(side.n).ledger
    bound = float(leaf_bounds(1, float(learner.learning_rate))[0])
    gains, parts = [], []
    for sums, totals in _each_split(learner, side):
        gains.append(
            sum(part_gain(s, n, learner.regularisation) for s, n in zip(sums, totals, strict=True))
        )
        values = -sums / np.where(totals > 0, totals + learner.regularisation, 1.0)
        centres = np.clip(values, -bound, bound)
        parts.append(cell_chances(centres, 1 / of_leaves.noise_rate, leaf_cuts(learner)))
    chances = chances_of(of_splits.mechanism)(np.array(gains), of_splits.noise_rate)
    return np.concatenate(
        [
            chance * np.multiply.outer(first, second).ravel()
            for chance, (first, second) in zip(chances, parts, strict=True)
        ]
    )


def _each_split(
    learner: DPBoostClassifier, side: Records
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Give gradient sum and number of both leaves, for each split of the domain."""
    starts = bin_starts(side.n_bins)
    rows = np.repeat(np.arange(len(side.signs)), side.counts)
    # The first prediction is 0.
    gradients = -side.signs[rows].astype(np.float64)
    found = []
    for b in range(int(starts[-1])):
        split = np.empty(1, dtype=np.int64)
        # Where all is noise, it decides.
        wish = np.zeros((1, int(starts[-1])))
        wish[0, b] = 1.0
        leaves = grow_tree(
            side.codes, rows, gradients, np.ones(len(rows)), starts, 1,
            learner.splits == THRESHOLD, float(learner.regularisation), math.inf, wish, split,
        )  # fmt: skip
        # Another split is grown where b is no question.
        if split[0] == b:
            found.append(leaves)
    return found


def cell_chances(
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


def chunk_densities(
    learner: DPBoostClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log densities of two sequences of leaf values, for records that are all equal.

    Then chance has no say in which records a tree gets, and all of them are in one leaf of
    each tree: only how many they are differs. Each sequence has values beyond those of one
    side wherever the sides differ, and else what brings the score of the records back to 0.

    Parameters
    ----------
    learner : DPBoostClassifier
        Not fitted; epsilon finite; of one ensemble.
    pair : Pair
        Of equal positive records.

    Returns
    -------
    left, right : ndarray of shape (2,)
        Up to a constant that both share.
    """
    rate, per_ensemble, n_trees = (
        float(learner.learning_rate),
        learner._per_ensemble(),
        learner.n_trees,
    )
    bounds = leaf_bounds(n_trees, rate)
    of_leaves = learner._guarantee(pair.left.n).ledger[-1]
    scales = leaf_l1(n_trees, rate, learner.regularisation, learner.calibration) / of_leaves.epsilon
    sizes = [
        np.diff(chunk_ends(side.n, per_ensemble, rate, learner.chunks), prepend=0)
        for side in (pair.left, pair.right)
    ]
    found = np.zeros((2, 2))
    for favoured in (0, 1):
        score = 0.0
        for t, scale in enumerate(scales.tolist()):
            centres = [_equal_leaf(learner, int(s[t % per_ensemble]), score) for s in sizes]
            centres = [min(max(centre, -bounds[t]), bounds[t]) for centre in centres]
            value, here, there = -score / rate, centres[favoured], centres[1 - favoured]
            if here != there:
                value = max(value, here) if here > there else min(value, here)
            found[:, favoured] -= np.abs(value - np.array(centres)) / scale
            score += rate * value
    return found[0], found[1]


def _equal_leaf(learner: DPBoostClassifier, n: int, score: float) -> float:
    """Give the value, unclipped, of a leaf of n positive records of one score."""
    gradient = score - 1.0
    if n == 0 or abs(gradient) > GRADIENT_BOUND:
        return 0.0
    return -n * gradient / (n + float(learner.regularisation))


def one_more(c: Claim, target: Target, n: int) -> list[Pair]:
    """Give n equal records, and one more of them."""
    side = records([[0]], [1], [2], [n])
    return [added(side, [0], 1, f"{n} equal records, and one more")]


def some_trees(n: int) -> dict[str, Any]:
    """Give the setting of one ensemble of n trees, each of one split."""
    return {"n_trees": n, "trees_per_ensemble": n, "max_depth": 1}


def _dpboost() -> Iterator[Claim]:
    one = some_trees(1)
    # The record of the pair that has one alone is the second tree's: its leaf is no round number.
    two = {**some_trees(2), "learning_rate": 0.5, "chunks": "equal"}
    some = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}
    # What is published has 1.15 ε on the pair: at ε = 2 so many trainings show it.
    for calibration, n_trainings in ((PUBLISHED, 120_000), (CERTIFIED, 20_000)):
        yield sampled(
            "dpboost",
            calibration,
            one,
            n_trainings,
            crossed_columns,
            sample=sample_gradient_trees,
            epsilon=2.0,
        )
        yield sampled("dpboost", calibration, some, 2_000, rare_in_part)
        yield whole_state("dpboost", calibration, two, 10_000, epsilon=2.0)
    # So slow that leaves stay far from where their gradients would be filtered.
    many = {**some_trees(100), "learning_rate": 0.002, "chunks": "equal"}
    yield many_parts("dpboost", CERTIFIED, many, 2_000)
    # The published noise is for adding or removing a record; but that changes the chunks.
    for n, chunks in ((25, "equal"), (7, "geometric")):
        yield Claim(
            "dpboost",
            PUBLISHED,
            1.0,
            partial(one_more, n=n),
            setting={"n_trees": 50, "max_depth": 1, "chunks": chunks},
            densities=chunk_densities,
            neighbours=ADD_REMOVE,
            stated=REPLACE_ONE,
        )
    for pairs in (two_columns, three_bins):
        yield Claim(
            "dpboost", PUBLISHED, 1.0, pairs, 0.0, one, distribution=gradient_tree_distribution
        )
    # A small δ buys nothing for one tree (docs/competitors.md, D6): its noise would be the same.
    yield sampled("dpboost", CERTIFIED, one, 20_000, crossed_columns, 0.1, sample_gradient_trees)


RELEASED = {
    "splits_": "each chosen privately",
    "leaf_values_": "with Laplace noise",
}

ATTACKS = (Attack("dpboost", tuple(_dpboost()), RELEASED),)
