"""Compute, without any records, the candidates of a private selection and their budgets.

Plans of the workflow import this module, so it must be fast to import.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from privcurve.coding import Records, class_labels
from privcurve.learners import registry
from privcurve.learners.entry import Facts, LearnerEntry
from privcurve.privacy.budget import PROVED, REPLACE_ONE
from privcurve.privacy.ledger import CLAIMED, KNOWN, PrivacyStatement
from privcurve.privacy.selection import SelectionBudget, epsilon_that_spends, selection_budget
from privcurve.privacy.spent import rho_of_ledger

NAME = registry.TUNED

# A setting may have this key. Its value names the learner, in place of the parameter `learner`.
LEARNER = "learner"


@dataclass(frozen=True)
class Candidate:
    """What a run may train: a learner with hyperparameters (those left out have defaults)."""

    learner: str
    setting: Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """Public facts about the training of a candidate: the ε, and parts of the statement."""

    epsilon: float
    assumptions: tuple[str, ...]
    exclusions: tuple[str, ...]


def base_entry(name: object) -> LearnerEntry:
    """Return the registry's entry of a learner whose settings may be selected privately.

    Raises ValueError, with the reason, if they cannot be selected privately.
    """
    if not isinstance(name, str):
        raise ValueError(f"{NAME}: learner must be the name of a learner; got {name!r}")
    entry = registry.entry(name)
    if name == NAME:
        why = "it selects settings itself: name the learner whose settings it is to select"
    elif not entry.private:
        why = "it is not private, so a selection costs nothing; give it a 'grid'"
    elif entry.peer:
        why = "it belongs to another library, which claims its epsilon without a proof here"
    else:
        why = entry.refuses(calibration=PROVED, neighbours=REPLACE_ONE)
    if why:
        raise ValueError(f"settings of {name} can't be chosen privately: {why}")
    return entry


def candidates_of(name: str, settings: Any) -> tuple[Candidate, ...]:
    """Return the candidates among which each run draws uniformly.

    Parameters
    ----------
    name : str
        The learner of settings that name no other.
    settings : mapping, sequence of mapping, or None
        A mapping has a list of values for each hyperparameter; all combinations are candidates. A
        sequence lists the settings, each of which may name its own ``learner``. None: the default
        hyperparameters.

    Raises
    ------
    ValueError
        If `settings` has another form or is empty, or if a setting or a learner is not allowed.
    """
    if not (_is_list(settings) and len(settings) and all(isinstance(s, Mapping) for s in settings)):
        return tuple(Candidate(name, setting) for setting in _list_settings(name, settings))
    candidates = []
    for setting in settings:
        parameters = {key: value for key, value in setting.items() if key != LEARNER}
        learner = setting.get(LEARNER, name)
        candidates += [Candidate(learner, s) for s in _list_settings(learner, [parameters])]
    return tuple(candidates)


def _list_settings(name: str, given: Any) -> tuple[Mapping[str, Any], ...]:
    entry = base_entry(name)
    if given is None:
        return ({},)
    if isinstance(given, Mapping):
        bad = [axis for axis, values in given.items() if not _is_list(values) or not len(values)]
        if bad:
            raise ValueError(f"{NAME}: settings: {bad[0]!r} needs a list of values")
        combinations = itertools.product(*given.values())
        settings = [dict(zip(given, values, strict=True)) for values in combinations]
    elif _is_list(given) and all(isinstance(setting, Mapping) for setting in given):
        settings = list(given)
    else:
        raise ValueError(
            f"{NAME}: settings must be a mapping of parameters to lists of values, or a list of "
            f"settings; got {given!r}"
        )
    if not settings:
        raise ValueError(f"{NAME}: settings must not be empty")
    # Convert NumPy's numbers to Python's, which JSON and statements can store.
    settings = [
        {
            key: value.item() if isinstance(value, np.generic) else value
            for key, value in setting.items()
        }
        for setting in settings
    ]
    for setting in settings:
        entry.check_parameters(setting)
        entry.check_proved(setting)
        if why := entry.refuses(neighbours=REPLACE_ONE, setting=setting):
            raise ValueError(f"{NAME} supports {REPLACE_ONE} neighbours: {why}")
    return tuple(settings)


def _is_list(values: object) -> bool:
    return isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))


def budget_of(
    learners: Iterable[str],
    epsilon: float,
    delta: float,
    eta: float,
    expected_runs: float,
    score_share: float,
) -> SelectionBudget:
    """Return the budget of a run that trains one of these learners: see ``selection_budget``.

    If all learners support only δ = 0, the budget of a run is an ε (not a ρ) even if δ > 0. Raises
    ValueError if nothing remains for a run, or if δ = 0 and a learner needs δ > 0.
    """
    entries = [base_entry(name) for name in learners]
    for entry in entries:
        if why := entry.refuses(delta=entry.delta_passed(delta)):
            raise ValueError(f"{NAME}: {why}")
    pure = delta == 0 or not any(entry.approximate for entry in entries)
    return selection_budget(
        float(epsilon), float(delta), float(eta), float(expected_runs), float(score_share), pure
    )


def terms(
    candidates: Sequence[Candidate], budget: SelectionBudget, facts: Facts, n: int
) -> list[Terms]:
    """Return the terms of each candidate, with the ε at which its training spends a run's budget.

    The cost of a setting is public, because its statement does not depend on the values of the
    records; a fit on `n` made-up records determines it. Raises ValueError, which names the
    candidate, if a candidate cannot be trained.
    """
    ordered = None if facts.ordered is None else tuple(map(bool, facts.ordered))
    mixed_bins = None if facts.mixed_bins is None else _make_tuple(facts.mixed_bins)
    public = (_make_tuple(facts.n_bins), ordered, mixed_bins, facts.n_classes, n)
    guess = budget.training_epsilon
    terms: list[Terms] = []
    for candidate in candidates:
        learner, setting = candidate.learner, candidate.setting
        delta = base_entry(learner).delta_passed(0.0 if budget.pure else budget.delta)
        fit = _Fit(learner, json.dumps(setting, sort_keys=True), *public, delta)
        try:
            terms.append(_find_terms(fit, budget.pure, budget.training, guess))
        except ValueError as error:
            where = f"{NAME}: the setting {dict(setting)} of {learner}"
            raise ValueError(f"{where}: {error}") from error
        guess = terms[-1].epsilon
    return terms


def _make_tuple(numbers: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(k) for k in numbers)


class _Fit(NamedTuple):
    """All that determines a statement except ε, in hashable values for the cache."""

    learner: str
    setting: str
    n_bins: tuple[int, ...]
    ordered: tuple[bool, ...] | None
    mixed_bins: tuple[int, ...] | None
    n_classes: int
    n: int
    delta: float


@lru_cache(maxsize=4096)
def _find_terms(fit: _Fit, pure: bool, amount: float, guess: float) -> Terms:
    """Return the terms of a training that costs at most `amount`: ε if `pure`, else ρ (zCDP).

    The ε is nearly the largest one possible. `guess` is an ε at which the search starts.
    """
    statements: dict[float, PrivacyStatement] = {}

    def rho_at(epsilon: float) -> float:
        statements[epsilon] = _state_fit(fit, epsilon)
        return rho_of_ledger(statements[epsilon].ledger)

    if not pure:
        epsilon = epsilon_that_spends(amount, rho_at, guess)
        return Terms(epsilon, statements[epsilon].assumptions, statements[epsilon].exclusions)
    statement = _state_fit(fit, amount)
    if not statement.epsilon <= amount * (1 + 1e-9) or statement.delta > 0:
        raise ValueError(
            f"a training spends {statement.epsilon:g}, but a run may spend at most {amount:g}"
        )
    return Terms(amount, statement.assumptions, statement.exclusions)


def _state_fit(fit: _Fit, epsilon: float) -> PrivacyStatement:
    """Return the statement of a fit with this ε on made-up records of all classes.

    Raises ValueError if it is not proved for replace-one neighbours.
    """
    budget = {"epsilon": epsilon, "delta": fit.delta, "calibration": PROVED}
    facts = Facts(fit.n_bins, fit.ordered, fit.n_classes, mixed_bins=fit.mixed_bins)
    learner = registry.make(fit.learner, facts, {**json.loads(fit.setting), **budget})
    labels = class_labels(fit.n_classes)[: fit.n]
    rows = np.zeros((len(labels), len(fit.n_bins)), dtype=np.uint8)
    counts = [len(range(k, fit.n, fit.n_classes)) for k in range(len(labels))]
    records = Records(rows, np.array(labels), np.array(counts), np.array(fit.n_bins))
    # Import here, not at the top: the workflow imports this module for its plans, without Numba.
    from privcurve.privacy.curator import Curator

    (fitted,) = learner.fit_records(records, [{}], [Curator(np.random.default_rng(0))])
    statement: PrivacyStatement = fitted.privacy_
    # A user's own learner may have the status ``claimed``; then the selection has this status, too.
    enough = KNOWN if fit.learner in registry.LEARNERS else (*KNOWN, CLAIMED)
    if statement.status not in enough or statement.neighbours != REPLACE_ONE:
        raise ValueError(
            f"its statement must be proved for {REPLACE_ONE} neighbours; it is "
            f"{statement.status}, for {statement.neighbours}"
        )
    return statement
