"""Gradient boosted trees without privacy, a strong reference in comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn import ensemble

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.entries.parameters import GradientBoostingParameters
from privcurve.learners.shared.chances import CERTAIN, ChanceClassifier, only_label
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement


@dataclass(kw_only=True, eq=False, repr=False)
class GradientBoostingClassifier(StagedClassifier, ChanceClassifier, GradientBoostingParameters):
    """scikit-learn's gradient boosted trees on the encoded columns; not private.

    Bins are used as ordinal numbers, not one-hot encoded. In a numeric column, one split of a tree
    separates low from high bins; with one-hot encoding it would separate only one bin from all
    others. In a nominal column the order of the bins is meaningless, but two splits isolate any
    category. There are far fewer columns than with one-hot encoding (Adult: 14 instead of 162), and
    the accuracy on Adult is the same.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Maximum depth of each tree.
    learning_rate : float
        Shrinkage of each tree.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : sklearn.ensemble.GradientBoostingClassifier or None
        None if all records have the same label: then the score is constant.
    n_features_used_ : int
        Number of encoded columns that trees split on.
    """

    _learner = "gradient_boosting"

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.generator(())
        self.constant_ = CERTAIN * (only_label(signs) or 0)
        if self.constant_:
            # scikit-learn refuses records that all have the same label; the score is then a
            # constant.
            self.model_ = None
            self.n_features_used_ = 0
            return PrivacyStatement.not_private(self._learner)
        self.model_ = ensemble.GradientBoostingClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=int(rng.integers(2**31)),
        ).fit(codes, signs, sample_weight=counts)
        self.n_features_used_ = int(np.count_nonzero(self.model_.feature_importances_))
        return PrivacyStatement.not_private(self._learner)

    def _scores(self, codes: Codes) -> Floats:
        if self.model_ is None:
            return np.full(len(codes), self.constant_)
        return np.asarray(self.model_.decision_function(codes))

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        if self.model_ is None:
            yield self._scores(codes)
            return
        for scores in self.model_.staged_decision_function(codes):
            yield scores.ravel()

    def _measures(self) -> dict[str, float]:
        if self.model_ is None:
            return {"rounds": 0, "nodes": 1, "leaves": 1, "depth": 0}
        trees = [tree.tree_ for tree in self.model_.estimators_.ravel()]
        return {
            "rounds": len(trees),
            "nodes": sum(int(tree.node_count) for tree in trees),
            "leaves": sum(int(tree.n_leaves) for tree in trees),
            "depth": max(int(tree.max_depth) for tree in trees),
        }
