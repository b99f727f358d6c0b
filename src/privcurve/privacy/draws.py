"""Draw noise from random words: the same numbers on every machine.

NumPy's own samplers use logarithms and powers of the C library, whose last bits depend on the
machine. Apart from these bits, the samplers here draw the same numbers as NumPy's, in the same
order. They draw normal and exponential numbers by a ziggurat (Marsaglia and Tsang, "The ziggurat
method for generating random variables", 2000), gamma numbers by Marsaglia and Tsang, "A simple
method for generating gamma variables" (2000), or, for a shape below 1, by Ahrens and Dieter (1974),
and others by the inverse of the distribution function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import compiled, exp, fast_log, log, log1p, normal_cdf, total

Words = NDArray[np.uint64]
Shape = int | tuple[int, ...]

# Replaces a uniform number of 0 before a logarithm. A number of 0 means a number in [0, 2⁻⁵³), and
# this is the middle of the interval.
_LEAST = 2.0**-54

# The points at which the tails of the densities e^(−x²/2) and e^(−x) begin. With these points, 256
# layers of equal area, of which the lowest includes the tail, end exactly at the maximum 1 of the
# density; a test checks this.
_NORMAL_TAIL, _TAIL = 3.6541528853610088, 7.69711747013105
_LAYERS = 256


def _layers(
    tail: float, beyond: float, height: Callable[[float], float], inverse: Callable[[float], float]
) -> tuple[Floats, Floats, Floats]:
    """Return the layers of a ziggurat: three arrays, with an entry per layer.

    The arrays have the width of each layer, the share of this width that lies under the curve at
    every height of the layer, and the height of the curve at the layer's end (for layer 0: the
    curve's maximum, 1). The curve is `height`, and `inverse` is its inverse function. Layer 0
    includes the tail, which begins at `tail` and has the area `beyond`.
    """
    ends = np.empty(_LAYERS)
    area = beyond + tail * height(tail)
    ends[-1] = tail
    for i in range(_LAYERS - 2, 0, -1):
        ends[i] = inverse(area / ends[i + 1] + height(ends[i + 1]))
    ends[0] = area / height(tail)
    heights = np.array([1.0, *(height(end) for end in ends[1:].tolist())])
    inside = np.array([tail / ends[0], 0.0, *(ends[1:-1] / ends[2:])])
    return ends, inside, heights


_NORMAL_ENDS, _NORMAL_INSIDE, _NORMAL_HEIGHTS = _layers(
    _NORMAL_TAIL,
    math.sqrt(2.0 * math.pi) * normal_cdf(-_NORMAL_TAIL),
    lambda x: exp(-0.5 * x * x),
    lambda y: math.sqrt(-2.0 * log(y)),
)
_ENDS, _INSIDE, _HEIGHTS = _layers(_TAIL, exp(-_TAIL), lambda x: exp(-x), lambda y: -log(y))
# The samplers use 52 bits of a random word for a normal number, and 53 bits for an exponential
# number.
_NORMAL_WIDTHS, _NORMAL_INSIDE = _NORMAL_ENDS * 2.0**-52, _NORMAL_INSIDE * 2.0**52
_WIDTHS, _INSIDE = _ENDS * 2.0**-53, _INSIDE * 2.0**53


@compiled
def _unit(word: np.uint64) -> float:
    """Return the uniform number in [0, 1) that the upper 53 bits of a random word give."""
    return int(word >> np.uint64(11)) * 2.0**-53


# The samplers below read random words from index `at` on. A sampler returns a number, and the index
# of the next unused word; the index is −1 if the words do not suffice.


@compiled
def _exponential(words: Words, at: int) -> tuple[float, int]:
    while at < len(words):
        bits = int(words[at] >> np.uint64(3))
        layer, bits = bits & 255, bits >> 8
        x = bits * _WIDTHS[layer]
        if bits < _INSIDE[layer]:
            return x, at + 1
        if at + 1 == len(words):
            break
        u = _unit(words[at + 1])
        at += 2
        if layer == 0:
            return _TAIL - log1p(-u), at
        if (_HEIGHTS[layer - 1] - _HEIGHTS[layer]) * u + _HEIGHTS[layer] < exp(-x):
            return x, at
    return 0.0, -1


@compiled
def _normal(words: Words, at: int) -> tuple[float, int]:
    while at < len(words):
        layer, bits = int(words[at] & np.uint64(255)), int(words[at] >> np.uint64(8))
        at += 1
        negative, size = bits & 1, bits >> 1 & 0xFFFFFFFFFFFFF
        x = size * _NORMAL_WIDTHS[layer]
        if negative:
            x = -x
        if size < _NORMAL_INSIDE[layer]:
            return x, at
        if layer == 0:
            while at + 1 < len(words):
                beyond = -log1p(-_unit(words[at])) / _NORMAL_TAIL
                y = -log1p(-_unit(words[at + 1]))
                at += 2
                if y + y > beyond * beyond:
                    x = _NORMAL_TAIL + beyond
                    return (-x if size >> 8 & 1 else x), at
            break
        if at == len(words):
            break
        u = _unit(words[at])
        at += 1
        heights = _NORMAL_HEIGHTS[layer - 1] - _NORMAL_HEIGHTS[layer]
        if heights * u + _NORMAL_HEIGHTS[layer] < exp(-0.5 * x * x):
            return x, at
    return 0.0, -1


@compiled
def _small_gamma(words: Words, at: int, shape: float) -> tuple[float, int]:
    """Draw a gamma number for a shape below 1."""
    while at < len(words):
        u = _unit(words[at])
        v, at = _exponential(words, at + 1)
        if at < 0:
            break
        if u <= 1.0 - shape:
            x, most = exp(log(u) / shape), v
        else:
            y = -log((1.0 - u) / shape)
            x, most = exp(log(1.0 - shape + shape * y) / shape), v + y
        if x <= most:
            return x, at
    return 0.0, -1


@compiled
def _large_gamma(words: Words, at: int, shape: float) -> tuple[float, int]:
    """Draw a gamma number for a shape above 1."""
    b = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * b)
    while at < len(words):
        x, at = _normal(words, at)
        v = 1.0 + c * x
        if at < 0:
            break
        if v <= 0.0:
            continue
        if at == len(words):
            break
        u = _unit(words[at])
        at += 1
        if _is_gamma(x, v * v * v, u, b):
            return b * (v * v * v), at
    return 0.0, -1


@compiled
def _is_gamma(x: float, cube: float, u: float, b: float) -> bool:
    """Return whether b·cube is accepted as a gamma number, from normal `x` and uniform `u`."""
    if u < 1.0 - 0.0331 * (x * x) * (x * x):
        return True
    return log(u) < 0.5 * x * x + b * (1.0 - cube + log(cube))


@compiled
def _fill_exponentials(words: Words, out: Floats, shape: float) -> tuple[int, int]:
    """Fill `out` until the words are used up; return how many numbers and words were used.

    The functions `_fill_…` of other distributions do the same; only a gamma distribution uses
    `shape`.
    """
    at = 0
    for i in range(len(out)):
        # Nearly all numbers take one word. This loop inlines the sampler for that case, for speed.
        if at < len(words):
            word = words[at] >> np.uint64(3)
            layer, bits = word & np.uint64(255), np.int64(word >> np.uint64(8))
            if bits < _INSIDE[layer]:
                out[i] = bits * _WIDTHS[layer]
                at += 1
                continue
        out[i], after = _exponential(words, at)
        if after < 0:
            return i, at
        at = after
    return len(out), at


@compiled
def _fill_normals(words: Words, out: Floats, shape: float) -> tuple[int, int]:
    at = 0
    for i in range(len(out)):
        if at < len(words):
            layer, bits = words[at] & np.uint64(255), np.int64(words[at] >> np.uint64(8))
            size = bits >> 1 & 0xFFFFFFFFFFFFF
            if size < _NORMAL_INSIDE[layer]:
                x = size * _NORMAL_WIDTHS[layer]
                out[i] = -x if bits & 1 else x
                at += 1
                continue
        out[i], after = _normal(words, at)
        if after < 0:
            return i, at
        at = after
    return len(out), at


@compiled
def _fill_gammas(words: Words, out: Floats, shape: float) -> tuple[int, int]:
    at = 0
    for i in range(len(out)):
        if shape < 1.0:
            out[i], after = _small_gamma(words, at, shape)
        else:
            out[i], after = _large_gamma(words, at, shape)
        if after < 0:
            return i, at
        at = after
    return len(out), at


@compiled
def _laplaces(values: Floats) -> None:
    for i in range(len(values)):
        u = max(values[i], _LEAST)
        is_low = u < 0.5
        size = fast_log(u + u if is_low else 2.0 - u - u)
        values[i] = size if is_low else -size


@compiled
def _gumbels(values: Floats) -> None:
    for i in range(len(values)):
        waited = -fast_log(1.0 - values[i])
        values[i] = -fast_log(waited if values[i] > 0.0 else _LEAST)


@compiled
def _logistics(values: Floats) -> None:
    for i in range(len(values)):
        u = max(values[i], _LEAST)
        values[i] = fast_log(u / (1.0 - u))


def _draw_by_inverse(
    loop: Callable[[Floats], None], rng: np.random.Generator, size: Shape, scale: float
) -> Floats:
    drawn: Floats = rng.random(size)
    loop(drawn.reshape(-1))
    drawn *= scale
    return drawn


def _random_words(rng: np.random.Generator, n: int) -> Words:
    """Return `n` words of 64 random bits."""
    if isinstance(rng.bit_generator, np.random.MT19937):  # MT19937 draws words of 32 bits
        return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)
    return np.asarray(rng.bit_generator.random_raw(n))


def successes(rng: np.random.Generator, counts: Ints, rate: float) -> Ints:
    """Draw how many of `counts` tries succeed, each with a probability of `rate` < 1.

    The probability is rounded down to a multiple of 2⁻⁶⁴.
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    hits = _random_words(rng, int(starts[-1])) < np.uint64(int(rate * 2.0**64))
    total = np.concatenate([[0], np.cumsum(hits)])
    return np.diff(total[starts])


