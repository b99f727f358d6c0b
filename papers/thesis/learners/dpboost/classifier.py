"""Train DPBoost: private gradient boosted trees with filtered gradients and clipped leaves."""

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

# Gradients in [−1, 1] are rounded to integer multiples of this unit. A float64 then represents the
# sum of up to MOST_RECORDS gradients exactly, in any order of addition: 21 + 32 = 53 bits.
GRADIENT_UNIT = 2.0**-21
MOST_RECORDS = 2**32

# A score estimates the mean label, but can leave [−1, 1]. So it is clipped to [−SUREST, SUREST]
# before it becomes a probability; probabilities are then between 1/20 and 19/20.
SUREST = 0.9


Rows = tuple[NDArray[Any], Floats, Floats]  # (bins, gradients, weights) of the rows of a tree


def grow(rows: Rows, starts: Ints, depth: int, thresholds: bool, rest: float, *by: Any) -> Floats:
    """Choose the splits of a tree, and return the value −S/(n + λ) of each leaf.

    S is the sum of the gradients in a leaf, n their number, and λ is `rest`. An empty leaf has the
    value 0, even if λ = 0. `by` are the remaining arguments of `grow_tree`.
    """
    sums, totals = grow_tree(*rows, starts, depth, thresholds, rest, *by)
    return -sums / np.where(totals > 0, totals + rest, 1.0)


def chunk_of(
    bins: NDArray[Any], signs: Signs, start: int, stop: int, trees: Trees, values: Floats
) -> Rows:
    """Return the bins, gradients and weights of the records from `start` to `stop` (exclusive).

    The gradients are at the scores of the given `trees` with leaf `values`. A record with an
    absolute gradient above `GRADIENT_BOUND` is left out; this depends only on the record itself.
    """
    chunk = bins[start:stop]
    scores = np.zeros((len(chunk), 1))
    add_trees(chunk, trees, values, scores)
    gradients = GRADIENT_UNIT * np.rint((scores[:, 0] - signs[start:stop]) / GRADIENT_UNIT)
    taken = np.abs(gradients) <= GRADIENT_BOUND
    return chunk[taken], gradients[taken], np.ones(np.count_nonzero(taken))


# The mechanism releases only the splits, which are chosen with noise. Leaf values have no noise
# yet, so they stay sealed.
@partial(mechanism, released=False)
def grow_on_chunk(chunk: tuple[Any, ...], bound: float, *growth: Any) -> Floats:
    """Grow a tree on a chunk of records, and return its leaf values, clipped to [−bound, bound].

    `chunk` are the arguments of :func:`chunk_of`, `growth` the arguments of :func:`grow` after
    `rows`.
    """
    return np.clip(grow(chunk_of(*chunk), *growth), -bound, bound)


