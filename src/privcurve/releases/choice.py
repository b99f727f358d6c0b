"""The candidates of a private choice of the learner; ε pays for the choice.

Private selection (docs/tuning.md) chooses among proved learners, each with one public setting, or
among settings that the user lists (the learner ``tuned``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from privcurve.datasets import Description
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.learners.entry import Facts
from privcurve.learners.shared import tuning
from privcurve.releases.budget_ledger import RELEASES, BudgetLedger, budget_of
from privcurve.releases.errors import ReleaseError
from privcurve.releases.released import Released
from privcurve.releases.request import Request, format_parameter

# The name that users give in place of a learner, to ask for a private choice.
CHOOSE = "choose"

# The expected number of trainings of `choose`. Private selection trains random candidates, so that
# with few trainings it may try only bad learners. The default of `tuned`, for settings of one
# learner, is smaller. The value was found on Adult, which is public (docs/tuning.md).
EXPECTED_RUNS = 15.0

# Parameters that `choose` sets itself: a request that also sets them is refused.
_FIXED = ("learner", "settings")


@dataclass(frozen=True)
class Choice:
    """The candidates of a private choice, and their prices."""

    request: Request  # the request with the learner `tuned` in place of `choose`
    titles: tuple[str, ...]  # names of the candidates
    prices: tuple[float, ...]  # by candidate: the ε of one training, which protects one record
    left_out: tuple[str, ...]  # learners that do not suit the request's δ, with the reason
    runs: float  # expected number of trainings

    def lines(self) -> list[str]:
        """Return lines that name the candidates, each with the ε of one training.

        The lines do not depend on the records.
        """
        whose = "" if self.request.unit is None else " of one record"
        candidates = ", ".join(
            f"{title} (ε = {price:.2g}{whose})"
            for title, price in zip(self.titles, self.prices, strict=True)
        )
        return [
            f"private choice: the best of {self.runs:g} expected trainings, of {candidates}",
            *(f"left out: {why}" for why in self.left_out),
        ]


def is_choice(learner: str) -> bool:
    """Return whether `learner` stands for a private choice: ``choose`` or ``tuned``."""
    return learner in (CHOOSE, tuning.NAME)


def choice(request: Request, description: Description) -> Choice:
    """Return the candidates of a release, after all checks that need no record.

    The learner of the request is ``choose`` or ``tuned``. Raises ReleaseError if fewer than two
    candidates suit the request, or if the choice leaves no ε for a training.
    """
    request = request.of(description)
    entry, n_classes = registry.entry(tuning.NAME), description.domain.n_classes
    left_out: list[str] = []
    if request.learner == CHOOSE:
        if fixed := [key for key in _FIXED if key in request.parameters]:
            raise ReleaseError(
                f"{CHOOSE} takes its candidates by a public rule: leave out {fixed[0]}, or choose "
                f"from your own with the learner {tuning.NAME}"
            )
        suited, left_out = by_rule.suitable_learners(by_rule.LEARNERS, n_classes, request.delta)
        if len(suited) < 2:
            raise ReleaseError(
                f"{description.name}: for {n_classes} classes, with delta = {request.delta:g}, "
                f"there is only {', '.join(suited)}, so nothing to choose from: release its "
                "model with the entire epsilon, or give a delta above 0"
            )
        settings = [
            {tuning.LEARNER: spec["learner"], **spec.get("fixed", {})} for spec in suited.values()
        ]
        parameters = {"settings": settings, "expected_runs": EXPECTED_RUNS, **request.parameters}
        request = replace(request, learner=tuning.NAME, parameters=parameters)
    try:
        entry.check_parameters(request.parameters)
        # Check first: computing the prices takes seconds.
        if why := entry.refuses(neighbours=request.relation):
            raise ValueError(why)
        values = entry.complete(request.parameters)
        candidates = tuning.candidates_of(values["learner"], values["settings"])
        names = dict.fromkeys(candidate.learner for candidate in candidates)
        for name in names:
            kind = registry.estimator_class(name)
            if not kind._released:
                raise ReleaseError(f"{name} can't be released: {kind._why_kept_back}")
        shape = (values["eta"], values["expected_runs"], values["score_share"])
        budget = tuning.budget_of(names, *request.budget_of_record, *shape)
        domain = description.domain
        facts = Facts(domain.n_bins, domain.ordered, n_classes, mixed_bins=domain.mixed_bins)
        terms = tuning.terms(candidates, budget, facts, description.n_rows)
    except (ValueError, ImportError) as error:
        raise ReleaseError(str(error)) from None
    prices, runs = tuple(term.epsilon for term in terms), float(values["expected_runs"])
    return Choice(request, titles(candidates), prices, tuple(left_out), runs)


def check_budget(request: Request, description: Description) -> None:
    """Raise ReleaseError if the budget of the records can't pay for a choice.

    The caller uses this check before `choice` computes prices, which takes seconds. A release
    repeats the check, and checks δ, too.
    """
    records = description.records_name
    price = replace(request.of(description), learner=tuning.NAME).price(secret=True)
    BudgetLedger(RELEASES / records).check(budget_of(records), price, large_delta=True)


def closing_sentence(released: Released) -> str:
    """Return a sentence with the result of a private choice, from released facts only."""
    title = by_rule.name_of(released.learner_name, released.setting)
    price = replace(released.price, epsilon=released.request.epsilon)
    return f"At {price} the private choice kept {title} ({_format_setting(released.setting)})."


def titles(candidates: Sequence[tuning.Candidate]) -> tuple[str, ...]:
    """Return names of candidates: the learner, and the settings if two candidates share it."""
    pairs = [(candidate.learner, candidate.setting) for candidate in candidates]
    learners = [learner for learner, _ in pairs]
    return tuple(
        by_rule.name_of(learner, setting)
        + ("" if learners.count(learner) == 1 else f" ({_format_setting(setting)})")
        for learner, setting in pairs
    )


def _format_setting(setting: Mapping[str, object]) -> str:
    pairs = [f"{key} = {format_parameter(value)}" for key, value in setting.items()]
    return ", ".join(pairs) or "defaults"
