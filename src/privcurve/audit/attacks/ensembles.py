"""Boosted ensembles, forests of random trees and the noisy majority.

What is certified keeps the contract (``audit.contract``); here are attacks on what is released.
Published leaves are enumerated by cells; published β needs a look at one number alone.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    two_columns,
)
from privcurve.audit.claim import Attack, Claim, MakePairs
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, Records
from privcurve.coding import bin_starts
from privcurve.kernels.boosted_trees import both_sides, find_leaves, leaf_weights, questions
from privcurve.kernels.m_alpha import link_of_leaves
from privcurve.learners.bdpe import BDPEClassifier
from privcurve.learners.dp_forest import SHRUNK
from privcurve.privacy.budget import CERTIFIED, PUBLISHED


def published_distribution(learner: BDPEClassifier, side: Records) -> NDArray[np.float64]:
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
    of_split, of_leaves = learner._guarantee(side.n).ledger
    alpha, clamp = float(learner.alpha), float(learner.clamp)
    scale = (learner._sensitivity(side.n, alpha) / of_split.sensitivity) / of_split.noise_rate
    starts, weights = bin_starts(side.n_bins), side.counts / 2
    scores, cells = [], []
    for split in questions(np.ones(starts[-1], dtype=bool), starts):
        leaves = find_leaves(side.codes, starts, np.array([split]))
        positive, negative = leaf_weights(leaves, side.signs, weights, 2)
        whole = float(positive.sum()), float(negative.sum())
        scores.append(-both_sides(float(positive[0]), float(negative[0]), *whole, alpha))
        values = link_of_leaves(positive, negative, float(learner.boost_alpha))
        cuts = np.linspace(-clamp, clamp, 5)
        cells.append(cell_chances(values, 1 / of_leaves.noise_rate, cuts))
    chances = chances_of(of_split.mechanism)(np.array(scores), 1 / scale)
    return np.concatenate(
        [chance * np.multiply.outer(*of).ravel() for chance, of in zip(chances, cells, strict=True)]
    )


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
        margins = sums[0] - sums[1]
        expected = model._leverage(votes, margins, pair.left.n, float(model.clamp))
        found[i] = abs(model.leverages_[0] - expected) <= 1e-9 * abs(expected)
    return found


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
    drawn = {"splits": "random", "depth": 1, "n_trees": 1}
    yield sampled(name, CERTIFIED, {**one, "votes": "link"}, 4_000, crossed_columns)
    yield sampled(name, CERTIFIED, {"n_trees": 2, "depth": 2}, 600, rare_in_part)
    for setting in (drawn, {**one, "votes": "link", "tree_share": 0.1}):
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


def _dp_forest() -> Iterator[Claim]:
    name, some = "dp_forest", {"n_trees": 2, "depth": 2}
    for calibration in BOTH:
        for leaves in ("laplace", "exponential"):
            yield whole_state(name, calibration, {**some, "leaves": leaves}, 1_000)
    yield whole_state(name, CERTIFIED, {**some, "votes": SHRUNK}, 1_000)
    yield sampled(name, CERTIFIED, {"n_trees": 1, "depth": 1}, 4_000, alone_in_two_bins)


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
    Attack(
        "noisy_majority",
        (whole_state("noisy_majority", CERTIFIED, {}, 1_000),),
        {"margin_": "with Laplace noise"},
    ),
)