@dataclass(kw_only=True, eq=False, repr=False)
class DPBoostClassifier(TreeSumClassifier, PrivateClassifier, Parameters):
    r"""Gradient boosted trees with square loss on the labels ±1 (Li, Wu, Wen and He 2020).

    Trees are grouped in ensembles. Each ensemble divides the records at random among its trees, and
    each tree fits the gradients :math:`g = f(x) - y` of the score f of all earlier trees. A split
    has the gain :math:`S_L^2/(n_L+\lambda) + S_R^2/(n_R+\lambda)`, where S is the sum of the
    gradients on a side and n their number. It is chosen by the exponential mechanism or
    permute-and-flip. The value of a leaf in tree t is :math:`-S/(n+\lambda)`, clipped to
    :math:`\pm(1-\eta)^{t-1}`, plus Laplace noise. A tree leaves out records with an absolute
    gradient above 1, the largest gradient in the first tree. The score of a row is η times the sum
    of its leaf values.

    Unlike in public implementations, only the splits and leaf values depend on the data: the first
    prediction is 0 instead of the mean label, trees have a fixed depth, all bins of the domain are
    candidates, and records are dealt to trees before a record is left out.

    At ε = ∞ the learner is plain gradient boosting: there is no noise, no clipping and no
    filtering, and each tree has all records.

    ``calibration="published"`` is the paper's noise; its claim is refuted for add-remove and for
    replace-one. ``calibration="proved"`` is proved for replace-one (papers/thesis/proofs.md,
    'DPBoost').

    Parameters
    ----------
    n_trees : int
        T, the number of trees.
    trees_per_ensemble : int
        T_e, the number of trees of an ensemble. Ensembles divide ε equally. Each tree of an
        ensemble spends the whole share of the ensemble, because trees have disjoint records.
    max_depth : int
        Depth of each tree, which has 2**max_depth leaves.
    learning_rate : float
        η, the factor of all leaf values.
    regularisation : float
        λ, added to the number of records in gains and leaf values.
    chunks : str
        How an ensemble divides the records among its trees: ``geometric`` (tree j gets a share in
        proportion to (1 − η)^j, as published) or ``equal``.
    splits : str
        The questions of nodes: ``threshold`` (is the bin at most b?) or ``equality`` (is the bin
        equal to b?).
    epsilon : float
        ε, above 0. At ∞ there is no noise.
    delta : float
        δ; with ``published`` it must be 0.
    calibration : str
        ``published`` or ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**max_depth - 1)
        The questions of the nodes, numbered as in :mod:`privcurve.kernels.trees.levels`.
    leaf_values_ : ndarray of shape (n_trees, 2**max_depth)
        The released (noisy) leaf values, times η.
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
            # For each ensemble, the ledger lists the calls of the levels of a tree, then the call
            # of its leaves.
            of_ensembles = [calls[i : i + depth + 1] for i in range(0, len(calls), depth + 1)]
            self._boost_privately(records, of_ensembles, curator)
        else:
            self._boost(records)
        self._count_questions()
        return statement

    def _boost_privately(
        self, records: Records, calls: Sequence[Sequence[Call]], curator: Curator
    ) -> None:
        """Grow all trees with noise.

        Each ensemble shuffles the records and deals a chunk of them to each of its trees. `calls`
        has, for each ensemble, the calls of the levels of a tree, then the call of the leaves of a
        tree.
        """
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
            # With a learning rate of 1, leaves of later trees are clipped to 0, so they need no
            # noise.
            call = Call(of_leaves.mechanism, scale, of_leaves.entry) if scale else of_leaves
            answers = curator.numbers(call, values)
            self.leaf_values_[t] = self.learning_rate * answers if scale else 0.0

    def _ensemble_size(self) -> int:
        """Return the number of trees in each ensemble, which is at most `n_trees`."""
        return min(int(self.trees_per_ensemble), int(self.n_trees))

    def _boost(self, records: Records) -> None:
        """Grow all trees without noise (ε = ∞); each tree has all records."""
        codes, signs, counts, n_bins = records
        bins, scores, trees = bin_codes(codes, n_bins), np.zeros((len(signs), 1)), self._trees()
        weights, none = counts.astype(np.float64), np.empty((1, 0))
        for t in range(int(self.n_trees)):
            rows = bins, scores[:, 0] - signs, weights
            values = grow(rows, *self._growth(t, 0.0, none, trees))
            self.leaf_values_[t] = self.learning_rate * values
            add_trees(bins, trees.subset(t, t + 1), self._tree_values()[t : t + 1], scores)

    def _growth(self, t: int, scale: float, noise: Floats, trees: Trees) -> tuple[Any, ...]:
        """Return the arguments of `grow` for tree `t`, without the first one (`rows`)."""
        questions = Ranges(*(part[t] for part in trees[:3]))
        return (
            self._bin_starts(), int(self.max_depth), self._thresholds(),
            float(self.regularisation), scale, noise, self.splits_[t], questions,
        )  # fmt: skip

    def _link(self, scores: Floats) -> Floats:
        # With the square loss, a score estimates the mean label, which is 2q − 1 if q is the
        # probability of the positive label.
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
