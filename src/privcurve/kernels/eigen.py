"""Compute eigenvalues of symmetric matrices, with the same bits on every machine."""

from __future__ import annotations

import numpy as np

from privcurve.kernels.arithmetic import Floats, compiled, dot, norm

# Maximum number of steps for one eigenvalue. As convergence is cubic, about two steps suffice.
MOST_STEPS = 60


@compiled
def _tridiagonal(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Reduce a symmetric matrix to a tridiagonal T with QᵀTQ = `matrix`, Q orthogonal.

    Returns the diagonal of T, its off-diagonal, and Q. Each Householder reflection I − vvᵀ/h, with
    h = vᵀv/2, clears one row.
    """
    n = len(matrix)
    a, q = matrix.copy(), np.eye(n)
    beside, halves = np.zeros(n), np.zeros(n)
    for k in range(n - 1):
        v = a[k, k + 1 :]
        largest = np.abs(v).max()
        if largest == 0.0:
            continue
        v /= largest
        length = norm(v) if v[0] >= 0.0 else -norm(v)
        beside[k] = -largest * length
        v[0] += length
        halves[k] = v[0] * length
        w = np.empty(len(v))
        for i in range(len(v)):
            w[i] = dot(a[k + 1 + i, k + 1 :], v) / halves[k]
        w -= dot(v, w) / (2.0 * halves[k]) * v
        for i in range(len(v)):
            row, of_v, of_w = a[k + 1 + i, k + 1 :], w[i], v[i]
            for j in range(len(v)):
                row[j] -= of_v * v[j] + of_w * w[j]
    for k in range(n - 2, -1, -1):
        if halves[k] != 0.0:
            v = a[k, k + 1 :]
            for i in range(k + 1, n):
                row = q[i, k + 1 :]
                weight = dot(row, v) / halves[k]
                for j in range(len(v)):
                    row[j] -= weight * v[j]
    return np.diag(a).copy(), beside, q


@compiled
def _polar(x: float, y: float) -> tuple[float, float, float]:
    """Return r, cos φ and sin φ of a point (r cos φ, r sin φ)."""
    size = max(abs(x), abs(y))
    if size == 0.0:
        return 0.0, 1.0, 0.0
    x, y = x / size, y / size
    length = np.sqrt(x * x + y * y)
    return size * length, x / length, y / length


@compiled
def eigenvalues(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix, unsorted, and its eigenvectors as rows.

    The method is implicit QL with Wilkinson's shift. It stops when the off-diagonal numbers of the
    tridiagonal matrix are below the rounding errors of its largest numbers.
    """
    n = len(matrix)
    values, beside, vectors = _tridiagonal(matrix)
    size = 0.0
    for i in range(n):
        size = max(size, abs(values[i]) + abs(beside[i]))
    for first in range(n):
        for _ in range(MOST_STEPS):
            last = first
            while last < n - 1 and size + abs(beside[last]) > size:
                last += 1
            if last == first:
                break
            u = beside[first]
            apart = values[first + 1] - values[first]
            r, _, _ = _polar(apart, 2.0 * u)
            x = values[last] - values[first] + 2.0 * u * (u / (apart + (r if apart >= 0.0 else -r)))
            c, s, change = 1.0, 1.0, 0.0
            for i in range(last - 1, first - 1, -1):
                u = c * beside[i]
                beside[i + 1], c, s = _polar(x, s * beside[i])
                x = values[i + 1] - change
                r = (values[i] - x) * s + 2.0 * c * u
                change = s * r
                values[i + 1] = x + change
                x = c * r - u
                one, other = vectors[i], vectors[i + 1]
                for k in range(n):
                    one[k], other[k] = c * one[k] - s * other[k], s * one[k] + c * other[k]
            values[first] -= change
            beside[first], beside[last] = x, 0.0
    return values, vectors
