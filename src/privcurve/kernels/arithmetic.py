"""Compute elementary functions and sums with the same bits on every machine.

The last bits of a BLAS sum, or of ``exp`` in NumPy or the C library, differ between processors.
This module uses only sums, products, quotients and square roots of float64, which IEEE 754 defines
to the last bit. Without ``fastmath`` Numba keeps the order of the source and fuses no operations.

Singular names (`exp`, `log`, …) are for compiled loops and single numbers, plural names (`exps`,
`logs`, …) for arrays. `exp`, `expm1`, `log`, `log1p` and `expit` are within 1 ulp of the exact
value, the others within 2 (``tests/unit/test_arithmetic.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.kernels.jit import jit

Floats = NDArray[np.float64]

compiled = jit(error_model="numpy")

# ln 2 as a sum of two parts. The first has 33 bits, so that its product with an exponent is exact.
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
PER_LN2 = float.fromhex("0x1.71547652b82fep+0")

# In float64, e^x is infinite for x above LARGEST_EXPONENT, and 0 for x below LEAST_EXPONENT.
LARGEST_EXPONENT = 709.782712893384
LEAST_EXPONENT = -745.1332191019412
# For x below this, 1 + e^x rounds to 1.
NOTHING_BESIDE_ONE = -40.0

# Taylor series of e^r = 1 + r + r²·Q(r): for |r| ≤ ½ ln 2 the first omitted term is below 2⁻⁵⁷.
_EXP = tuple(1.0 / math.factorial(n) for n in range(2, 14))
# ln((1 + s)/(1 − s)) = 2s + s·R(s²): for |s| ≤ 3 − 2√2 the first omitted term is below 2⁻⁶⁰.
_LOG = tuple(2.0 / (2 * n + 1) for n in range(1, 11))

_MANTISSA = 52
_UPPER_HALF = -(1 << 27)
_ONE = 1023
_SQRT_HALF = np.float64(math.sqrt(0.5)).view(np.int64)
_LEAST_NORMAL = 2.0**-1022
_UP = 54


@compiled
def _power_of_two(k: int) -> float:
    """Return 2^k, k from −1022 to 1023."""
    return np.int64((k + _ONE) << _MANTISSA).view(np.float64)


@compiled
def _times_power_of_two(y: float, k: int) -> float:
    """Return y · 2^k for |k| ≤ 2044; the product is exact unless the result is subnormal."""
    half = k >> 1
    return y * _power_of_two(half) * _power_of_two(k - half)


@compiled
def _reduce(x: float) -> tuple[int, float, float]:
    """Return an integer k, and r and t, with e^x = 2^k (1 + (r − t)).

    r is exact: only t has a rounding error. e^x must be finite and above 0.
    """
    whole_part = math.floor(x * PER_LN2 + 0.5)
    high, low = x - whole_part * LN2_HIGH, whole_part * LN2_LOW
    r = high - low
    s = r * r
    even = _EXP[6] + s * (_EXP[8] + s * _EXP[10])
    even = _EXP[0] + s * (_EXP[2] + s * (_EXP[4] + s * even))
    odd = _EXP[7] + s * (_EXP[9] + s * _EXP[11])
    odd = _EXP[1] + s * (_EXP[3] + s * (_EXP[5] + s * odd))
    return int(whole_part), high, low - s * (even + r * odd)


@compiled
def exp(x: float) -> float:
    """Return e^x."""
    if x > LARGEST_EXPONENT:
        return np.inf
    if x < LEAST_EXPONENT:
        return 0.0
    if x != x:
        return np.nan
    k, r, t = _reduce(x)
    return _times_power_of_two(1.0 + (r - t), k)


@compiled
def expm1(x: float) -> float:
    """Return e^x − 1."""
    if x > LARGEST_EXPONENT:
        return np.inf
    if x < NOTHING_BESIDE_ONE:
        return -1.0
    if x != x:
        return np.nan
    k, r, t = _reduce(x)
    if k == 0:
        return r - t
    return _times_power_of_two((1.0 - _power_of_two(-min(k, _ONE - 1)) + r) - t, k)


@compiled
def expit(x: float) -> float:
    """Return 1/(1 + e^−x)."""
    if x < NOTHING_BESIDE_ONE:
        return exp(x)
    if x > -NOTHING_BESIDE_ONE:
        return 1.0
    if x != x:
        return np.nan
    k, r, t = _reduce(-x)
    # Compute e^−x, then 1 + e^−x. Keep both as a rounded value and its rounding error.
    change = r - t
    near = 1.0 + change
    left = ((1.0 - near) + change) + ((r - change) - t)
    odds, rest = _times_power_of_two(near, k), _times_power_of_two(left, k)
    total = 1.0 + odds
    rest += (max(odds, 1.0) - total) + min(odds, 1.0)
    share = 1.0 / total
    # Compute 1 − share · total exactly: the product of two half mantissas has no rounding error.
    high, upper = _upper_half(share), _upper_half(total)
    low, lower = share - high, total - upper
    missed = ((1.0 - high * upper) - high * lower - low * upper) - low * lower
    return share + share * (missed - share * rest)


@compiled
def fast_expit(x: float) -> float:
    """Return 1/(1 + e^−x) within 2 ulp, for x clipped to ±40.

    The function has no branch, so that loops over it are vectorised.
    """
    k, r, t = _reduce(min(max(-x, NOTHING_BESIDE_ONE), -NOTHING_BESIDE_ONE))
    return 1.0 / (1.0 + (1.0 + (r - t)) * _power_of_two(k))


@compiled
def _upper_half(x: float) -> float:
    """Return `x` with the lower half of its mantissa set to 0."""
    return np.int64(np.float64(x).view(np.int64) & _UPPER_HALF).view(np.float64)


@compiled
def _split_normal(x: float) -> tuple[int, float]:
    """Return k and f with x = 2^k (1 + f), √½ ≤ 1 + f < √2, for a normal x above 0."""
    bits = np.float64(x).view(np.int64)
    k = (bits - _SQRT_HALF) >> _MANTISSA
    return int(k), np.int64(bits - (k << _MANTISSA)).view(np.float64) - 1.0


@compiled
def _split(x: float) -> tuple[int, float]:
    """Return k and f as `_split_normal` does, for any finite x above 0."""
    if x < _LEAST_NORMAL:
        k, f = _split_normal(x * 18014398509481984.0)  # x · 2^_UP is a normal number
        return k - _UP, f
    return _split_normal(x)


@compiled
def _log_of(k: int, f: float, rest: float) -> float:
    """Return ln(2^k (1 + f)) + rest, for a `rest` much smaller than the logarithm."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = _LOG[0] + w * (_LOG[2] + w * (_LOG[4] + w * (_LOG[6] + w * _LOG[8])))
    even = _LOG[1] + w * (_LOG[3] + w * (_LOG[5] + w * (_LOG[7] + w * _LOG[9])))
    half_square = 0.5 * f * f
    # ln(1 + f) = f − f²/2 + s(f²/2 + R): f is exact, and rounding affects only the smaller terms.
    correction = s * (half_square + z * (odd + z * even)) + (k * LN2_LOW + rest)
    return k * LN2_HIGH - ((half_square - correction) - f)


