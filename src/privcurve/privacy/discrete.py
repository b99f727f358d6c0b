"""Draw integer noise and choices exactly, from fair bits and integers alone.

A mechanism with integer sums and this noise is exactly the mechanism of its proof: no number that
depends on a record is rounded. The remaining assumption is that NumPy's generator yields
independent fair bits.

All samplers use coins with the probability e^{-a/b} (Canonne, Kamath and Steinke, "The Discrete
Gaussian for Differential Privacy", 2020, Algorithms 1-3). Gaussian noise is *real* Gaussian noise,
rounded down: to an integer k the sampler adds a uniform fraction x by one more rejection, as
e^{-(k+x)²/2σ²} = e^{-k²/2σ²} · e^{-kx/σ²} · e^{-x²/2σ²}. With integer sums S, S + ⌊Z⌋ = ⌊S + Z⌋ is
post-processing of the Gaussian mechanism, so each theorem about that mechanism holds, including its
exact privacy profile; the discrete Gaussian of that paper has only zCDP.
"""

from __future__ import annotations

import numpy as np

from privcurve.coding import Ints
from privcurve.kernels.jit import jit


@jit
def _word(rng: np.random.Generator) -> int:
    return int(rng.random() * 9007199254740992.0)


@jit
def _draw_below(rng: np.random.Generator, m: int) -> int:
    """Draw an integer from 0, …, m - 1."""
    # 2^k - 1, where k is the number of binary digits of m - 1.
    mask = m - 1
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> shift
    while True:
        drawn = _word(rng) & mask
        if drawn < m:
            return drawn


@jit
def coin_e(rng: np.random.Generator, a: int, b: int) -> bool:
    """Toss a coin with probability e^{-a/b}, 0 <= a <= b <= `mechanisms.LARGEST_SCALE`."""
    k = 1
    while _draw_below(rng, b * k) < a:
        k += 1
    return k % 2 == 1


@jit
def _coin_e_square(rng: np.random.Generator, a: int, b: int) -> bool:
    """Toss a coin with probability e^{-(a/b)²/2}."""
    quotient, rest = a // b, a % b
    for _ in range(quotient * quotient):
        if not coin_e(rng, 1, 2):
            return False
    for _ in range(quotient):
        if not coin_e(rng, rest, b):
            return False
    k = 1
    while _draw_below(rng, 2 * b * k) < rest and _draw_below(rng, b) < rest:
        k += 1
    return k % 2 == 1


@jit
def _geometric(rng: np.random.Generator, scale: int) -> int:
    """Draw k = 0, 1, … with probabilities proportional to e^{-k/scale}."""
    while True:
        low = _draw_below(rng, scale)
        if coin_e(rng, low, scale):
            break
    high = 0
    while coin_e(rng, 1, 1):
        high += 1
    return low + scale * high


@jit
def _half_gaussian(rng: np.random.Generator, scale: int) -> int:
    """Draw ⌊|Z|⌋ for a real Gaussian Z with standard deviation `scale`."""
    while True:
        k = _geometric(rng, scale)
        # A k that passes this coin has the probabilities of a discrete half Gaussian: e^{-k/σ}
        # e^{-(k-σ)²/2σ²}.
        if not _coin_e_square(rng, abs(k - scale), scale):
            continue
        # The random words of the uniform fraction x: a comparison draws more words if it needs
        # them.
        x = np.empty(0, dtype=np.int64)
        accepted = True
        quotient, rest = k // scale, k % scale
        for step in range(quotient + 2):
            # Each step tosses one coin. For each whole multiple of σ in k, a coin has the
            # probability e^{-x/σ}; the next coin has e^{-(rest/σ)(x/σ)}, the last one e^{-x²/2σ²}.
            j = 1
            while True:
                if step <= quotient:
                    happens = _draw_below(rng, scale * j) == 0
                    if happens and step == quotient:
                        happens = _draw_below(rng, scale) < rest
                else:
                    happens = _draw_below(rng, 2 * scale * j) == 0 and _draw_below(rng, scale) == 0
                    if happens:
                        happens, x = _compare_with_fraction(rng, x)
                if happens:
                    happens, x = _compare_with_fraction(rng, x)
                if not happens:
                    break
                j += 1
            if j % 2 == 0:
                accepted = False
                break
        if accepted:
            return k


@jit
def _compare_with_fraction(rng: np.random.Generator, x: Ints) -> tuple[bool, Ints]:
    """Compare a new uniform number with the fraction that has the random words `x`.

    Returns whether the new number is below the fraction, and `x`. If all words are equal, a word is
    drawn and appended to `x`.
    """
    i = 0
    while True:
        if i == len(x):
            longer = np.empty(i + 1, dtype=np.int64)
            for k in range(i):
                longer[k] = x[k]
            longer[i] = _word(rng)
            x = longer
        drawn = _word(rng)
        if drawn != x[i]:
            return drawn < x[i], x
        i += 1


@jit
def rounded_gaussian(rng: np.random.Generator, scale: int, size: int) -> Ints:
    """Draw ⌊Z⌋ for real Gaussians Z with mean 0 and standard deviation `scale`; its mean is -1/2.

    The scale is from 1 up to `mechanisms.LARGEST_SCALE`.
    """
    drawn = np.empty(size, dtype=np.int64)
    for i in range(size):
        k = _half_gaussian(rng, scale)
        drawn[i] = k if _draw_below(rng, 2) == 0 else -1 - k
    return drawn


@jit
def discrete_laplace(rng: np.random.Generator, scale: int, size: int) -> Ints:
    """Draw integers k with probabilities proportional to e^{-|k|/scale}.

    A vector of integers with an L1 sensitivity of Δ is Δ/scale-DP with this noise.
    """
    drawn = np.empty(size, dtype=np.int64)
    for i in range(size):
        while True:
            k = _geometric(rng, scale)
            negative = _draw_below(rng, 2) == 1
            if not (negative and k == 0):
                break
        drawn[i] = -k if negative else k
    return drawn


@jit
def choose(rng: np.random.Generator, scores: Ints, scale: int, flip: bool) -> int:
    """Choose a candidate by permute-and-flip or by the exponential mechanism, with η = 1/scale.

    The coin of a candidate is heads with probability e^{-(best - score)/scale}. Permute-and-flip
    tosses the candidates' coins in random order and returns the first candidate with heads; the
    exponential mechanism draws candidates until a coin is heads.
    """
    best = scores.max()
    order = np.arange(len(scores))
    left = len(scores)
    while True:
        i = _draw_below(rng, left)
        chosen = order[i]
        gap = best - scores[chosen]
        heads = coin_e(rng, gap % scale, scale)
        for _ in range(gap // scale):
            heads = heads and coin_e(rng, 1, 1)
            if not heads:
                break
        if heads:
            return chosen
        if flip:
            left -= 1
            order[i] = order[left]
