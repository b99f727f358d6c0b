"""Boosted ensembles, forests of random trees and the noisy majority.

Rounds of one split are enumerated: every question, and for every number that is released a
value beyond that of either side, where Laplace densities differ most. Published leaves are
enumerated by cells; published β needs a look at one number alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import BOTH, chances_of, sampled, whole_state
from privcurve.audit.attacks.dpboost import cell_chances
from privcurve.audit.attacks.pairs import (
    alone_in_two_bins,
    crossed_columns,
    eight_constant,
    rare_in_part,
    torn_columns,
    two_columns,
)
from privcurve.audit.claim import Attack, Claim, MakePairs
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, Records, Target, records
from privcurve.coding import bin_starts
from privcurve.kernels.boosted_trees import both_sides, find_leaves, leaf_weights, questions
from privcurve.kernels.dpboost import NO_SPLIT, divide
from privcurve.kernels.m_alpha import link_of_leaves, record_weights
from privcurve.learners.bdpe import RANDOM, BDPEClassifier
from privcurve.learners.dp_forest import SHRUNK, DPForestClassifier
from privcurve.learners.noisy_majority import NoisyMajorityClassifier
from privcurve.privacy.budget import CERTIFIED, PUBLISHED
from privcurve.privacy.calibration.bdpe import LINK, EnsembleNoise

Sides = tuple[Records, Records]
Log = NDArray[np.float64]


def _each_question(side: Records) -> NDArray[np.int64]:
    starts = bin_starts(side.n_bins)
    return np.asarray(questions(np.ones(starts[-1], dtype=bool), starts))


def _divided(side: Records, split: int, weights: Log) -> tuple[NDArray[np.int64], Log, Log]:
    """Give the leaf of each row, and the weights of either label in both leaves."""
    leaves = find_leaves(side.codes, bin_starts(side.n_bins), np.array([split]))
    return leaves, *leaf_weights(leaves, side.signs, weights, 2)


def _log_chances(
    learner: BDPEClassifier, side: Records, weights: Log, noise: EnsembleNoise, bound: float
) -> Log:
    """Give the logarithm of the chance of each question of one node."""
    asked = _each_question(side)
    if learner.splits == RANDOM:
        return np.full(len(asked), -np.log(len(asked)))
    alpha = float(learner.alpha)
    scores = []
    for split in asked:
        _, positive, negative = _divided(side, int(split), weights)
        whole = float(positive.sum()), float(negative.sum())
        scores.append(-both_sides(float(positive[0]), float(negative[0]), *whole, alpha))
    rate = noise.spent[0] / (2 * bound * (noise.bound + alpha * noise.slope))
    return np.log(chances_of(noise.mechanism)(np.array(scores), rate))


def ensemble_densities(learner: BDPEClassifier, pair: Pair) -> tuple[Log, Log]:
    """Give the log densities of the transcripts of a certified ensemble of single splits.

    Weights, votes, rates and scales are the learner's own. A round goes on from what the one
    before released, which is the same on both sides.

    Parameters
    ----------
    learner : BDPEClassifier
        Not fitted; certified, δ = 0, of depth 1, with a given α.
    pair : Pair
        In a domain of few questions.

    Returns
    -------
    left, right : ndarray of shape (n_outputs,)

    Raises
    ------
    ValueError
        If the trees are deeper.
    """
    if learner.depth != 1:
        raise ValueError(f"depth = {learner.depth}: only single splits can be enumerated")
    sides = pair.left, pair.right
    noise = learner._noise(pair.left.n)
    start = tuple(np.zeros(len(side.signs)) for side in sides)
    found = np.array(list(_rounds(learner, sides, noise, 0, start, 0.0, np.zeros(2))))
    return found[:, 0], found[:, 1]


def _rounds(
    learner: BDPEClassifier,
    sides: Sides,
    noise: EnsembleNoise,
    t: int,
    scores: tuple[Log, ...],
    reach: float,
    density: Log,
) -> Iterator[Log]:
    if t == learner.n_trees:
        yield density
        return
    alpha = float(learner.boost_alpha)
    bound = learner._weight_bound(reach)
    weights = [
        record_weights(score, side.signs, alpha) * side.counts
        for side, score in zip(sides, scores, strict=True)
    ]
    chances = [
        _log_chances(learner, side, w, noise, bound) for side, w in zip(sides, weights, strict=True)
    ]
    scale = bound / noise.leaf_rate
    for k, split in enumerate(_each_question(sides[0])):
        parts = [_divided(s, int(split), w) for s, w in zip(sides, weights, strict=True)]
        centres = np.array(
            [np.stack([a, b]) if learner._votes() == LINK else a - b for _, a, b in parts]
        )
        lowest, highest = centres.min(axis=0), centres.max(axis=0)
        for upper in itertools.product((False, True), repeat=lowest.size):
            seen = np.where(np.reshape(upper, lowest.shape), highest, lowest)
            votes, beta = learner._vote_of(seen, scale, sides[0].n)
            moved = np.abs(seen - centres).reshape(2, -1).sum(axis=1)
            after = density + np.array([c[k] for c in chances]) - moved / scale
            then = tuple(
                score + beta * votes[leaves]
                for score, (leaves, _, _) in zip(scores, parts, strict=True)
            )
            further = reach + abs(beta) * float(np.abs(votes).max())
            yield from _rounds(learner, sides, noise, t + 1, then, further, after)


def published_distribution(learner: BDPEClassifier, side: Records) -> Log:
    """Give the probability of every split and every pair of cells of the two leaf values.

    For a β that is public: then a published tree is no more than that. The outermost cells
    are the clamped values.

    Parameters
    ----------
    learner : BDPEClassifier
        Not fitted; published, one tree of depth 1.
    side : Records

    Returns
    -------
    ndarray of shape (n_splits · n_cells ** 2,)
    """
    noise, clamp = learner._noise(side.n), float(learner.clamp)
    weights = side.counts / 2
    found = []
    for split, log in zip(
        _each_question(side), _log_chances(learner, side, weights, noise, 1.0), strict=True
    ):
        _, positive, negative = _divided(side, int(split), weights)
        values = link_of_leaves(positive, negative, float(learner.boost_alpha))
        cells = cell_chances(values, 1 / noise.leaf_rate, np.linspace(-clamp, clamp, 5))
        found.append(np.exp(log) * np.multiply.outer(*cells).ravel())
    return np.concatenate(found)


def sample_leverages(
    learner: BDPEClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times; say whether β of the first tree is that of the records on the left.

    β·m/a = ½ Σ h(λ)(A − B), where all but A and B is public. With one label flipped it is
    another number, wherever the leaf's vote is not 0.
    """
    found = np.empty(n, dtype=np.int64)
    halves = pair.left.counts / 2
    for i, model in enumerate(fits(learner, side, n, rng)):
        splits, votes = model.splits_[0], model.leaf_values_[0]
        leaves = find_leaves(pair.left.codes, bin_starts(pair.left.n_bins), splits)
        sums = leaf_weights(leaves, pair.left.signs, halves, len(votes))
        expected = model._leverage(votes, *sums, pair.left.n)
        found[i] = abs(model.leverages_[0] - expected) <= 1e-9 * abs(expected)
    return found


