"""1-rules, alone and boosted: one choice a round, enumerated and sampled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import BOTH, DELTAS, chances_of, sampled, whole_state
from privcurve.audit.attacks.pairs import (
    four_constant,
    nine_balanced,
    rare_in_part,
    tiny_neighbours,
    two_columns,
)
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, Records, Target, flipped_balance, with_canary
from privcurve.kernels.lazybb_rules import round_scores
from privcurve.learners.voting import VotingClassifier
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    PERMUTE_AND_FLIP,
    exponential_probabilities,
)

TINY_TRAININGS = 30_000


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


def one_rule_distribution(
    learner: VotingClassifier, side: Records, begin: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Give the probability of every sequence of literals that a learner could pick.

    The errors come from the learner's own kernel, rates and mechanism from its own
    calibration; only the choice is made exact.

    Parameters
    ----------
    learner : VotingClassifier
        Not fitted; epsilon finite.
    side : Records
    begin : ndarray of shape (n_records,), optional
        Margins before the first round, in votes.

    Returns
    -------
    ndarray of shape (n_literals ** n_rounds,)
    """
    plan = learner._plan(side.n)
    calibrated = plan.noise
    probabilities = chances_of(calibrated.mechanism)

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
            begin,
        )
        return probabilities(-errors, float(calibrated.rates[len(picks)]))

    return enumerate_transcripts(choose, len(calibrated.rates))


def sample_picks(
    learner: VotingClassifier, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Train n times by the learner's own fit, and take the picked literals.

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

    class Terse(type(learner)):  # type: ignore[misc]
        """The same fit, without what it makes of its picks: half of its time."""

        def _adopt(self, picks: NDArray[np.int64], n: int, statement: PrivacyStatement) -> None:
            self.chosen_ = picks

    terse = Terse(**learner.get_params(deep=False))
    return np.stack([model.chosen_ for model in fits(terse, side, n, rng)])


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
    picks = sample_picks(learner, side, n, rng)
    n_literals = 2 * int(side.n_bins.sum()) + 2
    return picks @ n_literals ** np.arange(picks.shape[1] - 1, -1, -1)


def sample_canary_votes(
    learner: VotingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Sample the votes for the left label less those for the right one of the canary."""
    left, right = (literal_votes(row, side.n_bins) for row in pair.canaries)
    weight = left * pair.left.signs[pair.where] - right * pair.right.signs[pair.where]
    return np.asarray(weight[sample_picks(learner, side, n, rng)].sum(axis=1))


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


def large_balance(c: Claim, target: Target) -> list[Pair]:
    """Give as many records as the target has, equal but for labels that about balance.

    The surplus gives a chance of about 2 % that all rounds choose the unlikely label: rare
    enough to show the change of a record, often enough to be counted.
    """
    learner = c.estimator(np.array([1]))
    assert isinstance(learner, VotingClassifier)
    n = target.records.n
    rates = learner._plan(n).noise.rates
    odds = 0.02 ** (-1 / len(rates)) - 1
    surplus = round(n * math.log(odds) / float(rates[0]))
    return [flipped_balance(n, surplus, f"as large as {target.name}")]


def torn(c: Claim, target: Target) -> list[Pair]:
    """Put a canary into the target that the first 1-rules are torn about."""
    learner = c.estimator(target.records.n_bins)
    assert isinstance(learner, VotingClassifier)
    return [with_canary(target, torn_canary(learner, target.records))]


def _one_rule() -> Iterator[Claim]:
    mechanisms = (EXPONENTIAL, PERMUTE_AND_FLIP)
    for calibration, mechanism, epsilon in itertools.product(BOTH, mechanisms, (0.1, 1.0, 5.0)):
        yield Claim(
            "one_rule",
            calibration,
            epsilon,
            tiny_neighbours,
            setting={"mechanism": mechanism},
            distribution=one_rule_distribution,
        )
    for calibration in BOTH:
        yield Claim(
            "one_rule",
            calibration,
            1.0,
            two_columns,
            distribution=one_rule_distribution,
        )
        for delta in DELTAS:
            yield Claim(
                "one_rule",
                calibration,
                1.0,
                tiny_neighbours,
                delta=delta,
                distribution=one_rule_distribution,
            )
        yield from _sampled("one_rule", calibration, {}, TINY_TRAININGS)
        yield whole_state("one_rule", calibration, {}, 4_000)
    yield whole_state("one_rule", CERTIFIED, {}, 4_000, delta=1e-2)


def _lazybb() -> Iterator[Claim]:
    mechanisms = (EXPONENTIAL, PERMUTE_AND_FLIP)
    dense = {"n_rounds": 3, "learning_rate": 0.45, "density": 1.0}
    usual = {"n_rounds": 3, "learning_rate": 0.45, "density": 0.35}
    steep = {"n_rounds": 4, "learning_rate": 1.0, "density": 0.2}
    # Weights that move from round to round: else numbers that are used twice don't show.
    moving = {"n_rounds": 3, "learning_rate": 1.0, "density": 0.35}
    wide = {"n_rounds": 2, "learning_rate": 0.5, "density": 0.35}
    for calibration in BOTH:
        for mechanism, epsilon in itertools.product(mechanisms, (0.1, 1.0, 5.0)):
            for setting in (dense, usual, steep):
                yield Claim(
                    "lazybb",
                    calibration,
                    epsilon,
                    tiny_neighbours,
                    setting={**setting, "mechanism": mechanism},
                    distribution=one_rule_distribution,
                )
        yield Claim(
            "lazybb",
            calibration,
            1.0,
            two_columns,
            setting=wide,
            distribution=one_rule_distribution,
        )
        for delta, setting in itertools.product(DELTAS, (dense, usual, steep)):
            yield Claim(
                "lazybb",
                calibration,
                1.0,
                tiny_neighbours,
                delta=delta,
                setting=setting,
                distribution=one_rule_distribution,
            )
        yield from _sampled("lazybb", calibration, dense, 20_000)
        yield whole_state("lazybb", calibration, moving, 4_000)
    yield whole_state("lazybb", CERTIFIED, moving, 4_000, delta=1e-2)


def _sampled(
    learner: str, calibration: str, setting: Mapping[str, Any], n_trainings: int
) -> Iterator[Claim]:
    for pairs in (four_constant, nine_balanced, large_balance):
        yield sampled(
            learner, calibration, setting, TINY_TRAININGS, pairs, sample=sample_transcripts
        )
    yield sampled(learner, calibration, setting, n_trainings, torn, sample=sample_canary_votes)
    yield sampled(learner, calibration, setting, 2_000, rare_in_part)


RELEASED = {
    "chosen_": "literals, each chosen privately",
    "model_": "made from the literals",
}

ATTACKS = (
    Attack("one_rule", tuple(_one_rule()), RELEASED),
    Attack("lazybb", tuple(_lazybb()), {**RELEASED, "ties_": "what the parameter ties stands for"}),
)
