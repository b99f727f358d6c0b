"""Ensembles of trees whose votes are added up: their scores, stages and measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Ints, bin_starts
from privcurve.kernels.dpboost import NO_SPLIT, add_up_trees
from privcurve.learners.base import StagedClassifier
from privcurve.learners.shared.chances import LinkedClassifier
from privcurve.learners.shared.checks import all_between, check_complete, require


def shrunk(margins: Floats, scale: float, n: int) -> Floats:
    """Return votes D/(|D| + 2 · scale + n/(8 · leaves)), in (−1, 1).

    The scale of the noise says how far a margin D is to be trusted.

    Parameters
    ----------
    margins : ndarray of shape (n_leaves,)
        With noise of `scale`.
    scale : float
    n : int
        Records, which is public.

    Returns
    -------
    ndarray of shape (n_leaves,)
    """
    return np.asarray(margins / (np.abs(margins) + 2 * scale + n / (8 * len(margins))))


@lru_cache(maxsize=64)
def _starts(n_bins: bytes) -> Ints:
    # Asked for twice a tree, which takes as long as a small tree's noise.
    return bin_starts(np.frombuffer(n_bins, dtype=np.int64))


class TreeSumClassifier(LinkedClassifier, StagedClassifier):
    """A learner of trees; a subclass fits `splits_` and `leaf_values_`.

    Trees are complete: one row of `splits_` each, numbered as in :mod:`privcurve.kernels.dpboost`.

    Attributes
    ----------
    n_features_used_ : int
        Distinct questions that the trees ask.
    n_records_ : int
        Records trained on: the sum of the counts. Public, for neighbours have equally many.
    """

    n_trees: int
    splits_: Ints
    leaf_values_: Floats

    _released: ClassVar[Mapping[str, Any]] = {"splits_": Ints, "leaf_values_": Floats}

    def _begin(self, depth: int, n: int) -> None:
        """Make room for complete trees of so many levels, which ask for nothing yet."""
        n_trees = int(self.n_trees)
        self.n_records_ = n
        self.splits_ = np.full((n_trees, 2**depth - 1), NO_SPLIT, dtype=np.int64)
        self.leaf_values_ = np.zeros((n_trees, 2**depth))

    def _tree_values(self) -> Floats:
        """Return what each leaf of each tree adds to a score: shape (n_trees, n_leaves)."""
        return self.leaf_values_

    def _bin_starts(self) -> Ints:
        return _starts(self.n_bins_.tobytes())

    def _thresholds(self) -> bool:
        """Say whether a question is "at most b?", or "is it b?"."""
        return True

    def _add_trees(self, codes: Codes, rows: Ints, start: int, stop: int, scores: Floats) -> None:
        """Add what trees from `start` to `stop` give some rows to their scores."""
        splits, values = self.splits_[:stop], self._tree_values()[:stop]
        starts, thresholds = self._bin_starts(), self._thresholds()
        add_up_trees(codes, rows, starts, thresholds, splits, values, start, scores)

    def _scores(self, codes: Codes) -> Floats:
        scores = np.zeros(len(codes))
        self._add_trees(codes, np.arange(len(codes)), 0, len(self.splits_), scores)
        return scores

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        scores = np.zeros(len(codes))
        for t in range(len(self.splits_)):
            self._add_trees(codes, np.arange(len(codes)), t, t + 1, scores)
            yield scores.copy()

    def _restore(self) -> None:
        splits, values = self.splits_, self._tree_values()
        check_complete(splits.shape)
        asked = all_between(splits, NO_SPLIT, int(self.n_bins_.sum()))
        require(asked, "its trees ask for what no column has")
        require(values.shape == (len(splits), splits.shape[1] + 1), "its leaves are not its trees'")
        self._count_questions()

    def _count_questions(self) -> None:
        asked = np.unique(self.splits_)
        self.n_features_used_ = int((asked != NO_SPLIT).sum())

    def _measures(self) -> dict[str, float]:
        """Count what is asked: a node without a question is none.

        `expected_depth` is the mean over trees of how many questions a record is asked that
        answers each of them either way with the same chance.
        """
        asked = self.splits_ != NO_SPLIT
        n_trees, n_inner = asked.shape
        levels = np.floor(np.log2(np.arange(1, n_inner + 1)))
        n_leaves = int(asked.sum()) + n_trees
        return {
            "rounds": n_trees,
            "questions": self.n_features_used_,
            "nodes": n_leaves + int(asked.sum()),
            "n_leaves": n_leaves,
            "depth": n_inner.bit_length(),
            "expected_depth": float((asked * 2.0**-levels).sum() / n_trees),
        }
