"""What learners of all columns at once share: one-hot rows, sums of residuals, a Gram matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import WHOLE, kernel
from privcurve.privacy.sensitivity.counts import one_hot_gram_l2, one_hot_slopes_l2, residual_norm

GRAM = "Gram matrix of the coded columns"
SLOPES = "slopes of step {}"

SOURCE = "docs/proofs.md, 'Joint Newton steps'"

# Clipped residuals, between ±½, are whole multiples of this: their sums over the largest table are
# exact in floating point, in any order.
RESIDUAL_UNIT = 2.0**-22
MOST_RECORDS = 2**32

gram_kernel = kernel(gram)


@dataclass(kw_only=True, eq=False, repr=False)
class JointClassifier(OneHotClassifier, GroupedClassifier):
    """A score linear in one-hot codes, fitted to noisy sums of clipped residuals of all columns.

    Subclasses say in `_model` how a step is made of the slopes.
    """

    _released: ClassVar[Mapping[str, Any]] = {"coef_": Floats, "intercept_": float}
    _most_records: ClassVar[float] = MOST_RECORDS

    def _model(self, rows: csr_array, width: int, records: Records, curator: Curator) -> Floats:
        """Return what each of so many inputs adds to the score: groups of codes, and the one."""
        raise NotImplementedError

    def _release(self, records: Records, curator: Curator) -> None:
        groups = self._groups()
        widths = [int(group[-1]) + 1 for group in groups]
        rows = group_rows(records.codes, groups, [*widths, 1])
        model = self._model(rows, sum(widths) + 1, records, curator)
        starts = bin_starts(widths)
        self.coef_: Floats = np.concatenate(
            [model[start:][group] for start, group in zip(starts, groups, strict=False)]
        )
        self.intercept_ = float(model[-1])
        self.n_features_used_ = len(groups)

    def _log_odds(self, scores: Floats) -> Floats:
        return clipped_log_odds(scores)


@kernel(rows=WHOLE)
def group_rows(codes: Codes, groups: Sequence[Codes], widths: Sequence[int]) -> csr_array:
    """Return rows with a one for the group of each column's code, and one for all rows."""
    ones = np.zeros(len(codes), dtype=codes.dtype)
    merged = np.column_stack([*(g[codes[:, j]] for j, g in enumerate(groups)), ones])
    return one_hot(merged, np.array(widths))


@kernel
def clipped_slopes(rows: csr_array, residuals: Floats, counts: Ints) -> Floats:
    """Return Σ clip(r, ±½)·u over the records, u their rows: what a step is made of."""
    clip = residual_norm(2)
    clipped = np.clip(residuals, -clip, clip)
    return weighted_sum(rows, counts * (RESIDUAL_UNIT * np.rint(clipped / RESIDUAL_UNIT)))


@kernel(rows=0)
def logistic_residuals(rows: csr_array, signs: Signs, model: Floats) -> Floats:
    """Return y − p of each row."""
    return np.asarray((signs > 0) - 1.0 / (1.0 + exps(-times(rows, model))))


def gram_and_slopes(
    n_ones: int, gram_share: float, n_steps: int, neighbours: str
) -> tuple[Announced, Announced]:
    """Return the calls of one Gram matrix, and of slopes that share the rest evenly."""
    gram, slopes = one_hot_gram_l2(n_ones, neighbours), one_hot_slopes_l2(n_ones, neighbours)
    return (
        Announced(GRAM, share=gram_share, l2=gram, source=SOURCE),
        Announced(SLOPES, share=1 - gram_share, times=n_steps, l2=slopes, source=SOURCE),
    )


def noisy_gram(rows: csr_array, counts: Ints, curator: Curator) -> tuple[Floats, float]:
    """Return the Gram matrix of the rows with noise, and the deviation σ of its diagonal's noise.

    Beside the diagonal it is σ/√2.
    """
    sums = gram_kernel(rows, counts)
    width = len(sums)
    upper = np.triu_indices(width, 1)
    call = curator.call(GRAM)
    exact = np.concatenate([np.diag(sums), math.sqrt(2) * sums[upper]])
    released = curator.numbers(call, exact)
    noisy = np.zeros((width, width))
    noisy[upper] = released[width:] / math.sqrt(2)
    return noisy + noisy.T + np.diag(released[:width]), call.scale