def _draw_from_words(
    fill: Callable[[Words, Floats, float], tuple[int, int]],
    rng: np.random.Generator,
    size: Shape,
    shape: float = 1.0,
) -> Floats:
    drawn = np.empty(size)
    left, words = drawn.reshape(-1), np.empty(0, dtype=np.uint64)
    while len(left):
        # The unused words did not suffice for one number. Each missing number takes at least one
        # word, so all new words will be used.
        fresh = _random_words(rng, len(left))
        words = np.concatenate([words, fresh]) if len(words) else fresh
        done, used = fill(words, left, shape)
        left, words = left[done:], words[used:]
    return drawn


def laplace(rng: np.random.Generator, size: Shape, scale: float = 1.0) -> Floats:
    """Draw Laplace noise."""
    return _draw_by_inverse(_laplaces, rng, size, scale)


def gumbel(rng: np.random.Generator, size: Shape, scale: float = 1.0) -> Floats:
    """Draw Gumbel noise."""
    return _draw_by_inverse(_gumbels, rng, size, scale)


def logistic(rng: np.random.Generator, size: Shape, scale: float = 1.0) -> Floats:
    """Draw logistic noise."""
    return _draw_by_inverse(_logistics, rng, size, scale)


def exponential(rng: np.random.Generator, size: Shape, scale: float = 1.0) -> Floats:
    """Draw exponential noise."""
    drawn = _draw_from_words(_fill_exponentials, rng, size)
    drawn *= scale
    return drawn


