"""Joint Newton steps on one-hot codes: one noisy Gram matrix, then noisy slopes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from privcurve.coding import (
    Codes,
    Floats,
    Ints,
    Records,
    Signs,
    bin_starts,
    merged_bins,
    one_hot,
)
from privcurve.learners.base import BUDGET, PrivateClassifier
from privcurve.learners.shared.chances import ChanceClassifier, whole_residuals
from privcurve.learners.shared.checks import ordered_columns, require
from privcurve.privacy.budget import REPLACE_ONE
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import ASSUMED_ORDER, PrivacyStatement
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.sensitivity.counts import (
    one_hot_gram_l2,
    one_hot_slopes_l2,
    residual_norm,
)

GRAM = "Gram matrix of the coded columns"
SLOPES = "slopes of step {}"

SOURCE = "docs/proofs.md, joint Newton steps"


@dataclass(kw_only=True, eq=False, repr=False)
class JointClassifier(ChanceClassifier, PrivateClassifier):
    """A score linear in one-hot codes, fitted to noisy sums of clipped residuals of all columns.

    Subclasses say how a step is made of the slopes.
    """

    delta: float = 1e-5
    n_groups: int = 16
    neighbours: str = REPLACE_ONE
    ordered: Sequence[bool] | bool | None = None

    _released: ClassVar[Mapping[str, Any]] = {"coef_": Floats, "intercept_": float}

    def _guarantee(self, n: int) -> PrivacyStatement:
        budget = {name: getattr(self, name) for name in BUDGET}
        return noise_of(
            self._learner,
            tuple(self._calls(n)),
            neighbours=self.neighbours,
            assumptions=self._assumed(),
            **budget,
        )

    def _assumed(self) -> tuple[str, ...]:
        """Return what is assumed public beside what always is."""
        return (ASSUMED_ORDER,)

    def _merged(self) -> list[Codes]:
        """Return the group of each code, by column: neighbouring codes of ordered columns."""
        by_default = self.bounds is not None
        ordered = ordered_columns(self._learner, self.ordered, by_default, len(self.n_bins_))
        return merged_bins(self.n_bins_, ordered, self.n_groups)

    def _rows(self, codes: Codes, groups: Sequence[Codes]) -> csr_array:
        """Return the inputs: a one for the group of each column's code, and one for all rows."""
        ones = np.zeros(len(codes), dtype=codes.dtype)
        merged = np.column_stack([*(g[codes[:, j]] for j, g in enumerate(groups)), ones])
        return one_hot(merged, np.array([*widths_of(groups), 1]))

    def _keep(self, model: Floats, groups: Sequence[Codes]) -> None:
        starts = bin_starts(widths_of(groups))
        self.coef_: Floats = np.concatenate(
            [model[start + group] for start, group in zip(starts, groups, strict=False)]
        )
        self.intercept_ = float(model[-1])
        self.n_features_used_ = len(groups)

    def _restore(self) -> None:
        require(self.coef_.shape == (int(self.n_bins_.sum()),), "it is linear in other columns")

    def _scores(self, codes: Codes) -> Floats:
        return np.asarray(one_hot(codes, self.n_bins_) @ self.coef_ + self.intercept_)

    def _log_odds(self, scores: Floats) -> Floats:
        return whole_residuals(scores)


def widths_of(groups: Sequence[Codes]) -> list[int]:
    """Return how many groups the codes of each column are in."""
    return [int(group[-1]) + 1 for group in groups]


def clipped_slopes(rows: csr_array, signs: Signs, counts: Ints, model: Floats) -> Floats:
    """Return Σ clip(y − p, ±½)·u over the records, u their rows: what a step is made of."""
    residuals = (signs > 0) - expit(rows @ model)
    clip = residual_norm(2)
    return np.asarray(rows.T @ (counts * np.clip(residuals, -clip, clip)))


@dataclass(kw_only=True, eq=False, repr=False)
class DPNewtonClassifier(JointClassifier):
    r"""Logistic regression on one-hot codes by noisy Newton steps of all columns at once.

    The Gram matrix :math:`\sum_i u_i u_i^\top` of the one-hot rows is released once; a quarter of
    it bounds the Hessian of the logistic loss everywhere. Each step releases the slopes, sums of
    the residuals :math:`y_i - p_i` clipped at ½, and goes by the inverse of that matrix, whose
    eigenvalues are floored at half the norm of its noise. After Ganesh, Haghifam, Steinke and Thakurta,
    *Faster differentially private convex optimization via second-order methods*, NeurIPS 2023,
    §3: their quadratic upper bound, released once and not at each step. Proof: docs/proofs.md.

    Parameters
    ----------
    n_steps : int
    gram_share : float
        Of the budget (ρ), for the Gram matrix; the steps share the rest evenly.
    n_groups : int
        Neighbouring bins of ordered columns are merged to at most so many.
    neighbours : str
        ``replace-one``, or ``add-remove``: then the number of records is not public.
    ordered : sequence of bool, bool or None
        Which columns have codes in the order of what they mean; public. None: all where `bounds`
        is given, else none.
    epsilon, delta, calibration
        ε; δ above 0, since noise is Gaussian; ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_bins.sum(),)
        What each code of each column adds to the score.
    intercept_ : float
    """

    _learner = "dp_newton"

    n_steps: int = 8
    gram_share: float = 0.25

    def _calls(self, n: int) -> Sequence[Announced]:
        m = len(self.n_bins_) + 1
        return (
            Announced(
                GRAM,
                share=self.gram_share,
                l2=one_hot_gram_l2(m, self.neighbours),
                source=SOURCE,
            ),
            Announced(
                SLOPES,
                share=1 - self.gram_share,
                times=self.n_steps,
                l2=one_hot_slopes_l2(m, self.neighbours),
                source=SOURCE,
            ),
        )

    def _release(self, records: Records, curator: Curator) -> None:
        codes, signs, counts, _ = records
        groups = self._merged()
        rows = self._rows(codes, groups)
        inverse = self._inverse((rows.T @ (rows * counts[:, None])).toarray(), curator)
        model = np.zeros(rows.shape[1])
        for k in range(1, self.n_steps + 1):
            slopes = clipped_slopes(rows, signs, counts, model)
            model += 4 * inverse @ curator.numbers(SLOPES.format(k), slopes)
        self._keep(model, groups)

    def _inverse(self, gram: Floats, curator: Curator) -> Floats:
        """Return the inverse of the Gram matrix with noise, its eigenvalues floored."""
        width = len(gram)
        upper = np.triu_indices(width, 1)
        call = curator.call(GRAM)
        exact = np.concatenate([np.diag(gram), math.sqrt(2) * gram[upper]])
        released = curator.numbers(call, exact)
        noisy = np.zeros((width, width))
        noisy[upper] = released[width:] / math.sqrt(2)
        noisy += noisy.T + np.diag(released[:width])
        values, vectors = np.linalg.eigh(noisy)
        # Half of the norm of a symmetric matrix of such noise, about σ√(2·width): steps that the
        # norm itself allows are too short to arrive. Without noise, what one-hot columns have in
        # common has the eigenvalue 0, and no slope.
        floor = max(call.scale * math.sqrt(width / 2), 1e-9 * float(values[-1]), 1.0)
        inverse: Floats = (vectors / np.maximum(values, floor)) @ vectors.T
        return inverse
