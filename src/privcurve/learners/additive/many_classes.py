"""PrivGAM of more than two classes: records, and how the fit uses their answers.

Each class has a score; F_k = intercept_k + Σ_j θ_jk, and p is their softmax. A release of a column
has, by class and bin, the residuals of the class's own records and what all others have of it:
docs/privgam.md, "More than two classes".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Floats, Ints, Records
from privcurve.kernels.arithmetic import exps, logs
from privcurve.kernels.privgam_many import (
    RowsWithClassScores,
    add_to_class_scores,
    class_residual_sums,
    class_residuals,
)
from privcurve.learners.additive import rule
from privcurve.learners.additive.fitting import Fit, RunningSums
from privcurve.learners.additive.residuals import (
    LARGEST_MARGIN,
    SCORE_BITS,
    STEP_BITS,
    BinSums,
    CodedRows,
    Scores,
)
from privcurve.parts import PartedRecords
from privcurve.privacy.calibration.privgam import CLIP, Budget
from privcurve.privacy.curator import Curator

# The weight of the best class, in a table of whole numbers; at LARGEST_MARGIN it is above 100.
WEIGHT_BITS = 30


def weight_table() -> Floats:
    """Return e^-margin by margin in whole multiples of 2^-WEIGHT_BITS: steps as of residuals."""
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    return np.floor(2.0**WEIGHT_BITS * exps(-np.concatenate([[0.0], margins])))


# Steps of the fixed-point search for probabilities; each reduces the error by a constant factor.
CHANCE_STEPS = 50
# The least number of records of a class without noise.
TINY = 1e-3


def clipped_residuals(chances: Floats, norm: int) -> Floats:
    """Return the residual s of a record of each class, at these probabilities of classes.

    π are the parts of s that the other classes get: s(1 + ‖π‖₁) is at most 1 in the norm of 1, and
    s²(1 + ‖π‖²) at most 1/2 in the norm of 2.
    """
    others = 1 - chances
    if norm == 1:
        return np.minimum(others, CLIP)
    squares = (chances * chances).sum() - chances * chances
    return np.minimum(others, others / np.sqrt(2 * (others * others + squares)))


def chances_of(shares: Floats, norm: int) -> Floats:
    """Return the probabilities of a softmax at which classes of these shares, above 0, balance."""
    chances = shares / shares.sum()
    for _ in range(CHANCE_STEPS):
        chances = shares * clipped_residuals(chances, norm) / (1 - chances)
        chances /= chances.sum()
    return chances


class ClassRows(CodedRows):
    """Rows of more than two classes, which have a score each; labels are positions of classes.

    Residuals are on a grid of so many `bits`, and clipped in the norm of 1 or 2.
    """

    def __init__(self, records: Records, n_classes: int, bits: int, norm: int) -> None:
        super().__init__(records)
        self.rows = RowsWithClassScores(
            records.labels.astype(np.uint8),
            records.counts,
            np.zeros((len(records.labels), n_classes), dtype=np.int64),
            weight_table(),
            SCORE_BITS - STEP_BITS,
            math.floor(CLIP * 2**bits),
            norm,
        )

    def move(self, column: NDArray[Any], change: Ints) -> None:
        """Add the change for each code of a column to the scores."""
        add_to_class_scores(column, np.ascontiguousarray(change.T), self.rows.scores)

    def sums_of(self, column: NDArray[Any], n_codes: int) -> Ints:
        """Sum residuals by class and code of a column: of others' records, then of its own."""
        of_bins = class_residual_sums(column, n_codes, self.rows)
        return np.ascontiguousarray(of_bins.transpose(1, 2, 0))

    def each(self, scores: Scores) -> Ints:
        """Return the residuals of each row by class."""
        self.score(scores)
        return class_residuals(self.rows)


