"""Transcripts of learners that release one choice a round: enumerated and sampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.pairs import Pair, Records
from privcurve.kernels.lazybb_rules import boost, round_scores
from privcurve.kernels.packing import pack
from privcurve.learners.voting import VotingClassifier
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    exponential_probabilities,
    permute_and_flip_probabilities,
)

# Floats of noise drawn at once while sampling: 32 MB.
NOISE_BATCH = 2**22


def enumerate_transcripts(
    choose: Callable[[tuple[int, ...]], NDArray[np.float64]], n_rounds: int
) -> NDArray[np.float64]:
    """Give the probability of every transcript of a learner that votes.

    Parameters
    ----------
    choose : callable
        Probabilities of the next choice after some choices. It is asked for each multiset
        of choices once, because votes add up, whatever their order.
    n_rounds : int

    Returns
    -------
    ndarray of shape (n_choices ** n_rounds,)
        In lexicographic order of the choices.
    """
    known: dict[tuple[int, ...], NDArray[np.float64]] = {}
    histories: list[tuple[int, ...]] = [()]
    chances = np.ones(1)
    for _ in range(n_rounds):
        table = []
        for history in histories:
            votes = tuple(sorted(history))
            if votes not in known:
                known[votes] = choose(votes)
            table.append(known[votes])
        chances = (chances[:, None] * np.array(table)).ravel()
        histories = [(*history, k) for history in histories for k in range(len(table[0]))]
    return chances


def one_rule_distribution(learner: VotingClassifier, side: Records) -> NDArray[np.float64]:
    """Give the probability of every sequence of literals that a learner could pick.

    The errors come from the learner's own kernel, rates and mechanism from its own
    calibration; only the choice is made exact.

    Parameters
    ----------
    learner : VotingClassifier
        Not fitted; epsilon finite.
    side : Records

    Returns
    -------
    ndarray of shape (n_literals ** n_rounds,)
    """
    plan = learner._plan(side.n)
    calibrated = plan.noise
    exponential = calibrated.mechanism == EXPONENTIAL
    probabilities = exponential_probabilities if exponential else permute_and_flip_probabilities

    def choose(picks: tuple[int, ...]) -> NDArray[np.float64]:
        errors = round_scores(
            side.codes,
            side.n_bins,
            side.signs,
            side.counts,
            np.array(picks, dtype=np.int64),
            plan.density,
            plan.learning_rate,
            calibrated.normalise,
        )
        return probabilities(-errors, float(calibrated.rates[len(picks)]))

    return enumerate_transcripts(choose, len(calibrated.rates))


def one_rule_picks(
    learner: VotingClassifier, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times and keep the picked literals only: `fit` without what costs time.

    Bit for bit what n fits with this generator, one after the other, would pick.

    Parameters
    ----------
    learner : VotingClassifier
        Not fitted; epsilon finite.
    side : Records
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, n_rounds)
    """
    plan = learner._plan(side.n)
    calibrated, weighting = plan.noise, (plan.density, plan.learning_rate)
    rows = pack(side.codes, side.n_bins)
    positive, counts = side.signs > 0, side.counts
    shape = len(calibrated.rates), 2 * int(side.n_bins.sum()) + 2
    exponential = calibrated.mechanism == EXPONENTIAL
    draw = rng.gumbel if exponential else rng.standard_exponential
    picks = np.empty((n, shape[0]), dtype=np.int64)
    batch = max(1, NOISE_BATCH // (shape[0] * shape[1]))
    for start in range(0, n, batch):
        for i, noise in enumerate(draw(size=(min(batch, n - start), *shape)), start):
            picks[i], _ = boost(
                rows, positive, counts, *weighting, calibrated.rates, calibrated.normalise, noise
            )
    return picks


def literal_votes(row: NDArray[Any], n_bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the vote, −1 or +1, of each literal on a row.

    Parameters
    ----------
    row : ndarray of shape (n_columns,)
    n_bins : ndarray of shape (n_columns,)

    Returns
    -------
    ndarray of shape (n_literals,)
    """
    # The constant +1 is the literal of a bin that every row is in.
    inside = np.zeros(int(n_bins.sum()) + 1, dtype=np.int64)
    inside[np.cumsum(n_bins) - n_bins + row.astype(np.int64)] = 1
    inside[-1] = 1
    votes = 2 * inside - 1
    return np.stack([votes, -votes], axis=1).ravel()


def sample_transcripts(
    learner: VotingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample whole transcripts, as numbers. For domains of few literals."""
    picks = one_rule_picks(learner, side, n, rng)
    n_literals = 2 * int(side.n_bins.sum()) + 2
    return picks @ n_literals ** np.arange(picks.shape[1] - 1, -1, -1)


def sample_canary_votes(
    learner: VotingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample the votes for the left label less those for the right one of the canary."""
    left, right = (literal_votes(row, side.n_bins) for row in pair.canaries)
    weight = left * pair.left.signs[pair.where] - right * pair.right.signs[pair.where]
    return np.asarray(weight[one_rule_picks(learner, side, n, rng)].sum(axis=1))


def torn_canary(learner: VotingClassifier, base: Records, candidates: int = 500) -> NDArray[Any]:
    """Choose a canary that the first literal gets wrong with a chance of about 15 %.

    What a flipped label changes shows best where the unlikely vote is not too rare to be
    counted, and the likely one so frequent that it hardly shifts.

    Parameters
    ----------
    learner : VotingClassifier
    base : Records
        The canary is one of the first `candidates` of them.
    """
    plan = learner._plan(base.n)
    errors = round_scores(
        base.codes,
        base.n_bins,
        base.signs,
        base.counts,
        np.zeros(0, dtype=np.int64),
        plan.density,
        plan.learning_rate,
        plan.noise.normalise,
    )
    chances = exponential_probabilities(-errors, float(plan.noise.rates[0]))
    votes = np.array([literal_votes(row, base.n_bins) for row in base.codes[:candidates]])
    positive = (votes > 0) @ chances
    best = int(np.argmin(np.abs(np.minimum(positive, 1 - positive) - 0.15)))
    return np.asarray(base.codes[best])
