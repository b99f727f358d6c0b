"""What private selection may choose among: checked without any data, light to import."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from privcurve.coding import class_labels
from privcurve.learners import registry
from privcurve.learners.entry import Facts, LearnerEntry
from privcurve.privacy.budget import CERTIFIED, REPLACE_ONE
from privcurve.privacy.calibration.selection import (
    SelectionBudget,
    epsilon_that_spends,
    selection_budget,
)
from privcurve.privacy.ledger import PROVED, LedgerEntry, PrivacyStatement, rho_of_ledger

NAME = "tuned"

# The key by which a setting says whose it is.
LEARNER = "learner"


@dataclass(frozen=True)
class Candidate:
    """What a run may draw.

    Attributes
    ----------
    learner : str
        Its name.
    setting : mapping
        Hyperparameters; the others are at their defaults.
    """

    learner: str
    setting: Mapping[str, Any]


@dataclass(frozen=True)
class Terms:
    """On which terms a candidate is trained: public, and known before any training.

    Attributes
    ----------
    epsilon : float
        With which it is trained.
    assumptions, exclusions : tuple of str
        Of the statement of such a training.
    """

    epsilon: float
    assumptions: tuple[str, ...]
    exclusions: tuple[str, ...]


def base_entry(name: Any) -> LearnerEntry:
    """Return the entry of a learner whose settings may be chosen privately.

    Raises
    ------
    ValueError
        Naming the learner, and why its settings may not.
    """
    if not isinstance(name, str):
        raise ValueError(f"{NAME}: learner = {name!r} is not the name of a learner")
    known = registry.entry(name)
    why = ""
    if name == NAME:
        why = "it chooses settings itself: name the learner whose settings it is to choose"
    elif not known.private:
        why = "it is not private: there is nothing to pay; give it a 'grid'"
    elif known.peer:
        why = "it is another library's, and its epsilon that library's claim, not proved here"
    else:
        why = known.refuses(calibration=CERTIFIED, neighbours=REPLACE_ONE)
    if why:
        raise ValueError(f"settings of {name} can't be chosen privately: {why}")
    return known


def settings_of(name: str, given: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the settings that are drawn from.

    Parameters
    ----------
    name : str
        A learner that :func:`base_entry` takes.
    given : mapping, sequence of mapping, or None
        Parameters, each with the list of its values: all combinations. Or the settings. None: the
        learner's defaults alone.

    Returns
    -------
    tuple of mapping

    Raises
    ------
    ValueError
        If that is something else, there are none, or a setting is not allowed.
    """
    known = base_entry(name)
    if given is None:
        return ({},)
    if isinstance(given, Mapping):
        bad = [axis for axis, values in given.items() if not _listed(values) or not len(values)]
        if bad:
            raise ValueError(f"{NAME}: settings: {bad[0]!r} needs a list of values")
        found = [
            dict(zip(given, values, strict=True)) for values in itertools.product(*given.values())
        ]
    elif _listed(given) and all(isinstance(one, Mapping) for one in given):
        found = [dict(one) for one in given]
    else:
        raise ValueError(
            f"{NAME}: settings = {given!r} is neither a mapping of parameters to lists of values "
            "nor a list of settings"
        )
    if not found:
        raise ValueError(f"{NAME}: settings is empty: there is nothing to choose")
    # A number of an array is as good as a plain one.
    found = [{key: _plain(value) for key, value in setting.items()} for setting in found]
    for setting in found:
        registry.check_parameters(name, setting)
        registry.check_proved(name, setting)
        if why := known.refuses(neighbours=REPLACE_ONE, setting=setting):
            raise ValueError(f"{NAME} is private for {REPLACE_ONE} neighbours: {why}")
    return tuple(found)


def candidates_of(name: str, given: Any) -> tuple[Candidate, ...]:
    """Return what runs draw from, where a setting of a list may be another learner's.

    Parameters
    ----------
    name : str
        Whose settings they are that do not say.
    given : mapping, sequence of mapping, or None
        As for :func:`settings_of`; a setting of a list may hold ``learner``.

    Returns
    -------
    tuple of Candidate

    Raises
    ------
    ValueError
        As :func:`settings_of` does.
    """
    if not (_listed(given) and len(given) and all(isinstance(one, Mapping) for one in given)):
        return tuple(Candidate(name, setting) for setting in settings_of(name, given))
    found = []
    for one in given:
        whose = one.get(LEARNER, name)
        own = {key: value for key, value in one.items() if key != LEARNER}
        (setting,) = settings_of(whose, [own])
        found.append(Candidate(whose, setting))
    return tuple(found)


