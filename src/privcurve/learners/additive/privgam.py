"""PrivGAM: an additive model of noisy sums of residuals, its settings by a public rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.class_model import ClassModel
from privcurve.learners.additive.fitting import Fit, Plan
from privcurve.learners.additive.many_classes import ClassFit, ClassResiduals
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.checks import check_estimate, ordered_columns
from privcurve.parts import PartedRecords
from privcurve.privacy.accountants.bounded_range import MAX_CALLS
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE, is_private
from privcurve.privacy.calibration.privgam import (
    MOST_RECORDS,
    chosen_budget,
    gaussian_budget,
    grid_bits,
    mixed_budget,
    statement,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement


@dataclass(kw_only=True, eq=False, repr=False)
class PrivGAMClassifier(ChanceClassifier, PrivateClassifier):
    r"""An additive model: a score for each bin of each column, of some pairs, and an intercept.

    A step takes one column and releases, by bin and label, the sums of the residuals
    :math:`\min(|y_i - p_i|, \frac12)`, with noise. All else is made of what was released: Newton
    steps, their smoothing by empirical Bayes, columns that are left out. ``cyclic`` takes the
    columns in turn, ``greedy`` those that a noisy choice finds most worth it, and a linear part of
    all columns at once comes before where all are ordered; after ``cyclic`` come pairs of the
    columns that matter most. Which of them, and all numbers, follow
    from a rule in public facts (:mod:`privcurve.learners.additive.rule`): nothing is tuned on the
    records. Proofs and measurements: docs/privgam.md.

    Where n·ε is small the fit is of ``stumps``: each a choice of a column, of a cut through its
    bins (of bins without an order: of one of them) and of which side is positive, or of one label
    for all records; nothing else is released, and δ is 0. Its probabilities are a convention, as a
    stump's step is public; ``greedy`` fits them. Where n·ε is smaller still, the model is a noisy
    majority.

    Of more than two classes each has a score; there is no linear part, and there are no pairs.

    Sums are whole numbers and so is the noise: the guarantee covers floating-point arithmetic.

    Parameters
    ----------
    method : str
        ``rule``; or ``cyclic`` (δ > 0), ``greedy`` or ``stumps`` (two classes) whatever the rule
        says.
    n_rounds : int
        Of a cyclic fit.
    n_steps : int or None
        Choices of a greedy fit, or stumps; None: by the rule.
    bins : str
        ``rule``; ``all``; or ``few``: neighbouring bins of ordered columns together, at most
        16, of more than two classes at little budget 4. By the rule a cyclic fit of two classes
        and little budget merges mixed bins itself, by what it has released of them, and has no
        linear part.
    linear : str
        Whether there is a linear part: ``rule``, ``yes`` (all columns are ordered, two classes) or
        ``no``.
    pairs : str
        Whether pairs of columns have values of their own: ``rule``, ``yes`` (if the fit is
        cyclic, so with δ > 0, and there are two classes) or ``no``.
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
        0: permute-and-flip and discrete Laplace noise, greedy or of stumps. Above 0: Gaussian
        noise; of stumps and of a noisy majority as with 0.
    calibration : str
        ``certified``.
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
    bins: str = rule.RULE
    linear: str = rule.RULE
    pairs: str = rule.RULE
    neighbours: str = REPLACE_ONE
    n_estimate: int | None = None
    ordered: Sequence[bool] | bool | None = None

    def _fit_one(self, records: Records | PartedRecords, curator: Curator) -> PrivacyStatement:
        fit, maps = self._fitted(records, curator)
        kind = ClassModel if isinstance(fit, ClassFit) else AdditiveModel
        self.model_ = kind.of(fit, maps)
        self.method_ = fit.method
        self.n_features_used_ = self.model_.n_used
        if self.neighbours != ADD_REMOVE:
            self.n_records_ = records.n
        return statement(fit.budget, curator.ledger, self._by_rule())

    def _fitted(
        self, records: Records | PartedRecords, curator: Curator, kind: type[Fit] = Fit
    ) -> tuple[Fit, list[Codes]]:
        """Run the fit; its transcript is not kept on the model."""
        ordered = self._ordered(len(self.n_bins_))
        n = records.n if self.n_estimate is None else int(self.n_estimate)
        n_classes = len(self.classes_)
        plan = plan_of(self, n, ordered, n_classes)
        # Bins that the fit merges are not merged before it.
        apart = np.array(ordered) & ~np.array(plan.mixed or [0] * len(ordered), dtype=bool)
        maps = bin_maps(self.n_bins_, apart, plan.merged, plan.few_bins)
        if n_classes > 2:
            budget = plan.budget
            of_classes = ClassResiduals(records, n_classes, maps, budget.bits, budget.norm)
            fit: Fit = ClassFit(of_classes, ordered, plan.budget, curator)
        else:
            residuals = Residuals(records, maps, plan.budget.bits)
            fit = kind(residuals, ordered, plan.budget, curator)
        fit.run(plan)
        return fit, fit.records.maps[: len(maps)]

    def _by_rule(self) -> bool:
        """Whether the rule decides all settings."""
        free = self.method == self.bins == self.linear == self.pairs == rule.RULE
        return free and self.n_rounds == rule.ROUNDS and self.n_steps is None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.method == rule.CYCLIC and self.delta == 0 and np.isfinite(self.epsilon):
            raise ValueError(
                "privgam: method = 'cyclic' has Gaussian noise, so it needs delta > 0; with "
                "delta = 0 use method = 'greedy' or 'rule'"
            )
        if self.method == rule.STUMPS and "yes" in (self.linear, self.pairs):
            raise ValueError(
                "privgam: method = 'stumps' has no linear part and no pairs; leave out linear and "
                "pairs, or take method = 'rule'"
            )
        greedy = self.method == rule.GREEDY or (self.delta == 0 and np.isfinite(self.epsilon))
        if self.pairs == "yes" and greedy:
            raise ValueError(
                "privgam: pairs = 'yes' come after rounds of all columns, and a greedy fit has "
                "none; use method = 'cyclic' or 'rule', and delta > 0"
            )
        check_estimate(self._learner, self.neighbours, self.n_estimate)

    def check_classes(self, n_classes: int) -> None:
        """Refuse settings that are for two classes alone."""
        for name in ("linear", "pairs"):
            if n_classes > 2 and getattr(self, name) == "yes":
                raise ValueError(
                    f"privgam: {name} = 'yes' is for two classes, and there are {n_classes}: leave "
                    "it out"
                )
        if n_classes > 2 and self.method == rule.STUMPS:
            raise ValueError(
                f"privgam: method = 'stumps' is for two classes, and there are {n_classes}: leave "
                "it out"
            )

    def _ordered(self, n_columns: int) -> tuple[bool, ...]:
        by_default = self.bounds is not None
        ordered = ordered_columns(self._learner, self.ordered, by_default, n_columns)
        if self.linear == "yes" and not all(ordered):
            raise ValueError("privgam: linear = 'yes' needs all columns to be ordered")
        return ordered

    def _restore(self) -> None:
        self.model_.check(self.n_bins_, len(self.classes_))
        self.n_features_used_ = self.model_.n_used

    def _scores(self, codes: Codes) -> Floats:
        return self.model_.log_odds(codes)

    def _measures(self) -> dict[str, float]:
        return self.model_.measures()