@compiled
def log(x: float) -> float:
    """Return ln x: −∞ at 0, NaN below."""
    x = float(x)
    if not 0.0 < x < np.inf:
        return x if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    k, f = _split(x)
    return _log_of(k, f, 0.0)


@compiled
def fast_log(x: float) -> float:
    """Return ln x for a normal x > 0; without a branch, so that loops over it are vectorised."""
    k, f = _split_normal(x)
    return _log_of(k, f, 0.0)


@compiled
def log2(x: float) -> float:
    """Return the logarithm to base 2; the result is exact for powers of two."""
    x = float(x)
    if not 0.0 < x < np.inf:
        return x if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    k, f = _split(x)
    return k + _log_of(0, f, 0.0) * PER_LN2


@compiled
def log1p(x: float) -> float:
    """Return ln(1 + x)."""
    x = float(x)
    if not -1.0 < x < np.inf:
        return x if x > -1.0 else (-np.inf if x == -1.0 else np.nan)
    if -0.29 < x < 0.41:
        return _log_of(0, x, 0.0)
    u = 1.0 + x
    rest = (x - (u - 1.0) if x < 1.0 else 1.0 - (u - x)) / u
    k, f = _split_normal(u)
    return _log_of(k, f, rest)


@compiled
def log_add_exp(a: float, b: float) -> float:
    """Return ln(e^a + e^b)."""
    high, low = (a, b) if a >= b else (b, a)
    return high if high == -np.inf else high + log1p(exp(low - high))


# The normal distribution -------------------------------------------------------------------------

_PER_ROOT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)
LOG_ROOT_TWO_PI = float.fromhex("0x1.d67f1c864beb5p-1")
# For |x| above this, e^{-x²/2} is 0 in float64.
_NO_DENSITY = 39.0
# Number of terms of the continued fraction at x = 1: the omitted terms change the value by less
# than a share of 2⁻⁵³. A larger x needs fewer terms.
_MOST_TERMS = 350


