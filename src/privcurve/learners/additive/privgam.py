"""PrivGAM: an additive model of noisy sums of residuals, its settings by a public rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import MOST_CODES, Codes, Floats, Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.class_model import ClassModel
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.additive.many_classes import ClassFit, ClassResiduals
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.checks import check_estimate, ordered_columns
from privcurve.parts import PartedRecords
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.calibration.privgam import MOST_RECORDS, statement
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement


@dataclass(kw_only=True, eq=False, repr=False)
class PrivGAMClassifier(ChanceClassifier, PrivateClassifier):
    r"""An additive model: a score for each bin of each column, of some pairs, and an intercept.

    Where n·ε is small, and wherever δ = 0, a fit of two classes is of ``stumps``: each a noisy
    choice of a column, of a cut through its bins (of bins without an order: of one of them) and of
    which side is positive, or of one label for all records. If they are few nothing else is
    released, and δ is 0; more of them use δ, and the labels by bin of all columns, released at
    once, rank the records of which stumps say the same. Probabilities are a convention, as a
    stump's step is public. Where n·ε is smaller still, the model is a noisy majority.

    Else it is ``cyclic``: rounds, in each of which each column releases, by bin and label, the sums
    of the residuals :math:`\min(|y_i - p_i|, \frac12)`, with noise. All else is made of what was
    released: Newton steps, and their smoothing by empirical Bayes. A linear part of all columns at
    once comes before where all are ordered; after the rounds come pairs of the columns that matter
    most. Which of them, and all numbers, follow from a rule in public facts
    (:mod:`privcurve.learners.additive.rule`): nothing is tuned on the records. What it is good for:
    docs/privgam.md; proofs: docs/proofs.md, 'PrivGAM'.

    Of more than two classes each has a score; all columns are asked at once before the rounds, or
    ``once`` and not again; there is no linear part, and there are no pairs.

    Sums are whole numbers and so is the noise: the guarantee covers floating-point arithmetic.

    Parameters
    ----------
    method : str
        ``rule``; or ``cyclic`` (δ > 0), ``stumps`` (two classes) or ``once`` (more) whatever the
        rule says.
    n_rounds : int
        Of a cyclic fit.
    n_steps : int or None
        How many stumps; None: by the rule. More than without δ use it.
    linear : str
        Whether a cyclic fit has a linear part: ``rule``, ``yes`` (all columns are ordered, two
        classes) or ``no``.
    pairs : str
        Whether pairs of columns have values of their own after the rounds: ``rule``, ``yes`` (two
        classes) or ``no``.
    neighbours : str
        ``replace-one``, or ``add-remove``: then the number of records is not public, and the rule
        goes by `n_estimate`. No record gives a model of noise alone.
    n_estimate : int or None
        About how many records there are, from public sources; with ``add-remove`` alone.
    ordered : sequence of bool, bool or None
        Which columns have codes in the order of what they mean; public. None: all where `bounds`
        is given, else none.
    epsilon : float
        ε, above 0; infinite: no noise, columns in turn.
    delta : float
        0: of two classes stumps, of more Laplace noise. Above 0: Gaussian noise, and stumps that
        use δ; few of them and a noisy majority are as with 0, which the statement then says.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : AdditiveModel or ClassModel
        Shape functions with standard errors (0 where there are none: of stumps), of more than two
        classes by class; prints itself.
    method_ : str
        What the rule chose.
    n_features_used_ : int
        Columns that have an effect.
    n_records_ : int
        Records trained on; not with ``add-remove``, where it is not public.
    privacy_ : PrivacyStatement
        What the fit guarantees, with every release and choice.

    Examples
    --------
    >>> import numpy as np
    >>> from privcurve.learners.additive.privgam import PrivGAMClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9, dtype=np.uint8)
    >>> y = np.array([0, 0, 0, 1] * 9)
    >>> model = PrivGAMClassifier(epsilon=float("inf"), n_bins=2).fit(X, y)
    >>> model.predict(X[:4])
    array([0, 0, 0, 1])
    """

    _learner = "privgam"
    _most_records = MOST_RECORDS - 1
    _released: ClassVar[Mapping[str, Any]] = {"model_": AdditiveModel | ClassModel}

    method: str = rule.RULE
    n_rounds: int = rule.ROUNDS
    n_steps: int | None = None
    linear: str = rule.RULE
    pairs: str = rule.RULE
    neighbours: str = REPLACE_ONE
    n_estimate: int | None = None
    ordered: Sequence[bool] | bool | None = None

    def _fit_one(self, records: Records | PartedRecords, curator: Curator) -> PrivacyStatement:
        method, fit, maps = self._run_fit(records, curator)
        kind = ClassModel if isinstance(fit, ClassFit) else AdditiveModel
        self.model_ = kind.from_fit(fit, maps)
        self.method_ = method
        self.n_features_used_ = self.model_.n_used
        if self.neighbours != ADD_REMOVE:
            self.n_records_ = records.n
        return statement(fit.budget, curator.ledger, self._is_by_rule())

    def _run_fit(
        self, records: Records | PartedRecords, curator: Curator
    ) -> tuple[str, Fit, list[Codes]]:
        """Run the fit; its transcript is not kept on the model."""
        n = 0 if self.n_estimate is not None else records.n
        facts = self._public_facts(n, len(self.n_bins_), len(self.classes_))
        method, extras = self._plan(facts)
        budget = rule.budget_of(method, extras, facts)
        # Stumps cut between codes, not merged bins.
        most = MOST_CODES if method == rule.STUMPS else extras.most_bins
        maps = bin_maps(self.n_bins_, facts.ordered, most)
        if facts.n_classes == 2:
            fit = Fit(Residuals(records, maps, budget.bits), facts.ordered, budget, curator)
        else:
            of_classes = ClassResiduals(records, facts.n_classes, maps, budget.bits, budget.norm)
            fit = ClassFit(of_classes, facts.ordered, budget, curator)
        fit.run(method, extras, facts.n)
        return method, fit, maps

    def _public_facts(self, n: int, n_columns: int, n_classes: int) -> rule.Facts:
        """Return the public facts of a fit on n records."""
        return rule.Facts(
            n if self.n_estimate is None else int(self.n_estimate),
            self._ordered_columns(n_columns),
            n_classes,
            float(self.epsilon),
            float(self.delta),
            self.neighbours,
        )

    def _plan(self, facts: rule.Facts) -> tuple[str, rule.Extras]:
        """Apply the public rule, except where parameters are given."""
        method = rule.method_of(facts) if self.method == rule.RULE else self.method
        extras = rule.extras_of(method, facts)
        if method == rule.CYCLIC:
            extras = extras._replace(n_steps=int(self.n_rounds))
        elif self.n_steps is not None:
            extras = extras._replace(n_steps=int(self.n_steps))
        if self.linear != rule.RULE:
            extras = extras._replace(linear=self.linear == "yes" and method == rule.CYCLIC)
        if self.pairs != rule.RULE:
            extras = extras._replace(pairs=self.pairs == "yes" and method == rule.CYCLIC)
        return method, extras

    def delta_used(self, n: int, n_columns: int, n_classes: int) -> float:
        """Return the δ of the guarantee of a fit with these public facts: 0 of stumps."""
        facts = self._public_facts(n, n_columns, n_classes)
        return rule.budget_of(*self._plan(facts), facts).delta

    def _facts(self, n: int) -> dict[str, Any]:
        used = self.delta_used(n, len(self.n_bins_), len(self.classes_))
        return {**super()._facts(n), "delta": used}

    def _is_by_rule(self) -> bool:
        """Whether the rule decides all settings."""
        free = self.method == self.linear == self.pairs == rule.RULE
        return free and self.n_rounds == rule.ROUNDS and self.n_steps is None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        pure = self.delta == 0 and np.isfinite(self.epsilon)
        if self.method == rule.CYCLIC and pure:
            raise ValueError(
                "privgam: method = 'cyclic' has Gaussian noise, so it needs delta > 0; with "
                "delta = 0 use method = 'rule'"
            )
        for name in ("linear", "pairs"):
            if getattr(self, name) == "yes" and (pure or self.method == rule.STUMPS):
                raise ValueError(
                    f"privgam: {name} = 'yes' is for rounds of all columns, and stumps have none; "
                    "leave it out, or take method = 'rule' or 'cyclic', and delta > 0"
                )
        check_estimate(self._learner, self.neighbours, self.n_estimate)

    def check_classes(self, n_classes: int) -> None:
        """Refuse settings that are for two classes alone, or for more."""
        for name in ("linear", "pairs"):
            if n_classes > 2 and getattr(self, name) == "yes":
                raise ValueError(
                    f"privgam: {name} = 'yes' is for two classes, and there are {n_classes}: leave "
                    "it out"
                )
        if self.method == (rule.ONCE if n_classes == 2 else rule.STUMPS):
            wanted = "more than two classes" if n_classes == 2 else "two classes"
            raise ValueError(
                f"privgam: method = '{self.method}' is for {wanted}, and there are {n_classes}: "
                "leave it out"
            )

    def _ordered_columns(self, n_columns: int) -> tuple[bool, ...]:
        by_default = self.bounds is not None
        ordered = ordered_columns(self._learner, self.ordered, by_default, n_columns)
        if self.linear == "yes" and not all(ordered):
            raise ValueError("privgam: linear = 'yes' needs all columns to be ordered")
        return ordered

    @staticmethod
    def _upgrade_parameters(parameters: Mapping[str, Any], version: int) -> Mapping[str, Any]:
        if version > 6:
            return parameters
        # Up to version 6 there were other bins, and rounds at δ = 0 that a linear part might have.
        by_rule = dict.fromkeys(("method", "linear", "pairs"), rule.RULE)
        return {key: own for key, own in {**parameters, **by_rule}.items() if key != "bins"}

    def _restore(self) -> None:
        self.model_.check(self.n_bins_, len(self.classes_))
        self.n_features_used_ = self.model_.n_used

    def _scores(self, codes: Codes) -> Floats:
        return self.model_.log_odds(codes)

    def _measures(self) -> dict[str, float]:
        return self.model_.measures()
