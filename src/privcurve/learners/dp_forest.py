"""Forests of random trees with noisy leaves: RF-L and RF-E, as published and certified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Records
from privcurve.kernels.boosted_trees import draw_tree, find_leaves, leaf_weights
from privcurve.learners.chances import succession
from privcurve.learners.checks import RandomState
from privcurve.learners.tree_sums import TreeSumClassifier, shrunk
from privcurve.privacy.budget import CERTIFIED, is_private
from privcurve.privacy.calibration.forest import MarginNoise, forest
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.mechanisms import MECHANISMS

LAPLACE_LEAVES = "laplace"
SIGN = "sign"
SHRUNK = "shrunk"


class DPForestClassifier(TreeSumClassifier):
    r"""Random trees whose leaves vote with noise (Nock and Henecka 2022, §17.2).

    The questions of a tree are drawn uniformly, without the data. Each leaf has the margin
    :math:`D = n_+ - n_-` of all records in it, and noise.

    ``published``: RF-L (``laplace``) and RF-E (``exponential``) divide ε among all leaves of
    all trees. ``certified``: among trees alone, for a record moves at most two leaves
    (PRIVACY.md §f6); and a question tells apart codes that those above it leave open.

    Parameters
    ----------
    n_trees : int
        T.
    depth : int
        d, levels of questions.
    leaves : str
        ``laplace``: noise on D. ``exponential``: the label + with a chance that grows with D.
    votes : str
        ``sign``: a leaf votes by its label. ``shrunk``: by D over |D| + noise + a few records
        (``certified`` with ``laplace`` alone).
    epsilon : float
        At ∞ leaves are exact; the trees are random still.
    delta : float
        0.
    calibration : str
        ``published`` or ``certified``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**depth - 1)
        Questions, numbered as in :mod:`privcurve.kernels.dpboost`.
    leaf_values_ : ndarray of shape (n_trees, 2**depth)
        Votes of the leaves.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.tree_sums.TreeSumClassifier`.
    """

    _learner = "dp_forest"

    def __init__(
        self,
        n_trees: int = 7,
        depth: int = 4,
        leaves: str = LAPLACE_LEAVES,
        votes: str = SIGN,
        epsilon: float = 1.0,
        delta: float = 0.0,
        calibration: str = CERTIFIED,
        n_bins: int | Sequence[int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: Sequence[Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.depth = depth
        self.leaves = leaves
        self.votes = votes
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.votes == SHRUNK and self.calibration != CERTIFIED:
            raise ValueError(
                "dp_forest: votes = 'shrunk' is of calibration = 'certified' alone: leave it out, "
                "or change the calibration"
            )

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.coins
        n_trees, depth = int(self.n_trees), int(self.depth)
        noise, starts = self._noise(), self._bin_starts()
        self.n_records_ = int(counts.sum())
        self.splits_ = np.zeros((n_trees, 2**depth - 1), dtype=np.int64)
        self.leaf_values_ = np.zeros((n_trees, 2**depth))
        weights = counts.astype(np.float64)
        for splits, values in zip(self.splits_, self.leaf_values_, strict=True):
            draw_tree(starts, self.calibration == CERTIFIED, rng, splits)
            leaves = find_leaves(codes, starts, splits)
            positive, negative = leaf_weights(leaves, signs, weights, 2**depth)
            values[:] = self._vote(positive - negative, noise, rng)
        self._count_questions()
        return noise.statement

    def _vote(
        self, margins: NDArray[np.float64], noise: MarginNoise, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        scale = 0.0
        if is_private(self.epsilon):
            scale = 1 / noise.rate
            margins = margins + MECHANISMS[noise.mechanism].draw(rng, margins.shape, scale)
        if self.votes == SIGN:
            return np.sign(margins)
        return shrunk(margins, scale, self.n_records_)

    def _link(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return succession(scores, len(self.splits_))

    def _noise(self) -> MarginNoise:
        return forest(
            n_trees=int(self.n_trees),
            depth=int(self.depth),
            leaves=self.leaves,
            epsilon=float(self.epsilon),
            calibration=self.calibration,
        )

    def _tree_values(self) -> NDArray[np.float64]:
        return self.leaf_values_