def plan_of(
    settings: PrivGAMClassifier, n: int, ordered: Sequence[bool], n_classes: int = 2
) -> Plan:
    """Apply the public rule."""
    epsilon, delta, neighbours = float(settings.epsilon), float(settings.delta), settings.neighbours
    pure, private = delta == 0, is_private(epsilon)
    find = mixed_budget if pure else gaussian_budget
    budget = find(epsilon, delta, neighbours)
    sizes = rule.line_sizes(n, budget.amount, len(ordered), pure)
    method = settings.method
    if method == rule.RULE:
        often = rule.is_cyclic(n, budget.amount, len(ordered), n_classes)
        cyclic = not private or (not pure and often)
        method = rule.CYCLIC if cyclic else rule.GREEDY
        free = "yes" not in (settings.linear, settings.pairs)
        if free and not cyclic and rule.is_stumps(n, epsilon, pure, ordered, n_classes):
            method = rule.STUMPS
    few = rule.few_bins(n, budget.amount, len(ordered), n_classes, pure)
    merged = settings.bins == "few"
    if settings.bins == rule.RULE:
        small = few < rule.FEW_BINS or rule.merges(n, budget.amount, pure)
        merged = private and method != rule.STUMPS and small
    mixed: tuple[int, ...] = ()
    by_rule = private and settings.bins == rule.RULE and method == rule.CYCLIC
    if by_rule and settings.mixed_bins is not None and rule.regroups(n, budget.amount, n_classes):
        mixed = tuple(settings.mixed_bins)
    linear = settings.linear == "yes"
    if settings.linear == rule.RULE:
        alone = n_classes == 2 and not mixed and method != rule.STUMPS
        linear = alone and rule.has_line(ordered, n, budget.amount, pure)
    n_steps, intercept = int(settings.n_rounds), (rule.FIRST_SHARE, rule.last_share(n_classes))
    if method == rule.STUMPS:
        # Few choices: δ would gain next to nothing.
        budget = mixed_budget(epsilon, 0.0, neighbours)
        n_steps = int(settings.n_steps or 0) or rule.stumps(n, epsilon)
    if method == rule.GREEDY:
        budget = mixed_budget(epsilon, delta, neighbours)
        n_steps = int(settings.n_steps or 0) or rule.steps(n, budget.amount, pure)
        if private and settings.n_steps is None:
            intercept = rule.intercept_shares(n, budget.amount, pure, n_classes)
            if intercept[0] == 1.0:
                # One number: pure noise is the smaller one.
                n_steps, linear = 0, False
                budget = mixed_budget(epsilon, 0.0, neighbours)
        choices = n_steps - linear * (n_steps // rule.LINE_EVERY)
        if private and not pure and 0 < choices <= MAX_CALLS:
            _, share = rule.greedy_shares(n_steps, pure, linear, sum(intercept))
            budget = chosen_budget(epsilon, delta, neighbours, choices, share)
    wanted = n_classes == 2 and rule.has_pairs(n, budget.amount, len(ordered))
    if settings.pairs != rule.RULE:
        wanted = settings.pairs == "yes"
    pairs = wanted and method == rule.CYCLIC
    first = 0.0
    if private and method == rule.CYCLIC:
        first = rule.first_share(n, budget.amount, len(ordered), n_classes)
    share = rule.least_share(
        method, n_steps, len(ordered), pure, linear, sum(intercept), pairs, first
    )
    budget = replace(budget, n_classes=n_classes)
    on_grid = replace(budget, bits=grid_bits(budget, share))
    return Plan(
        method, n_steps, merged, linear, pairs, on_grid, intercept, n, sizes, few, mixed, first
    )
