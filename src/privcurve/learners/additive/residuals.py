"""PrivGAM's view of records: counts and sums of residuals by bin, of all columns at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, bin_starts, merge_bins
from privcurve.kernels.arithmetic import expits
from privcurve.kernels.privgam import CodedRows, count_labels, residual_sums
from privcurve.kernels.privgam_many import Clipping, class_residual_sums
from privcurve.parts import PartedRecords, Totals
from privcurve.privacy.calibration.privgam import CLIP
from privcurve.privacy.moves import Moves
from privcurve.privacy.sums import Bounds, Sum, adds_in_parts

# A score is an integer multiple of 2^-SCORE_BITS; tables of residuals have steps of 2^-STEP_BITS,
# up to scores of LARGEST_MARGIN, where the residual is 1e-7.
SCORE_BITS = 24
STEP_BITS = 8
SHIFT = SCORE_BITS - STEP_BITS
LARGEST_MARGIN = 16
# The largest weight of a class, in a table of integers; the smallest is above 100.
WEIGHT_BITS = 30
# Scores of bins are clipped to this, so that sums of scores fit in 64 bits.
LARGEST_SCORE = 64.0
ROOT_TWO = math.nextafter(math.sqrt(2.0), 2.0)


def residual_table(bits: int) -> Ints:
    """Return the residual by margin, clipped, in integer multiples of 2^-bits.

    The first entry is for margins ≤ 0. The others are evaluated in the middle of their steps.
    """
    clip = math.floor(CLIP * 2**bits)
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    residuals = np.rint(2.0**bits * expits(-margins)).astype(np.int64)
    return np.minimum(np.concatenate([[clip], residuals]), clip)


def weight_table() -> Floats:
    """Return the logistic function by score, in integer multiples of 2^-WEIGHT_BITS.

    Entries are evaluated in the middle of their steps; score 0 begins the upper half.
    """
    reach = LARGEST_MARGIN << STEP_BITS
    scores = (np.arange(-reach, reach) + 0.5) / 2**STEP_BITS
    return np.floor(2.0**WEIGHT_BITS * expits(scores))


def round_scores(scores: Floats) -> Ints:
    """Return scores as integer multiples of 2^-SCORE_BITS, clipped."""
    clipped = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    return np.rint(clipped * 2.0**SCORE_BITS).astype(np.int64)


def bin_maps(n_bins: Ints, ordered: Sequence[bool], most: int) -> list[Codes]:
    """Return the bin of each code by column; an ordered column has at most `most` bins."""
    return merge_bins(n_bins, n_bins * np.array(ordered), most)


class Query(NamedTuple):
    """The public form of sums by bin of all columns, followed by their totals."""

    n_classes: int
    n_columns: int
    n_bins: int
    clip: int  # of residuals
    norm: int


@lru_cache(maxsize=256)
def bounds_of(query: Query, of_residuals: bool) -> tuple[Bounds, Bounds]:
    """Return the bounds of sums by bin, and of totals (docs/proofs.md, 'PrivGAM', 1 to 3).

    A record adds nonnegative numbers: at most `clip` to a cell of each column, and for a residual
    of more than two classes as much again to other cells of the column.
    """
    many = of_residuals and query.n_classes > 2
    rows = ((2, query.n_classes) if many else (2, 1)) if of_residuals else (query.n_classes,)
    # In the L2 norm a residual is clipped at 1/√2, and √2 is rounded up.
    longer = ROOT_TWO if many and query.norm == 2 else 1.0
    made = []
    for n_columns, n_cells in ((query.n_columns, query.n_bins), (1, 1)):
        each = np.full((*rows, n_cells), query.clip * longer)
        l1, square = n_columns * (1 + many) * query.clip * longer, float(n_columns * (1 + many))
        size, change = (Moves(each, k * l1, query.clip, k * square) for k in (1, 2))
        made.append(Bounds(size, change, 1.0))
    return made[0], made[1]


class ScoredRows:
    """The rows of one part; answers are sums of integers: see :class:`BinSums`."""

    def __init__(
        self, records: Records, maps: Sequence[Codes], n_classes: int, bits: int, norm: int
    ) -> None:
        starts = bin_starts(np.array([int(bins[-1]) + 1 for bins in maps]))
        places = [start + bins.astype(np.int64) for start, bins in zip(starts, maps, strict=False)]
        self._n_classes, self._n_bins = n_classes, int(starts[-1])
        self._bits, self._norm, self._first = bits, norm, int(starts[1])
        labels = records.labels > 0 if n_classes == 2 else records.labels
        self._rows = CodedRows(
            np.ascontiguousarray(records.codes.T),
            labels.astype(np.uint8),
            records.counts,
            np.concatenate(places),
            bin_starts(records.n_bins)[:-1],
        )

    @adds_in_parts(lambda rows, query: bounds_of(query, False))
    def counts(self, query: Query) -> Ints:
        """Count the records by class and bin, then by class; each counts as `clip`."""
        counts = count_labels(self._rows, self._n_classes, self._n_bins)
        return self._with_totals(query.clip * counts)

    def _with_totals(self, sums: Ints) -> Ints:
        # Each record is in one bin of the first column.
        totals = sums[..., : self._first].sum(axis=-1, keepdims=True)
        return np.concatenate([sums, totals], axis=-1)

    @adds_in_parts(lambda rows, scores, intercepts, query: bounds_of(query, True))
    def sums(self, scores: Ints, intercepts: Ints, query: Query) -> Ints:
        """Sum the residuals at these scores: see :meth:`BinSums.sums`."""
        if self._n_classes == 2:
            table = residual_table(self._bits)
            by_label = residual_sums(self._rows, scores[0], intercepts[0], table, SHIFT)
            return self._with_totals(by_label[::-1, None])
        how = Clipping(weight_table(), SHIFT, math.floor(CLIP * 2**self._bits), self._norm)
        by_bin = np.ascontiguousarray(scores.T)
        sums = class_residual_sums(self._rows, by_bin, intercepts, how)
        return self._with_totals(sums.transpose(1, 2, 0)[::-1])


class BinSums:
    """Sums over records, in memory or partitioned, by class and bin of all columns.

    Parameters
    ----------
    records : Records or PartedRecords
    maps : list of ndarray
        The bin of each code, by column (:func:`bin_maps`). The bins of all columns are numbered
        consecutively.
    n_classes : int
    bits : int
        Sums are integer multiples of 2^-bits.
    norm : int
        The norm, 1 or 2, for clipping residuals of more than two classes.
    """

    def __init__(
        self,
        records: Records | PartedRecords,
        maps: list[Codes],
        n_classes: int,
        bits: int,
        norm: int,
    ) -> None:
        make = partial(ScoredRows, maps=maps, n_classes=n_classes, bits=bits, norm=norm)
        clip, n_bins = math.floor(CLIP * 2**bits), sum(int(bins[-1]) + 1 for bins in maps)
        self._query = Query(n_classes, len(maps), n_bins, clip, norm)
        self._totals = Totals(records, make)

    def counts(self) -> list[Sum]:
        """Return half of the number of records by class and bin, and by class alone.

        Shapes (n_classes, n_bins) and (n_classes,).
        """
        return self._ask("counts")

    def _ask(self, question: str, *scores: Ints) -> list[Sum]:
        by_bin, totals = self._totals.ask(question, *scores, self._query)
        return [by_bin, totals.reshape(totals.shape[:-1])]

    def sums(self, scores: Ints, intercepts: Ints) -> list[Sum]:
        """Return the sums of each class's own residuals, and of the other records' parts for it.

        Both are by bin, with their totals.

        Parameters
        ----------
        scores : ndarray of shape (n_scores, n_bins)
            From :func:`round_scores`: one score per bin for two classes, else one for each class.
        intercepts : ndarray of shape (n_scores,)

        Returns
        -------
        Sums of shape (2, n_scores, n_bins), and (2, n_scores)
        """
        return self._ask("sums", scores, intercepts)
