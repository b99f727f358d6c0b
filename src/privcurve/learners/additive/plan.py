"""What a fit of PrivGAM will do: the public rule, applied to public facts and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privcurve.learners.additive import rule
from privcurve.privacy.accountants.bounded_range import MAX_CALLS
from privcurve.privacy.budget import is_private
from privcurve.privacy.calibration.privgam import (
    Budget,
    chosen_budget,
    gaussian_budget,
    grid_bits,
    mixed_budget,
)

if TYPE_CHECKING:
    from privcurve.learners.privgam import PrivGAMClassifier


@dataclass(frozen=True)
class Plan:
    """What the rule chose, from public facts alone.

    Attributes
    ----------
    method : str
        ``cyclic`` or ``greedy``.
    n_steps : int
        Rounds (cyclic) or steps (greedy).
    merged : bool
        Whether ordered columns have few bins.
    linear : bool
        Whether there is a joint linear part.
    pairs : bool
        Whether pairs of columns are asked after the rounds.
    budget : Budget
        Of the intercept alone: pure, whatever δ is.
    intercept : tuple of float
        Shares of the intercept in a greedy fit, first and last.
    n_records : int
        As the rule takes it.
    line_sizes : tuple of float
        Deviations that the prior of a linear part's coefficients may have.
    """

    method: str
    n_steps: int
    merged: bool
    linear: bool
    pairs: bool
    budget: Budget
    intercept: tuple[float, float]
    n_records: int
    line_sizes: tuple[float, ...]


def plan_of(settings: PrivGAMClassifier, n: int, ordered: Sequence[bool]) -> Plan:
    """Apply the public rule."""
    epsilon, delta, neighbours = float(settings.epsilon), float(settings.delta), settings.neighbours
    pure, private = delta == 0, is_private(epsilon)
    find = mixed_budget if pure else gaussian_budget
    budget = find(epsilon, delta, neighbours)
    linear = settings.linear == "yes"
    if settings.linear == rule.RULE:
        linear = rule.has_line(ordered, n, budget.amount, pure)
    sizes = rule.line_sizes(n, budget.amount, len(ordered), pure)
    method = settings.method
    if method == rule.RULE:
        cyclic = not private or (not pure and rule.is_cyclic(n, budget.amount, len(ordered)))
        method = rule.CYCLIC if cyclic else rule.GREEDY
    merged = settings.bins == "few"
    if settings.bins == rule.RULE:
        merged = private and rule.merges(n, budget.amount, pure)
    n_steps, intercept = int(settings.n_rounds), (rule.FIRST_SHARE, rule.LAST_SHARE)
    if method == rule.GREEDY:
        budget = mixed_budget(epsilon, delta, neighbours)
        n_steps = int(settings.n_steps or 0) or rule.steps(n, budget.amount, pure)
        if private and settings.n_steps is None:
            intercept = rule.intercept_shares(n, budget.amount, pure)
            if intercept[0] == 1.0:
                # One number: pure noise is the smaller one.
                n_steps, linear = 0, False
                budget = mixed_budget(epsilon, 0.0, neighbours)
        choices = n_steps - linear * (n_steps // rule.LINE_EVERY)
        if private and not pure and 0 < choices <= MAX_CALLS:
            _, share = rule.greedy_shares(n_steps, pure, linear, sum(intercept))
            budget = chosen_budget(epsilon, delta, neighbours, choices, share)
    wanted = rule.has_pairs(n, budget.amount, len(ordered))
    if settings.pairs != rule.RULE:
        wanted = settings.pairs == "yes"
    pairs = wanted and method == rule.CYCLIC
    share = rule.least_share(method, n_steps, len(ordered), pure, linear, sum(intercept), pairs)
    on_grid = replace(budget, bits=grid_bits(budget, share))
    return Plan(method, n_steps, merged, linear, pairs, on_grid, intercept, n, sizes)
