"""Private selection: what the best of a random number of private runs costs.

A run is a mechanism whose outputs are totally ordered. It is run K times, on coins of its own each
time, and the best output is given: neither K nor the others. K has a truncated negative binomial
distribution, whose shape η is -1 < η, with 1 for the geometric and 0 for the logarithmic one.

Statements, proofs and sources are in docs/tuning.md, by the numbers given here; the pure case is in
PRIVACY.md §g, with a constant that holds for any γ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from privcurve.privacy.accountants.cost import zcdp_delta

Profile = Callable[[float], float]

# Room for rounding in what is compared with a budget: a few operations, of relative error 1e-16.
_ROUNDING = 1 + 1e-12
# Of ln 1/γ: a power of two, whose exponential is a number yet.
_LARGEST = 512.0
_NAME = "private selection (eta = {eta!r}, expected runs = {expected!r})"
_NAMED = re.compile(r"private selection \(eta = (\S+), expected runs = (\S+)\)")


@dataclass(frozen=True)
class Runs:
    """How many runs there are: a truncated negative binomial number K of at least 1.

    P(K = k) is in proportion to (1 − γ)^k Π_{l<k} (l + η)/(l + 1); its generating function has
    the slope f′(u) = E[K]·(γ/(1 − (1 − γ)u))^{1+η} (docs/tuning.md, 1).

    Attributes
    ----------
    eta : float
        η, above −1.
    expected : float
        E[K], as it was asked for: at least 1.
    gamma : float
        γ in (0, 1], that gives it; 1: a single run.
    """

    eta: float
    expected: float
    gamma: float

    @classmethod
    def of(cls, eta: float, expected: float) -> Self:
        """Find the distribution with a mean.

        Parameters
        ----------
        eta : float
        expected : float

        Raises
        ------
        ValueError
            If η is not above −1, or so near it that no number stands for γ, or fewer runs than
            one are expected.
        """
        if not -1 < eta < math.inf:
            raise ValueError(f"eta = {eta!r} is not a number above -1")
        if not 1 <= expected < math.inf:
            raise ValueError(
                f"expected_runs = {expected!r} is not a number of at least 1: there is always one"
            )
        low, high = 0.0, 1.0
        while _mean(eta, high) < expected:
            high *= 2
            if high > _LARGEST:
                raise ValueError(
                    f"eta = {eta!r} is too near -1 for expected_runs = {expected!r}: give a larger "
                    "one, or fewer runs"
                )
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if _mean(eta, middle) < expected else (low, middle)
        return cls(float(eta), float(expected), math.exp(-low))

    @property
    def name(self) -> str:
        """What a statement calls the composition."""
        return _NAME.format(eta=self.eta, expected=self.expected)

    @property
    def mean(self) -> float:
        """E[K] of γ."""
        return _mean(self.eta, -math.log(self.gamma))

    @property
    def longest(self) -> float:
        """The logarithm of the largest ratio of slopes f′, (1 + η) ln 1/γ."""
        return (1 + self.eta) * -math.log(self.gamma)

    def chances(self, most: int) -> list[float]:
        """Return P(K = k) for k = 1, …, `most`."""
        if self.gamma == 1:
            return [1.0] + [0.0] * (most - 1)
        gap, log = 1 - self.gamma, math.log(self.gamma)
        first = gap / -log if self.eta == 0 else gap * self.eta / math.expm1(-self.eta * log)
        found = [first]
        for k in range(1, most):
            found.append(found[-1] * gap * (k + self.eta) / (k + 1))
        return found

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K."""
        left, k = rng.random(), 1
        chance = self.chances(1)[0]
        while left >= chance > 0:
            left -= chance
            chance *= (1 - self.gamma) * (k + self.eta) / (k + 1)
            k += 1
        return k

    # What one more look costs --------------------------------------------------------------

    def slope_pure(self, epsilon: float) -> float:
        """Bound ln f′(u)/f′(u′) for runs that are ε-DP: reached (docs/tuning.md, 2).

        (1 + η) ln((e^ε + γ)/(1 + γe^ε)), written so that a large ε does no harm.
        """
        shrink = math.exp(-epsilon)
        return (1 + self.eta) * math.log((1 + self.gamma * shrink) / (shrink + self.gamma))

    def slope_rho(self, rho: float) -> float:
        """Bound ln f′(u)/f′(u′) for ρ-zCDP runs by Papernot and Steinke (docs/tuning.md, 4)."""
        log = -math.log(self.gamma)
        if log <= rho:
            return (1 + self.eta) * log
        return (1 + self.eta) * (2 * math.sqrt(rho * log) - rho)

    def slope_profile(self, profile: Profile, most: float) -> float:
        """Bound ln f′(u)/f′(u′) by a privacy profile: Koskela, Redberg, Wang (docs/tuning.md, 3).

        Parameters
        ----------
        profile : callable
            δ(ε) of a run, for both orders of neighbours.
        most : float
            The largest ε that is looked at. Whatever is found is a bound.
        """
        low, high = 0.0, most
        for _ in range(60):
            middle = (low + high) / 2
            at_none, at_half = self._ratios(middle, profile(middle))
            low, high = (middle, high) if at_none > at_half else (low, middle)
        ratio = max(self._ratios(high, profile(high)))
        return min(self.longest, (1 + self.eta) * math.log(ratio))

    def _ratios(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Bound the ratio at the two ends where it may be largest."""
        delta = min(1.0, delta)
        p = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
        gap = 1 - self.gamma
        at_half = (self.gamma + gap * (1 - p)) / (self.gamma + gap * p)
        return 1 + gap * delta / self.gamma, at_half

    # What all of it costs ------------------------------------------------------------------

    def epsilon(self, epsilon: float) -> float:
        """Return ε of the selection among ε-DP runs, at δ = 0: exact (docs/tuning.md, 2)."""
        return (epsilon + self.slope_pure(epsilon)) * _ROUNDING

    def delta(self, rho: float, epsilon: float) -> float:
        """Bound δ(ε) of the selection among ρ-zCDP runs, by the better of two theorems.

        Parameters
        ----------
        rho : float
        epsilon : float

        Returns
        -------
        float
            At most 1.
        """

        def profile(each: float) -> float:
            return zcdp_delta(rho, each)

        slope = min(self.slope_rho(rho), self.slope_profile(profile, epsilon))
        if slope >= epsilon:
            return 1.0
        return min(1.0, self.mean * profile(epsilon - slope) * _ROUNDING)


def _mean(eta: float, log: float) -> float:
    """Return E[K] for γ = e^{−log}."""
    if log == 0:
        return 1.0
    if eta == 0:
        return math.expm1(log) / log
    return eta * math.exp(log) * math.expm1(-log) / math.expm1(-eta * log)


@lru_cache(maxsize=256)
def runs(eta: float, expected: float) -> Runs:
    """Return :meth:`Runs.of`, found once."""
    return Runs.of(eta, expected)


def named(name: str) -> Runs | None:
    """Return the runs that a composition is of; None if it is of none."""
    found = _NAMED.fullmatch(name)
    return None if found is None else runs(float(found[1]), float(found[2]))
