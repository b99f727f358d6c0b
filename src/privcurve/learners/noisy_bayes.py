"""Naive Bayes from noisy counts of a few columns.

The scores may start from a model of the public columns (`PublicStart`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Floats, Ints, Records, Signs
from privcurve.kernels.arithmetic import logs, total, transposed_times
from privcurve.learners.entries.parameters import NoisyBayesParameters
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.public_part import PublicStart, StartClassifier
from privcurve.learners.shared.roles import PublicRows
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import Announced
from privcurve.privacy.parts import PartedRecords, Totals
from privcurve.privacy.sums import Bounds, Sum, adds_in_parts, one_cell

# Names of the mechanism calls in the ledger.
CHOICE = "choice of column {}"
COUNTS = "counts of {} columns by code and label"

# Weights of a bin's counts of negative and positive records: the weighted sum is n₊ − n₋.
MARGIN = np.array([-1.0, 1.0])


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyBayesClassifier(ChanceClassifier, StartClassifier, NoisyBayesParameters):
    r"""Naive Bayes from (bin × label) counts with noise.

    Proof: docs/proofs.md, 'Naive Bayes from noisy counts'.

    Columns are chosen one after another by their noisy scores :math:`Q_j = \frac12 \sum_c |\sum_i
    y_i [x_{ij} = c]|`. The counts of the chosen columns by bin and label are then released with
    noise, all at once. The score of a row is a prior plus one log-ratio for each chosen column:
    log(share of the row's bin among positive records / its share among negative records). Shares
    are smoothed.

    Parameters
    ----------
    n_columns : int or None
        m, the number of chosen columns. None: all columns are used, and none of the budget is
        spent on a choice.
    choice_share : float
        Share of the budget for the choice of columns.
    damping : float
        Factor of the log-ratios. A value below 1 helps if columns repeat the same information.
    smoothing : float
        A number that is added to each count. The scale of the noise is added, too.
    start : str
        ``none``: the prior comes from the noisy counts; all columns and the label are private.
        ``public``: the prior of a row is its log-odds by a model of the public columns and the
        label, which are public then; this costs no privacy, and needs `public_columns`.
    public_columns : sequence of int or None
        Positions of public columns, which only a public start reads.
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        0: permute-and-flip and Laplace noise. Above 0: the exponential mechanism and
        Gaussian noise.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    columns_ : ndarray of shape (m,)
        Positions of the used columns, in the order of the choices.
    log_ratios_ : list of ndarray
        For each of these columns, what each of its bins adds to the score.
    prior_ : float or PublicStart
    n_features_used_ : int
        Number of columns that the score depends on, including public ones.
    n_records_ : int
        Number of training records (the sum of the counts).
    """

    _learner = "noisy_bayes"
    _released: ClassVar[Mapping[str, Any]] = {
        "prior_": float | PublicStart,
        "columns_": Ints,
        "log_ratios_": tuple[Floats, ...],
    }

    def _guarantee(self, n: int) -> PrivacyStatement:
        return self._noise_of(self._calls(n), public=self._roles().public)

    def _calls(self, n: int) -> tuple[Announced, ...]:
        m, n_private = self._n_counted(), len(self._roles().private)
        share = float(self.choice_share) if m < n_private else 0.0
        counts = Announced(COUNTS.format(m), share=1 - share)
        if m == n_private:
            return (counts,)
        return Announced(CHOICE, share=share, times=m, choice=True), counts

    def _release(self, records: Records | PartedRecords, curator: Curator) -> None:
        n_bins = records.n_bins
        roles, m = self._roles(), self._n_counted()
        widths = n_bins[list(roles.private)].tolist()
        counted = Totals(records, CountedRows).ask("tables", roles.private, widths)
        tables = dict(zip(roles.private, counted, strict=True))
        chosen = _choose(tables, m, curator)
        counts = np.concatenate([tables[j] for j in chosen])
        call = curator.price(COUNTS.format(m), counts)
        released = curator.numbers(call, counts)
        noisy = np.split(released, np.cumsum(n_bins[chosen])[:-1])
        if roles.public is None:
            # The counts of each column add up to an estimate of the counts of the labels. Average
            # the estimates, weighted by their precision.
            precisions = np.array([1 / len(table) for table in noisy])
            sums = np.array([table.sum(axis=0) for table in noisy])
            totals = transposed_times(sums, precisions) / total(precisions)
            rates = logs(np.maximum(totals, 0.0) + call.scale + float(self.smoothing))
            self.prior_: float | PublicStart = float(rates[1] - rates[0])
        else:
            # A public start does not support partitioned records, so the records are in memory.
            rows = curator.public(roles.public, PublicRows.gather, cast(Records, records))
            totals = np.array([rows.counts[rows.signs * s > 0].sum() for s in (-1, 1)], dtype=float)
            self.prior_ = PublicStart.fit(rows, roles, n_bins)
        self.columns_ = np.array(chosen)
        self.log_ratios_ = [self._log_ratios(table, totals, call.scale) for table in noisy]
        self.n_features_used_ = m + len(roles.public or ())
        self.n_records_ = records.n

    def _n_counted(self) -> int:
        """Return m, the number of columns to count: `n_columns`, at most all private columns."""
        available = len(self._roles().private)
        return available if self.n_columns is None else min(self.n_columns, available)

    def _log_ratios(self, table: Floats, totals: Floats, scale: float) -> Floats:
        added = scale + float(self.smoothing)
        shares = (np.maximum(table, 0.0) + added) / (np.maximum(totals, 0.0) + len(table) * added)
        ratios = logs(shares[:, 1]) - logs(shares[:, 0])
        return np.asarray(float(self.damping) * ratios)

    def _restore(self) -> None:
        roles, m = self._roles(), self._n_counted()
        started = isinstance(self.prior_, PublicStart)
        require(
            started == (roles.public is not None), "its start does not belong to its parameters"
        )
        if isinstance(self.prior_, PublicStart):
            self.prior_.check(roles.public or (), self.n_bins_)
        columns = self.columns_.tolist()
        fits = len(columns) == m == len(self.log_ratios_) and set(columns) <= set(roles.private)
        require(fits, "it counts other columns")
        widths = [ratios.shape for ratios in self.log_ratios_]
        require(widths == [(k,) for k in self.n_bins_[columns]], "its columns have other codes")

    def _scores(self, codes: Codes) -> Floats:
        prior, n = self.prior_, len(codes)
        scores = prior.log_odds(codes) if isinstance(prior, PublicStart) else np.full(n, prior)
        for column, ratios in zip(self.columns_, self.log_ratios_, strict=True):
            scores += ratios[codes[:, column]]
        return scores


def cells_of_columns(rows: object, columns: Sequence[int], widths: Sequence[int]) -> list[Bounds]:
    """Return the bounds of each column's counts: a record adds 1 to one cell (bin, label)."""
    return [one_cell((width, 2)) for width in widths]


class CountedRows(NamedTuple):
    """The rows of one part of the records; `Totals` adds up the counts of all parts."""

    records: Records

    @adds_in_parts(cells_of_columns)
    def tables(self, columns: Sequence[int], widths: Sequence[int]) -> Ints:
        """Return counts by bin and label, of shape (sum of widths, 2), columns concatenated."""
        codes, signs, counts, _ = self.records
        tables = [
            label_counts(codes[:, j], width, signs, counts)
            for j, width in zip(columns, widths, strict=True)
        ]
        return np.concatenate(tables)


def label_counts(column: NDArray[Any], n_bins: int, signs: Signs, counts: Ints) -> Ints:
    """Return the number of records by bin and label (negative, positive): (n_bins, 2)."""
    cells = 2 * column.astype(np.int64) + (signs > 0)
    # Sums of integers below 2^53 are exact in floating point.
    totals = np.bincount(cells, weights=counts, minlength=2 * n_bins)
    return totals.reshape(n_bins, 2).astype(np.int64)


def column_score(table: Sum) -> Sum:
    """Return Q = ½ Σ_c |n₊(c) − n₋(c)|, the score for the choice of a column."""
    return cast(Sum, table.over(MARGIN).norm1() / 2)


def _choose(tables: Mapping[int, Sum], m: int, curator: Curator) -> list[int]:
    """Choose m columns privately, one after another; if there are only m columns, return all."""
    left = list(tables)
    if m == len(left):
        return left
    scores = {j: column_score(table) for j, table in tables.items()}
    chosen: list[int] = []
    for k in range(1, m + 1):
        place = curator.choose(CHOICE.format(k), [scores[j] for j in left])
        chosen.append(left.pop(place))
    return chosen