def loaded_leaves(c: Claim, target: Target) -> list[Pair]:
    """Give two bins of one label each, and a record that is wrong in either: it moves.

    Its weight grows in all rounds, up to the bound, wherever it is.
    """
    others = [[0], [1]]
    sides = [
        records([[code], *others], [sign, 1, -1], [2], [1, 40, 40])
        for code, sign in ((0, -1), (1, 1))
    ]
    return [Pair("tiny", "a record that is wrong in either bin", sides[0], sides[1])]


def _bdpe() -> Iterator[Claim]:
    name = "bdpe"
    oc = {"alpha": 1.0, "calibrate_alpha": "exact"}
    small = {"alpha": 0.1, "boost_alpha": 0.1}
    leaks: tuple[tuple[dict[str, Any], MakePairs], ...] = (
        ({**oc, "n_trees": 2, "depth": 2}, eight_constant),
        ({**oc, "n_trees": 2, "depth": 3}, rare_in_part),
        ({**small, "n_trees": 2, "depth": 2}, eight_constant),
    )
    for setting, pairs in leaks:
        yield sampled(name, PUBLISHED, setting, 2_000, pairs, sample=sample_leverages)
    yield whole_state(name, PUBLISHED, {**oc, "n_trees": 2, "depth": 2}, 1_000)
    constant = {"n_trees": 1, "depth": 1, "alpha": 1.0, "leverage": "constant"}
    yield Claim(name, PUBLISHED, 1.0, two_columns, 0.0, constant, published_distribution)
    one = {"n_trees": 1, "depth": 1}
    drawn = {"splits": "random", "depth": 1}
    rounds: tuple[tuple[dict[str, Any], MakePairs], ...] = (
        *(({**one, "votes": votes}, two_columns) for votes in ("link", "shrunk", "sign")),
        ({**one, "alpha": 1.0}, torn_columns),
        ({**one, "alpha": 0.1, "tree_share": 0.9}, torn_columns),
        ({**drawn, "n_trees": 1}, two_columns),
        ({**drawn, "n_trees": 4, "step": 10.0}, loaded_leaves),
        ({**drawn, "n_trees": 2, "votes": "link", "clamp": 100.0}, loaded_leaves),
    )
    for setting, pairs in rounds:
        yield Claim(name, CERTIFIED, 1.0, pairs, 0.0, setting, densities=ensemble_densities)
    yield sampled(name, CERTIFIED, {**one, "votes": "link"}, 4_000, crossed_columns)
    yield sampled(name, CERTIFIED, {"n_trees": 2, "depth": 2}, 600, rare_in_part)
    for setting in ({**drawn, "n_trees": 1}, {**one, "votes": "link", "tree_share": 0.1}):
        yield sampled(name, CERTIFIED, setting, 4_000, alone_in_two_bins, delta=1e-5, epsilon=2.0)
    two = {"n_trees": 2, "depth": 2}
    for delta, n in ((0.0, 1_000), (1e-5, 500)):
        for setting in (
            {**two, "votes": "link", "alpha": 1.0},
            {**two, "calibrate_alpha": "released", "alpha": 1.0},
            {**two, "splits": "random"},
            {**two, "votes": "sign"},
        ):
            yield whole_state(name, CERTIFIED, setting, n, delta=delta)