class ClassResiduals(BinSums):
    """Sums of more than two classes: see :class:`BinSums`; the rest is as of :class:`ClassRows`.

    Sums of a column are of shape (2, n_classes, n_bins): of others' records, then of a class's own.
    """

    def __init__(
        self,
        records: Records | PartedRecords,
        n_classes: int,
        maps: list[Codes],
        bits: int,
        norm: int,
    ) -> None:
        make = partial(ClassRows, n_classes=n_classes, bits=bits, norm=norm)
        super().__init__(records, maps, make, (n_classes,))


class ClassFit(Fit):
    """A fit of more than two classes: all columns at once, then rounds.

    The questions and their order are as for two classes; here is how the answers are used. All
    values are of shape (n_classes, n_bins), and those of a bin add up to 0.
    """

    def __init__(
        self, records: ClassResiduals, ordered: Sequence[bool], budget: Budget, curator: Curator
    ) -> None:
        # `ClassResiduals` has the methods of `Residuals` that a fit calls.
        super().__init__(cast(Any, records), ordered, budget, curator)
        shapes = [each.shape for each in records.shapes]
        self._running = [RunningSums(shape) for shape in shapes]
        self._smooth = [np.zeros(shape) for shape in shapes]
        self.errors = [np.zeros(shape) for shape in shapes]

    def rounds(self, extras: rule.Extras) -> None:
        """Ask all columns at once, and then each column once a round."""
        if extras.once:
            self.ask_once(extras)
        if extras.once < 1.0:
            super().rounds(extras)

    def ask_once(self, extras: rule.Extras) -> None:
        """Release the numbers of records by class and bin of all columns at once.

        Nothing was asked before, so all residuals are alike; what they are at the intercept of
        these numbers, which is public then, follows from them too.
        """
        columns = range(self.intercept)
        flat, norm = self.budget.flat_residual, self.budget.norm
        exact = np.concatenate([self.records.sums(j)[1] for j in columns], axis=1)
        what = "first: numbers of records by class and bin of all columns"
        sensitivity = self.budget.counts_sensitivity(len(columns))
        released, variance = self._ask(exact, extras.once, sensitivity, what)
        widths = self.records.n_bins[:-1]
        counts = np.split(released / flat, np.cumsum(widths)[:-1], axis=1)
        variance /= flat * flat
        # Each column has all records: their number by class is a mean over columns.
        per_width = (1 / widths).sum()
        totals = np.sum([numbers.mean(axis=1) for numbers in counts], axis=0) / per_width
        deviation = math.sqrt(variance / per_width)
        chances = chances_of(np.maximum(totals, max(deviation, TINY)), norm)
        self._smooth[self.intercept] = self._centre(logs(chances)[:, None])
        weight = extras.once_weight()
        self._take_counts(self.intercept, totals[:, None], chances, deviation * deviation, weight)
        for j, width in zip(columns, widths.tolist(), strict=True):
            missing = (totals - counts[j].sum(axis=1)) / width
            self._take_counts(j, counts[j] + missing[:, None], chances, variance, weight)

    def _take_counts(
        self, j: int, counts: Floats, chances: Floats, variance: float, weight: float
    ) -> None:
        """Smooth the values of a column, by numbers of records at these probabilities."""
        residuals = clipped_residuals(chances, self.budget.norm)
        given = residuals / (1 - chances)
        to_others = given[:, None] * counts
        own = residuals[:, None] * counts
        others = chances[:, None] * (to_others.sum(axis=0) - to_others)
        of_others = (chances * chances) * ((given * given).sum() - given * given)
        of_each = variance * (residuals * residuals + of_others)[:, None] / 2
        super()._take(j, np.stack([others, own]), of_each, weight)

    def _take(self, j: int, sums: NDArray[Any], variance: float | Floats, weight: float) -> None:
        """Smooth the values of a column anew, with what was released."""
        n_classes = sums.shape[1]
        # S and Q of a bin have the same total over classes, so their difference sums to 0.
        total = (sums[1] - sums[0]).sum(axis=0) / (2 * n_classes)
        even = sums + np.stack([total, -total])[:, None]
        super()._take(j, even, variance * (1 - 1 / n_classes), weight)

    def _centre(self, mean: Floats) -> Floats:
        return mean - mean.mean(axis=0)