@compiled
def _mills(x: float) -> float:
    """Return (1 − Φ(x))/φ(x) for x ≥ 1: Laplace's fraction 1/(x + 1/(x + 2/(x + 3/(x + …))))."""
    below = x
    for k in range(int(_MOST_TERMS / (x * x)) + 10, 0, -1):
        below = x + k / below
    return 1.0 / below


@compiled
def _central_area(x: float) -> float:
    """Return Φ(x) − ½ for |x| < 1: φ(x) · (x + x³/3 + x⁵/(3·5) + …)."""
    term = total = x
    k = 3.0
    while abs(term) > 1e-18 * abs(total):
        term *= x * x / k
        total += term
        k += 2.0
    return total * _PER_ROOT_TWO_PI * exp(-0.5 * x * x)


@compiled
def normal_cdf(x: float) -> float:
    """Return Φ(x) with a relative error below about 1e-14, even if the value is small."""
    if abs(x) < 1.0:
        return 0.5 + _central_area(x)
    if abs(x) > _NO_DENSITY:
        return 1.0 if x > 0.0 else 0.0
    tail = _PER_ROOT_TWO_PI * exp(-0.5 * x * x) * _mills(abs(x))
    return 1.0 - tail if x > 0.0 else tail


@compiled
def log_normal_cdf(x: float) -> float:
    """Return ln Φ(x)."""
    if x > -1.0:
        return log1p(-normal_cdf(-x))
    return log(_mills(-x)) - 0.5 * x * x - LOG_ROOT_TWO_PI


# Arrays ------------------------------------------------------------------------------------------


