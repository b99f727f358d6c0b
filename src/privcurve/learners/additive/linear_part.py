"""The joint linear part of PrivGAM: noisy Newton steps over all ordered columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import (
    cholesky,
    eigenvalues,
    exps,
    inverse,
    product,
    times,
    transposed_times,
)
from privcurve.kernels.arithmetic import gram as gram_of
from privcurve.kernels.arithmetic import logs as logs_of
from privcurve.learners.additive import rule
from privcurve.learners.additive.residuals import PLACE_BITS


class LinearPart:
    """A logistic model, linear in the places of records along the columns.

    The last entry of `n_bins`, one bin, is the intercept's. `sizes` are the deviations that the
    prior of the coefficients may have: see :func:`shrunk`.
    """

    def __init__(self, n_bins: Ints, sizes: Sequence[float] = rule.LINE_SIZES) -> None:
        self._sizes = np.array(sizes)
        # Of each bin of each column, between -1/2 and 1/2 in multiples of 2^-PLACE_BITS; 1/2 for
        # the intercept.
        self.places = np.zeros((len(n_bins), int(n_bins.max())), dtype=np.int64)
        for j, count in enumerate(n_bins[:-1].tolist()):
            middles = (np.arange(count) + 0.5) / count - 0.5
            self.places[j, :count] = np.rint(middles * 2**PLACE_BITS)
        self.places[-1, 0] = 2 ** (PLACE_BITS - 1)
        self._n_bins = n_bins.copy()
        m = len(n_bins)
        self.coefficients: Floats = np.zeros(m)
        self._curvature: Floats = np.zeros(m)
        self._axes: Floats = np.eye(m)
        self._numerator, self._weight, self._variance = np.zeros(m), 0.0, 0.0

    @property
    def size(self) -> int:
        """How many coefficients there are."""
        return len(self.coefficients)

    def shape(self, j: int) -> Floats:
        """Return what the linear part adds to the score in each bin of a column."""
        places = self.places[j, : self._n_bins[j]]
        return np.asarray(self.coefficients[j] * places / 2**PLACE_BITS)

    def merge(self, j: int, firsts: Ints, weights: Floats) -> None:
        """Merge bins of a column, each group at the mean place of its bins.

        `firsts` are the first bins of the groups, `weights` those of bins.
        """
        places = weights * self.places[j, : len(weights)]
        means = np.add.reduceat(places, firsts) / np.add.reduceat(weights, firsts)
        self.places[j] = 0
        self.places[j, : len(firsts)] = np.rint(means)
        self._n_bins[j] = len(firsts)

    def take_gram(self, gram: Floats, noise_level: float) -> None:
        """Take the released sums of products: the curvature is `LINE_CURVATURE` of them."""
        # A row each.
        values, self._axes = eigenvalues(np.asarray(gram, dtype=np.float64))
        self._curvature = rule.LINE_CURVATURE * np.maximum(values, max(noise_level, 1e-9))

    def take_slopes(self, slopes: Floats, variance: float, weight: float) -> None:
        """Take one Newton step more, from released sums, into the weighted mean of all."""
        axes = self._axes
        target = times(axes, slopes) + self._curvature * times(axes, self.coefficients)
        self._numerator += weight * target
        self._weight += weight
        self._variance += weight**2 * variance
        down = self._weight * self._curvature
        noise = np.minimum(rule.MOST_NOISE, (self._variance + weight * down) / down**2)
        values = transposed_times(axes, self._numerator / down)
        self.coefficients = shrunk(values, gram_of(axes, noise), self._sizes)


def shrunk(values: Floats, noise: Floats, sizes: Floats) -> Floats:
    """Average posterior means of coefficients over the size of their prior.

    The values are z ~ N(β, noise); the prior of the last coefficient is N(0, v), that of all others
    N(0, s²), with one s for all. The sizes are weighed by marginal likelihood.
    """
    # One decomposition for all sizes: with N = noise + v·e eᵀ = LLᵀ and J the identity but for the
    # last, z has the covariance N + s²J = L(I + s²·V diag(λ) Vᵀ)Lᵀ.
    own = rule.LINE_INTERCEPT_DEVIATION**2
    others = np.ones(len(values))
    others[-1] = 0.0
    upper = inverse(cholesky(noise + np.diag(own * (1.0 - others))))
    spreads, axes = eigenvalues(gram_of(upper, others))
    back = product(upper, axes.T.copy())
    along = transposed_times(back, values)
    squares = sizes[:, None] ** 2
    total = 1.0 + squares * np.maximum(spreads, 0.0)
    logs = -0.5 * (logs_of(total) + along**2 / total).sum(axis=1)
    weights = exps(logs - logs.max())
    weights /= weights.sum()
    mean = others * times(back, transposed_times(squares / total, weights) * along)
    mean[-1] = own * times(back, transposed_times(1.0 / total, weights) * along)[-1]
    return np.asarray(mean)
