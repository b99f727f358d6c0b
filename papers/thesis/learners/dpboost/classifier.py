"""DPBoost: private gradient boosted trees, by filtering gradients and clipping leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, Records, Signs
from privcurve.kernels.arithmetic import log1ps
from privcurve.kernels.trees.form import Ranges, Trees, add_trees, bin_codes
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.tree_sums import TreeSumClassifier, places_of
from privcurve.privacy.curator import Call, Curator, call_of
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sealed import mechanism

from . import Parameters
from .kernel import grow_tree
from .noise import (
    GRADIENT_BOUND,
    chunk_ends,
    dpboost,
    leaf_bounds,
    leaf_l1,
)

THRESHOLD = "threshold"

# Gradients in a tree, between ±1, are whole multiples of this unit: their sums over the largest
# table are exact in floating point, in any order.
GRADIENT_UNIT = 2.0**-21
MOST_RECORDS = 2**32

# Mean labels are clipped to ± this number, so that no probability is below 1/20.
SUREST = 0.9


Rows = tuple[NDArray[Any], Floats, Floats]  # bins, gradients, weights


def grow(rows: Rows, starts: Ints, depth: int, thresholds: bool, rest: float, *by: Any) -> Floats:
    """Choose the splits of a tree; return its leaf values −S/(n + λ), λ being `rest`.

    An empty leaf has S = 0, and so the value 0, also where λ = 0.
    """
    sums, totals = grow_tree(*rows, starts, depth, thresholds, rest, *by)
    return -sums / np.where(totals > 0, totals + rest, 1.0)


def chunk_of(
    bins: NDArray[Any], signs: Signs, start: int, stop: int, trees: Trees, values: Floats
) -> Rows:
    """Return the bins, gradients and weights of a chunk of records after some trees.

    Records with too large a gradient are dropped; only the record's own gradient decides.
    """
    chunk = bins[start:stop]
    scores = np.zeros((len(chunk), 1))
    add_trees(chunk, trees, values, scores)
    gradients = GRADIENT_UNIT * np.rint((scores[:, 0] - signs[start:stop]) / GRADIENT_UNIT)
    taken = np.abs(gradients) <= GRADIENT_BOUND
    return chunk[taken], gradients[taken], np.ones(np.count_nonzero(taken))


# The loop chooses splits with noise; the values of the leaves stay sealed.
@partial(mechanism, released=False)
def grow_on_chunk(chunk: tuple[Any, ...], bound: float, *growth: Any) -> Floats:
    """Grow a tree on a chunk of records; return its leaf values, clipped to a bound."""
    return np.clip(grow(chunk_of(*chunk), *growth), -bound, bound)


@dataclass(kw_only=True, eq=False, repr=False)
class DPBoostClassifier(TreeSumClassifier, PrivateClassifier, Parameters):
    r"""Gradient boosted trees with square loss on the labels ±1 (Li, Wu, Wen and He 2020).

    Trees are grouped in ensembles. Each ensemble divides the records at random among its trees, and
    each tree fits the gradients :math:`g = f(x) - y` after all earlier trees. A split has the gain
    :math:`S_L^2/(n_L+\lambda) + S_R^2/(n_R+\lambda)` of the gradient sums S and is chosen by the
    exponential mechanism or permute-and-flip; a leaf has the value :math:`-S/(n+\lambda)`, clipped
    to :math:`\pm(1-\eta)^{t-1}`, plus Laplace noise. Records with a larger absolute gradient
    than in a first tree do not take part in a tree. The score is the sum of η times the leaf
    values.

    Unlike public implementations, nothing but these choices and values sees the data: the
    first prediction is 0 and not the mean, trees have a fixed depth, every code of the
    domain is a candidate, and the records of a tree are drawn before any is filtered.

    At ε = ∞ there is no noise, no clipping, no filtering, and each tree has all records:
    plain gradient boosting.

    Calibrations: ``published`` is the paper's noise, refuted for add-remove and for replace-one;
    ``proved`` is proved for replace-one. See papers/thesis/proofs.md, 'DPBoost'.

    Parameters
    ----------
    n_trees : int
        T.
    trees_per_ensemble : int
        T_e. Ensembles share ε; each tree of an ensemble spends the ensemble's whole share.
    max_depth : int
        Depth of each tree: it has 2**max_depth leaves.
    learning_rate : float
        η.
    regularisation : float
        λ.
    chunks : str
        Division of an ensemble's records: ``geometric`` (shares fall like (1 − η)^j, as published)
        or ``equal``.
    splits : str
        ``threshold``: "the code is at most b"; ``equality``: "the code is b".
    epsilon : float
        Privacy level; inf for no noise.
    delta : float
        δ > 0 only with ``proved``.
    calibration : str
        ``published`` or ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**max_depth - 1)
        Splits, numbered as in :mod:`privcurve.kernels.trees.levels`.
    leaf_values_ : ndarray of shape (n_trees, 2**max_depth)
        η times the released leaf values.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.tree_sums.TreeSumClassifier`.
    """

    _learner = "dpboost"
    _most_records: ClassVar[float] = MOST_RECORDS

    def _guarantee(self, n: int) -> PrivacyStatement:
        return dpboost(
            n_trees=int(self.n_trees),
            trees_per_ensemble=self._ensemble_size(),
            max_depth=int(self.max_depth),
            learning_rate=float(self.learning_rate),
            regularisation=float(self.regularisation),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            calibration=self.calibration,
        )

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        statement = self._guarantee(records.n)
        depth = int(self.max_depth)
        self._begin(depth, records.n)
        if statement.private:
            calls = [call_of(entry) for entry in statement.ledger]
            # For each ensemble, the calls of its levels, then the call of its leaves.
            of_ensembles = [calls[i : i + depth + 1] for i in range(0, len(calls), depth + 1)]
            self._boost_privately(records, of_ensembles, curator)
        else:
            self._boost(records)
        self._count_questions()
        return statement

    def _boost_privately(
        self, records: Records, calls: Sequence[Sequence[Call]], curator: Curator
    ) -> None:
        """Grow all trees, each on its chunk of an ensemble's random order of the records."""
        codes, signs, counts, n_bins = records
        all_bins = bin_codes(codes, n_bins)
        n_trees, per_ensemble = int(self.n_trees), self._ensemble_size()
        places = places_of(counts)
        ends = chunk_ends(records.n, per_ensemble, self.learning_rate, self.chunks)
        bounds = leaf_bounds(n_trees, self.learning_rate)
        sensitivities = leaf_l1(n_trees, self.learning_rate, self.regularisation, self.calibration)
        trees = self._trees()
        shape = self.splits_.shape[1], int(self.n_bins_.sum())
        for t in range(n_trees):
            j = t % per_ensemble
            if j == 0:
                order = curator.shuffle(places)
                shuffled, shuffled_signs = all_bins[order], signs[order]
                *levels, of_leaves = calls[t // per_ensemble]
                nodes = np.repeat(np.array(levels, dtype=object), 2 ** np.arange(len(levels)))
            start, earlier = ends[j - 1] if j else 0, self._tree_values()[:t]
            chunk = shuffled, shuffled_signs, start, ends[j], trees.subset(0, t), earlier
            noise = curator.noise(nodes, shape)
            growth = self._growth(t, levels[0].scale, noise, trees)
            values = grow_on_chunk(chunk, bounds[t], *growth)
            assert of_leaves.entry is not None
            scale = float(sensitivities[t]) / of_leaves.entry.epsilon
            # With a learning rate of 1 later trees can only answer 0.
            call = Call(of_leaves.mechanism, scale, of_leaves.entry) if scale else of_leaves
            answers = curator.numbers(call, values)
            self.leaf_values_[t] = self.learning_rate * answers if scale else 0.0

    def _ensemble_size(self) -> int:
        """Return the number of trees of an ensemble, at most `n_trees`."""
        return min(int(self.trees_per_ensemble), int(self.n_trees))

    def _boost(self, records: Records) -> None:
        """Grow all trees on all records, without noise."""
        codes, signs, counts, n_bins = records
        bins, scores, trees = bin_codes(codes, n_bins), np.zeros((len(signs), 1)), self._trees()
        weights, none = counts.astype(np.float64), np.empty((1, 0))
        for t in range(int(self.n_trees)):
            rows = bins, scores[:, 0] - signs, weights
            values = grow(rows, *self._growth(t, 0.0, none, trees))
            self.leaf_values_[t] = self.learning_rate * values
            add_trees(bins, trees.subset(t, t + 1), self._tree_values()[t : t + 1], scores)

    def _growth(self, t: int, scale: float, noise: Floats, trees: Trees) -> tuple[Any, ...]:
        """Return the arguments for growing tree t."""
        questions = Ranges(*(part[t] for part in trees[:3]))
        return (
            self._bin_starts(), int(self.max_depth), self._thresholds(),
            float(self.regularisation), scale, noise, self.splits_[t], questions,
        )  # fmt: skip

    def _link(self, scores: Floats) -> Floats:
        # With square loss a score is the mean label, 2q - 1.
        kept = np.clip(scores, -SUREST, SUREST)
        return log1ps(kept) - log1ps(-kept)

    def _thresholds(self) -> bool:
        return self.splits == THRESHOLD

    def _measures(self) -> dict[str, float]:
        n_trees, n_leaves = self.leaf_values_.shape
        return {
            "rounds": n_trees,
            "questions": self.n_features_used_,
            "nodes": n_trees * (2 * n_leaves - 1),
            "leaves": n_trees * n_leaves,
            "depth": n_leaves.bit_length() - 1,
        }
