"""Run a stage of PrivGAM's decoder, a network that turns noisy sums into scores of bins.

`decoder/network.py` trains the same network, in JAX and float32. This module runs it in float64 and
in one order of arithmetic, so that its results have the same bits on any machine.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import exp, expit, fast_expit, log, log1p
from privcurve.kernels.jit import jit

# Widths, in bins, of the windows around each bin of an ordered column over which sums are taken.
WINDOWS = (1, 3, 9)
N_WINDOWS = 3
N_FEATURES = 2 * N_WINDOWS + 16  # number of features of a bin
N_COMMON = 10  # number of features of the entire table, which all bins share
N_COLUMN = 4  # number of features of a column; two means over its bins' states are not counted
# Number of outputs for a bin, from which `_step` computes the change of the bin's score: a gate, an
# intercept, a weight of each window, and a sharpness of each window (the larger it is, the smaller
# is the signal with which the window has its full effect).
N_OUT = 2 + 2 * N_WINDOWS
HEADS = 2  # number of attention heads between columns
FAR = 4  # a bin of an ordered column reads the bins at distances 1 and FAR on both sides
# Upper bound of the logarithm of a window's sharpness, so that the sharpness does not overflow.
MOST_SHARPNESS = 20.0

# Positions of layers on the second axis of `Stage.square` (CENTRE to CONTEXT) and of `Stage.column`
# (QUERY to DIRECT).
CENTRE, LEFT, RIGHT, FAR_LEFT, FAR_RIGHT, INNER, OUTER, CONTEXT = range(8)
QUERY, KEY, VALUE, DIRECT = range(4)


class Stage(NamedTuple):
    """The weights of a stage; H is the width of the network.

    A weight matrix has a row per input and a column per output.
    """

    # (N_FEATURES, H), from the features of bins to their states. Stages after the first also read
    # the previous states: (N_FEATURES + H, H).
    first: Floats
    first_bias: Floats  # (H,)
    common: Floats  # (N_COMMON, H): from features of the table to the common state
    common_bias: Floats  # (H,)
    square: Floats  # (n_blocks, 8, H, H): layers that update bins, CENTRE to CONTEXT
    square_bias: Floats  # (n_blocks, 8, H): constants of `square`
    column: Floats  # (n_blocks, 4, 2·H + N_COLUMN, H): attention, QUERY to DIRECT
    column_bias: Floats  # (n_blocks, 4, H): constants of `column`
    last: Floats  # (H, N_OUT): from states of bins to outputs
    last_bias: Floats  # (N_OUT,)
    intercept: Floats  # (H, 2): from the common state to the change of the intercept
    intercept_bias: Floats  # (2,)


class Sums(NamedTuple):
    """Noisy sums of the residuals for one class, by bin and in total, with public facts."""

    positive: Floats  # (n_bins,): sums over the records of the class, all columns concatenated
    negative: Floats  # (n_bins,): sums over all other records
    # Standard deviations of the noise in `positive` and in `negative`.
    deviations: tuple[float, float]
    totals: tuple[float, float]  # totals over the records of the class, and over all others
    total_deviations: tuple[float, float]  # standard deviations of the noise of the totals
    starts: Ints  # (n_columns + 1,): the first bin of each column, then the number of all bins
    ordered: NDArray[np.bool_]  # (n_columns,): whether the bins of a column are ordered
    laplace: bool  # whether the noise is Laplace noise; otherwise it is Gaussian


class _Level(NamedTuple):
    """Statistics that summarise the sums over all bins."""

    share: float  # q, the share of the class's residuals in all residuals
    odds: float  # log-odds of the share, clipped to ±5
    total: float  # estimated sum of the residuals of all records
    total_deviation: float  # standard deviation of the noise of `total`
    deviation: float  # typical standard deviation of the noise of a bin's sum
    # Variance of the noise of a bin's signal, (1 − q)·positive − q·negative.
    variance: float


@jit
def _arcsinh(x: float) -> float:
    size = abs(x)
    result = log1p(size + size * size / (1.0 + math.sqrt(size * size + 1.0)))
    return result if x >= 0.0 else -result


@jit
def _tanh(x: float) -> float:
    return 2.0 * expit(2.0 * x) - 1.0


@jit
def _add_product(x: Floats, weights: Floats, to: Floats) -> None:
    """Add the product of the row `x` and the matrix `weights` to the row `to`, in a fixed order."""
    n = len(x) // 4 * 4
    for i in range(0, n, 4):
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        for o in range(len(to)):
            before = (to[o] + a * weights[i, o]) + b * weights[i + 1, o]
            to[o] = (before + c * weights[i + 2, o]) + d * weights[i + 3, o]
    for i in range(n, len(x)):
        for o in range(len(to)):
            to[o] += x[i] * weights[i, o]


@jit
def _normalise(x: Floats, to: Floats) -> None:
    """Write to `to` the row `x`, shifted and scaled to mean 0 and variance 1."""
    n = len(x)
    mean = 0.0
    for i in range(n):
        mean += x[i]
    mean /= n
    variance = 0.0
    for i in range(n):
        variance += (x[i] - mean) * (x[i] - mean)
    scale = 1.0 / math.sqrt(variance / n + 1e-5)
    for i in range(n):
        to[i] = (x[i] - mean) * scale


@jit
def _activate(x: Floats) -> None:
    for i in range(len(x)):
        x[i] *= fast_expit(x[i])


@jit
def _total_of(
    by_bin: Floats, deviation: float, total: float, total_deviation: float, n_columns: int
) -> tuple[float, float]:
    """Estimate the sum over all records from the noisy total and from the sums by bin.

    The sums by bin of each column add up to a further estimate of the total. The function returns
    the mean of all estimates, weighted by precision, and the standard deviation of this mean; a
    mean below half of the standard deviation is raised to this half.
    """
    of_columns = 0.0
    for i in range(len(by_bin)):
        of_columns += by_bin[i]
    d = float(n_columns)
    precision = d * d / (len(by_bin) * deviation * deviation)
    own_precision = 1.0 / (total_deviation * total_deviation)
    together = precision + own_precision
    mean = (precision * (of_columns / d) + own_precision * total) / together
    left = 1.0 / math.sqrt(together)
    return max(mean, 0.5 * left), left


@jit
def _level_of(sums: Sums) -> _Level:
    d, (s1, s0), (v1, v0) = len(sums.ordered), sums.deviations, sums.total_deviations
    positive, e1 = _total_of(sums.positive, s1, sums.totals[0], v1, d)
    negative, e0 = _total_of(sums.negative, s0, sums.totals[1], v0, d)
    odds = min(5.0, max(-5.0, log(positive / negative)))
    q = positive / (positive + negative)
    variance = s1 * s1 * (1.0 - q) * (1.0 - q) + s0 * s0 * q * q
    deviation = math.sqrt((s1 * s1 + s0 * s0) / 2.0)
    total_deviation = math.sqrt(e1 * e1 + e0 * e0)
    return _Level(q, odds, positive + negative, total_deviation, deviation, variance)


@jit
def _measure_windows(
    sums: Sums, level: _Level, j: int, i: int, ratios: Floats, signals: Floats
) -> None:
    """Write the log-ratio and the signal of each window around bin `i` of column `j`.

    The log-ratio is ln(sum over the class / sum over other records) in the window, minus the same
    number for the entire table. The signal is the weighted difference of the two sums, divided by
    the standard deviation of this difference.
    """
    begin, end, q = sums.starts[j], sums.starts[j + 1], level.share
    prior = log(q / (1.0 - q))
    for w in range(N_WINDOWS):
        reach = WINDOWS[w] // 2 if sums.ordered[j] else 0
        low, high = max(begin, i - reach), min(end, i + reach + 1)
        positive = negative = 0.0
        for k in range(low, high):
            positive += sums.positive[k]
            negative += sums.negative[k]
        count = float(high - low)
        added = 2.0 * (level.deviation + 0.5) * math.sqrt(count)
        up, down = max(positive, 0.0) + added * q, max(negative, 0.0) + added * (1.0 - q)
        ratios[w, i] = log(up / down) - prior
        of_records = max(positive + negative, 0.0) * q * (1.0 - q) / 2.0
        spread = level.variance * count + of_records + 0.05
        signals[w, i] = (positive * (1.0 - q) - negative * q) / math.sqrt(spread)


@jit
def _write_features(
    sums: Sums, level: _Level, j: int, i: int, score: float, ratio: float, z: float, x: Floats
) -> None:
    """Write features of bin `i` of column `j` to `x`, after the features of the bin's windows.

    `ratio` and `z` are the log-ratio and the signal of the window that is the bin alone.
    """
    begin, bins = sums.starts[j], sums.starts[j + 1] - sums.starts[j]
    both = sums.positive[i] + sums.negative[i]
    mass = max(both, 0.0)
    place = (i - begin) / max(bins - 1, 1)
    k = 2 * N_WINDOWS
    x[k] = _arcsinh(z)
    x[k + 1] = _arcsinh(both / level.deviation)
    x[k + 2] = log(level.deviation / max(both, level.deviation))
    x[k + 3] = log1p(mass) / 3.0 - 1.0
    x[k + 4] = log1p(mass * bins / level.total)
    x[k + 5] = place
    x[k + 6] = 4.0 * (place - 0.5) * (place - 0.5) - 1.0
    x[k + 7] = 1.0 if sums.ordered[j] else 0.0
    x[k + 8] = log(bins + 1.0) - 2.0
    x[k + 9] = level.odds / 2.0
    x[k + 10] = log(level.deviation) / 2.0
    x[k + 11] = (log(level.total / level.deviation) - 4.0) / 2.0
    x[k + 12] = log(float(len(sums.ordered))) - 2.0
    x[k + 13] = 1.0 if sums.laplace else 0.0
    x[k + 14] = score
    x[k + 15] = ratio * _tanh(abs(z) / 3.0)


@jit
def _read_bins(
    stage: Stage,
    sums: Sums,
    level: _Level,
    states: Floats,
    scores: Floats,
    begun: bool,
    ratios: Floats,
    signals: Floats,
    weights: Floats,
    columns: Floats,
) -> None:
    """Update the states of bins from the features of their sums.

    The function also writes: `ratios` and `signals`, the log-ratios and signals of windows;
    `weights`, the share of each bin in its column's records; and the last N_COLUMN features of
    each column in `columns`.
    """
    width = states.shape[1]
    features, fresh = np.empty(N_FEATURES), np.empty(width)
    for j in range(len(sums.ordered)):
        begin, end = sums.starts[j], sums.starts[j + 1]
        of_column = energy = spread = 0.0
        for i in range(begin, end):
            _measure_windows(sums, level, j, i, ratios, signals)
            for w in range(N_WINDOWS):
                features[w] = ratios[w, i]
                features[N_WINDOWS + w] = _arcsinh(signals[w, i])
            q = level.share
            signal = sums.positive[i] * (1.0 - q) - sums.negative[i] * q
            z = signal / math.sqrt(level.variance)
            _write_features(sums, level, j, i, scores[i], ratios[0, i], z, features)
            for o in range(width):
                fresh[o] = stage.first_bias[o]
            _add_product(features, stage.first[:N_FEATURES], fresh)
            if begun:
                _add_product(states[i], stage.first[N_FEATURES:], fresh)
            _activate(fresh)
            for o in range(width):
                states[i, o] = states[i, o] + fresh[o] if begun else fresh[o]
            both = max(sums.positive[i] + sums.negative[i], 0.0)
            weights[i] = both + 1e-3 * level.deviation
            of_column += weights[i]
            energy += z * z / (end - begin)
        for i in range(begin, end):
            weights[i] /= of_column
            spread += weights[i] * ratios[0, i] * ratios[0, i]
        columns[j, 2 * width] = _arcsinh(energy)
        columns[j, 2 * width + 1] = math.sqrt(spread + 1e-6)
        columns[j, 2 * width + 2] = 1.0 if sums.ordered[j] else 0.0
        columns[j, 2 * width + 3] = log(end - begin + 1.0) - 2.0


@jit
def _read_common(stage: Stage, sums: Sums, level: _Level, intercept: float) -> Floats:
    """Return the state of the entire table, which all bins share, from its features."""
    d, n = len(sums.ordered), sums.starts[-1]
    n_ordered = 0.0
    for j in range(d):
        n_ordered += 1.0 if sums.ordered[j] else 0.0
    x = np.empty(N_COMMON)
    x[0] = level.odds / 2.0
    x[1] = log(level.total_deviation / level.total)
    x[2] = log(level.total) / 3.0 - 2.0
    x[3] = log(level.deviation) / 2.0
    x[4] = (log(level.total / level.deviation) - 4.0) / 2.0
    x[5] = log(float(d)) - 2.0
    x[6] = intercept / 3.0
    x[7] = n_ordered / d
    x[8] = log(n / d) - 2.0
    x[9] = 1.0 if sums.laplace else 0.0
    common = stage.common_bias.copy()
    _add_product(x, stage.common, common)
    _activate(common)
    return common


@jit
def _mix_columns(
    stage: Stage,
    b: int,
    sums: Sums,
    normal: Floats,
    weights: Floats,
    columns: Floats,
    common: Floats,
    mixed: Floats,
) -> None:
    """Write to `mixed` the vector that each column adds to the updates of its bins.

    The vector depends on means over the states of the column's bins, on the other columns (by
    attention), and on the common state of the table.
    """
    d, width = mixed.shape
    bias, part = stage.column_bias[b], width // HEADS
    triples = np.empty((3, d, width))
    shared, context, chances = np.empty(width), np.empty(width), np.empty(d)
    _normalise(common, shared)
    for j in range(d):
        row = columns[j]
        for o in range(2 * width):
            row[o] = 0.0
        for i in range(sums.starts[j], sums.starts[j + 1]):
            for o in range(width):
                row[o] += weights[i] * normal[i, o]
                row[width + o] += weights[i] * normal[i, o] * normal[i, o]
        for k in range(3):
            for o in range(width):
                triples[k, j, o] = bias[k, o]
            _add_product(row, stage.column[b, k], triples[k, j])
        for o in range(width):
            mixed[j, o] = bias[DIRECT, o] + stage.square_bias[b, CONTEXT, o] + shared[o]
        _add_product(row, stage.column[b, DIRECT], mixed[j])
    for j in range(d):
        for o in range(width):
            context[o] = 0.0
        for head in range(HEADS):
            low, high = head * part, (head + 1) * part
            largest = -np.inf
            for k in range(d):
                agreement = 0.0
                for o in range(low, high):
                    agreement += triples[QUERY, j, o] * triples[KEY, k, o]
                chances[k] = agreement / math.sqrt(float(part))
                largest = max(largest, chances[k])
            together = 0.0
            for k in range(d):
                chances[k] = exp(chances[k] - largest)
                together += chances[k]
            for k in range(d):
                weight = chances[k] / together
                for o in range(low, high):
                    context[o] += weight * triples[VALUE, k, o]
        _add_product(context, stage.square[b, CONTEXT], mixed[j])


@jit
def _mix_bins(
    stage: Stage, b: int, sums: Sums, normal: Floats, mixed: Floats, states: Floats
) -> None:
    """Update the state of each bin from its own state, its neighbours' states and its column.

    Then another layer updates each bin from its own state alone.
    """
    n, width = states.shape
    square, bias = stage.square[b], stage.square_bias[b]
    inner, change = np.empty(width), np.empty(width)
    for j in range(len(mixed)):
        begin, end = sums.starts[j], sums.starts[j + 1]
        for i in range(begin, end):
            for o in range(width):
                change[o] = bias[CENTRE, o] + mixed[j, o]
            _add_product(normal[i], square[CENTRE], change)
            if sums.ordered[j]:
                for k in range(LEFT, FAR_RIGHT + 1):
                    for o in range(width):
                        change[o] += bias[k, o]
                if i > begin:
                    _add_product(normal[i - 1], square[LEFT], change)
                if i + 1 < end:
                    _add_product(normal[i + 1], square[RIGHT], change)
                if i - FAR >= begin:
                    _add_product(normal[i - FAR], square[FAR_LEFT], change)
                if i + FAR < end:
                    _add_product(normal[i + FAR], square[FAR_RIGHT], change)
            _activate(change)
            for o in range(width):
                states[i, o] += change[o]
    for i in range(n):
        _normalise(states[i], change)
        for o in range(width):
            inner[o] = bias[INNER, o]
        _add_product(change, square[INNER], inner)
        _activate(inner)
        for o in range(width):
            states[i, o] += bias[OUTER, o]
        _add_product(inner, square[OUTER], states[i])


@jit
def _step(
    stage: Stage, sums: Sums, states: Floats, ratios: Floats, signals: Floats, weights: Floats,
    scores: Floats,
) -> None:  # fmt: skip
    """Change the scores of bins by the outputs of the network.

    In each column, the mean change is 0, if each bin is weighted by its share of the records.
    """
    n, width = states.shape
    normal, out, steps = np.empty(width), np.empty(N_OUT), np.empty(n)
    for j in range(len(sums.ordered)):
        begin, end = sums.starts[j], sums.starts[j + 1]
        mean = 0.0
        for i in range(begin, end):
            _normalise(states[i], normal)
            for o in range(N_OUT):
                out[o] = stage.last_bias[o]
            _add_product(normal, stage.last, out)
            largest = out[2]
            for w in range(1, N_WINDOWS):
                largest = max(largest, out[2 + w])
            together = step = 0.0
            for w in range(N_WINDOWS):
                weight = exp(out[2 + w] - largest)
                together += weight
                sharpness = exp(min(out[2 + N_WINDOWS + w], MOST_SHARPNESS))
                step += weight * ratios[w, i] * _tanh(abs(signals[w, i]) * sharpness / 2.0)
            steps[i] = 1.5 * expit(out[0]) * step / together + 0.5 * out[1]
            mean += weights[i] * steps[i]
        for i in range(begin, end):
            scores[i] += steps[i] - mean


@jit
def decode(
    stage: Stage, sums: Sums, states: Floats, scores: Floats, intercept: float, begun: bool
) -> float:
    """Update the states and scores of bins in place from new sums; return the new intercept.

    Parameters
    ----------
    stage : Stage
    sums : Sums
        Standard deviations must be above 0, and each column must have a bin.
    states : ndarray of shape (n_bins, H)
        The states of the bins after the previous stage; the first stage ignores the values.
    scores : ndarray of shape (n_bins,)
        The scores at which the residuals were computed.
    intercept : float
        The intercept at which the residuals were computed.
    begun : bool
        Whether an earlier stage exists.
    """
    d, (n, width) = len(sums.ordered), states.shape
    level = _level_of(sums)
    ratios, signals = np.empty((N_WINDOWS, n)), np.empty((N_WINDOWS, n))
    weights, columns = np.empty(n), np.empty((d, 2 * width + N_COLUMN))
    _read_bins(stage, sums, level, states, scores, begun, ratios, signals, weights, columns)
    common = _read_common(stage, sums, level, intercept)
    normal, mixed = np.empty((n, width)), np.empty((d, width))
    for b in range(len(stage.square)):
        for i in range(n):
            _normalise(states[i], normal[i])
        _mix_columns(stage, b, sums, normal, weights, columns, common, mixed)
        _mix_bins(stage, b, sums, normal, mixed, states)
        for o in range(width):
            of_columns = 0.0
            for j in range(d):
                of_columns += mixed[j, o]
            common[o] += of_columns / d
    _step(stage, sums, states, ratios, signals, weights, scores)
    shared = np.empty(width)
    _normalise(common, shared)
    ends = stage.intercept_bias.copy()
    _add_product(shared, stage.intercept, ends)
    return intercept + expit(ends[0] + 1.0) * level.odds + 0.5 * ends[1]