def _listed(values: Any) -> bool:
    return isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, (str, bytes))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def budget_of(
    learners: str | Iterable[str],
    epsilon: float,
    delta: float,
    eta: float,
    expected_runs: float,
    score_share: float,
) -> SelectionBudget:
    """Return what a run of a learner, or of several, may spend; see ``calibration.selection``.

    Learners that all offer pure privacy alone are accounted by ε, whatever δ is.

    Raises
    ------
    ValueError
        If it is nothing, or the learner offers no pure privacy and δ = 0.
    """
    known = [base_entry(name) for name in ([learners] if isinstance(learners, str) else learners)]
    for one in known:
        if why := one.refuses(delta=one.told_delta(delta)):
            raise ValueError(f"{NAME}: {why}")
    pure = delta == 0 or not any(one.approximate for one in known)
    return selection_budget(
        float(epsilon), float(delta), float(eta), float(expected_runs), float(score_share), pure
    )


def prices(
    candidates: Sequence[Candidate], budget: SelectionBudget, facts: Facts, n: int
) -> list[float]:
    """Return ε with which each candidate is trained; see :func:`terms`."""
    return [one.epsilon for one in terms(candidates, budget, facts, n)]


def terms(
    candidates: Sequence[Candidate], budget: SelectionBudget, facts: Facts, n: int
) -> list[Terms]:
    """Return on which terms each candidate is trained, so that it spends what a run may.

    What a setting spends is public: its statement does not depend on the records. It is asked of
    a fit on as many made-up ones.

    Parameters
    ----------
    candidates : sequence of Candidate
    budget : SelectionBudget
    facts : Facts
        The number of codes of each column, and the order of columns.
    n : int
        Records.

    Returns
    -------
    list of Terms

    Raises
    ------
    ValueError
        If a candidate can't be trained; the message names it.
    """
    ordered = None if facts.ordered is None else tuple(map(bool, facts.ordered))
    public = (tuple(int(k) for k in facts.n_bins), ordered)
    guess = budget.training_epsilon
    found = []
    for one in candidates:
        name, setting = one.learner, one.setting
        known = (name, json.dumps(setting, sort_keys=True), *public, n)
        delta = base_entry(name).told_delta(0.0 if budget.pure else budget.delta)
        try:
            found.append(_terms(known, delta, budget.pure, budget.training, guess))
        except ValueError as error:
            raise ValueError(f"{NAME}: the setting {dict(setting)} of {name}: {error}") from error
        guess = found[-1].epsilon
    return found


Known = tuple[str, str, tuple[int, ...], tuple[bool, ...] | None, int]


@lru_cache(maxsize=4096)
def _terms(known: Known, delta: float, pure: bool, amount: float, guess: float) -> Terms:
    """Return the terms with the largest ε, nearly, at which a training spends at most `amount`."""
    said: dict[float, PrivacyStatement] = {}

    def ledger(epsilon: float) -> Sequence[LedgerEntry]:
        said[epsilon] = _stated(known, epsilon, delta)
        return said[epsilon].ledger

    if pure:
        epsilon = amount
        ledger(epsilon)
        _check_spent(said[epsilon], pure, amount)
    else:
        epsilon = epsilon_that_spends(amount, ledger, guess)
    return Terms(epsilon, said[epsilon].assumptions, said[epsilon].exclusions)


def _stated(known: Known, epsilon: float, delta: float) -> PrivacyStatement:
    """Return what a fit of a setting says of itself: on made-up records, of either label."""
    name, setting, n_bins, ordered, n = known
    budget = {"epsilon": epsilon, "delta": delta, "calibration": CERTIFIED}
    learner = registry.make(name, Facts(n_bins, ordered), {**json.loads(setting), **budget})
    labels = class_labels(2)[: min(n, 2)]
    rows = np.zeros((len(labels), len(n_bins)), dtype=np.int64)
    counts = [n - n // 2, n // 2][: len(labels)]
    (fitted,) = learner.fit_many(rows, labels, [{}], [np.random.default_rng(0)], counts)
    said: PrivacyStatement = fitted.privacy_
    if said.status != PROVED or said.neighbours != REPLACE_ONE:
        raise ValueError(f"its statement is {said.status}, for {said.neighbours} neighbours")
    return said


def check_spent(said: PrivacyStatement, budget: SelectionBudget) -> None:
    """Refuse a training that spent more than a run may: a fault of its learner."""
    _check_spent(said, budget.pure, budget.training)


def _check_spent(said: PrivacyStatement, pure: bool, amount: float) -> None:
    spent = said.epsilon if pure else rho_of_ledger(said.ledger)
    if not spent <= amount * (1 + 1e-9) or (pure and said.delta > 0):
        raise ValueError(f"a training spends {spent:g}, where a run may spend {amount:g}")
