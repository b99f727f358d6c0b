"""Compute standard errors of a fitted additive model, and test which columns have an effect.

Both are computed from released noisy counts and public facts, so they cost no privacy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import exp, expits, exps, log, logs
from privcurve.kernels.decoder import WINDOWS
from privcurve.kernels.tails import tail
from privcurve.learners.additive.decoder import read_weights

# The trained weights of the network of standard errors, from `decoder/errors.py`.
FILE = Path(__file__).with_name("errors.npz")
SHA256 = "2f783caabc9183e5081afe3fa82f9512936f477f730759df9444ba9f4b7cbfcf"
# Bounds of the logarithm of a standard error. The network's outputs are clipped to these bounds, so
# that no input gives an extreme error.
SMALLEST, LARGEST = -6.0, 3.0
# Half the width of a 95 % interval, in standard errors.
HALF_WIDTH = 1.96
# The probability that a report names a column with an effect although no column has one.
FALSE_ALARM = 0.05
# An ordered column is tested by contrasts that are polynomials of degree 1, 2, …, N_CONTRASTS (or
# less if the column has few bins).
N_CONTRASTS = 4
# In an unordered column, a bin is tested only if its excess (see `p_values`) has at least this
# variance: the test takes the sampling error as normal, which is wrong for very few records.
LEAST_VARIANCE = 5.0


class Layer(NamedTuple):
    """A layer of a network."""

    weights: Floats  # (n_inputs, n_outputs): the factor of each input in each output
    bias: Floats  # (n_outputs,): the constant of each output


class Counts(NamedTuple):
    """Noisy counts of records by class and bin, with the bins of all columns concatenated."""

    positive: Floats  # (n_bins,): records of the positive class in each bin
    negative: Floats  # (n_bins,): all other records in each bin
    deviation: float  # the standard deviation of the noise of each count, above 0
    starts: Ints  # (n_columns + 1,): the first bin of each column, then the number of all bins
    ordered: Sequence[bool]  # whether the bins of each column are ordered
    laplace: bool  # whether the noise is Laplace noise (else Gaussian)
    n_columns: int  # number of all columns, including columns that the fit did not choose

    @property
    def columns(self) -> list[slice]:
        """For each column, the slice of its bins in the concatenated bins."""
        ends = self.starts.tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]


class Errors(NamedTuple):
    """Standard errors of the intercept and of the scores of all bins.

    A row's log-odds is the intercept plus the score of the row's bin in each column. The standard
    error of the log-odds is `factor` times the root of the sum of the squared standard errors of
    the intercept and of these scores.
    """

    by_bin: Floats  # (n_bins,): the standard error of each bin's score
    intercept: float
    factor: float


@cache
def load() -> Mapping[str, Layer]:
    """Read the network that estimates standard errors from its file; keys are names of layers.

    Raises
    ------
    ValueError
        If the file's SHA-256 is not `SHA256`.
    """
    return layers_of(read_weights(FILE, SHA256))


def layers_of(arrays: Mapping[str, np.ndarray]) -> Mapping[str, Layer]:
    """Convert the arrays of a weights file to a network; keys are names of layers."""
    names = sorted({name.split(".")[0] for name in arrays})
    return {
        name: Layer(arrays[f"{name}.w"].astype(float), arrays[f"{name}.b"].astype(float))
        for name in names
    }


def standard_errors(counts: Counts, scores: Floats, intercept: float, n_releases: int) -> Errors:
    """Estimate the standard errors of the scores of a fit with two classes.

    Parameters
    ----------
    counts : Counts
    scores : ndarray of shape (n_bins,)
        The scores of the bins. In each column their mean, weighted by the counts, is 0.
    intercept : float
    n_releases : int
        Number of releases of the fit.
    """
    return from_features(load(), *features(counts, scores, intercept, n_releases))


def from_features(layers: Mapping[str, Layer], by_bin: Floats, common: Floats) -> Errors:
    """Run the network on the two results of :func:`features`; return standard errors."""
    hidden = _silu(_apply(layers["bin2"], _silu(_apply(layers["bin1"], by_bin))))
    logarithms = _apply(layers["bin3"], hidden)[:, 0] - 1.0
    others = _apply(layers["common2"], _silu(_apply(layers["common1"], common[None])))[0]
    return Errors(
        exps(np.clip(logarithms, SMALLEST, LARGEST)),
        exp(float(np.clip(others[0] - 1.0, SMALLEST, LARGEST))),
        exp(float(np.clip(others[1], SMALLEST, LARGEST))),
    )


def features(
    counts: Counts, scores: Floats, intercept: float, n_releases: int
) -> tuple[Floats, Floats]:
    """Return the network's inputs: features of each bin, and features of the entire model.

    Their shapes are (n_bins, n_bin_features) and (n_model_features,). The order of the features is
    fixed by the trained weights.
    """
    columns, n_columns = counts.columns, len(counts.ordered)
    both, noise = counts.positive + counts.negative, counts.deviation * math.sqrt(2.0)
    positive, negative = (
        max(math.fsum(one.tolist()) / n_columns, noise)
        for one in (counts.positive, counts.negative)
    )
    n = positive + negative
    sums, numbers = _over_windows(both, columns, counts.ordered)
    noises = noise * np.sqrt(numbers)
    masses = np.maximum(sums, 0.0) + noises
    log_ratio, log_n = log(n / noise) / 2.0, log(n) / 3.0
    log_columns, log_noise = log(float(n_columns)) - 2.0, log(noise) / 2.0
    log_share, size = log(min(positive, negative) / n), abs(intercept) / 3.0
    place, width, spread = (np.empty(len(scores)) for _ in range(3))
    for column in columns:
        n_bins = column.stop - column.start
        at = np.arange(n_bins) / max(n_bins - 1, 1)
        place[column] = 4.0 * (at - 0.5) * (at - 0.5) - 1.0
        width[column] = log(n_bins + 1.0) - 2.0
        mass = np.maximum(both[column], 0.0)
        squares = math.fsum((mass * (scores[column] * scores[column])).tolist())
        spread[column] = math.sqrt(squares / (math.fsum(mass.tolist()) + noise))
    by_column = np.repeat(np.array(counts.ordered, dtype=float), np.diff(counts.starts))
    one = np.ones(len(scores))
    columns_of = [
        *(logs(masses) / 2.0 - 2.0),
        *logs(noises / masses),
        *(one * value for value in (log_ratio, log_n, log_columns, float(counts.laplace))),
        *(by_column, width, place, scores, np.abs(scores), one * size, spread),
        *(one * value for value in (log_share, log(float(n_releases)) - 1.5, log_noise)),
    ]
    of_columns = math.sqrt(
        math.fsum(spread[column.start] * spread[column.start] for column in columns)
    )
    common = [log_ratio, log_n, log_columns, float(counts.laplace), size, log_share]
    common += [of_columns, log_noise, log(counts.n_columns / n_columns)]
    return np.stack(columns_of, axis=1), np.array(common)


def _over_windows(
    values: Floats, columns: Sequence[slice], ordered: Sequence[bool]
) -> tuple[Floats, Floats]:
    """Return sums of `values` over windows of bins, and the number of bins in each window.

    Both have shape (n_windows, n_bins): for each bin, a window of each width is centred on the bin.
    Windows stay within a column; in an unordered column each window is a single bin.
    """
    sums, numbers = np.tile(values, (len(WINDOWS), 1)), np.ones((len(WINDOWS), len(values)))
    for column, in_order in zip(columns, ordered, strict=True):
        if not in_order:
            continue
        up_to = np.append(0.0, np.cumsum(values[column]))
        n_bins = len(up_to) - 1
        for k, width in enumerate(WINDOWS):
            low = np.maximum(np.arange(n_bins) - width // 2, 0)
            high = np.minimum(np.arange(n_bins) + width // 2 + 1, n_bins)
            sums[k, column], numbers[k, column] = up_to[high] - up_to[low], high - low
    return sums, numbers


def _apply(layer: Layer, inputs: Floats) -> Floats:
    """Return the outputs of a layer, added in a fixed order, so that all bits are reproducible."""
    outputs = np.tile(layer.bias, (len(inputs), 1))
    for column, weights in zip(inputs.T, layer.weights, strict=True):
        outputs += column[:, None] * weights
    return outputs


def _silu(values: Floats) -> Floats:
    return np.asarray(values * expits(values))


# Evidence ----------------------------------------------------------------------------------------


def evidence(counts: Counts) -> list[float]:
    """Return each column's adjusted p-value: its p-value times the number of columns, at most 1.

    The factor is the number of all columns, as the fit may have chosen the columns of `counts` by
    their effects. If no column has an effect, the probability that any adjusted p-value is at most
    `FALSE_ALARM` is itself about `FALSE_ALARM` or less (Bonferroni).
    """
    return [min(1.0, counts.n_columns * p) for p in p_values(counts)]


def p_values(counts: Counts) -> list[float]:
    """Test for each column that the label has the same distribution in all bins; return p-values.

    The excess of a bin is its number of positive records minus the number that the overall share of
    the positive class predicts. A contrast is a weighted sum of the excesses of a column's bins. If
    the hypothesis holds, a contrast consists of privacy noise, whose distribution is public, and
    sampling error, which the test takes as normal. :func:`tail` approximates the tail of their sum.

    An ordered column has a contrast for each polynomial degree k = 1, 2, …. If there are several,
    the p-value of degree k is multiplied by 2^k: this is a Bonferroni correction that favours low
    degrees, as most effects are monotone. An unordered column has a contrast for each bin, except
    bins with a variance below `LEAST_VARIANCE`; p-values are multiplied by the number of contrasts.
    The p-value of a column is the smallest p-value of its contrasts.
    """
    n_columns = len(counts.ordered)
    positive, negative = (
        max(math.fsum(one.tolist()) / n_columns, counts.deviation)
        for one in (counts.positive, counts.negative)
    )
    share = positive / (positive + negative)
    rest = 1.0 - share
    excess = counts.positive * rest - counts.negative * share
    # `masses` estimates the number of records in each bin. The weights of contrasts may depend on
    # `masses`, because its noise is uncorrelated with the noise of `excess`: weights that follow
    # the noise of `excess` would make p-values too small.
    lengths = share * share + rest * rest
    masses = np.maximum((counts.positive * share + counts.negative * rest) / lengths, 0.0)
    sampling, noise = share * rest * masses, counts.deviation * counts.deviation * lengths
    by_column = []
    for column, in_order in zip(counts.columns, counts.ordered, strict=True):
        contrasts = _contrasts(masses[column], in_order)
        if in_order:
            # Shrink the weights of bins whose excess is mostly noise.
            signal = sampling[column] / (sampling[column] + noise)
            contrasts = [_centred(row * signal, masses[column]) for row in contrasts]
        elif len(contrasts) > 1:
            tried = np.flatnonzero(sampling[column] + noise >= LEAST_VARIANCE)
            contrasts = [contrasts[k] for k in tried]
        tails = [
            tail(
                abs(math.fsum((row * excess[column]).tolist())),
                counts.deviation * np.append(row * rest, row * share),
                math.fsum((sampling[column] * row * row).tolist()),
                counts.laplace,
            )
            * (2.0**k if in_order and len(contrasts) > 1 else len(contrasts))
            for k, row in enumerate(contrasts, 1)
            if row.any()
        ]
        by_column.append(min(1.0, *tails) if tails else 1.0)
    return by_column


def _contrasts(masses: Floats, in_order: bool) -> list[Floats]:
    """Return the contrasts of a column: weights of its bins, with mean 0 over the records.

    `masses` are the estimated numbers of records in the bins.
    """
    n_bins, total = len(masses), math.fsum(masses.tolist())
    if n_bins == 1 or total == 0:
        return []
    if in_order:
        # x is the mean rank of each bin's records, scaled to [−1, 1]. Each contrast is a Legendre
        # polynomial in x.
        x = (2.0 * np.cumsum(masses) - masses) / total - 1.0
        rows = [np.ones(n_bins), x]
        for k in range(1, min(N_CONTRASTS, n_bins - 1)):
            rows.append(((2 * k + 1) * x * rows[k] - k * rows[k - 1]) / (k + 1))
        rows = rows[1:]
    else:
        rows = list(np.eye(n_bins)[: 1 if n_bins == 2 else n_bins])
    return [_centred(row, masses) for row in rows]


def _centred(row: Floats, masses: Floats) -> Floats:
    """Subtract from `row`, a weight of each bin, the mean of the weights over the records."""
    return np.asarray(row - math.fsum((row * masses).tolist()) / math.fsum(masses.tolist()))