def normal(rng: np.random.Generator, size: Shape, scale: float = 1.0) -> Floats:
    """Draw Gaussian noise."""
    drawn = _draw_from_words(_fill_normals, rng, size)
    drawn *= scale
    return drawn


def gamma(rng: np.random.Generator, size: Shape, shape: float) -> Floats:
    """Draw gamma numbers with a shape other than 1."""
    return _draw_from_words(_fill_gammas, rng, size, float(shape))


def dirichlet(rng: np.random.Generator, size: int, concentration: float) -> Floats:
    """Draw shares from a Dirichlet distribution."""
    shares = gamma(rng, size, concentration)
    return np.asarray(shares / total(shares))


# NumPy's old generator --------------------------------------------------------------------------

Source = np.random.Generator | np.random.RandomState


def old_normals(source: Source) -> Iterator[float]:
    """Draw normal numbers like NumPy's old generator, by the polar method."""
    while True:
        x, y = 2.0 * source.random() - 1.0, 2.0 * source.random() - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            factor = math.sqrt(-2.0 * log(square) / square)
            yield factor * y
            yield factor * x


def old_gamma(source: Source, normals: Iterator[float], shape: float) -> float:
    """Draw a gamma number like NumPy's old generator, with its normal numbers from `normals`."""
    if shape == 1.0:
        return float(-log(1.0 - source.random()))
    while shape < 1.0:
        u = source.random()
        v = -log(1.0 - source.random())
        y = 0.0 if u <= 1.0 - shape else -log((1.0 - u) / shape)
        x = exp(log(u if u <= 1.0 - shape else 1.0 - shape + shape * y) / shape)
        if x <= v + y:
            return float(x)
    b = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * b)
    while True:
        x = next(normals)
        v = 1.0 + c * x
        if v > 0.0 and _is_gamma(x, v * v * v, source.random(), b):
            return b * (v * v * v)
