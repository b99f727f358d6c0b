"""The randomised mechanisms: how to sample them and what they guarantee.

A score mechanism chooses one candidate; higher scores are better and the noise rate η
multiplies them. What it costs depends on the *range* of the scores' change between
neighbours, max δ − min δ over candidates (PRIVACY.md §0, L0): see :func:`score_range`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.privacy.accountants.cost import Cost
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, PUBLISHED, REPLACE_ONE


@dataclass(frozen=True)
class Guarantee:
    """What one mechanism call guarantees.

    Attributes
    ----------
    epsilon : float
        Pure ε; infinite if there is none.
    bounded_range : float or None
        Length of the interval that holds the privacy loss, where it is below 2ε.
    rho : float
        ρ of zero-concentrated differential privacy.
    """

    epsilon: float
    bounded_range: float | None
    rho: float


def score_range(sensitivity: float, neighbours: str = REPLACE_ONE, monotone: bool = False) -> float:
    """Range of the change of scores of a given sensitivity.

    Parameters
    ----------
    sensitivity : float
        Δ: each score changes by at most Δ.
    neighbours : str
        ``replace-one`` or ``add-remove``.
    monotone : bool
        Whether an added record moves all scores in one direction. That halves the range
        for add/remove; for replace-one it does not (§0, L2).

    Returns
    -------
    float
        2Δ, or Δ for monotone scores and add/remove.
    """
    if neighbours not in (REPLACE_ONE, ADD_REMOVE):
        raise ValueError(f"neighbours = {neighbours!r} is not {REPLACE_ONE!r} or {ADD_REMOVE!r}")
    return sensitivity if monotone and neighbours == ADD_REMOVE else 2 * sensitivity


def exponential_probabilities(scores: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Give the exponential mechanism's probabilities, P(r) ∝ exp(η s_r).

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
    rate : float
        η; infinite for a uniform choice among the best.

    Returns
    -------
    ndarray of shape (n_candidates,)
    """
    weights = _flip_chances(scores, rate)
    return weights / weights.sum()


def permute_and_flip_probabilities(scores: ArrayLike, rate: float) -> NDArray[np.float64]:
    """Give permute-and-flip's probabilities, exactly.

    With qᵢ = exp(η(sᵢ − max s)), P(r) = q_r ∫₀¹ Π_{i≠r} (1 − qᵢu) du. The integrand is a
    polynomial, so Gauss–Legendre quadrature of the right order has no error but rounding,
    and all its terms are positive.

    Parameters
    ----------
    scores : array-like of shape (n_candidates,)
    rate : float
        η; infinite for a uniform choice among the best.

    Returns
    -------
    ndarray of shape (n_candidates,)
    """
    chances = _flip_chances(scores, rate)
    nodes, weights = np.polynomial.legendre.leggauss((chances.size + 1) // 2)
    u, weights = (nodes + 1) / 2, weights / 2
    survive = 1.0 - chances[:, None] * u[None, :]
    others = np.exp(np.log(survive).sum(axis=0)[None, :] - np.log(survive))
    return chances * (others @ weights)


def _flip_chances(scores: ArrayLike, rate: float) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError("scores must be a non-empty one-dimensional array")
    gaps = values - values.max()
    if math.isinf(rate):
        return (gaps == 0).astype(np.float64)
    return np.exp(rate * gaps)


@dataclass(frozen=True)
class _Selection:
    """A choice of one candidate by its score.

    Parameters
    ----------
    rate : float
        η.
    score_range : float
        Range of the scores' change between neighbours, see :func:`score_range`.
    """

    rate: float
    score_range: float

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.score_range > 0):
            raise ValueError(f"rate and score_range must be above 0: {self}")

    @property
    def epsilon(self) -> float:
        """Pure ε: η times the range."""
        return self.rate * self.score_range

    @classmethod
    def for_epsilon(cls, epsilon: float, score_range: float) -> Self:
        """Give the mechanism of a pure ε."""
        return cls(epsilon / score_range, score_range)

    def _noisy_argmax(
        self, scores: ArrayLike, rng: np.random.Generator, noise: NDArray[np.float64]
    ) -> int:
        values = np.asarray(scores, dtype=np.float64)
        if math.isinf(self.rate):
            return int(rng.choice(np.flatnonzero(values == values.max())))
        return int(np.argmax(self.rate * values + noise))


class ExponentialMechanism(_Selection):
    """The exponential mechanism: η·range-DP and η·range-bounded-range (§0, L0, L1; proved)."""

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees."""
        return Guarantee(self.epsilon, self.epsilon, self.epsilon**2 / 8)

    def sample(self, scores: ArrayLike, rng: np.random.Generator) -> int:
        """Choose a candidate (the largest score plus Gumbel noise)."""
        return self._noisy_argmax(scores, rng, rng.gumbel(size=np.shape(scores)))


class PermuteAndFlip(_Selection):
    """Permute-and-flip: η·range-DP, never worse than the exponential mechanism (§g, cited).

    It is not η·range-bounded-range: its range tends to twice that (§g).
    """

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees."""
        return Guarantee(self.epsilon, None, self.epsilon**2 / 2)

    def sample(self, scores: ArrayLike, rng: np.random.Generator) -> int:
        """Choose a candidate (the largest score plus exponential noise)."""
        return self._noisy_argmax(scores, rng, rng.exponential(size=np.shape(scores)))


