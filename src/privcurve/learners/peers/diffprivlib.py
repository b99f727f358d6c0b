"""diffprivlib's random trees: splits that do not depend on data, and private labels of leaves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from diffprivlib import models
from diffprivlib.accountant import BudgetAccountant
from diffprivlib.models.forest import DecisionTreeClassifier
from diffprivlib.utils import PrivacyLeakWarning

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import (
    DiffprivlibForestParameters,
    DiffprivlibTreeParameters,
)
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import ADD_REMOVE, PUBLISHED, is_private
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, LedgerEntry, PrivacyStatement, state

# Labels must be 0 and 1: diffprivlib's forest passes labels 0, 1, … to its trees, but the trees
# count the values of `classes`, so other labels are counted wrongly (version 0.6.6; docs/peers.md).
LABELS = np.array([0, 1])


@dataclass(kw_only=True, eq=False, repr=False)
class _RandomTrees(PrivateClassifier, DiffprivlibTreeParameters):
    """Base of diffprivlib's trees: random splits, and leaf labels chosen by permute-and-flip.

    At ε = ∞ each leaf has the most frequent label of its records, and the splits come from a fixed
    seed, so that a fit is deterministic.
    """

    calibration: str = PUBLISHED

    # What the privacy claim of a subclass does not cover. `_statement` adds exclusions that hold
    # for all subclasses.
    _excluded: ClassVar[tuple[str, ...]] = ()

    def _model(self, **common: Any) -> Any:
        """Return diffprivlib's unfitted model, with the arguments `common`."""
        raise NotImplementedError

    def _trees(self) -> list[DecisionTreeClassifier]:
        """Return the fitted trees."""
        raise NotImplementedError

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.generator(())
        if not is_private(self.epsilon):
            rng = np.random.default_rng(0)
        # diffprivlib ignores weights, so each record gets a row.
        rows = np.repeat(codes, counts, axis=0).astype(np.float64)
        labels = np.repeat(np.where(signs > 0, LABELS[1], LABELS[0]), counts)
        model = self._model(
            max_depth=int(self.max_depth),
            epsilon=float(self.epsilon),
            # Trees split bins at thresholds, so categories are treated as ordered by their bins.
            bounds=(np.zeros(codes.shape[1]), self.n_bins_ - 1.0),
            classes=LABELS,
            # Give each model a new accountant: diffprivlib's default is global and would add up all
            # fits.
            accountant=BudgetAccountant(),
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("error", PrivacyLeakWarning)
            if len(rows):
                self.model_ = model.fit(rows, labels)
            else:
                # diffprivlib refuses an empty table: fit one record to create trees, then refit.
                self.model_ = model.fit(np.zeros((1, rows.shape[1])), LABELS[:1])
                for tree in self._trees():
                    tree.fit(rows, labels, check_input=False)
        # The seed determines all noise, so it must not remain in the model.
        for seeded in (self.model_, *self._trees()):
            seeded.random_state = None
        used = np.concatenate([tree.tree_.feature for tree in self._trees()])
        self.n_features_used_ = len(np.unique(used[used >= 0]))
        return self._statement()

    def _scores(self, codes: Codes) -> Floats:
        # Each tree votes ±1 by the label of the row's leaf. The score is the mean of these votes.
        rows = codes.astype(np.float32)
        votes = sum(tree.tree_.predict(rows)[:, 1] for tree in self._trees())
        return np.asarray(2 * votes / len(self._trees()) - 1, dtype=np.float64)

    def _statement(self) -> PrivacyStatement:
        epsilon = float(self.epsilon)
        return state(
            self._learner,
            epsilon=epsilon,
            delta=0.0,
            neighbours=ADD_REMOVE,
            calibration=PUBLISHED,
            composition=BASIC,
            ledger=(
                LedgerEntry(
                    mechanism="permute_and_flip",
                    what="the labels of all leaves; each record is in one leaf",
                    noise_rate=epsilon,
                    sensitivity=1.0,
                    epsilon=epsilon,
                    source="claimed by diffprivlib, models/forest.py; docs/peers.md",
                    calls=len(self._trees()) * 2 ** int(self.max_depth),
                    parallel="the leaves of all trees",
                ),
            ),
            status=CLAIMED,
            caveat="the claim is diffprivlib's, and no proof of this project",
            exclusions=(
                "the replacement of a record, for which this noise gives "
                f"epsilon = {2 * epsilon:g}",
                *self._excluded,
                "a guess of the seed that diffprivlib is given, which has 31 bits",
            ),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibRandomForestClassifier(_RandomTrees, DiffprivlibForestParameters):
    """diffprivlib's `RandomForestClassifier`, unchanged.

    Each record is assigned to one tree at random (``shuffle=True``; otherwise each tree would get
    consecutive rows, which are sorted here, and see only a part of the domain). The score is the
    mean of the trees' votes, −1 or +1.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Depth of all branches of each tree.
    epsilon : float
        ε as claimed by diffprivlib, for adding or removing a record; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``published``: the library's noise.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : diffprivlib.models.RandomForestClassifier
    n_features_used_ : int
        Number of encoded columns that the trees split on; splits are random.
    """

    _learner = "dpl_random_forest"
    _excluded = (
        "an unknown number of records (it says which records share a tree, and one record "
        "more can move others)",
    )

    def _model(self, **common: Any) -> Any:
        model = models.RandomForestClassifier(
            n_estimators=int(self.n_estimators), shuffle=True, **common
        )
        model.estimator = DecisionTreeClassifier(accountant=BudgetAccountant())
        return model

    def _trees(self) -> list[DecisionTreeClassifier]:
        return list(self.model_.estimators_)


@dataclass(kw_only=True, eq=False, repr=False)
class DiffprivlibDecisionTreeClassifier(_RandomTrees):
    """diffprivlib's `DecisionTreeClassifier`, unchanged: one random tree.

    diffprivlib's documentation calls it a part of the forest, "not meant to be used separately"; it
    equals a forest of one tree.

    Parameters
    ----------
    max_depth : int
        Depth of all branches.
    epsilon, delta, calibration, n_bins, bounds, classes, random_state
        See :class:`DiffprivlibRandomForestClassifier`.

    Attributes
    ----------
    model_ : diffprivlib.models.forest.DecisionTreeClassifier
    n_features_used_ : int
        Number of encoded columns that the tree splits on; splits are random.
    """

    _learner = "dpl_decision_tree"

    def _model(self, **common: Any) -> Any:
        return DecisionTreeClassifier(**common)

    def _trees(self) -> list[DecisionTreeClassifier]:
        return [self.model_]