# Forests -------------------------------------------------------------------------------


def random_trees(
    n_bins: NDArray[np.int64], depth: int, restrict: bool
) -> list[tuple[float, NDArray[np.int64]]]:
    """Give every tree that may be drawn, with its chance.

    Parameters
    ----------
    n_bins : ndarray of shape (n_columns,)
    depth : int
    restrict : bool
        As for :func:`privcurve.kernels.boosted_trees.draw_tree`.

    Returns
    -------
    list of (float, ndarray of shape (2**depth - 1,))
    """
    starts = bin_starts(n_bins)
    n_inner = 2**depth - 1
    everything = np.ones((2 * n_inner + 1, int(starts[-1])), dtype=bool)
    found = [(1.0, np.full(n_inner, NO_SPLIT), everything)]
    for node in range(n_inner):
        grown = []
        for chance, splits, possible in found:
            asked = questions(possible[node] if restrict else everything[0], starts)
            for split in asked if len(asked) else [NO_SPLIT]:
                new, left_open = splits.copy(), possible.copy()
                new[node] = split
                divide(possible[node], starts, True, int(split), left_open, 2 * node + 1)
                grown.append((chance / max(len(asked), 1), new, left_open))
        found = grown
    return [(chance, splits) for chance, splits, _ in found]


def _tree_margins(side: Records, splits: NDArray[np.int64]) -> Log:
    leaves = find_leaves(side.codes, bin_starts(side.n_bins), splits)
    positive, negative = leaf_weights(leaves, side.signs, side.counts / 1.0, len(splits) + 1)
    return np.asarray(positive - negative)