class ReportNoisyMax(_Selection):
    """Report-noisy-max with Laplace noise of scale 1/η: η·range-DP for the argmax alone.

    The noisy maximum itself must not be released (§e1).
    """

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees."""
        return Guarantee(self.epsilon, None, self.epsilon**2 / 2)

    def sample(self, scores: ArrayLike, rng: np.random.Generator) -> int:
        """Choose a candidate."""
        return self._noisy_argmax(scores, rng, rng.laplace(size=np.shape(scores)))


@dataclass(frozen=True)
class LaplaceMechanism:
    """Laplace noise on each entry of a vector.

    Parameters
    ----------
    scale : float
        b.
    sensitivity : float
        L1 sensitivity of the whole vector: Δ/b-DP.
    """

    scale: float
    sensitivity: float

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees (ρ = ε + e^{−ε} − 1: §g, cited; docs/privacy.md)."""
        epsilon = self.sensitivity / self.scale
        return Guarantee(epsilon, None, epsilon + math.expm1(-epsilon))

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float) -> Self:
        """Give the mechanism of a pure ε."""
        return cls(sensitivity / epsilon, sensitivity)

    def sample(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` with noise."""
        exact = np.asarray(values, dtype=np.float64)
        return exact + rng.laplace(scale=self.scale, size=exact.shape)


@dataclass(frozen=True)
class GaussianMechanism:
    """Gaussian noise on each entry of a vector.

    Parameters
    ----------
    sigma : float
        σ.
    sensitivity : float
        L2 sensitivity Δ of the whole vector: (Δ/σ)²/2-zCDP, no pure ε.
    """

    sigma: float
    sensitivity: float

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees."""
        return Guarantee(math.inf, None, (self.sensitivity / self.sigma) ** 2 / 2)

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, sensitivity: float) -> Self:
        """Give the least noise for (ε, δ): the analytic calibration (§d, exact)."""
        from privcurve.privacy.accountants.cost import GAUSSIAN_KIND
        from privcurve.privacy.calibration.search import calibrate

        found = calibrate((Cost(GAUSSIAN_KIND, 1.0),), epsilon, delta)
        return cls(sensitivity / found.scale, sensitivity)

    def sample(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Release `values` with noise."""
        exact = np.asarray(values, dtype=np.float64)
        return exact + rng.normal(scale=self.sigma, size=exact.shape)


@dataclass(frozen=True)
class NoisyLabel:
    """Randomised labels of all leaves of a tree: P(+) = σ(rate · margin).

    An exponential mechanism with two candidates a leaf; the lengths of the leaves'
    intervals add up to at most rate × (L1 sensitivity of all margins) (§c, §f6; proved).

    Parameters
    ----------
    rate : float
        ε/(L1 sensitivity).
    sensitivity : float
        L1 sensitivity of the vector of margins.
    """

    rate: float
    sensitivity: float

    @property
    def guarantee(self) -> Guarantee:
        """What one call guarantees, all leaves together."""
        epsilon = self.rate * self.sensitivity
        return Guarantee(epsilon, epsilon, epsilon**2 / 8)

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float) -> Self:
        """Give the mechanism of a pure ε for all leaves together."""
        return cls(epsilon / sensitivity, sensitivity)

    def probabilities(self, margins: ArrayLike) -> NDArray[np.float64]:
        """Give P(+) of each leaf."""
        logits = self.rate * np.asarray(margins, dtype=np.float64)
        return np.exp(-np.logaddexp(0.0, -logits))

    def sample(self, margins: ArrayLike, rng: np.random.Generator) -> NDArray[np.int8]:
        """Draw labels, −1 or +1."""
        chance = self.probabilities(margins)
        return np.where(rng.random(chance.shape) < chance, 1, -1).astype(np.int8)


EXPONENTIAL = "exponential"
PERMUTE_AND_FLIP = "permute_and_flip"


def resolve_mechanism(mechanism: str, delta: float, calibration: str) -> str:
    """Give the mechanism that the word ``auto`` stands for; check any other word."""
    if calibration not in (PUBLISHED, CERTIFIED):
        raise ValueError(
            f"calibration = {calibration!r} is not one of {PUBLISHED!r}, {CERTIFIED!r}"
        )
    if mechanism == "auto":
        pure = calibration == CERTIFIED and delta == 0
        return PERMUTE_AND_FLIP if pure else EXPONENTIAL
    if mechanism not in (EXPONENTIAL, PERMUTE_AND_FLIP):
        raise ValueError(
            f"mechanism = {mechanism!r} is not one of 'auto', {EXPONENTIAL!r}, {PERMUTE_AND_FLIP!r}"
        )
    if mechanism == PERMUTE_AND_FLIP and delta > 0:
        raise ValueError(
            "permute-and-flip is not bounded-range, so delta > 0 gains nothing with it: "
            "use mechanism='exponential', or delta = 0"
        )
    return mechanism


def draw_piece(ends: ArrayLike, scores: ArrayLike, rate: float, rng: np.random.Generator) -> float:
    """Sample the exponential mechanism on an interval where the score is piecewise constant.

    Its density at x is ∝ exp(η s(x)) (§d iii): the interval is public, and where the score
    jumps does not show.

    Parameters
    ----------
    ends : array-like of shape (n_pieces + 1,)
        Not decreasing; the first and the last are public.
    scores : array-like of shape (n_pieces,)
    rate : float
        η; infinite for a uniform choice among the best pieces.
    rng : numpy.random.Generator

    Returns
    -------
    float
    """
    ends, scores = np.asarray(ends, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    widths = np.diff(ends)
    wide = widths > 0
    if not wide.any():
        return float(ends[0])
    best = scores[wide].max()
    with np.errstate(invalid="ignore"):
        chances = np.where(scores == best, 1.0, np.exp(rate * np.minimum(scores - best, 0.0)))
    total = np.cumsum(np.where(wide, widths * np.nan_to_num(chances), 0.0))
    piece = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    return float(rng.uniform(ends[piece], ends[piece + 1]))
