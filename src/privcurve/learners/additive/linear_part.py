"""The joint linear part of PrivGAM: noisy Newton steps over all ordered columns at once."""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import times, transposed_times
from privcurve.kernels.eigen import eigenvalues
from privcurve.learners.additive import rule
from privcurve.learners.additive.residuals import PLACE_BITS


class LinearPart:
    """A logistic model, linear in the places of records along the columns.

    The last entry of `n_bins`, one bin, is the intercept's. The prior of the coefficients is
    N(0, `LINE_DEVIATION`²).
    """

    def __init__(self, n_bins: Ints) -> None:
        # The place of each bin of each column, from -1/2 to 1/2 in multiples of 2^-PLACE_BITS; 1/2
        # for the intercept.
        self.places = np.zeros((len(n_bins), int(n_bins.max())), dtype=np.int64)
        for j, count in enumerate(n_bins[:-1].tolist()):
            middles = (np.arange(count) + 0.5) / count - 0.5
            self.places[j, :count] = np.rint(middles * 2**PLACE_BITS)
        self.places[-1, 0] = 2 ** (PLACE_BITS - 1)
        self._n_bins = n_bins
        m = len(n_bins)
        self.coefficients: Floats = np.zeros(m)
        self._curvature: Floats = np.zeros(m)
        self._axes: Floats = np.eye(m)  # eigenvectors of the curvature, as rows
        self._numerator, self._weight, self._variance = np.zeros(m), 0.0, 0.0

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return len(self.coefficients)

    def shape(self, j: int) -> Floats:
        """Return what the linear part adds to the score in each bin of a column."""
        places = self.places[j, : self._n_bins[j]]
        return np.asarray(self.coefficients[j] * places / 2**PLACE_BITS)

    def take_products(self, products: Floats, noise_level: float) -> None:
        """Set the curvature from the released sums of products: `LINE_CURVATURE` of them.

        `products` are the upper triangle of the symmetric matrix, row by row.
        """
        gram = np.zeros((self.size, self.size))
        gram[np.triu_indices(self.size)] = products
        gram += np.triu(gram, 1).T
        values, self._axes = eigenvalues(gram)
        self._curvature = rule.LINE_CURVATURE * np.maximum(values, max(noise_level, 1e-9))

    def take_slopes(self, slopes: Floats, variance: float, weight: float) -> None:
        """Add a Newton step, from released sums, to the weighted mean of all."""
        target = times(self._axes, slopes) + self._curvature * times(self._axes, self.coefficients)
        self._numerator += weight * target
        self._weight += weight
        self._variance += weight * weight * variance
        down = self._weight * self._curvature
        noise = (self._variance + weight * down) / (down * down)
        left = 1.0 / (1.0 + noise / (rule.LINE_DEVIATION * rule.LINE_DEVIATION))
        self.coefficients = transposed_times(self._axes, left * self._numerator / down)
