"""interpret-core's private explainable boosting machine (Nori et al. 2021).

It needs the package interpret-core: ``pip install 'privcurve[peers]'``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from interpret import privacy
from interpret.glassbox import ExplainableBoostingClassifier

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import DPEBMParameters
from privcurve.learners.shared.chances import CERTAIN, ChanceClassifier, only_label
from privcurve.learners.shared.checks import ordered_columns
from privcurve.privacy.accountants.compose import BASIC, GAUSSIAN, compose
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import ADD_REMOVE, PUBLISHED, is_private
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, LedgerEntry, PrivacyStatement, state

# interpret's default share of ε that pays for the choice of bins (with half of δ).
BIN_SHARE = 0.1

# The value of `nominal` with which interpret reads the categories of a column from the records.
AS_NOMINAL = "as_nominal"

# interpret's accountant overflows above this ε, which replaces larger values: noise is tiny there.
LARGEST_EPSILON = 500.0


@dataclass(kw_only=True, eq=False, repr=False)
class DPExplainableBoostingClassifier(ChanceClassifier, PrivateClassifier, DPEBMParameters):
    """interpret-core's `DPExplainableBoostingClassifier`, unchanged.

    The score is a sum of one function per column. First a noisy histogram of each column determines
    its bins. Then, in each round and for each column, random cuts divide the bins into up to
    `max_leaves` regions, and the sum of the residuals in each region is released with Gaussian
    noise and added to the function.

    Ordered columns are continuous features with public bounds: bin k is the middle of [k − ½, k +
    ½]. By default columns without an order are treated in the same way. If they were interpret's
    nominal features, interpret would read their categories from the rows and add noise only to
    categories that occur, so that the model could reveal a rare category. With ``as_nominal`` the
    statement therefore does not cover which categories occur.

    At ε = ∞ the learner is interpret's `ExplainableBoostingClassifier` with the same number of
    rounds, no interactions, one bag, and a fixed seed.

    Parameters
    ----------
    learning_rate : float
        interpret's default, 0.01, is too slow for the default number of rounds (docs/peers.md).
    max_rounds : int
        Number of boosting rounds; each makes one step per column.
    max_bins : int
        Approximate maximum number of bins of a column.
    max_leaves : int
        Maximum number of regions in a step.
    nominal : str
        ``as_ordered``: columns without an order are continuous features, in the order of their
        bins; ``as_nominal``: they are nominal features, as interpret's documentation recommends.
    ordered : sequence of bool, bool or None
        Which columns have ordered bins (a public fact). None: all if `bounds` is given, else none.
    composition : str
        ``gdp`` or ``classic``: interpret's two accountants.
    epsilon : float
        ε as claimed by interpret, for adding or removing a record; infinite: no noise.
    delta : float
        Above 0, unless ε = ∞.
    calibration : str
        ``published``: interpret's noise.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : interpret.privacy.DPExplainableBoostingClassifier or None
        None if all records have the same label: then the score is constant.
    n_features_used_ : int
        Number of encoded columns whose function is not constant.
    """

    _learner = "dp_ebm"

    ordered: Sequence[bool] | bool | None = None
    delta: float = 1e-5
    calibration: str = PUBLISHED

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        codes, signs, counts, _ = records
        rng = curator.generator(())
        self.constant_ = CERTAIN * (only_label(signs) or 0) if len(signs) else 0.0
        if self.constant_ or not len(signs):
            # interpret returns infinite scores for a single label, and refuses an empty table. In
            # both cases this learner's score is a constant.
            self.model_ = None
            self.n_features_used_ = 0
            return self._statement()
        # interpret would add more noise for a weight above 1, so each record gets its own row.
        rows = np.repeat(codes, counts, axis=0).astype(np.float64)
        labels = np.repeat(signs, counts).astype(np.int64)
        model = self._private_model(rng) if is_private(self.epsilon) else self._plain_model()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="Possible privacy violation")
            # Ignore interpret's warning of a fixed seed: the seed is secret, and all noise of a run
            # must follow from the run's own seed.
            warnings.filterwarnings("ignore", message="Privacy violation: using a fixed random")
            self.model_ = model.fit(rows, labels)
        # The seed determines all noise, so it must not remain in the model.
        self.model_.random_state = None
        # Leave out the first and the last score: they are for missing and unknown values.
        used = [len(set(scores[1:-1].tolist())) > 1 for scores in self.model_.term_scores_]
        self.n_features_used_ = sum(used)
        return self._statement()

    def _feature_types(self) -> list[str]:
        """Return interpret's type of each column: ``continuous`` or ``nominal``."""
        if self.nominal != AS_NOMINAL:
            return ["continuous"] * self.n_features_in_
        by_default = self.bounds is not None
        given = ordered_columns(self._learner, self.ordered, by_default, self.n_features_in_)
        return ["continuous" if one else "nominal" for one in given]

    def _common_parameters(self) -> dict[str, Any]:
        return {
            "feature_types": self._feature_types(),
            "learning_rate": float(self.learning_rate),
            "max_rounds": int(self.max_rounds),
            "max_bins": int(self.max_bins),
            "max_leaves": int(self.max_leaves),
            "outer_bags": 1,
            "validation_size": 0,
            "n_jobs": 1,
        }

    def _private_model(self, rng: np.random.Generator) -> Any:
        return privacy.DPExplainableBoostingClassifier(
            **self._common_parameters(),
            epsilon=min(float(self.epsilon), LARGEST_EPSILON),
            delta=float(self.delta),
            composition=self.composition,
            bin_budget_frac=BIN_SHARE,
            privacy_bounds=np.column_stack(
                [np.full(self.n_features_in_, -0.5), self.n_bins_ - 0.5]
            ),
            random_state=int(rng.integers(2**31)),
        )

    def _plain_model(self) -> Any:
        return ExplainableBoostingClassifier(
            **self._common_parameters(),
            interactions=0,
            inner_bags=0,
            greedy_ratio=0.0,
            smoothing_rounds=0,
            early_stopping_rounds=0,
            random_state=0,
        )

    def _scores(self, codes: Codes) -> Floats:
        if self.model_ is None:
            return np.full(len(codes), self.constant_)
        return np.asarray(self.model_.decision_function(codes.astype(np.float64)))

    def _statement(self) -> PrivacyStatement:
        if not is_private(self.epsilon):
            return PrivacyStatement.not_private(self._learner)
        epsilon, delta = float(self.epsilon), float(self.delta)
        n_columns, n_steps = self.n_features_in_, int(self.max_rounds) * self.n_features_in_
        exclusions = [
            "that there are records of both labels (with one label the score is a constant, "
            "without noise)",
            "what interpret-core does in compiled code, such as drawing the cuts",
            "a guess of the seed that interpret-core is given, which has 31 bits",
        ]
        rates = (0.0, 0.0)
        if self.model_ is not None:
            sigmas = self.model_.noise_scale_binning_, self.model_.noise_scale_boosting_
            rates = (1 / float(sigmas[0]), 1 / float(sigmas[1]))
            exclusions.insert(0, self._replacement(*rates))
            if "nominal" in self._feature_types():
                exclusions.append("which categories of columns without an order occur")
        each = f"(epsilon at delta = {delta / 2:g})"
        ledger = (
            LedgerEntry(
                mechanism="gaussian",
                what=f"noisy histograms of {n_columns} columns, for bins {each}",
                noise_rate=rates[0],
                sensitivity=math.sqrt(n_columns),
                epsilon=BIN_SHARE * epsilon,
                source="claimed by interpret-core, utils/_privacy.py; docs/peers.md",
                calls=n_columns,
            ),
            LedgerEntry(
                mechanism="gaussian",
                what=f"noisy sums of residuals, {n_steps} steps of boosting {each}",
                noise_rate=rates[1],
                sensitivity=float(self.learning_rate) * math.sqrt(n_steps),
                epsilon=epsilon - BIN_SHARE * epsilon,
                source="claimed by interpret-core, glassbox/_ebm/_ebm.py; docs/peers.md",
                calls=n_steps,
            ),
        )
        return state(
            self._learner,
            epsilon=epsilon,
            delta=delta,
            neighbours=ADD_REMOVE,
            calibration=PUBLISHED,
            composition=BASIC,
            ledger=ledger,
            exclusions=exclusions,
            status=CLAIMED,
            caveat="the claim is interpret-core's, and no proof of this project",
        )

    def _replacement(self, bin_rate: float, boost_rate: float) -> str:
        """Return a phrase that names the ε of interpret's noise for replace-one neighbours.

        `bin_rate` and `boost_rate` are 1/σ, for the noise of the histograms and of the sums. If a
        record is replaced, two bins of each histogram change by 1. The sums of a step change by up
        to twice the learning rate (L2): residuals are in (-1, 1), and the label may change.
        """
        n_columns = self.n_features_in_
        steps = math.sqrt(int(self.max_rounds) * n_columns)
        costs = [
            Cost(GAUSSIAN_KIND, bin_rate * math.sqrt(2 * n_columns)),
            Cost(GAUSSIAN_KIND, boost_rate * 2 * float(self.learning_rate) * steps),
        ]
        spent = compose(GAUSSIAN, costs, float(self.delta))
        return (
            f"the replacement of a record, for which Gaussian noise of this size gives "
            f"epsilon = {spent:.4g} at the same delta"
        )
