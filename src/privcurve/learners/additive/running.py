"""What was released of one column, added up step by step."""

from __future__ import annotations

import numpy as np

from privcurve.coding import Floats
from privcurve.learners.additive import rule


class Running:
    """Running sums of what was released of one column; see :meth:`add`."""

    def __init__(self, n_bins: int) -> None:
        self.numerator, self.denominator, self.variance = np.zeros((3, n_bins))
        self.weight = 0.0

    def add(
        self, sums: Floats, cell_variance: float, shape: Floats, weight: float
    ) -> tuple[Floats, Floats]:
        """Take one Newton step more into the weighted mean of all.

        Parameters
        ----------
        sums : ndarray of shape (2, n_bins)
            Released sums of residuals by label and bin.
        cell_variance : float
            Of the noise of each.
        shape : ndarray of shape (n_bins,)
            Where they were taken.
        weight : float

        Returns
        -------
        values, noise : ndarray of shape (n_bins,)
            The mean of the steps' targets, and its variance.
        """
        slope, curvature = sums[1] - sums[0], np.maximum(sums.sum(axis=0) / 2, 0.0)
        self.numerator += weight * (slope + curvature * shape)
        self.denominator += weight * curvature
        self.variance += weight**2 * 2 * cell_variance
        self.weight += weight
        least = rule.LEAST_CURVATURE * np.maximum(np.sqrt(self.variance), 1e-3)
        down = np.maximum(self.denominator, least)
        noise = np.minimum(rule.MOST_NOISE, self.variance / down**2 + weight / down)
        return self.numerator / down, noise

    def of_records(self) -> Floats:
        """Give about the variance that the mean would have without noise, from records alone.

        A residual of a bin has the variance 1/4 at most, and their sum falls with the score by
        half of the curvature at least: 4/curvature.
        """
        least = rule.LEAST_CURVATURE * np.maximum(np.sqrt(self.variance), 1e-3)
        return 4.0 * self.weight / np.maximum(self.denominator, least)
