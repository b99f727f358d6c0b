"""Shared code of linear learners that read all columns at once: one-hot rows and their sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from privcurve.coding import Codes, Floats, Ints, Records, Signs, bin_starts, one_hot
from privcurve.kernels.arithmetic import exps
from privcurve.kernels.rows import gram, times, weighted_sum
from privcurve.learners.shared.chances import clipped_log_odds
from privcurve.learners.shared.grouped import GroupedClassifier
from privcurve.learners.shared.log_odds import OneHotClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.moves import Moves
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import WHOLE, kernel
from privcurve.privacy.sums import MOST_RECORDS, Bounds, adds

GRAM = "Gram matrix of the coded columns"
SLOPES = "slopes of step {}"

# Residuals are clipped to ±CLIP, which does not change the predicted labels of the exact minimiser
# (docs/proofs.md, 'Tools'). They are rounded to integer multiples of RESIDUAL_UNIT, so that their
# sums are exact in any order.
CLIP, RESIDUAL_UNIT = 0.5, 2.0**-22
ROOT_TWO = math.sqrt(2)


@dataclass(kw_only=True, eq=False, repr=False)
class JointClassifier(OneHotClassifier, GroupedClassifier):
    """Base of learners with a score linear in one-hot columns, fitted by noisy sums over records.

    Subclasses implement the fit of the weights in `_model`.

    Parameters
    ----------
    gram_share : float
        The share of the budget (ρ) for the Gram matrix, if the learner releases one; the steps or
        rounds share the rest evenly.
    n_groups, neighbours, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        What each bin of each column adds to the score.
    intercept_ : float
    """

    _released: ClassVar[Mapping[str, Any]] = {"coef_": Floats, "intercept_": float}
    _most_records: ClassVar[float] = MOST_RECORDS

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        """Fit and return the weights of the `width` inputs: groups of bins, then the constant."""
        raise NotImplementedError

    @property
    def _n_ones(self) -> int:
        """The number of ones in each row: one per column, and one for the intercept."""
        return len(self.n_bins_) + 1

    def _release(self, records: Records, curator: Curator) -> None:
        numbers, groups = self._numbers(), self._groups()
        if any(own is not None for own in numbers):
            # A column that is read as a number has a single input, so all of its bins are one
            # group.
            groups = [
                group if own is None else np.zeros_like(group)
                for group, own in zip(groups, numbers, strict=True)
            ]
        widths = [int(group[-1]) + 1 for group in groups]
        rows = input_rows(records.codes, groups, numbers, [*widths, 1])
        model = self._model(rows, sum(widths) + 1, records, curator)
        starts = bin_starts(widths)
        self.coef_: Floats = np.concatenate(
            [
                model[start:][group] * (1.0 if own is None else own)
                for start, group, own in zip(starts, groups, numbers, strict=False)
            ]
        )
        self.intercept_ = float(model[-1])
        self.n_features_used_ = len(groups)

    def _numbers(self) -> Sequence[Floats | None]:
        """Return the number in [0, 1] of each bin, for each column; None for one-hot columns."""
        return [None] * len(self.n_bins_)

    def _log_odds(self, scores: Floats) -> Floats:
        return clipped_log_odds(scores)


@kernel(rows=WHOLE)
def input_rows(
    codes: Codes, groups: Sequence[Codes], numbers: Sequence[Floats | None], widths: Sequence[int]
) -> csr_array:
    """Return the matrix of inputs: one column per group of bins of a column, and a constant 1.

    In each column, the input of the group that contains the record's bin is the number of the bin
    (in `numbers`), or 1 if the column has no numbers; all other inputs are 0. Numbers are in
    [0, 1], as the bounds of sums over such rows assume.
    """
    ones = np.zeros(len(codes), dtype=codes.dtype)
    merged = np.column_stack([*(g[codes[:, j]] for j, g in enumerate(groups)), ones])
    rows = one_hot(merged, np.array(widths))
    entries = rows.data.reshape(merged.shape)
    for j, own in enumerate(numbers):
        if own is not None:
            entries[:, j] = own[codes[:, j]]
    return rows


def of_slopes(
    rows: object, signs: object, counts: object, model: Floats, n_ones: int, part: float = 1.0
) -> Bounds:
    """Return the bounds of a record's row times its clipped residual.

    A replaced record changes the sum by at most twice as much as one record adds. The entries of a
    row are multiples of `part` in [0, 1], and at most `n_ones` of them are not 0.
    """
    return _of_clipped(n_ones, len(model))


@lru_cache
def _of_clipped(n_ones: int, width: int) -> Bounds:
    size = Moves(np.full(width, CLIP), CLIP * n_ones, CLIP, n_ones)
    return Bounds(size, size.times(2.0), RESIDUAL_UNIT)


def of_gram(rows: object, counts: object, n_ones: int, width: int) -> Bounds:
    """Return the bounds of the outer product of a record's row (lemma D8)."""
    entries = np.ones(width * (width + 1) // 2)
    entries[width:] = ROOT_TWO
    l1 = float(n_ones * n_ones)
    return Bounds(Moves(entries, l1, n_ones, 1.0), Moves(entries, 2 * l1, n_ones, 2.0), 0.0)


def _add_clipped(rows: csr_array, residuals: Floats, counts: Ints, part: float = 1.0) -> Floats:
    """Return Σ clip(r, ±½)·u over the records, for the row u and the residual r of a record.

    Residuals are rounded to multiples of RESIDUAL_UNIT / `part`, where `part` is the unit of the
    entries of rows.
    """
    clipped, unit = np.clip(residuals, -CLIP, CLIP), RESIDUAL_UNIT / part
    return weighted_sum(rows, counts * (unit * np.rint(clipped / unit)))


@adds(of_slopes)
def logistic_slopes(
    rows: csr_array, signs: Signs, counts: Ints, model: Floats, n_ones: int
) -> Floats:
    """Return the sum of rows times clipped residuals y − p; p is the probability by `model`."""
    return _add_clipped(rows, (signs > 0) - 1.0 / (1.0 + exps(-times(rows, model))), counts)


@adds(of_slopes)
def linear_slopes(
    rows: csr_array, signs: Signs, counts: Ints, model: Floats, n_ones: int, part: float = 1.0
) -> Floats:
    """Return the sum of rows times clipped residuals ±½ − score; `model` weighs the inputs.

    `part` is the unit of the entries of rows.
    """
    return _add_clipped(rows, signs / 2 - times(rows, model), counts, part)


@adds(of_gram)
def packed_gram(rows: csr_array, counts: Ints, n_ones: int, width: int) -> Floats:
    """Return the diagonal of the Gram matrix of the rows, then √2 times the entries above it.

    The factor makes the L2 norm of this vector equal to the Frobenius norm of the matrix.
    """
    sums = gram(rows, counts)
    return np.concatenate([np.diag(sums), ROOT_TWO * sums[np.triu_indices(width, 1)]])


def gram_and_slopes(gram_share: float, n_steps: int) -> tuple[Announced, Announced]:
    """Return a fit's calls: a Gram matrix, and gradients that share the remaining budget."""
    return (
        Announced(GRAM, share=gram_share),
        Announced(SLOPES, share=1 - gram_share, times=n_steps),
    )


def noisy_gram(
    rows: csr_array, counts: Ints, n_ones: int, width: int, curator: Curator
) -> tuple[Floats, float]:
    """Return the noisy Gram matrix of the rows, and σ, the standard deviation of the noise.

    σ is for the diagonal; the noise of the other entries has the standard deviation σ/√2.
    """
    exact = packed_gram(rows, counts, n_ones, width)
    call = curator.price(GRAM, exact)
    released = curator.numbers(call, exact)
    noisy = np.zeros((width, width))
    noisy[np.triu_indices(width, 1)] = released[width:] / ROOT_TWO
    return noisy + noisy.T + np.diag(released[:width]), call.scale
