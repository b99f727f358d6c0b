"""Records as PrivGAM's kernel reads them: columns of bins, scores, and sums of residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import MOST_CODES, Codes, Floats, Ints, Signs, code_type, merged_bins
from privcurve.kernels.privgam import (
    Scored,
    add_to_scores,
    edges_of_columns,
    residual_sums,
    slopes_of_columns,
)
from privcurve.learners.additive.pairs import Crossing
from privcurve.learners.additive.rule import FEW_BINS
from privcurve.privacy.calibration.privgam import CLIP, MOST_RECORDS

# A score is a whole multiple of 2^-SCORE_BITS; the table of residuals has steps of 2^-STEP_BITS, up
# to margins of LARGEST_MARGIN, where the residual is 1e-7.
SCORE_BITS = 24
STEP_BITS = 8
LARGEST_MARGIN = 16
# What a shape function is clipped to: no sum of scores leaves 64 bits.
LARGEST_SHAPE = 64.0
# A place along a column is a whole multiple of 2^-PLACE_BITS.
PLACE_BITS = 10
# Rows that are multiplied at a time.
CHUNK = 65_536


def residual_table(bits: int) -> Ints:
    """Return the residual by margin, clipped, in whole multiples of 2^-bits.

    The first entry is for margins up to 0. The others are taken in the middle of their steps.
    """
    clip = math.floor(CLIP * 2**bits)
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    residuals = np.rint(2.0**bits / (1.0 + np.exp(margins))).astype(np.int64)
    return np.minimum(np.concatenate([[clip], residuals]), clip)


def bin_maps(n_bins: Ints, ordered: Sequence[bool], merged: bool) -> list[Codes]:
    """Return the bin of each code of each column: codes, or neighbours of them together."""
    return merged_bins(n_bins, ordered, FEW_BINS if merged else MOST_CODES)


class Residuals:
    """Records, their scores, and sums of their clipped residuals.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
    signs, counts : ndarray of shape (n_rows,)
    maps : list of ndarray
        The bin of each code; see :func:`bin_maps`.
    bits : int
        Of the grid of residuals.

    Attributes
    ----------
    n_bins : ndarray of shape (n_columns + 1,)
        Bins of each column; the last is the intercept's, of one bin.
    shapes : list of ndarray of int64
        The score that each bin of each column adds, in multiples of 2^-SCORE_BITS; crossed
        columns come after the intercept.

    Raises
    ------
    ValueError
        If there are so many records that a sum could overflow.
    """

    def __init__(
        self, codes: Codes, signs: Signs, counts: Ints, maps: list[Codes], bits: int
    ) -> None:
        if int(counts.sum()) >= MOST_RECORDS:
            raise ValueError(f"privgam adds up to {MOST_RECORDS - 1:,} records without overflow")
        self.n_bins = np.array([int(each[-1]) + 1 for each in maps] + [1])
        self.columns: NDArray[Any] = np.zeros((len(maps) + 1, len(codes)), code_type(self.n_bins))
        for j, bins in enumerate(maps):
            np.take(bins.astype(self.columns.dtype), codes[:, j], out=self.columns[j])
        labels = (signs > 0).astype(np.uint8)
        scores = np.zeros(len(codes), dtype=np.int64)
        self._rows = Scored(labels, counts, scores, residual_table(bits), SCORE_BITS - STEP_BITS)
        self.shapes = [np.zeros(count, dtype=np.int64) for count in self.n_bins.tolist()]
        self._crossed: list[NDArray[np.uint8]] = []

    def column(self, j: int) -> NDArray[Any]:
        """Return the bin of each row in a column, the intercept, or a crossed column."""
        n = len(self.columns)
        return self.columns[j] if j < n else self._crossed[j - n]

    def cross(self, crossing: Crossing) -> int:
        """Add a column that crosses two others; return its number."""
        first, second = (
            groups[self.columns[j]]
            for j, groups in zip(crossing.columns, crossing.groups, strict=True)
        )
        width = crossing.shape
        self._crossed.append((first * width[1] + second).astype(np.uint8))
        self.shapes.append(np.zeros(width[0] * width[1], dtype=np.int64))
        return len(self.shapes) - 1

    def set_shape(self, j: int, shape: Floats) -> None:
        """Put another shape function in the place of a column's."""
        clipped = np.clip(shape, -LARGEST_SHAPE, LARGEST_SHAPE)
        wanted = np.rint(clipped * 2.0**SCORE_BITS).astype(np.int64)
        add_to_scores(self.column(j), wanted - self.shapes[j], self._rows.scores)
        self.shapes[j] = wanted

    def sums(self, j: int) -> Ints:
        """Sum the residuals by label and bin of a column."""
        return residual_sums(self.column(j), len(self.shapes[j]), self._rows)

    def each(self) -> Ints:
        """Return the clipped residual of each row, for the audit: it is no release."""
        labels, _, scores, table, shift = self._rows
        steps = ((np.where(labels == 1, scores, -scores) - 1) >> shift) + 1
        return table[np.clip(steps, 0, len(table) - 1)]

    def edges(self) -> Ints:
        """Return Σ_b |G_b| of all columns and of the intercept."""
        return edges_of_columns(self.columns, self.n_bins, self._rows)

    def slopes(self, places: Ints) -> Ints:
        """Sum the signed residuals times the places of records, column by column."""
        return slopes_of_columns(self.columns, places, PLACE_BITS, self._rows)

    def gram(self, places: Ints) -> Ints:
        """Sum the products of the places of records in each two columns.

        Numbers are whole and their sums below 2^53, so no order of adding up shows.
        """
        total = np.zeros((len(places), len(places)))
        for start in range(0, len(self._rows.labels), CHUNK):
            part = slice(start, start + CHUNK)
            rows = np.stack([places[j][c[part]] for j, c in enumerate(self.columns)]).astype(float)
            total += (rows * self._rows.counts[part]) @ rows.T
        return total.astype(np.int64)
