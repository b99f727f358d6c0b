"""PrivGAM of more than two classes: records, and what the fit makes of what they answer.

Each class has a score; F_k = intercept_k + Σ_j θ_jk, and p is their softmax. A release of a column
has, by class and bin, the residuals of the class's own records and what all others have of it:
docs/privgam.md, "More than two classes".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Floats, Ints, code_type
from privcurve.kernels.privgam_many import (
    ScoredClasses,
    add_to_class_scores,
    class_edges_of_columns,
    class_residual_sums,
    class_residuals,
    smooth_classes,
)
from privcurve.learners.additive import rule
from privcurve.learners.additive.fitting import LENGTHS, SIZES, Fit, Running
from privcurve.learners.additive.residuals import (
    LARGEST_MARGIN,
    LARGEST_SHAPE,
    SCORE_BITS,
    STEP_BITS,
)
from privcurve.privacy.calibration.privgam import CLIP, MOST_RECORDS, Budget
from privcurve.privacy.curator import Curator

# The weight of the best class, in a table of whole numbers; at LARGEST_MARGIN it is above 100.
WEIGHT_BITS = 30


def weight_table() -> Floats:
    """Return e^-margin by margin in whole multiples of 2^-WEIGHT_BITS: steps as of residuals."""
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    return np.floor(2.0**WEIGHT_BITS * np.exp(-np.concatenate([[0.0], margins])))


class ClassResiduals:
    """Records, a score a class, and sums of their clipped residuals: see `Residuals`.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
    labels : ndarray of shape (n_rows,)
        Positions of classes.
    counts : ndarray of shape (n_rows,)
    n_classes : int
    maps : list of ndarray
        The bin of each code.
    bits : int
        Of the grid of residuals.

    Attributes
    ----------
    n_bins : ndarray of shape (n_columns + 1,)
        Bins of each column; the last is the intercept's, of one bin.
    shapes : list of ndarray of int64, shape (n_classes, n_bins)
        The scores that each bin of each column adds, in multiples of 2^-SCORE_BITS.

    Raises
    ------
    ValueError
        If there are so many records that a sum could overflow.
    """

    def __init__(
        self,
        codes: Codes,
        labels: NDArray[Any],
        counts: Ints,
        n_classes: int,
        maps: list[Codes],
        bits: int,
    ) -> None:
        if int(counts.sum()) >= MOST_RECORDS:
            raise ValueError(f"privgam adds up to {MOST_RECORDS - 1:,} records without overflow")
        self.n_bins = np.array([int(each[-1]) + 1 for each in maps] + [1])
        self.columns: NDArray[Any] = np.zeros((len(maps) + 1, len(codes)), code_type(self.n_bins))
        for j, bins in enumerate(maps):
            np.take(bins.astype(self.columns.dtype), codes[:, j], out=self.columns[j])
        scores = np.zeros((len(codes), n_classes), dtype=np.int64)
        clip = math.floor(CLIP * 2**bits)
        self._rows = ScoredClasses(
            labels.astype(np.uint8), counts, scores, weight_table(), SCORE_BITS - STEP_BITS, clip
        )
        self.shapes = [np.zeros((n_classes, k), dtype=np.int64) for k in self.n_bins.tolist()]

    def set_shape(self, j: int, shape: Floats) -> None:
        """Put other values, of shape (n_classes, n_bins), in the place of a column's."""
        clipped = np.clip(shape, -LARGEST_SHAPE, LARGEST_SHAPE)
        wanted = np.rint(clipped * 2.0**SCORE_BITS).astype(np.int64)
        change = np.ascontiguousarray((wanted - self.shapes[j]).T)
        add_to_class_scores(self.columns[j], change, self._rows.scores)
        self.shapes[j] = wanted

    def sums(self, j: int) -> Ints:
        """Sum residuals by class and bin of a column: of others' records, then of its own."""
        return class_residual_sums(self.columns[j], int(self.n_bins[j]), self._rows)

    def each(self) -> Ints:
        """Return the residuals of each row by class, for the audit: it is no release."""
        return class_residuals(self._rows)

    def edges(self) -> Ints:
        """Return Σ_{k,b} |G_kb| of all columns and of the intercept."""
        return class_edges_of_columns(self.columns, self.n_bins, self._rows)


class ClassFit(Fit):
    """A fit of more than two classes: cyclic or greedy, without a linear part and pairs.

    What is asked of the records, and in which order, is as of two classes; here is what is made of
    the answers. All values are of shape (n_classes, n_bins), and those of a bin add up to 0.
    """

    def __init__(
        self, records: ClassResiduals, ordered: Sequence[bool], budget: Budget, curator: Curator
    ) -> None:
        # They answer what a fit asks of `Residuals`.
        super().__init__(cast(Any, records), ordered, budget, curator)
        shapes = [each.shape for each in records.shapes]
        self._running = [Running(shape) for shape in shapes]
        self._smooth = [np.zeros(shape) for shape in shapes]
        self.errors = [np.zeros(shape) for shape in shapes]

    def margin(self, share: float, n_records: int) -> None:
        """Release the numbers of records of the classes, where nothing was asked before.

        All residuals are the clip c then, and all other classes have equal parts of them.
        """
        own = self.records.sums(self.intercept)[1]
        one = self.budget.of_one_cell()
        counts, variance = self._noisy(own, share, one, "first: numbers of records by class")
        others = (n_records * CLIP - counts) / (len(counts) - 1)
        # So S - Q has the noise of S, a little larger, in place of that of two numbers.
        variance *= (1 + 1 / (len(counts) - 1)) ** 2 / 2
        self._take(self.intercept, np.stack([others, counts]), variance, 1.0)

    def _take(self, j: int, sums: NDArray[Any], variance: float, weight: float) -> None:
        """Smooth the values of a column anew, with what was released."""
        n_classes = sums.shape[1]
        # S and Q of a bin have one total over classes, so their difference has none.
        total = (sums[1] - sums[0]).sum(axis=0) / (2 * n_classes)
        even = sums + np.stack([total, -total])[:, None]
        z, noise = self._running[j].add(
            even, variance * (1 - 1 / n_classes), self._smooth[j], weight
        )
        if j == self.intercept:
            left = rule.INTERCEPT_VARIANCE / (rule.INTERCEPT_VARIANCE + noise)
            mean = left * z
            self.errors[j] = np.sqrt(left * (noise + self._running[j].of_records()))
        else:
            mean, spread = np.empty(z.shape), np.empty(z.shape)
            self._nothing[j] = smooth_classes(
                z, noise, self.ordered[j], SIZES, LENGTHS, mean, spread
            )
            self.errors[j] = np.sqrt(spread * (1.0 + self._running[j].of_records() / noise))
        self._smooth[j] = mean - mean.mean(axis=0)
        self._set([j])
