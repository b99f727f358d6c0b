"""Records as PrivGAM sees them: sums of residuals by bin, of all records or part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Codes, Floats, Ints, Records, bin_starts, merge_bins
from privcurve.kernels.arithmetic import expits
from privcurve.kernels.privgam import (
    RowsWithScores,
    add_to_scores,
    products_of_columns,
    residual_sums,
    residuals_of,
    slopes_of_columns,
    stump_scores,
)
from privcurve.kernels.privgam_many import RowsWithClassScores
from privcurve.learners.additive.pairs import Crossing
from privcurve.parts import PartedRecords, Totals
from privcurve.privacy.calibration.privgam import CLIP

# A score is a whole multiple of 2^-SCORE_BITS; the table of residuals has steps of 2^-STEP_BITS, up
# to margins of LARGEST_MARGIN, where the residual is 1e-7.
SCORE_BITS = 24
STEP_BITS = 8
LARGEST_MARGIN = 16
# Shape functions are clipped to this, so that no sum of scores leaves 64 bits.
LARGEST_SHAPE = 64.0
# A place along a column is a whole multiple of 2^-PLACE_BITS.
PLACE_BITS = 10


def residual_table(bits: int) -> Ints:
    """Return the residual by margin, clipped, in whole multiples of 2^-bits.

    The first entry is for margins up to 0. The others are taken in the middle of their steps.
    """
    clip = math.floor(CLIP * 2**bits)
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    residuals = np.rint(2.0**bits * expits(-margins)).astype(np.int64)
    return np.minimum(np.concatenate([[clip], residuals]), clip)


def bin_maps(n_bins: Ints, ordered: Sequence[bool], most: int) -> list[Codes]:
    """Return the bin of each code by column: neighbours of ordered columns share `most` bins."""
    return merge_bins(n_bins, n_bins * np.array(ordered), most)


def sum_bins(of_codes: Ints, bins: NDArray[Any]) -> Ints:
    """Add up numbers by code, along the last axis, in each bin; `bins` has the bin of each code."""
    n_bins = int(bins[-1]) + 1
    if n_bins == len(bins):
        return of_codes
    return np.add.reduceat(of_codes, np.searchsorted(bins, np.arange(n_bins)), axis=-1)


class CrossedColumns(NamedTuple):
    """Two columns as one: the group of each code of both, and the second's number of groups."""

    columns: tuple[int, int]
    groups: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    width: int


class Scores(NamedTuple):
    """The shape functions that the scores of rows follow from."""

    # What each code of each column adds, then the intercept, then crossed columns. Several scores
    # have an axis before that of codes.
    shapes: tuple[Ints, ...]
    crossed: tuple[CrossedColumns, ...]


class CodedRows:
    """Rows of one part; each question brings their scores up to date. A subclass has `rows`."""

    rows: RowsWithScores | RowsWithClassScores

    def __init__(self, records: Records) -> None:
        self.columns: NDArray[Any] = np.ascontiguousarray(records.codes.T)
        self.starts = bin_starts(records.n_bins)
        self._shapes: dict[int, Ints] = {}

    def score(self, scores: Scores) -> None:
        """Bring the scores up to date."""
        for j, shape in enumerate(scores.shapes):
            former = self._shapes.get(j, 0)
            if shape is former:
                continue
            self._shapes[j] = shape
            change = shape - former
            if change.any():
                if j == len(self.columns):
                    self.rows.scores[:] += change[..., 0]
                else:
                    self.move(self.column(j, scores), change)

    def move(self, column: NDArray[Any], change: Ints) -> None:
        """Add the change for each code of a column to the scores."""
        raise NotImplementedError

    def sums_of(self, column: NDArray[Any], n_codes: int) -> Ints:
        """Sum the residuals by code of a column, along the last axis."""
        raise NotImplementedError

    def column(self, j: int, scores: Scores) -> NDArray[Any]:
        """Return the code of each row in a column or a crossed one."""
        if j < len(self.columns):
            return self.columns[j]
        pair = scores.crossed[j - len(self.columns) - 1]
        first, second = (
            groups[self.columns[k]] for k, groups in zip(pair.columns, pair.groups, strict=True)
        )
        return first * np.uint8(pair.width) + second

    def sums(self, scores: Scores, j: int) -> Ints:
        """Sum the residuals by code of a column, or of the intercept."""
        self.score(scores)
        is_intercept = j == len(self.columns)
        # Each row has one code of any column.
        j = 0 if is_intercept else j
        by_code = self.sums_of(self.column(j, scores), scores.shapes[j].shape[-1])
        return by_code.sum(axis=-1, keepdims=True) if is_intercept else by_code


class ScoredRows(CodedRows):
    """Rows of two classes, which have one score; positive labels are above 0.

    Residuals are whole multiples of 2^-`bits`.
    """

    def __init__(self, records: Records, bits: int) -> None:
        super().__init__(records)
        labels = (records.labels > 0).astype(np.uint8)
        scores = np.zeros(len(labels), dtype=np.int64)
        self.rows = RowsWithScores(
            labels, records.counts, scores, residual_table(bits), SCORE_BITS - STEP_BITS
        )

    def move(self, column: NDArray[Any], change: Ints) -> None:
        """Add the change for each code of a column to the scores."""
        add_to_scores(column, change, self.rows.scores)

    def sums_of(self, column: NDArray[Any], n_codes: int) -> Ints:
        """Sum the residuals by label and code of a column."""
        return residual_sums(column, n_codes, self.rows)

    def each(self, scores: Scores) -> Ints:
        """Return the clipped residual of each row."""
        self.score(scores)
        return residuals_of(self.rows)

    def stumps(self, scores: Scores, ordered: Bools) -> Ints:
        """Return how well each stump follows the labels: see :meth:`Residuals.stumps`."""
        self.score(scores)
        return stump_scores(self.columns, self.starts, ordered, self.rows)

    def slopes(self, scores: Scores, places: Ints) -> Ints:
        """Sum the signed residuals times the places of rows, column by column."""
        self.score(scores)
        return slopes_of_columns(self.columns, places, PLACE_BITS, self.rows)

    def products(self, places: Ints) -> Ints:
        """Sum the products of the places of rows in each two columns: the upper triangle."""
        return products_of_columns(self.columns, places, self.rows.counts)


