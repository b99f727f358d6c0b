"""Controls: broken mechanisms that the auditor must flag, and sound ones that it must not.

Each broken one is a mistake that a paper or an implementation has made; sections are those
of PRIVACY.md. They are written with NumPy alone, apart from what they imitate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.one_rules import (
    enumerate_transcripts,
    one_rule_distribution,
    sample_transcripts,
)
from privcurve.audit.claim import generator
from privcurve.audit.pairs import Pair, flipped_constant, records
from privcurve.audit.search import Distribution, Sampler, Worst, search_exact, search_sampled
from privcurve.audit.states import sample_canary_scores
from privcurve.coding import Records
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.linear import DPLogisticRegressionClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.privacy.budget import CERTIFIED, PUBLISHED
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS, exponential_probabilities
from privcurve.privacy.sensitivity.counts import histogram_l1

EPSILON = 1.0
N_TRAININGS = 30_000
N_ENUMERATED = 5_000  # of learners that are enumerated too
N_FITS = 100  # of a learner whose single fit takes milliseconds


@dataclass(frozen=True)
class Control:
    """A mechanism whose privacy is known.

    Attributes
    ----------
    name : str
    pair : Pair
    sample : callable
        As for :func:`privcurve.audit.search.search_sampled`.
    private : bool
        Whether its claim of ε = 1 is true.
    distribution : callable, optional
        Where its transcripts can be enumerated.
    n_trainings : int
    """

    name: str
    pair: Pair
    sample: Sampler
    private: bool
    distribution: Distribution | None = None
    n_trainings: int = N_TRAININGS


# Boosting of the two labels: on equal records every 1-rule is one of them -------------


def boosted_labels(
    side: Records,
    rates: Sequence[float],
    weigh: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return the transcript probabilities of boosting the constants −1 and +1.

    Parameters
    ----------
    side : Records
        Codes don't matter.
    rates : sequence of float
        η of each round, which multiplies the weighted error.
    weigh : callable
        Weights from margins; they are normalised here.

    Returns
    -------
    ndarray of shape (2 ** n_rounds,)
    """
    signs = np.repeat(side.labels, side.counts).astype(np.float64)

    def choose(picks: tuple[int, ...]) -> NDArray[np.float64]:
        weights = weigh(signs * sum(2 * pick - 1 for pick in picks))
        negative = float(weights[signs < 0].sum() / weights.sum())
        # Error of "always −1", then of "always +1".
        return exponential_probabilities([negative - 1, -negative], rates[len(picks)])

    return enumerate_transcripts(choose, len(rates))


def uncapped_weights(
    margins: NDArray[np.float64], density: float, learning_rate: float
) -> NDArray[np.float64]:
    """Weigh records without the cap: dense enough weights are returned as they are.

    PRIVACY.md §a, first counterexample: a single record can have almost all of the weight.
    """
    weights = density * np.exp(-learning_rate * margins)
    required = density * len(margins)
    if weights.sum() >= required:
        return weights
    return capped_weights(margins, density, learning_rate)


def capped_weights(
    margins: NDArray[np.float64], density: float, learning_rate: float
) -> NDArray[np.float64]:
    """Weigh records as LazyBB does: min(1, c·w), with the least c ≥ 1 that is dense enough."""
    weights = density * np.exp(-learning_rate * margins)
    required = density * len(margins)
    if np.minimum(1, weights).sum() >= required:
        return np.minimum(1, weights)
    ordered = np.sort(weights)[::-1]
    # With the k heaviest at the cap, the others must make up the rest.
    for k in range(len(ordered)):
        scale = (required - k) / ordered[k:].sum()
        if scale * ordered[k] <= 1:
            return np.minimum(1, scale * weights)
    return np.ones_like(weights)


