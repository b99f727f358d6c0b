"""Compute the sums over records that PrivGAM releases: counts and residuals, by bin."""

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
from privcurve.privacy.calibration.privgam import CLIP
from privcurve.privacy.moves import Moves
from privcurve.privacy.parts import PartedRecords, Totals
from privcurve.privacy.sealed import kernel
from privcurve.privacy.sums import Bounds, Sum, adds_in_parts

# Scores are integer multiples of 2^-SCORE_BITS. The margin of a record is its score times the sign
# of its label. A table of residuals has an entry for each step of 2^-STEP_BITS of the margin, up to
# LARGEST_MARGIN, where the residual is only 1e-7.
SCORE_BITS = 24
STEP_BITS = 8
SHIFT = SCORE_BITS - STEP_BITS
LARGEST_MARGIN = 16
# Tables for more than two classes hold the logistic function in units of 2^-WEIGHT_BITS.
# The smallest entry is above 100, so rounding changes it by less than 1 %.
WEIGHT_BITS = 30
# Scores of bins are clipped to ±LARGEST_SCORE, so that sums over columns fit in 64 bits.
LARGEST_SCORE = 64.0
ROOT_TWO = math.nextafter(math.sqrt(2.0), 2.0)


def residual_table(bits: int) -> Ints:
    """Return the table of clipped residuals by margin, in units of 2^-bits.

    Entry 0 is for margins ≤ 0. Each other entry is for one step of 2^-STEP_BITS, and has the value
    in the middle of the step.
    """
    clip = math.floor(CLIP * 2**bits)
    margins = (np.arange(LARGEST_MARGIN << STEP_BITS) + 0.5) / 2**STEP_BITS
    residuals = np.rint(2.0**bits * expits(-margins)).astype(np.int64)
    return np.minimum(np.concatenate([[clip], residuals]), clip)


def weight_table() -> Floats:
    """Return the table of the logistic function by score, in units of 2^-WEIGHT_BITS.

    Scores go from −LARGEST_MARGIN to LARGEST_MARGIN in steps of 2^-STEP_BITS; each entry has the
    value in the middle of its step.
    """
    reach = LARGEST_MARGIN << STEP_BITS
    scores = (np.arange(-reach, reach) + 0.5) / 2**STEP_BITS
    return np.floor(2.0**WEIGHT_BITS * expits(scores))


def round_scores(scores: Floats) -> Ints:
    """Clip scores to ±LARGEST_SCORE, and return them as integers in units of 2^-SCORE_BITS."""
    clipped = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    return np.rint(clipped * 2.0**SCORE_BITS).astype(np.int64)


def bin_maps(n_bins: Ints, ordered: Sequence[bool], most: int) -> list[Codes]:
    """Return for each column the merged bin of each bin of the encoded data.

    Neighbouring bins of an ordered column are merged, to at most `most` bins; bins of other columns
    are not merged.
    """
    return merge_bins(n_bins, n_bins * np.array(ordered), most)


class Query(NamedTuple):
    """Public facts of a release (sums by bin, and their totals) that determine its sensitivity."""

    n_classes: int
    n_columns: int
    n_bins: int  # number of bins of all columns together
    clip: int  # the largest residual, in the unit of the sums
    norm: int  # 1 or 2: vectors of residuals are clipped in the L1 or L2 norm


@lru_cache(maxsize=256)
def bounds_of(query: Query, of_residuals: bool) -> tuple[Bounds, Bounds]:
    """Return the bounds of the sums by bin, and of the totals (docs/proofs.md, 'PrivGAM').

    A record adds at most `clip`, and never less than 0, to one cell of each column. With more than
    two classes, its residuals for the other classes also add up to at most `clip` in each column.
    """
    many = of_residuals and query.n_classes > 2
    rows = ((2, query.n_classes) if many else (2, 1)) if of_residuals else (query.n_classes,)
    # With more than two classes, vectors of residuals are clipped to the L2 norm 1/√2 = √2 · CLIP.
    # ROOT_TWO is √2, rounded up.
    longer = ROOT_TWO if many and query.norm == 2 else 1.0
    made = []
    for n_columns, n_cells in ((query.n_columns, query.n_bins), (1, 1)):
        each = np.full((*rows, n_cells), query.clip * longer)
        l1, square = n_columns * (1 + many) * query.clip * longer, float(n_columns * (1 + many))
        size, change = (Moves(each, k * l1, query.clip, k * square) for k in (1, 2))
        made.append(Bounds(size, change, 1.0))
    return made[0], made[1]