class BinSums:
    """Sums of the clipped residuals of records, which may be in parts, by bin.

    `maps` have the bin of each code (:func:`bin_maps`); `make` makes :class:`CodedRows` of records;
    `several` is how many scores there are, if they have an axis of their own. Raises ValueError if
    there are so many records that a sum could overflow.
    """

    def __init__(
        self,
        records: Records | PartedRecords,
        maps: list[Codes],
        make: Callable[[Records], CodedRows],
        several: tuple[int, ...] = (),
    ) -> None:
        # The number of bins of each column; last comes the intercept, with one bin.
        self.n_bins = np.array([int(bins[-1]) + 1 for bins in maps] + [1])
        # The scores that each bin of each column adds, in multiples of 2^-SCORE_BITS; crossed
        # columns come after the intercept.
        self.shapes = [np.zeros((*several, k), dtype=np.int64) for k in self.n_bins.tolist()]
        # Rows have codes; sums by bin are made from sums by code.
        self.maps: list[NDArray[Any]] = [*maps, np.zeros(1, dtype=np.uint8)]
        self._by_code = [
            shape[..., bins] for shape, bins in zip(self.shapes, self.maps, strict=True)
        ]
        self._crossed: list[CrossedColumns] = []
        self.rows = Totals(records, make)

    @property
    def scores(self) -> Scores:
        """The shape functions that the scores of rows follow from now."""
        return Scores(tuple(self._by_code), tuple(self._crossed))

    def set_shape(self, j: int, shape: Floats) -> None:
        """Replace the shape function of a column."""
        clipped = np.clip(shape, -LARGEST_SHAPE, LARGEST_SHAPE)
        self.shapes[j] = np.rint(clipped * 2.0**SCORE_BITS).astype(np.int64)
        self._by_code[j] = self.shapes[j][..., self.maps[j]]

    def sums(self, j: int) -> Ints:
        """Sum the residuals by label and bin of a column."""
        return sum_bins(self.rows.ask("sums", self.scores, j), self.maps[j])

    def each(self) -> Ints:
        """Return the clipped residuals of each row in one memory, for the audit: no release."""
        residuals: Ints = self.rows.ask("each", self.scores)
        return residuals


class Residuals(BinSums):
    """Sums of two classes: see :class:`BinSums`; `bits` are of the grid of residuals."""

    def __init__(self, records: Records | PartedRecords, maps: list[Codes], bits: int) -> None:
        super().__init__(records, maps, partial(ScoredRows, bits=bits))

    def stumps(self, ordered: Sequence[bool]) -> Ints:
        """Return how well each stump follows the labels: Σ of signed residuals times its answers.

        A stump answers ±1 in a bin of a column, or up to it if bins are ordered, and the opposite
        elsewhere. Stumps that begin with + come first, by column and bin; the intercept's stump
        gives all records one answer. Bins are codes.
        """
        follows: Ints = self.rows.ask("stumps", self.scores, np.array(ordered))
        return follows

    def stump(self, place: int, ordered: Sequence[bool]) -> tuple[int, Floats]:
        """Return the column of a stump, and its answer ±1 in each bin.

        A stump with the same answer in all bins of a column is the intercept's.
        """
        edges = bin_starts(self.n_bins)
        starts, ends = edges[:-1], edges[1:]
        sign, at = (1.0, place) if place < ends[-1] else (-1.0, place - ends[-1])
        j = int(np.searchsorted(starts, at, side="right")) - 1
        bins, cut = np.arange(self.n_bins[j]), at - starts[j]
        values = np.where(bins <= cut if ordered[j] else bins == cut, sign, -sign)
        return (len(starts) - 1, values[:1]) if (values == sign).all() else (j, values)

    def cross(self, crossing: Crossing) -> int:
        """Add a column that crosses two others; return its number."""
        first, second = (
            groups[self.maps[j]].astype(np.uint8)
            for j, groups in zip(crossing.columns, crossing.groups, strict=True)
        )
        n_groups = crossing.shape
        self._crossed.append(CrossedColumns(crossing.columns, (first, second), n_groups[1]))
        self.maps.append(np.arange(n_groups[0] * n_groups[1]))
        self.shapes.append(np.zeros(n_groups[0] * n_groups[1], dtype=np.int64))
        self._by_code.append(self.shapes[-1])
        return len(self.shapes) - 1

    def slopes(self, places: Ints) -> Ints:
        """Sum the signed residuals times the places of records, column by column.

        `places` are of bins: see :class:`~privcurve.learners.additive.linear_part.LinearPart`.
        """
        slopes: Ints = self.rows.ask("slopes", self.scores, self._code_places(places))
        return slopes

    def products(self, places: Ints) -> Ints:
        """Sum the products of the places of records in each two columns: the upper triangle."""
        products: Ints = self.rows.ask("products", self._code_places(places))
        return products

    def _code_places(self, places: Ints) -> Ints:
        """Return the places of codes, by those of bins."""
        maps = self.maps[: len(self.n_bins)]
        of_codes = np.zeros((len(places), max(map(len, maps))), dtype=np.int64)
        for row, place, bins in zip(of_codes, places, maps, strict=True):
            row[: len(bins)] = place[bins]
        return of_codes
