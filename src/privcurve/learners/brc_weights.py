"""Weights of records under BRC: what they say of a classifier, and how they follow α."""

from __future__ import annotations

import math

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.brc import reweight, weight_bits, weighted_sums
from privcurve.privacy.calibration.brc import EDGE, BRCNoise


class PrivateWeights:
    """The weights of one fit, all 1 at first.

    Given the α's and classifiers so far, each is a function of its own record: a product
    that would pass a cap leaves it as it is.

    Parameters
    ----------
    counts : ndarray of shape (n_rows,)
        Records that a row stands for.
    noise : BRCNoise
        For the caps and what is estimated.
    """

    def __init__(self, counts: Ints, noise: BRCNoise) -> None:
        self._counts = counts
        self._noise = noise
        self._unit = 1 << weight_bits(noise.n, noise.largest)
        self._caps = math.ceil(noise.smallest * self._unit), math.floor(noise.largest * self._unit)
        self._each = np.full(len(counts), self._unit, dtype=np.int64)

    @property
    def each(self) -> Floats:
        """The weight of a record of each row."""
        return self._each / self._unit

    @property
    def mass(self) -> Ints:
        """The weight of all records of each row, in fixed point."""
        return self._each * self._counts

    def estimate(self, wrong: Bools) -> float:
        """Return the exact weighted error (or edge) of a classifier, by the rows it gets wrong."""
        missed, total = (int(found) for found in weighted_sums(self._each, self._counts, wrong))
        if self._noise.estimate == EDGE:
            return (total - 2 * missed) / (2 * self._unit * self._noise.n)
        return missed / total

    def utility(self, missed: Ints) -> Floats:
        """Return by how much classifiers are better or worse than a coin: |½ − error|, or |edge|.

        In the unit of what is estimated, so that it has the sensitivity of an estimate.

        Parameters
        ----------
        missed : ndarray of shape (n_classifiers,)
            Mass of the rows that each gets wrong.
        """
        total = int(self.mass.sum())
        if self._noise.estimate == EDGE:
            return np.abs((total - 2 * missed) / (2 * self._unit * self._noise.n))
        return np.abs(0.5 - missed / total)

    def follow(self, alpha: float, wrong: Bools) -> None:
        """Multiply the weights of wrong records by e^α, within the caps."""
        # Beyond e^700 a product is beyond the cap in any case.
        reweight(self._each, wrong, math.exp(min(alpha, 700.0)), *self._caps)
