"""PrivGAM: sums of clipped residuals in whole numbers, and smoothing (docs/privgam.md).

A record's score is a sum of whole numbers, and its residual is looked up in a table of whole
numbers: neither depends on another record, nor on the order in which anything is added up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import exp, log, total
from privcurve.kernels.jit import jit


class RowsWithScores(NamedTuple):
    """Rows with their scores, and the residual by margin."""

    labels: NDArray[np.uint8]  # (n_rows,): 0 or 1
    counts: Ints  # (n_rows,)
    scores: Ints  # (n_rows,)
    table: Ints  # (n_entries,): the residual by margin, not increasing; its first entry is the clip
    shift: int  # a step of the table is 2^shift in units of scores


@jit
def _residual(margin: int, table: Ints, shift: int) -> int:
    """Look up the clipped residual of a record: table[0] is the clip, on the wrong side of 0.

    Entry k > 0 is for margins of ((k - 1)·2^shift, k·2^shift]; the last for all above.
    """
    if margin <= 0:
        return table[0]
    return table[min(((margin - 1) >> shift) + 1, len(table) - 1)]


@jit
def residuals_of(rows: RowsWithScores) -> Ints:
    """Return the clipped residual of a record of each row, without its sign."""
    labels, _, scores, table, shift = rows
    residuals = np.empty(len(labels), dtype=np.int64)
    for i in range(len(labels)):
        residuals[i] = _residual(scores[i] if labels[i] == 1 else -scores[i], table, shift)
    return residuals


@jit
def add_to_scores(column: NDArray[Any], change: Ints, scores: Ints) -> None:
    """Add a bin's change to the scores of the records in it, in place."""
    for i in range(len(column)):
        scores[i] += change[column[i]]


@jit
def residual_sums(column: NDArray[Any], n_bins: int, rows: RowsWithScores) -> Ints:
    """Sum the clipped residuals by label and bin of a column: shape (2, n_bins)."""
    labels, counts, scores, table, shift = rows
    sums = np.zeros((2, n_bins), dtype=np.int64)
    for i in range(len(column)):
        label = labels[i]
        margin = scores[i] if label == 1 else -scores[i]
        sums[label, column[i]] += counts[i] * _residual(margin, table, shift)
    return sums


@jit
def stump_scores(
    columns: NDArray[Any], starts: Ints, ordered: NDArray[np.bool_], rows: RowsWithScores
) -> Ints:
    """Sum the signed clipped residuals times what each stump says: +1 in its bins, −1 elsewhere.

    `columns` is of shape (n_columns, n_rows); the stumps of column j are those from starts[j], one
    a bin: of that bin, or of those up to it where the column is ordered. The next one is of all
    rows. After these come their opposites.
    """
    n, end = len(rows.labels), starts[-1]
    residuals = residuals_of(rows)
    follows = np.zeros(2 * (end + 1), dtype=np.int64)
    everyone = 0
    for i in range(n):
        residuals[i] *= rows.counts[i] if rows.labels[i] == 1 else -rows.counts[i]
        everyone += residuals[i]
    for j in range(len(columns)):
        column, of_column = columns[j], follows[starts[j] : starts[j + 1]]
        for i in range(n):
            of_column[column[i]] += residuals[i]
        if ordered[j]:
            for b in range(1, len(of_column)):
                of_column[b] += of_column[b - 1]
    follows[end] = everyone
    for k in range(end + 1):
        follows[k] = 2 * follows[k] - everyone
        follows[end + 1 + k] = -follows[k]
    return follows