@kernel
def column_scores(
    counts: Ints, totals: Ints, starts: Ints, ordered: Sequence[bool], bits: int
) -> Ints:
    """Score each column by how well its bins separate the classes, in units of 2^-bits.

    For a class and a set of bins, take n times the covariance of "the record is of the class" and
    "the record is in the set", n the number of records. The score is the largest absolute value
    over all classes and all sets of bins; in an ordered column, over the sets of its first bins. It
    moves by at most 1 between neighbours (docs/proofs.md, 'PrivGAM', 7), and so does the
    score rounded down.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_bins)
        Numbers of records.
    totals : ndarray of shape (n_classes,)
    starts : ndarray of shape (n_columns + 1,)
        The first bin of each column, then the number of all bins.
    ordered : sequence of bool
    bits : int
    """
    n = max(int(totals.sum()), 1)
    # n times the score is an integer below 2^62, as n is below 2^31.
    excess = n * counts - totals[:, None] * counts.sum(axis=0)
    scores = np.empty(len(ordered), dtype=np.int64)
    for j, in_order in enumerate(ordered):
        own = excess[:, starts[j] : starts[j + 1]]
        by_set = np.abs(np.cumsum(own, axis=1)) if in_order else np.maximum(own, 0).sum(axis=1)
        scores[j] = by_set.max()
    return (scores // n << bits) + ((scores % n << bits) // n)


class ScoredRows:
    """The rows of one part of the records; `Totals` adds up the sums of all parts.

    :class:`BinSums` explains the parameters.
    """

    def __init__(
        self,
        records: Records,
        columns: Sequence[int],
        maps: Sequence[Codes],
        n_classes: int,
        bits: int,
        norm: int,
    ) -> None:
        starts = bin_starts(np.array([int(bins[-1]) + 1 for bins in maps]))
        places = [start + bins.astype(np.int64) for start, bins in zip(starts, maps, strict=False)]
        self._n_classes, self._n_bins = n_classes, int(starts[-1])
        self._bits, self._norm, self._first = bits, norm, int(starts[1])
        labels = records.labels > 0 if n_classes == 2 else records.labels
        codes = records.codes.T
        if len(columns) < len(records.n_bins):  # indexing copies: not where all columns are asked
            codes = codes[list(columns)]
        self._rows = CodedRows(
            np.ascontiguousarray(codes),
            labels.astype(np.uint8),
            records.counts,
            np.concatenate(places),
            bin_starts(records.n_bins[list(columns)])[:-1],
        )

    @adds_in_parts(lambda rows, query: bounds_of(query, False))
    def counts(self, query: Query) -> Ints:
        """Return counts by class and bin, then by class, all multiplied by `query.clip`."""
        counts = count_labels(self._rows, self._n_classes, self._n_bins)
        return self._with_totals(query.clip * counts)

    def _with_totals(self, sums: Ints) -> Ints:
        # Each record is in exactly one bin of the first column: this column's bins add up to the
        # total.
        totals = sums[..., : self._first].sum(axis=-1, keepdims=True)
        return np.concatenate([sums, totals], axis=-1)

    @adds_in_parts(lambda rows, scores, intercepts, query: bounds_of(query, True))
    def sums(self, scores: Ints, intercepts: Ints, query: Query) -> Ints:
        """Return the sums of residuals at `scores`, then their totals: see :meth:`BinSums.sums`."""
        if self._n_classes == 2:
            table = residual_table(self._bits)
            by_label = residual_sums(self._rows, scores[0], intercepts[0], table, SHIFT)
            return self._with_totals(by_label[::-1, None])
        how = Clipping(weight_table(), SHIFT, math.floor(CLIP * 2**self._bits), self._norm)
        by_bin = np.ascontiguousarray(scores.T)
        sums = class_residual_sums(self._rows, by_bin, intercepts, how)
        return self._with_totals(sums.transpose(1, 2, 0)[::-1])


class BinSums:
    """Sums over records (in memory or partitioned) by class and bin of all columns.

    Parameters
    ----------
    records : Records or PartedRecords
    columns : sequence of int
        The positions of the columns whose bins have sums.
    maps : list of ndarray
        For each of these columns, the merged bin of each bin (:func:`bin_maps`). The last axis of
        the sums has the merged bins of these columns, concatenated.
    n_classes : int
    bits : int
        Sums are integers in units of 2^-bits.
    norm : int
        With more than two classes: 1 or 2, to clip vectors of residuals in the L1 or L2 norm.
    """

    def __init__(
        self,
        records: Records | PartedRecords,
        columns: Sequence[int],
        maps: list[Codes],
        n_classes: int,
        bits: int,
        norm: int,
    ) -> None:
        make = partial(
            ScoredRows, columns=columns, maps=maps, n_classes=n_classes, bits=bits, norm=norm
        )
        clip, n_bins = math.floor(CLIP * 2**bits), sum(int(bins[-1]) + 1 for bins in maps)
        self._query = Query(n_classes, len(maps), n_bins, clip, norm)
        self._starts = bin_starts([int(bins[-1]) + 1 for bins in maps])
        self._totals = Totals(records, make)

    def counts(self) -> list[Sum]:
        """Return the numbers of records times `CLIP` = ½: by class and bin, and by class.

        Their shapes are (n_classes, n_bins) and (n_classes,).
        """
        return self._ask("counts")

    def scores(self, ordered: Sequence[bool], bits: int) -> Ints:
        """Return :func:`column_scores` of the columns, in units of 2^-bits."""
        by_bin, totals = (np.floor_divide(one, self._query.clip) for one in self.counts())
        return column_scores(by_bin, totals, self._starts, tuple(ordered), bits)

    def _ask(self, question: str, *scores: Ints) -> list[Sum]:
        by_bin, totals = self._totals.ask(question, *scores, self._query)
        return [by_bin, totals.reshape(totals.shape[:-1])]

    def sums(self, scores: Ints, intercepts: Ints) -> list[Sum]:
        """Return the sums of absolute residuals at the given scores, by bin and in total.

        Parameters
        ----------
        scores : ndarray of shape (n_scores, n_bins)
            From :func:`round_scores`: one score per bin for two classes, else one for each class.
        intercepts : ndarray of shape (n_scores,)

        Returns
        -------
        list of Sum
            Of shape (2, n_scores, n_bins) and (2, n_scores). On the first axis, 0 is the sum over
            the records of the score's own class, and 1 over all other records.
        """
        return self._ask("sums", scores, intercepts)
