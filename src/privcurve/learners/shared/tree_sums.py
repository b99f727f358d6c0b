"""Base of learners whose score is the sum of the values of complete trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Ints, bin_starts
from privcurve.kernels.trees.form import (
    EVERYBODY,
    NO_QUESTION,
    Trees,
    add_trees,
    ask_two_columns,
    bin_codes,
    bin_rows,
    complete_trees,
    ranges,
)
from privcurve.learners.shared.chances import LinkedClassifier
from privcurve.learners.shared.checks import all_between, check_complete, require
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.privacy.sealed import kernel

bins_kernel = kernel(bin_rows, rows=(0, 0))


@kernel(rows=0)
def places_of(counts: Ints) -> Ints:
    """Return for each record the position of its row; row k represents `counts[k]` records."""
    return np.repeat(np.arange(len(counts)), counts)


@lru_cache(maxsize=64)
def _starts(n_bins: bytes) -> Ints:
    # Cache the first bin of each column: each tree needs these numbers twice, and computing them
    # takes as long as drawing the noise of a small tree.
    return bin_starts(np.frombuffer(n_bins, dtype=np.int64))


class TreeSumClassifier(LinkedClassifier, StagedClassifier):
    """Base of learners whose score is the sum of the values of complete trees.

    A subclass fits `splits_` and `leaf_values_`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**depth − 1)
        The question of each inner node: see :mod:`privcurve.kernels.trees.levels`.
    leaf_values_ : ndarray of shape (n_trees, 2**depth)
        What each leaf adds to the score.
    n_features_used_ : int
        Number of distinct questions of the trees.
    n_records_ : int
        Number of training records (the sum of the counts). It is public: replace-one neighbours
        have equally many records.
    """

    n_trees: int
    splits_: Ints
    leaf_values_: Floats

    _released: ClassVar[Mapping[str, Any]] = {"splits_": Ints, "leaf_values_": Floats}

    def _begin(self, depth: int, n: int) -> None:
        """Prepare a fit on `n` records: set trees of `depth` levels, without questions."""
        n_trees = int(self.n_trees)
        self.n_records_ = n
        self.splits_ = np.full((n_trees, 2**depth - 1), NO_QUESTION, dtype=np.int64)
        self.leaf_values_ = np.zeros((n_trees, 2**depth))

    def _tree_values(self) -> Floats:
        """Return what each leaf of each tree adds to a score: shape (n_trees, n_leaves, 1)."""
        return self.leaf_values_[:, :, None]

    @property
    def joins_columns(self) -> bool:
        """Whether some path of a tree tests more than one column."""
        return ask_two_columns(self._trees())

    def _bin_starts(self) -> Ints:
        return _starts(self.n_bins_.tobytes())

    def _thresholds(self) -> bool:
        """Return whether questions are "is the bin at most b?" instead of "is the bin b?"."""
        return True

    def _trees(self, start: int = 0, stop: int | None = None) -> Trees:
        """Return trees `start` to `stop` (exclusive) in the form that prediction uses."""
        splits = self.splits_[start:stop]
        if self._thresholds():
            splits = np.where(splits == NO_QUESTION, NO_QUESTION, splits + self.n_bins_.sum())
        return complete_trees(ranges(splits, self.n_bins_, EVERYBODY), yes=0)

    def _scores(self, codes: Codes) -> Floats:
        scores = np.zeros((len(codes), 1))
        add_trees(bin_codes(codes, self.n_bins_), self._trees(), self._tree_values(), scores)
        return scores[:, 0]

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        bins, trees, values = bin_codes(codes, self.n_bins_), self._trees(), self._tree_values()
        scores = np.zeros((len(codes), 1))
        for t in range(len(values)):
            add_trees(bins, trees.subset(t, t + 1), values[t : t + 1], scores)
            yield scores[:, 0].copy()

    def _restore(self) -> None:
        splits, values = self.splits_, self._tree_values()
        check_complete(splits.shape)
        inside = all_between(splits, NO_QUESTION, int(self.n_bins_.sum()))
        require(inside, "its trees ask about columns or codes that do not exist")
        require(
            values.shape == (len(splits), splits.shape[1] + 1, 1),
            "its leaves do not belong to its trees",
        )
        self._count_questions()

    def _count_questions(self) -> None:
        questions = np.unique(self.splits_)
        self.n_features_used_ = int((questions != NO_QUESTION).sum())

    def _measures(self) -> dict[str, float]:
        """Return the sizes of the trees; nodes without a question are not counted.

        `expected_depth` is the mean over trees of the expected number of questions for a record
        that answers each question yes or no with equal probability.
        """
        splits = self.splits_ != NO_QUESTION
        n_trees, n_inner = splits.shape
        # The level of node i is ⌊log2(i + 1)⌋.
        levels = np.frexp(np.arange(1, n_inner + 1))[1] - 1
        n_leaves = int(splits.sum()) + n_trees
        return {
            "rounds": n_trees,
            "questions": self.n_features_used_,
            "nodes": n_leaves + int(splits.sum()),
            "n_leaves": n_leaves,
            "depth": n_inner.bit_length(),
            "expected_depth": float((splits * np.ldexp(1.0, -levels)).sum() / n_trees),
        }
