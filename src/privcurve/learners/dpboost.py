"""DPBoost: private gradient boosted trees, by filtering gradients and clipping leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Codes, Records
from privcurve.kernels.dpboost import NO_SPLIT, grow_tree
from privcurve.learners.checks import RandomState
from privcurve.learners.tree_sums import TreeSumClassifier
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.calibration.dpboost import (
    GEOMETRIC,
    GRADIENT_BOUND,
    BoostNoise,
    chunk_ends,
    dpboost,
    leaf_bounds,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS

THRESHOLD = "threshold"

# Mean labels beyond this are taken as this: no probability is below 1/20.
SUREST = 0.9


class DPBoostClassifier(TreeSumClassifier):
    r"""Gradient boosted trees with square loss on the labels ±1 (Li, Wu, Wen and He 2020).

    Trees come in ensembles. For each ensemble the records are dealt out at random, so each
    of its trees has records of its own, and each fits the gradients :math:`g = f(x) - y`
    that all earlier trees leave. A split has the gain :math:`S_L^2/(n_L+\lambda) +
    S_R^2/(n_R+\lambda)` of the gradient sums S and is chosen by the exponential mechanism
    or permute-and-flip; a leaf has the value :math:`-S/(n+\lambda)`, clipped to
    :math:`\pm(1-\eta)^{t-1}`, plus Laplace noise. Records whose gradient exceeds that of a
    first tree (in size) do not take part in a tree. The score adds up η times the leaves.

    Unlike public implementations, nothing but these choices and values sees the data: the
    first prediction is 0 and not the mean, trees have a fixed depth, every code of the
    domain is a candidate, and the records of a tree are drawn before any is filtered.

    At ε = ∞ there is no noise, no clipping, no filtering, and each tree has all records:
    plain gradient boosting.

    Calibrations: ``published`` has the paper's noise, which is refuted for adding, removing and
    replacing a record alike; ``certified`` what is proved for replacing one. See
    docs/competitors.md.

    Parameters
    ----------
    n_trees : int
        T.
    trees_per_ensemble : int
        T_e. Ensembles share ε; the trees of one do not.
    max_depth : int
        Depth of each tree: it has 2**max_depth leaves.
    learning_rate : float
        η.
    regularisation : float
        λ.
    chunks : str
        How an ensemble's records are divided: ``geometric`` (shares fall like (1 − η)^j,
        as published) or ``equal``.
    splits : str
        ``threshold``: "the code is at most b"; ``equality``: "the code is b".
    epsilon : float
        Privacy level; inf for no noise.
    delta : float
        δ > 0 with ``certified`` alone.
    calibration : str
        ``published`` or ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**max_depth - 1)
        Splits, numbered as in :mod:`privcurve.kernels.dpboost`.
    leaf_values_ : ndarray of shape (n_trees, 2**max_depth)
        η times the released leaf values.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.tree_sums.TreeSumClassifier`.
    """

    _learner = "dpboost"

    def __init__(
        self,
        n_trees: int = 50,
        trees_per_ensemble: int = 50,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        regularisation: float = 0.1,
        chunks: str = GEOMETRIC,
        splits: str = THRESHOLD,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.trees_per_ensemble = trees_per_ensemble
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.regularisation = regularisation
        self.chunks = chunks
        self.splits = splits
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.coins
        noise = self._noise()
        n_trees, depth = int(self.n_trees), int(self.max_depth)
        self.n_records_ = int(counts.sum())
        self.splits_ = np.full((n_trees, 2**depth - 1), NO_SPLIT, dtype=np.int64)
        self.leaf_values_ = np.zeros((n_trees, 2**depth))
        if is_private(self.epsilon):
            self._boost_privately(codes, signs, counts, noise, rng)
        else:
            self._boost(codes, signs, counts)
        self._count_questions()
        return noise.statement

    def _boost_privately(
        self,
        codes: Codes,
        signs: NDArray[np.int8],
        counts: NDArray[np.int64],
        noise: BoostNoise,
        rng: np.random.Generator,
    ) -> None:
        """Grow all trees, each on its chunk of an ensemble's random order of the records."""
        per_ensemble = self._per_ensemble()
        records = np.repeat(np.arange(len(signs)), counts)
        ends = chunk_ends(len(records), per_ensemble, self.learning_rate, self.chunks)
        bounds = leaf_bounds(int(self.n_trees), self.learning_rate)
        order = records
        shape = self.splits_.shape[1], int(self.n_bins_.sum())
        for t in range(int(self.n_trees)):
            j = t % per_ensemble
            if j == 0:
                order = rng.permutation(records)
            rows = order[ends[j - 1] if j else 0 : ends[j]]
            scores = np.zeros(len(rows))
            self._add_trees(codes, rows, 0, t, scores)
            gradients = scores - signs[rows]
            # Each record's own gradient decides, so a filtered one is merely absent.
            taken = np.abs(gradients) <= GRADIENT_BOUND
            values = self._grow(
                codes,
                rows[taken],
                gradients[taken],
                np.ones(int(taken.sum())),
                t,
                noise.split_rate,
                MECHANISMS[noise.mechanism].draw(rng, shape),
            )
            values = np.clip(values, -bounds[t], bounds[t])
            scale = float(noise.leaf_scales[t])
            values += MECHANISMS[LAPLACE].draw(rng, values.shape, scale)
            self.leaf_values_[t] = self.learning_rate * values

    def _per_ensemble(self) -> int:
        """Give the trees of an ensemble: no more than there are, so that no chunk stays unused."""
        return min(int(self.trees_per_ensemble), int(self.n_trees))

    def _boost(self, codes: Codes, signs: NDArray[np.int8], counts: NDArray[np.int64]) -> None:
        """Grow all trees on all records, without noise."""
        rows = np.arange(len(signs))
        scores = np.zeros(len(rows))
        for t in range(int(self.n_trees)):
            values = self._grow(
                codes,
                rows,
                scores - signs,
                counts.astype(np.float64),
                t,
                np.inf,
                np.empty((1, 0)),
            )
            self.leaf_values_[t] = self.learning_rate * values
            self._add_trees(codes, rows, t, t + 1, scores)

    def _grow(
        self,
        codes: Codes,
        rows: NDArray[np.int64],
        gradients: NDArray[np.float64],
        weights: NDArray[np.float64],
        t: int,
        rate: float,
        noise: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Choose the splits of tree t; give its leaf values, unclipped."""
        sums, totals = grow_tree(
            codes,
            rows,
            gradients,
            weights,
            self._bin_starts(),
            int(self.max_depth),
            self._thresholds(),
            float(self.regularisation),
            rate,
            noise,
            self.splits_[t],
        )
        # An empty leaf has S = 0: its value is 0, also where λ = 0.
        return -sums / np.where(totals > 0, totals + self.regularisation, 1.0)

    def _link(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        # With square loss a score is the mean label, 2q - 1.
        kept = np.clip(scores, -SUREST, SUREST)
        return np.asarray(2 * np.arctanh(kept))

    def _noise(self) -> BoostNoise:
        return dpboost(
            n_trees=int(self.n_trees),
            trees_per_ensemble=self._per_ensemble(),
            max_depth=int(self.max_depth),
            learning_rate=float(self.learning_rate),
            regularisation=float(self.regularisation),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
        )

    def _thresholds(self) -> bool:
        return self.splits == THRESHOLD

    def _tree_values(self) -> NDArray[np.float64]:
        return self.leaf_values_

    def _measures(self) -> dict[str, float]:
        n_trees, n_leaves = self.leaf_values_.shape
        return {
            "rounds": n_trees,
            "questions": self.n_features_used_,
            "nodes": n_trees * (2 * n_leaves - 1),
            "leaves": n_trees * n_leaves,
            "depth": n_leaves.bit_length() - 1,
        }
