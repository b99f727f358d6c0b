"""List claims of 1-rules, single and boosted, whose choices are few enough to enumerate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from privcurve.audit.attacks.any_learner import claim_by_fits, recipe
from privcurve.audit.attacks.pairs import four_constant, tiny_neighbours, two_columns
from privcurve.audit.claim import Claim, MakePairs
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, Target, flipped_balance
from privcurve.coding import Floats, Ints, Records
from privcurve.kernels.lazybb_rules import round_scores
from privcurve.learners.shared.voting import VotingClassifier
from privcurve.privacy import mechanisms
from privcurve.privacy.budget import PROVED, PUBLISHED

BOTH = (PUBLISHED, PROVED)
DELTAS = (1e-5, 1e-2)
MECHANISMS = (mechanisms.EXPONENTIAL, mechanisms.PERMUTE_AND_FLIP)


def enumerate_transcripts(choose: Callable[[tuple[int, ...]], Floats], n_rounds: int) -> Floats:
    """Return the probability of every transcript, which is a sequence of `n_rounds` votes.

    `choose(votes)` returns the probability of each possible next vote, given the earlier votes. The
    earlier votes are sorted, as their order must not matter.
    """
    by_votes: dict[tuple[int, ...], Floats] = {}
    histories: list[tuple[int, ...]] = [()]
    chances = np.ones(1)
    for _ in range(n_rounds):
        table = []
        for history in histories:
            votes = tuple(sorted(history))
            if votes not in by_votes:
                by_votes[votes] = choose(votes)
            table.append(by_votes[votes])
        chances = (chances[:, None] * np.array(table)).ravel()
        histories = [(*history, k) for history in histories for k in range(len(table[0]))]
    return chances


def one_rule_distribution(learner: VotingClassifier, side: Records) -> Floats:
    """Return the probability of every sequence of literals that a learner can choose.

    The mechanism and the noise are those of the learner. But :func:`round_scores` computes the
    errors of literals, independently of the learner's kernel, which the audit tests.
    """
    plan = learner._plan(side.n)
    calibrated = plan.noise
    probabilities = mechanisms.MECHANISMS[calibrated.mechanism].probabilities
    assert probabilities is not None

    def choose(picks: tuple[int, ...]) -> Floats:
        errors = round_scores(
            side.codes, side.n_bins, side.labels, side.counts,
            np.array(picks, dtype=np.int64), plan.density, plan.learning_rate,
            calibrated.normalise,
        )  # fmt: skip
        return probabilities(-errors, float(calibrated.rates[len(picks)]))

    return enumerate_transcripts(choose, len(calibrated.rates))


def sample_picks(
    learner: VotingClassifier, side: Records, n: int, rng: np.random.Generator
) -> Ints:
    """Train `n` times; return the chosen literals: (n, n_rounds)."""
    return np.stack([model.chosen_ for model in fits(learner, side, n, rng)])


def sample_transcripts(
    learner: VotingClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> Ints:
    """Train `n` times; return each transcript as one integer: (n,).

    The domain must be small, so that these integers do not overflow.
    """
    picks = sample_picks(learner, side, n, rng)
    n_literals = 2 * int(side.n_bins.sum()) + 2
    return picks @ n_literals ** np.arange(picks.shape[1] - 1, -1, -1)


def large_balance(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables as large as `target`: equal records, nearly balanced labels.

    One label is so much more frequent that all rounds choose the other label with a probability of
    only about 2 %: rare enough to show the effect of one record, and frequent enough to count.
    """
    learner = c.estimator(np.array([1]))
    assert isinstance(learner, VotingClassifier)
    n = target.records.n
    rates = learner._plan(n).noise.rates
    odds = 0.02 ** (-1 / len(rates)) - 1
    surplus = round(n * math.log(odds) / float(rates[0]))
    return [flipped_balance(n, surplus, f"as large as {target.name}")]


def _one_rule() -> Iterator[Claim]:
    name = "one_rule"
    for calibration in BOTH:
        for mechanism, epsilon in itertools.product(MECHANISMS, (0.1, 1.0, 5.0)):
            setting = {"mechanism": mechanism}
            yield _exact(name, calibration, setting, epsilon=epsilon)
        for pairs in (two_columns, large_balance):
            yield _exact(name, calibration, {}, pairs)
        for delta in DELTAS:
            yield _exact(name, calibration, {}, delta=delta)
        yield _transcripts(name, calibration, {})
    yield from recipe(name, coins=())


def _lazybb() -> Iterator[Claim]:
    name = "lazybb"
    dense = {"n_rounds": 3, "learning_rate": 0.45, "density": 1.0}
    steep = {"n_rounds": 4, "learning_rate": 1.0, "density": 0.2}
    # With these hyperparameters, weights change between rounds. With constant weights, an attack
    # could not detect a learner that uses the same noise in several rounds.
    moving = {"n_rounds": 3, "learning_rate": 1.0, "density": 0.35}
    for calibration, setting in itertools.product(BOTH, (dense, steep)):
        for mechanism, epsilon in itertools.product(MECHANISMS, (1.0, 5.0)):
            yield _exact(name, calibration, {**setting, "mechanism": mechanism}, epsilon=epsilon)
        for delta in DELTAS:
            yield _exact(name, calibration, setting, delta=delta)
    for calibration in BOTH:
        yield _exact(name, calibration, {**moving, "n_rounds": 2}, two_columns)
        yield _exact(name, calibration, dense, large_balance)
        yield _transcripts(name, calibration, dense)
    yield from recipe(name, [moving], [moving], coins=())


def _exact(
    learner: str,
    calibration: str,
    setting: Mapping[str, object],
    pairs: MakePairs = tiny_neighbours,
    epsilon: float = 1.0,
    delta: float = 0.0,
) -> Claim:
    how = one_rule_distribution
    return Claim(learner, calibration, epsilon, pairs, delta, setting, distribution=how)


def _transcripts(learner: str, calibration: str, setting: Mapping[str, object]) -> Claim:
    """Return a claim to be attacked by the literals that real fits choose."""
    return claim_by_fits(
        learner, calibration, setting, 10_000, four_constant, sample=sample_transcripts
    )


CLAIMS = (*_one_rule(), *_lazybb())
