"""Test the noise of many real fits, with a curator that draws noise as usual and records it.

The curator records the *level* of each draw: the probability of a smaller draw under the announced
distribution. If the noise has this distribution, levels are uniform, and independent within a fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammainc

from privcurve.audit.replay_fits import norms
from privcurve.coding import Floats, Ints
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    LOGISTIC,
    MECHANISMS,
    NOISY_LABEL,
    OBJECTIVES,
    PERMUTE_AND_FLIP,
    TWO_LAPLACE,
)
from privcurve.privacy.seeds import Start
from privcurve.privacy.selection import Runs


def _two_laplace(noise: Floats) -> Floats:
    """Return the distribution function of the difference of two Laplace variables."""
    tail = (2 + np.abs(noise)) * np.exp(-np.abs(noise)) / 4
    return np.asarray(np.where(noise > 0, 1 - tail, tail))


# The distribution function of the noise of each mechanism, at scale 1.
LAWS: dict[str, Callable[[Floats], Floats]] = {
    EXPONENTIAL: stats.gumbel_r.cdf,
    PERMUTE_AND_FLIP: stats.expon.cdf,
    LAPLACE: stats.laplace.cdf,
    TWO_LAPLACE: _two_laplace,
    LOGISTIC: stats.logistic.cdf,
    NOISY_LABEL: stats.logistic.cdf,
    GAUSSIAN: stats.norm.cdf,
}

# The check makes at least REAL_FITS fits, and then more until it has ENOUGH draws of each
# distribution, up to MOST_FITS. With ENOUGH draws, it detects noise of half the announced scale.
REAL_FITS = 60
MOST_FITS = 200
ENOUGH = 200

# Suffix of the name of a distribution if all numbers of a draw are float32 numbers, which have too
# few digits to hide an exact number. (One in 30,000 random doubles looks like a float32 by chance.)
SINGLE = " of single precision"

# Number of draws at the beginning of a fit that are tested for correlation.
COMPARED = 60

# Probability of a false alarm of each test.
FALSE_ALARM = 1e-6

# Names of distributions with only one draw in most fits. For them, the draws of `REAL_FITS` fits
# suffice, as such a draw shows more of the noise than a number does.
TELLING = ("choice", "threshold", "number of runs", *OBJECTIVES)


class Watch(Curator):
    """A curator that draws real noise, and records the level of each draw.

    `drawn` collects a tuple for each draw, including draws of parties and of runs: the
    distribution's name, and the levels. A discrete answer (an integer or a choice) has an interval
    of levels, from which the stream `within` draws one uniformly.
    """

    def __init__(
        self,
        coins: np.random.Generator,
        within: np.random.Generator,
        party: bool = False,
        drawn: list[tuple[str, Floats]] | None = None,
    ) -> None:
        super().__init__(coins, party)
        self.drawn = [] if drawn is None else drawn
        self._shares: list[tuple[Call, int, Floats]] = []
        self._within = within

    def close(self) -> None:
        """Add up the parties' shares of noise, which together are one draw, and record the sums."""
        # All parties get the same queries in the same order, so the k-th shares of all parties
        # belong to one draw.
        for shares in zip(*(p._shares for p in self.parties if isinstance(p, Watch)), strict=True):
            call, parts, _ = shares[0]
            some = self._within.permutation(len(shares))[:parts]
            self._note(call.mechanism, np.sum([shares[i][-1] for i in some], axis=0))

    def _note(self, mechanism: str, noise: Floats) -> None:
        single = np.abs(noise - noise.astype(np.float32)) <= 1e-12 * np.abs(noise)
        law = f"{mechanism}{SINGLE}" if single.size and single.all() else mechanism
        self.drawn.append((law, LAWS[mechanism](noise).ravel()))

    def _draw_runs(self, n_candidates: int, law: Runs) -> list[int]:
        drawn = super()._draw_runs(n_candidates, law)
        *fewer, last = law.chances(len(drawn))
        level = sum(fewer) + self._within.random() * last
        self.drawn.append(("number of runs", np.array([level])))
        return drawn

    def _numbers(self, call: Call, exact: Floats) -> Floats:
        answer = super()._numbers(call, exact)
        self._note(call.mechanism, (answer - exact) / call.scale)
        return answer

    def _with_noise(self, call: Call, margins: Floats) -> Floats:
        noisy = super()._with_noise(call, margins)
        self._note(call.mechanism, (noisy - margins) / call.scale)
        return noisy

    def _share(self, call: Call, exact: Floats, parts: int, unit: float) -> Floats:
        answer = super()._share(call, exact, parts, unit)
        if unit:
            # Undo the rounding: take a random point of the interval of numbers that round to this
            # share.
            within = unit * (self._within.random(exact.shape) - 0.5)
            self._shares.append((call, parts, (answer - exact + within) / call.scale))
            if parts == 1:
                self._note(call.mechanism, self._shares.pop()[-1])
        return answer

    def _whole_numbers(self, call: Call, exact: Ints) -> Ints:
        answer = super()._whole_numbers(call, exact)
        noise = (answer - exact).astype(np.float64).ravel()
        low, high = (_chance_below(call, noise + end) for end in (0, 1))
        levels = low + self._within.random(len(noise)) * (high - low)
        self.drawn.append((f"whole {call.mechanism}", levels))
        return answer

    def _choose(self, call: Call, scores: Floats) -> int:
        return self._note_choice(call, scores, super()._choose(call, scores))

    def _choose_exactly(self, call: Call, scores: Ints) -> int:
        return self._note_choice(call, scores, super()._choose_exactly(call, scores))

    def _note_choice(self, call: Call, scores: NDArray[Any], chosen: int) -> int:
        probabilities = MECHANISMS[call.mechanism].probabilities
        assert probabilities is not None
        # Take a random point of the chosen candidate's interval of levels.
        chances = probabilities(scores, 1 / call.scale)
        level = float(chances[:chosen].sum()) + self._within.random() * float(chances[chosen])
        self.drawn.append(("choice", np.array([level / float(chances.sum())])))
        return chosen

    def _threshold(self, call: Call, ends: Floats, scores: Floats) -> float:
        point = super()._threshold(call, ends, scores)
        if call.private and ends[0] < ends[-1]:
            weights = np.diff(ends) * np.exp((scores - scores.max()) / call.scale)
            below = np.concatenate([[0.0], np.cumsum(weights)])
            level = np.interp(point, ends, below) / below[-1]
            self.drawn.append(("threshold", np.array([level])))
        return point

    def _tilt(self, call: Call, dimension: int, old: bool) -> Floats:
        tilt = super()._tilt(call, dimension, old)
        # Use the level of the vector's norm, which has a Gamma distribution.
        levels = gammainc(dimension, norms(call.mechanism, tilt[None]) / call.scale)
        self.drawn.append((call.mechanism, levels))
        return tilt

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> Floats:
        noise = super()._noise(calls, shape)
        if calls.size:
            self._note(calls.flat[0].mechanism, noise)
        return noise

    def _inner(self, start: Start) -> Curator:
        return Watch(super()._inner(start)._source, self._within, drawn=self.drawn)

    def _holder(self, start: Start) -> Curator:
        return Watch(super()._holder(start)._source, self._within, party=True, drawn=self.drawn)