@compiled
def _exps(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = exp(values[i])


@compiled
def _expm1s(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = expm1(values[i])


@compiled
def _expits(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = expit(values[i])


@compiled
def _logs(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = log(values[i])


@compiled
def _log2s(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = log2(values[i])


@compiled
def _log1ps(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = log1p(values[i])


@compiled
def _softplus(values: Floats) -> None:
    for i in range(len(values)):
        values[i] = log_add_exp(0.0, values[i])


def _apply(loop: Callable[[Floats], None], values: ArrayLike) -> Floats:
    """Return a copy of `values`, of any shape, after a loop has changed it in place."""
    copy = np.array(values, dtype=np.float64, order="C")
    loop(copy.reshape(-1))
    return copy


def exps(values: ArrayLike) -> Floats:
    """Return e^x of each number."""
    return _apply(_exps, values)


def expm1s(values: ArrayLike) -> Floats:
    """Return e^x − 1 of each number."""
    return _apply(_expm1s, values)


def expits(values: ArrayLike) -> Floats:
    """Return 1/(1 + e^−x) of each number."""
    return _apply(_expits, values)


def logs(values: ArrayLike) -> Floats:
    """Return ln x of each number."""
    return _apply(_logs, values)


def log2s(values: ArrayLike) -> Floats:
    """Return the logarithm to base 2 of each number."""
    return _apply(_log2s, values)


def log1ps(values: ArrayLike) -> Floats:
    """Return ln(1 + x) of each number."""
    return _apply(_log1ps, values)


def softplus(values: ArrayLike) -> Floats:
    """Return ln(1 + e^x) of each number."""
    return _apply(_softplus, values)


def arcsinhs(values: ArrayLike) -> Floats:
    """Return the inverse hyperbolic sine of each number."""
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    roots = np.sqrt(sizes * sizes + 1.0)
    return np.asarray(np.sign(values) * log1ps(sizes + sizes * sizes / (1.0 + roots)))


@compiled
def log_softmax(scores: Floats) -> Floats:
    """Return the logarithm of the softmax of each row."""
    logs = np.empty(scores.shape)
    for i in range(len(scores)):
        largest = scores[i].max()
        total = 0.0
        for j in range(scores.shape[1]):
            total += exp(scores[i, j] - largest)
        for j in range(scores.shape[1]):
            logs[i, j] = scores[i, j] - largest - log(total)
    return logs


@compiled
def powers(base: float, n: int) -> Floats:
    """Return the array 1, base, base², …, base^(n − 1), computed by repeated products."""
    results = np.ones(n)
    for k in range(1, n):
        results[k] = results[k - 1] * base
    return results


# Vectors and matrices ----------------------------------------------------------------------------
# Each loop adds its numbers in the order of the source. Where several sums are independent, the
# compiler may compute them in parallel, which changes no bit.


@compiled
def total(values: Floats) -> float:
    """Return the sum of a vector, added from the first number to the last."""
    result = 0.0
    for i in range(len(values)):
        result += values[i]
    return result


@compiled
def dot(a: Floats, b: Floats) -> float:
    """Return Σ aᵢbᵢ, computed as four sums of every fourth product, which are added at the end."""
    first = second = third = fourth = 0.0
    n = len(a) // 4 * 4
    for i in range(0, n, 4):
        first += a[i] * b[i]
        second += a[i + 1] * b[i + 1]
        third += a[i + 2] * b[i + 2]
        fourth += a[i + 3] * b[i + 3]
    for i in range(n, len(a)):
        first += a[i] * b[i]
    return (first + second) + (third + fourth)


@compiled
def norm(values: Floats) -> float:
    """Return the Euclidean norm."""
    return np.sqrt(dot(values, values))


@compiled
def times(matrix: Floats, vector: Floats) -> Floats:
    """Return the product of a matrix and a vector."""
    result = np.empty(len(matrix))
    for i in range(len(matrix)):
        result[i] = dot(matrix[i], vector)
    return result


@compiled
def transposed_times(matrix: Floats, vector: Floats) -> Floats:
    """Return the product of a transposed matrix and a vector: a weighted sum of rows."""
    result = np.zeros(matrix.shape[1])
    for i in range(len(matrix)):
        weight = vector[i]
        for j in range(matrix.shape[1]):
            result[j] += weight * matrix[i, j]
    return result


@compiled
def gram(rows: Floats, weights: Floats) -> Floats:
    """Return Σ wᵢ xᵢxᵢᵀ over the rows xᵢ of a matrix, added in order (four rows per pass)."""
    n, width = rows.shape
    result = np.zeros((width, width))
    for i in range(0, n - 3, 4):
        for j in range(width):
            a, b = weights[i] * rows[i, j], weights[i + 1] * rows[i + 1, j]
            c, d = weights[i + 2] * rows[i + 2, j], weights[i + 3] * rows[i + 3, j]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for k in range(j, width):
                    before = (result[j, k] + a * rows[i, k]) + b * rows[i + 1, k]
                    result[j, k] = (before + c * rows[i + 2, k]) + d * rows[i + 3, k]
    for i in range(n // 4 * 4, n):
        for j in range(width):
            for k in range(j, width):
                result[j, k] += weights[i] * rows[i, j] * rows[i, k]
    for j in range(width):
        for k in range(j):
            result[j, k] = result[k, j]
    return result


@compiled
def cholesky(matrix: Floats) -> Floats:
    """Return the upper triangular R with RᵀR = `matrix`.

    R has NaN entries if the matrix is not positive definite.
    """
    n = len(matrix)
    factor = matrix.copy()
    for k in range(n):
        pivot = np.sqrt(factor[k, k]) if factor[k, k] > 0.0 else np.nan
        factor[k, k] = pivot
        for j in range(k + 1, n):
            factor[k, j] /= pivot
        for i in range(k + 1, n):
            factor[i, k] = 0.0
            weight = factor[k, i]
            for j in range(i, n):
                factor[i, j] -= weight * factor[k, j]
    return factor


@compiled
def cholesky_solve(factor: Floats, vector: Floats) -> Floats:
    """Return x with RᵀR x = `vector`, for the upper triangular R (`factor`) of :func:`cholesky`."""
    n = len(vector)
    x = vector.copy()
    for i in range(n):
        x[i] /= factor[i, i]
        for j in range(i + 1, n):
            x[j] -= factor[i, j] * x[i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - dot(factor[i, i + 1 :], x[i + 1 :])) / factor[i, i]
    return x


@compiled
def inverse(matrix: Floats) -> Floats:
    """Return the inverse by Gauss–Jordan elimination with the largest pivot of each column."""
    n = len(matrix)
    left, right = matrix.copy(), np.eye(n)
    for k in range(n):
        p = k + np.argmax(np.abs(left[k:, k]))
        for j in range(n):
            left[k, j], left[p, j] = left[p, j], left[k, j]
            right[k, j], right[p, j] = right[p, j], right[k, j]
        pivot = left[k, k]
        for j in range(n):
            left[k, j] /= pivot
            right[k, j] /= pivot
        for i in range(n):
            weight = left[i, k]
            if i != k and weight != 0.0:
                for j in range(n):
                    left[i, j] -= weight * left[k, j]
                    right[i, j] -= weight * right[k, j]
    return right
