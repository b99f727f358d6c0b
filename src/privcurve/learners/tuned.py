"""Private hyperparameter selection within ε: the best of a random number of trainings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privcurve.coding import Codes, Floats, Ints, Records, decide
from privcurve.learners import registry
from privcurve.learners.base import CodedClassifier, PrivateClassifier, with_fitted_parameters
from privcurve.learners.entries.parameters import TunedParameters
from privcurve.learners.entry import Facts, LearnerEntry
from privcurve.learners.shared.checks import ordered_columns
from privcurve.learners.shared.tuning import NAME, Candidate, budget_of, candidates_of, terms
from privcurve.privacy.budget import PROVED, is_private
from privcurve.privacy.curator import EXACT, Call, Curator, call_of
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import selection_statement
from privcurve.privacy.sealed import kernel
from privcurve.privacy.selection import UNITS, SelectionBudget, runs

# Maximum number of runs that are trained together, which limits the number of models in memory.
_BATCH = 32


def _has_probabilities(learner: TunedClassifier) -> bool:
    if hasattr(learner, "best_"):
        return hasattr(learner.best_, "predict_proba")
    kinds = map(registry.estimator_class, learner._names())
    return all(hasattr(kind, "predict_proba") for kind in kinds)


@kernel
def count_right(
    codes: Codes, labels: Ints, counts: Ints, scored: Callable[[Codes], Floats]
) -> Ints:
    """Count the records that a model predicts correctly; the result has shape (1,).

    `scored` maps bins to scores, and `labels` are positions of classes.
    """
    right = decide(scored(codes)) == labels
    return counts[right].sum(keepdims=True)


@dataclass(kw_only=True, eq=False, repr=False)
class TunedClassifier(PrivateClassifier, TunedParameters):
    """Select a learner and its hyperparameters privately, at a cost that ε includes.

    A fit draws a random number of runs. Each run draws a setting, trains it, and counts, with
    noise, the training records that the trained model predicts correctly. The fit keeps the model
    with the largest count and reveals nothing about the other runs, not even their number
    (docs/tuning.md).

    Parameters
    ----------
    learner : str
        Name of the learner whose settings are selected. It must have a proved calibration for
        replace-one neighbours.
    settings : mapping, sequence of mapping, or None
        The candidate settings; a run draws one of them uniformly. A mapping has a list of values
        for each hyperparameter, and all combinations are candidates. A sequence lists the settings;
        each is for `learner`, or for another learner that it names
        (``{"learner": "noisy_bayes", …}``). None: the defaults of `learner`. The settings are
        public: they must not depend on the records.
    eta : float
        η, the shape of the (truncated negative binomial) distribution of the number of runs, above
        −1. 1 is the geometric distribution, 0 the logarithmic one.
    expected_runs : float
        The expected number of runs.
    score_share : float
        The share of a run's ε (with δ > 0: of its ρ) that pays for the score.
    epsilon : float
        ε of the whole fit: the selection and the selected training. At ∞ every setting is trained
        once, without noise, and scored exactly.
    delta : float
        0: pure differential privacy.
    calibration : str
        ``proved``.
    ordered : sequence of bool, bool or None
        Which columns have ordered bins, for candidates that use it. None: all columns if `bounds`
        is given, otherwise the default of each candidate.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    best_ : CodedClassifier
        The selected fitted learner. Its ``privacy_`` covers the entire selection.
    learner_ : str
        The name of the selected learner.
    setting_ : mapping
        The selected setting.
    score_ : float
        The noisy share of training records that the selected model predicts correctly. As the
        largest of several noisy scores, it is biased upwards.
    model_ : object
        The model of `best_`, if it has one.
    n_features_used_ : int
        The same attribute of `best_`.
    n_records_ : int
        Number of training records.
    """

    _learner = NAME
    _merges = False

    ordered: Sequence[bool] | bool | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        candidates_of(self.learner, self.settings)
        runs(float(self.eta), float(self.expected_runs))
        if is_private(self.epsilon):
            self._budget()

    def check_classes(self, n_classes: int) -> None:
        """Raise ValueError if a candidate learner does not support `n_classes`."""
        for name in self._names():
            if why := registry.entry(name).refuses(n_classes=n_classes):
                raise ValueError(f"{NAME}: {why}. {registry.hint_multiclass()}")

    def _effective_entry(self) -> LearnerEntry:
        try:
            many = all(registry.entry(name).multiclass for name in self._names())
        except ValueError:  # invalid settings: a fit raises this error again
            many = False
        return replace(registry.entry(NAME), multiclass=many)

    def _budget(self) -> SelectionBudget:
        return budget_of(
            self._names(), self.epsilon, self.delta, self.eta, self.expected_runs, self.score_share
        )

    def _public_facts(self) -> Facts:
        """Return the public facts for the candidates.

        Bins are not merged here, as each candidate merges them itself.
        """
        n_classes, ordered = len(self.classes_), self.ordered
        if ordered is not None or self.bounds is not None:
            ordered = ordered_columns(NAME, ordered, True, len(self.n_bins_))
        return Facts(self.n_bins_, ordered, n_classes, mixed_bins=self.mixed_bins)

    def _names(self) -> list[str]:
        """Return the distinct names of the candidates' learners."""
        candidates = candidates_of(self.learner, self.settings)
        return list(dict.fromkeys(candidate.learner for candidate in candidates))

    def _trained_learners(self) -> tuple[str, ...]:
        candidates = candidates_of(self.learner, self.settings)
        return (NAME, *sorted({candidate.learner for candidate in candidates}))

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        candidates = candidates_of(self.learner, self.settings)
        self.n_records_ = records.n
        if is_private(self.epsilon):
            budget = self._budget()
            facts = self._public_facts()
            each_terms = terms(candidates, budget, facts, self.n_records_)
            epsilons = [t.epsilon for t in each_terms]
            statement = selection_statement(
                budget,
                " or ".join(self._names()),
                len(candidates),
                [text for t in each_terms for text in t.assumptions],
                [text for t in each_terms for text in t.exclusions],
            )
            drawn = curator.draw_runs(len(candidates), budget.runs)
            run, score_call = (call_of(entry) for entry in statement.ledger)
            score_call = replace(score_call, scale=budget.score_scale)
        else:
            epsilons, drawn = [self.epsilon] * len(candidates), list(range(len(candidates)))
            statement = PrivacyStatement.not_private(NAME)
            run = score_call = EXACT
        best = None
        for start in range(0, len(drawn), _BATCH):
            batch = drawn[start : start + _BATCH]
            for place, model in zip(
                batch, self._train_runs(candidates, epsilons, batch, records, curator, run),
                strict=True,
            ):  # fmt: skip
                score = self._count_right(model, records, curator, score_call)
                # If scores are equal, the first run wins: docs/proofs.md, 'Private selection',
                # allows this.
                if best is None or score > best[0]:
                    best = score, place, model
        assert best is not None
        score, place, self.best_ = best
        self.learner_ = candidates[place].learner
        self.setting_ = dict(candidates[place].setting)
        self.score_ = score / (UNITS * self.n_records_)
        self.n_features_used_ = int(self.best_.n_features_used_)
        # The selected model must state the cost of the entire selection, not of its own training.
        best_statement = statement.of_fit(curator.generator_exclusion, curator.float_exclusions)
        self.best_._fitted_statement = replace(best_statement, sealed=bool(curator.sealed_for))
        return statement

    def _train_runs(
        self,
        candidates: Sequence[Candidate],
        epsilons: Sequence[float],
        drawn: Sequence[int],
        records: Records,
        curator: Curator,
        run: Call,
    ) -> list[Any]:
        """Train the drawn settings and return the fitted learners in the same order.

        Each training has a curator of its own, which checks that the training costs no more than
        the call `run`.
        """
        doors = curator.inner(run, len(drawn))
        labels = records.labels
        if len(self.classes_) == 2:
            labels = (2 * labels - 1).astype(np.int8)
        seen = records._replace(labels=labels)
        models: dict[int, Any] = {}
        for name in self._names():
            places = [k for k, place in enumerate(drawn) if candidates[place].learner == name]
            if not places:
                continue
            delta = registry.entry(name).delta_passed(self.delta)
            budget = {"delta": delta, "calibration": PROVED}
            base = registry.make(name, self._public_facts(), budget)
            settings = [
                {**candidates[drawn[k]].setting, "epsilon": epsilons[drawn[k]]} for k in places
            ]
            trained = base.fit_records(seen, settings, [doors[k] for k in places])
            models.update(zip(places, trained, strict=True))
        return [models[k] for k in range(len(drawn))]

    def _count_right(
        self, model: CodedClassifier, records: Records, curator: Curator, call: Call
    ) -> int:
        """Return the noisy number of correctly predicted records, in units of 1/`UNITS` record."""
        codes, labels, counts, _ = records
        exact = count_right(codes, labels, counts, model.score_codes)
        return int(curator.whole_numbers(call, UNITS * exact)[0])

    def _scores(self, codes: Codes) -> Floats:
        return self.best_.score_codes(codes)

    @property
    def chances_by_link(self) -> bool:
        """The property `chances_by_link` of the selected learner."""
        check_is_fitted(self)
        return bool(self.best_.chances_by_link)

    def _on_groups(self, domain: object) -> tuple[Self, Any]:
        other = copy.copy(self)
        other.best_, domain = self.best_._on_groups(domain)
        other.n_bins_ = other.best_.n_bins_
        return other, domain

    def _model_to_save(self) -> CodedClassifier:
        return self.best_

    @available_if(_has_probabilities)
    @with_fitted_parameters
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, if the selected learner has probabilities."""
        check_is_fitted(self)
        return self.best_.predict_proba(self._code(X))

    @property
    def model_(self) -> Any:
        """The model of the selected learner; AttributeError if it has none."""
        check_is_fitted(self)
        return self.best_.model_

    def _measures(self) -> dict[str, float]:
        return dict(self.best_.measures_)