def _drawn(distribution: Distribution) -> Sampler:
    """Sample transcripts of a known distribution."""

    def sample(pair: Pair, side: Records, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        chances = distribution(side)
        return rng.choice(len(chances), size=n, p=chances / chances.sum())

    return sample


# The broken ones ---------------------------------------------------------------------


def _boosted(
    name: str,
    private: bool,
    n: int,
    n_rounds: int,
    rate: float,
    weigh: Callable[..., NDArray[np.float64]] = capped_weights,
) -> Control:
    rule = partial(weigh, density=1.0, learning_rate=1.0)
    known = partial(boosted_labels, rates=[rate] * n_rounds, weigh=rule)
    return Control(name, flipped_constant(n), _drawn(known), private, known)


def _zeta_twice() -> Control:
    """Noise for a sensitivity of ζ² instead of ζ: η = ε/(2τζ²), with ζ = 1/n."""
    n, n_rounds = 4, 2
    rate = EPSILON * n**2 / (2 * n_rounds)
    return _boosted("rate divided by ζ twice", False, n, n_rounds, rate)


def _uncapped() -> Control:
    """LazyBB whose projection forgets the cap: after some rounds one record is all the weight."""
    n, n_rounds = 8, 8
    rate = EPSILON * n / (2 * n_rounds)
    return _boosted("projection without the cap", False, n, n_rounds, rate, uncapped_weights)


def _counts(side: Records) -> NDArray[np.float64]:
    counts = np.zeros(int(side.n_bins[0]))
    np.add.at(counts, side.codes[:, 0], side.counts)
    return counts


def _moved_record(n_bins: int) -> Pair:
    """One record moves from the last bin of a column to the first."""
    left, right = ([[code], [1]] for code in (n_bins - 1, 0))
    make = partial(records, signs=[1, 1], n_bins=[n_bins], counts=[1, 5])
    return Pair("tiny", "a record moves to another bin", make(left), make(right))


def _noisy_max_and_value() -> Control:
    """Report-noisy-max that also releases the noisy maximum (§e1): kα/2 instead of α.

    All k candidates score 1 on one side and 0 on the other.
    """
    k, scale = 20, 2.0 / EPSILON

    def sample(pair: Pair, side: Records, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        score = float((side.labels < 0).sum())
        return np.asarray((score + rng.laplace(scale=scale, size=(n, k))).max(axis=1))

    return Control("noisy maximum released with its value", flipped_constant(6), sample, False)


def _histogram() -> Control:
    """Lap(1/ε) on counts when a record is replaced (§0, L4): true ε is 2."""

    def sample(pair: Pair, side: Records, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        noisy = _counts(side) + rng.laplace(scale=1 / EPSILON, size=(n, int(side.n_bins[0])))
        return _laplace_evidence(noisy, _counts(pair.left), _counts(pair.right))

    return Control("histogram noise for added records", _moved_record(3), sample, False)


def _laplace_evidence(
    noisy: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Score noisy values by how far they lie towards the right side; equal ends tie exactly."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    return np.asarray((np.clip(noisy, low, high) * np.sign(right - left)).sum(axis=1))


def _leverage() -> Control:
    """Compute a leverage coefficient from exact data and release it (§f4): ε = ∞.

    Leaves get Laplace noise, which is sound; β = (a/m) Σ y·h is then an exact function of
    the records and the released leaves.
    """
    edge = 0.01
    pair = _leaves()

    def sample(pair: Pair, side: Records, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        margins = _margins(side)
        leaves = margins + MECHANISMS[LAPLACE].draw(rng, (n, len(margins)), 2.0 / EPSILON)
        beta = edge / side.n * (leaves @ margins)
        # Whoever knows the other records compares β with what either side would give.
        expected = [edge / s.n * (leaves @ _margins(s)) for s in (pair.left, pair.right)]
        return np.asarray(np.abs(beta - expected[0]) - np.abs(beta - expected[1]))

    return Control("leverage from exact data", pair, sample, False)


def _leaves() -> Pair:
    """Ten records in two leaves; the label of one is flipped."""
    codes, counts = [[0], [0], [1], [1]], [1, 4, 3, 2]
    sides = [records(codes, [label, 1, -1, 1], [2], counts) for label in (1, -1)]
    return Pair("tiny", "two leaves, one label flipped", sides[0], sides[1])


def _margins(side: Records) -> NDArray[np.float64]:
    margins = np.zeros(int(side.n_bins[0]))
    np.add.at(margins, side.codes[:, 0], side.counts * side.labels)
    return margins


# The sound ones ----------------------------------------------------------------------


def _one_rules(name: str, learner: Any, n_trainings: int) -> Control:
    pair = flipped_constant(6)
    distribution = partial(one_rule_distribution, learner)
    sample = partial(sample_transcripts, learner)
    return Control(name, pair, sample, True, distribution, n_trainings)


def _sound_boosting() -> Control:
    """Take the reference implementation with the right rate and projection."""
    n, n_rounds = 8, 8
    return _boosted("reference boosting", True, n, n_rounds, EPSILON * n / (2 * n_rounds))


def _laplace_count() -> Control:
    """Lap(2/ε) on all counts: sound when a record is replaced."""
    scale = histogram_l1() / EPSILON

    def sample(pair: Pair, side: Records, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        counts = _counts(side)
        noisy = counts + MECHANISMS[LAPLACE].draw(rng, (n, len(counts)), scale)
        return _laplace_evidence(noisy, _counts(pair.left), _counts(pair.right))

    return Control("Laplace counts", _moved_record(3), sample, True)


def _logistic_regression() -> Control:
    learner = DPLogisticRegressionClassifier(
        C=0.01, epsilon=EPSILON, calibration=CERTIFIED, n_bins=[1], classes=(-1, 1)
    )
    sample = partial(sample_canary_scores, learner)
    return Control("DP logistic regression", flipped_constant(8), sample, True, n_trainings=N_FITS)


def positive_controls() -> tuple[Control, ...]:
    """Return the five broken mechanisms; each claims ε = 1 and has more."""
    return _zeta_twice(), _noisy_max_and_value(), _histogram(), _uncapped(), _leverage()


def negative_controls() -> tuple[Control, ...]:
    """Return sound mechanisms with ε = 1."""
    found = []
    for calibration in (PUBLISHED, CERTIFIED):
        common: dict[str, Any] = {
            "epsilon": EPSILON,
            "calibration": calibration,
            "n_bins": [1],
            "classes": (-1, 1),
        }
        one = OneRuleClassifier(**common)
        many = LazyBBClassifier(n_rounds=3, density=1.0, **common)
        found.append(_one_rules(f"1-rule, {calibration}", one, N_ENUMERATED))
        found.append(_one_rules(f"LazyBB, {calibration}", many, N_ENUMERATED))
    return *found, _sound_boosting(), _laplace_count(), _logistic_regression()


def run_sampled(controls: Sequence[Control], seed: int) -> dict[str, Worst]:
    """Audit controls by sampling, as one run: a verdict's error is shared over all.

    Parameters
    ----------
    controls : sequence of Control
    seed : int

    Returns
    -------
    dict of str to Worst
        By the control's name.
    """
    return {
        c.name: search_sampled(
            [c.pair],
            c.sample,
            c.n_trainings,
            EPSILON,
            0.0,
            generator(f"control: {c.name}", seed),
            len(controls),
        )
        for c in controls
    }


def run_exact(controls: Sequence[Control]) -> dict[str, Worst]:
    """Audit by enumeration those controls that have a known distribution."""
    return {
        c.name: search_exact([c.pair], c.distribution, EPSILON, 0.0)
        for c in controls
        if c.distribution is not None
    }