def _chance_below(call: Call, noise: Floats) -> Floats:
    """Return, for each value of `noise`, the probability that a call draws smaller integer noise.

    Integer noise is Gaussian noise that is rounded down, or discrete Laplace noise.
    """
    if call.mechanism == GAUSSIAN:
        return np.asarray(stats.norm.cdf(noise / call.scale))
    # The probability of noise k is (1 - q)/(1 + q) · q^|k|, with q = e^(-1/scale).
    q = np.exp(-1 / call.scale)
    tail = np.exp(-np.where(noise > 0, noise, 1 - noise) / call.scale) / (1 + q)
    return np.asarray(np.where(noise > 0, 1 - tail, tail))


def faults(fit: Callable[[Watch], Any], seed: int) -> str:
    """Call `fit` many times with curators that draw real noise; return a message on faulty noise.

    The message is empty if the noise has the announced distributions, without repetition or
    correlation.
    """
    drawn: dict[str, list[Floats]] = {}
    fits = []
    for k in range(MOST_FITS):
        few = {law for law, parts in drawn.items() if sum(map(len, parts)) < ENOUGH}
        if k >= REAL_FITS and few <= set(TELLING):
            break
        coins, within = (np.random.default_rng([seed, stream, k]) for stream in (13, 17))
        watch = Watch(coins, within)
        fit(watch)
        watch.close()
        for law, levels in watch.drawn:
            drawn.setdefault(law, []).append(levels)
        if watch.drawn:
            fits.append(np.concatenate([levels for _, levels in watch.drawn])[:COMPARED])
    for law, parts in drawn.items():
        levels = np.concatenate(parts)
        p = 2 * min(float(stats.kstest(levels, "uniform").pvalue), _p_of_spread(levels))
        if p < FALSE_ALARM or (law.endswith(SINGLE) and len(parts) > REAL_FITS / 2):
            return f"{law} noise is not distributed as announced (p = {p:.2g})"
        if len(np.unique(levels)) < len(levels):
            return f"a number of {law} noise is used twice"
    return _correlated_draws(fits)


def _p_of_spread(levels: Floats) -> float:
    """Return the p-value of a test of uniform levels that is sensitive to a wrong noise scale.

    It uses the distances of the levels from ½.
    """
    outside = np.clip(1 - np.abs(2 * levels - 1), 1e-300, 1)
    law = stats.gamma(len(levels))
    total = -np.log(outside).sum()
    return float(2 * min(law.cdf(total), law.sf(total)))


def _correlated_draws(fits: Sequence[Floats]) -> str:
    """Return a message if two draws of a fit are correlated over `fits`, else an empty text."""
    width = min(map(len, fits), default=0)
    if width < 2:
        return ""
    scores = stats.norm.ppf(np.clip([levels[:width] for levels in fits], 1e-12, 1 - 1e-12))
    r = np.corrcoef(scores, rowvar=False)[np.triu_indices(width, 1)]
    n = len(fits)
    worst = min(float(np.abs(r).max()), 1 - 1e-12)
    # For independent normal variables, this function of the correlation r has Student's t
    # distribution: r·√((n − 2)/(1 − r²)).
    p = len(r) * 2 * float(stats.t(n - 2).sf(worst * np.sqrt((n - 2) / (1 - worst**2))))
    return f"two draws of a fit are correlated (p = {p:.2g})" if p < FALSE_ALARM else ""