def forest_distribution(learner: DPForestClassifier, side: Records) -> Log:
    """Give the probability of every tree with every labels of its leaves.

    Parameters
    ----------
    learner : DPForestClassifier
        Not fitted; one tree, votes by sign.
    side : Records

    Returns
    -------
    ndarray of shape (n_trees · 2**n_leaves,)
    """
    noise = learner._noise()
    found = []
    for chance, splits in random_trees(
        side.n_bins, int(learner.depth), learner.calibration == CERTIFIED
    ):
        positive = chances_of(noise.mechanism)(_tree_margins(side, splits), noise.rate)
        labels = np.ones(1)
        for p in positive:
            labels = np.multiply.outer(labels, [1 - p, p]).ravel()
        found.append(chance * labels)
    return np.concatenate(found)


def forest_densities(learner: DPForestClassifier, pair: Pair) -> tuple[Log, Log]:
    """Give the log densities of every tree with margins beyond those of both sides.

    Parameters
    ----------
    learner : DPForestClassifier
        Not fitted; one tree, shrunk votes.
    pair : Pair

    Returns
    -------
    left, right : ndarray of shape (n_outputs,)
    """
    noise = learner._noise()
    found: list[Log] = []
    for _, splits in random_trees(pair.left.n_bins, int(learner.depth), True):
        centres = np.array([_tree_margins(side, splits) for side in (pair.left, pair.right)])
        upper = np.array(list(itertools.product((False, True), repeat=centres.shape[1])))
        seen = np.where(upper, centres.max(axis=0), centres.min(axis=0))
        found.append(-noise.rate * np.abs(seen[:, None] - centres).sum(axis=2))
    both = np.concatenate(found)
    return both[:, 0], both[:, 1]


def _dp_forest() -> Iterator[Claim]:
    name, one = "dp_forest", {"n_trees": 1, "depth": 1}
    some = {"n_trees": 2, "depth": 2}
    for calibration in BOTH:
        for leaves in ("laplace", "exponential"):
            yield _exact_forest(calibration, {**one, "leaves": leaves})
            yield whole_state(name, calibration, {**some, "leaves": leaves}, 1_000)
    shrunk = {**one, "votes": SHRUNK}
    yield Claim(name, CERTIFIED, 1.0, two_columns, 0.0, shrunk, densities=forest_densities)
    yield whole_state(name, CERTIFIED, {**some, "votes": SHRUNK}, 1_000)
    yield sampled(name, CERTIFIED, one, 4_000, alone_in_two_bins)


def _exact_forest(
    calibration: str, setting: Mapping[str, Any], pairs: MakePairs = two_columns
) -> Claim:
    return Claim(
        "dp_forest", calibration, 1.0, pairs, 0.0, setting, distribution=forest_distribution
    )


def majority_densities(learner: NoisyMajorityClassifier, pair: Pair) -> tuple[Log, Log]:
    """Give the log densities of a margin beyond either end of those of both sides."""
    noise = learner._noise()
    centres = np.array([side.signs @ side.counts for side in (pair.left, pair.right)])
    seen = np.array([centres.min() - 1.0, centres.max() + 1.0])
    both = -noise.rate * np.abs(seen - centres[:, None])
    return both[0], both[1]


def _noisy_majority() -> Iterator[Claim]:
    name = "noisy_majority"
    yield Claim(name, CERTIFIED, 1.0, two_columns, densities=majority_densities)
    yield whole_state(name, CERTIFIED, {}, 1_000)


QUESTIONS = "drawn without the data"
VOTES = "made of margins or counts with noise"

ATTACKS = (
    Attack(
        "bdpe",
        tuple(_bdpe()),
        {
            "splits_": f"each chosen privately, or {QUESTIONS}",
            "leaf_values_": f"{VOTES}; published: links with noise",
            "leverages_": "public, or made of counts with noise; published: exact, the leak",
            "alphas_": "public, or made of errors with noise",
        },
    ),
    Attack("dp_forest", tuple(_dp_forest()), {"splits_": QUESTIONS, "leaf_values_": VOTES}),
    Attack("noisy_majority", tuple(_noisy_majority()), {"margin_": "with Laplace noise"}),
)