@jit
def products_of_columns(columns: NDArray[Any], places: Ints, counts: Ints) -> Ints:
    """Sum the products of the places of rows in each two columns: the upper triangle, by rows.

    See :func:`slopes_of_columns`.
    """
    n, m = len(counts), len(columns)
    sums = np.zeros((m + 1) * (m + 2) // 2, dtype=np.int64)
    row = np.empty(m + 1, dtype=np.int64)
    row[m] = places[m, 0]
    for i in range(n):
        for j in range(m):
            row[j] = places[j, columns[j, i]]
        at = 0
        for j in range(m + 1):
            own = counts[i] * row[j]
            for k in range(j, m + 1):
                sums[at] += own * row[k]
                at += 1
    return sums


@jit
def slopes_of_columns(
    columns: NDArray[Any], places: Ints, place_bits: int, rows: RowsWithScores
) -> Ints:
    """Sum the signed clipped residuals times the place of the record in each column.

    `columns` is of shape (n_columns, n_rows). `places` has the place of each bin of a column, at
    most half in size, in units of 2^-place_bits, and at last that of all rows; what a record adds
    is rounded towards 0.
    """
    labels, counts = rows.labels, rows.counts
    n, m = len(labels), len(columns)
    residuals = residuals_of(rows)
    sums = np.zeros(m + 1, dtype=np.int64)
    for j in range(m + 1):
        column, place = columns[min(j, m - 1)], places[j]
        of_column = 0
        for i in range(n):
            where = place[column[i]] if j < m else place[0]
            size = (residuals[i] * abs(where)) >> place_bits
            up = (where > 0) == (labels[i] == 1)
            of_column += counts[i] * (size if up else -size)
        sums[j] = of_column
    return sums


@jit
def smooth(
    z: Floats,
    noise: Floats,
    ordered: bool,
    sizes: Floats,
    lengths: Floats,
    mean: Floats,
    variance: Floats,
) -> None:
    """Average posterior means over sizes and kinds of prior, which all scores share.

    Parameters
    ----------
    z, noise : ndarray of shape (n_scores, n_bins)
        Values and their variances, above 0.
    ordered : bool
    sizes : ndarray of shape (n_sizes,)
        τ; the first is 0.
    lengths : ndarray of shape (n_lengths,)
        Correlation lengths, as parts of the column; 0 stands for a line and the longest of them.
    mean, variance : ndarray of shape (n_scores, n_bins)
        Overwritten: of the posterior mixture.
    """
    n_scores, n_bins = z.shape
    kinds = len(lengths) if ordered and n_bins > 2 else 1
    n = 1 + (len(sizes) - 1) * kinds
    logs = np.zeros(n)
    means = np.zeros((n, n_scores, n_bins))
    squares = np.zeros((n, n_scores, n_bins))
    longest = lengths.max()
    for c in range(n_scores):
        for b in range(n_bins):
            logs[0] -= 0.5 * (log(noise[c, b]) + z[c, b] * z[c, b] / noise[c, b])
        i = 1
        for tau in sizes[1:]:
            size = tau * tau
            for kind in range(kinds):
                to, spread = means[i, c], squares[i, c]
                if kinds == 1:
                    logs[i] += _smooth_bins(z[c], noise[c], size, to, spread)
                elif lengths[kind] > 0:
                    step = exp(-1.0 / (n_bins * lengths[kind]))
                    logs[i] += _smooth_process(z[c], noise[c], size, step, 0.0, to, spread)
                else:
                    step = exp(-1.0 / (n_bins * longest))
                    half = 0.5 * size
                    logs[i] += _smooth_process(z[c], noise[c], half, step, half, to, spread)
                i += 1
    logs[0] += log(kinds)
    weights = np.empty(n)
    for i in range(n):
        weights[i] = exp(logs[i] - logs.max())
    weights /= total(weights)
    mean[:] = 0.0
    variance[:] = 0.0
    for c in range(n_scores):
        for b in range(n_bins):
            for i in range(n):
                mean[c, b] += weights[i] * means[i, c, b]
                variance[c, b] += weights[i] * (squares[i, c, b] + means[i, c, b] * means[i, c, b])
            variance[c, b] = max(0.0, variance[c, b] - mean[c, b] * mean[c, b])


@jit
def _smooth_bins(z: Floats, noise: Floats, size: float, mean: Floats, variance: Floats) -> float:
    """Independent bins of prior variance `size`: fill in the posterior, give the log likelihood."""
    likelihood = 0.0
    for b in range(len(z)):
        spread = size + noise[b]
        mean[b] = z[b] * size / spread
        variance[b] = noise[b] * size / spread
        likelihood -= 0.5 * (log(spread) + z[b] * z[b] / spread)
    return likelihood


@jit
def _smooth_process(
    z: Floats, noise: Floats, size: float, step: float, line: float, mean: Floats, variance: Floats
) -> float:
    """Fill in the posterior of a process along the bins, and return the log likelihood.

    The process has the variance `size` and the correlation `step` of neighbours; to it comes a
    slope, times a line of variance 1 along the column, of prior variance `line`.
    """
    n = len(z)
    at = np.empty((2, n))  # filtered means, of z and of the line
    ahead = np.empty((2, n))
    filtered = np.empty(n)
    before = np.empty(n)
    likelihood = zz = zv = vv = 0.0
    for b in range(n):
        if b == 0:
            before[b] = size
            ahead[0, b] = ahead[1, b] = 0.0
        else:
            before[b] = step * step * filtered[b - 1] + size * (1.0 - step * step)
            ahead[0, b] = step * at[0, b - 1]
            ahead[1, b] = step * at[1, b - 1]
        spread = before[b] + noise[b]
        gain = before[b] / spread
        surprise = z[b] - ahead[0, b]
        v = 3.4641016151377544 * ((b + 0.5) / n - 0.5) - ahead[1, b]
        likelihood -= 0.5 * log(spread)
        zz += surprise * surprise / spread
        zv += surprise * v / spread
        vv += v * v / spread
        at[0, b] = ahead[0, b] + gain * surprise
        at[1, b] = ahead[1, b] + gain * v
        filtered[b] = (1.0 - gain) * before[b]
    slope = line * zv / (1.0 + line * vv)
    likelihood -= 0.5 * (log(1.0 + line * vv) + zz - slope * zv)
    # Backwards: smooth the process without the line, then add the line again.
    of_line = line / (1.0 + line * vv)
    last = last_v = left = 0.0
    for b in range(n - 1, -1, -1):
        if b == n - 1:
            last, last_v, left = at[0, b], at[1, b], filtered[b]
        else:
            back = filtered[b] * step / before[b + 1]
            last = at[0, b] + back * (last - ahead[0, b + 1])
            last_v = at[1, b] + back * (last_v - ahead[1, b + 1])
            left = filtered[b] + back * back * (left - before[b + 1])
        v = 3.4641016151377544 * ((b + 0.5) / n - 0.5)
        mean[b] = last + slope * (v - last_v)
        change = v - last_v
        variance[b] = left + of_line * (change * change)
    return likelihood
