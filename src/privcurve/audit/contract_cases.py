"""List the cases of the contract: settings that cover all mechanism calls of each learner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from privcurve.audit.attacks.any_learner import DELTA
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, MINIMA, NUMBERS, WHOLE
from privcurve.learners import own, registry
from privcurve.learners.entries.of_papers import PACKAGES
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, REPLACE_ONE

STARTED = {"start": "public", "public_columns": (0,)}
TREES = {"weak_learner": "topdown", "depth": 2, "n_rounds": 2, "density": 0.5}
ADDED = {"neighbours": ADD_REMOVE}
ESTIMATE = {**ADDED, "n_estimate": 10}
# Numbers of bins of columns. PrivGAM chooses four columns of WIDE if δ = 0, and 16 columns of WIDER
# if δ > 0.
WIDE = (3, 3, 2, 2, 1, 1, 1, 1)
WIDER = (*WIDE, *(1,) * 24)
OF_MANY_RECORDS = {"choice # of a column": "only tables of many records attain its range"}
SYNTHETIC = {"n_rounds": 2, "delta": DELTA}
BATCHES = {"n_epochs": 1, "batch_rate": 0.5, "delta": DELTA}
RUNS = {"expected_runs": 2.0, "score_share": 0.5}
CHOICE = [{"learner": "one_rule"}, {"learner": "noisy_bayes"}]
OF_CLASSES = [
    {"learner": "privgam"},
    {"learner": "random_trees", "n_trees": 2, "batch": 1, "depth": 1, "trust": "central"}
    | {"n_holders": 1},
]
FOREST = {"n_trees": 2, "batch": 1, "depth": 1, "delta": DELTA}
THREE = {**FOREST, "n_holders": 3}

# The `audit` modules of the papers, by the name of the learner.
_AUDITS = {name: import_module(f"{package}.audit") for name, package in PACKAGES.items()}

CASES: tuple[Case, ...] = (
    Case("noisy_majority", {}),
    Case("noisy_bayes", {}),
    Case("noisy_bayes", {"n_columns": 1, "choice_share": 0.3}),
    Case("noisy_bayes", {"n_columns": 1, "delta": DELTA}),
    Case("noisy_bayes", {"n_columns": 1, **STARTED}, neighbours=PRIVATE_COLUMNS),
    Case("noisy_bayes", {"n_columns": 1, **STARTED, "delta": DELTA}, neighbours=PRIVATE_COLUMNS),
    Case("dp_logistic_regression", {}),
    Case("dp_logistic_regression", {"encoding": "scaled", "C": 0.01}),
    Case("dp_logistic_regression", {"noise": "box"}),
    Case(
        "dp_logistic_regression",
        {"noise": "box", "encoding": "scaled", "columns": "private", **STARTED},
        neighbours=PRIVATE_COLUMNS,
    ),
    Case("one_rule", {}),
    Case("one_rule", {"delta": DELTA}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5, "delta": DELTA}),
    Case("lazybb", {"n_rounds": 3, "density": 0.5, **STARTED}, neighbours=PRIVATE_COLUMNS),
    Case(
        "lazybb",
        {"n_rounds": 3, "density": 0.5, **STARTED, "delta": DELTA},
        neighbours=PRIVATE_COLUMNS,
    ),
    Case("lazybb", TREES),
    Case("lazybb", {**TREES, "delta": DELTA, "splits": "threshold", "criterion": "entropy"}),
    Case("lazybb", {**TREES, **STARTED}, neighbours=PRIVATE_COLUMNS),
    Case("topdown", {"depth": 2}),
    Case("topdown", {"depth": 2, "delta": DELTA, "criterion": "root_gini"}),
    Case("topdown", {"depth": 2, "leaves": "rules", "delta": DELTA, "splits": "threshold"}),
    Case("privgam", {}),
    Case("privgam", {"delta": DELTA, "ordered": True}),
    Case("privgam", {**ESTIMATE, "ordered": True}, neighbours=ADD_REMOVE, sizes=(2, 3, 12)),
    Case("privgam", {**ESTIMATE, "delta": DELTA}, neighbours=ADD_REMOVE, sizes=(2, 3, 12)),
    Case("privgam", {}, sizes=(1, 3, 12), bins=WIDE, idle=OF_MANY_RECORDS),
    Case(
        "privgam", ESTIMATE, neighbours=ADD_REMOVE, sizes=(3, 12), bins=WIDE, idle=OF_MANY_RECORDS
    ),
    Case("privgam", {"delta": DELTA}, sizes=(3, 12), bins=WIDER, idle=OF_MANY_RECORDS),
    Case("privgam", {}, n_classes=3),
    Case("privgam", {"delta": DELTA}, n_classes=4),
    Case("privgam", ESTIMATE, 3, ADD_REMOVE, sizes=(2, 3, 12)),
    Case("privgam", {**ESTIMATE, "delta": DELTA}, 3, ADD_REMOVE, sizes=(2, 3, 12)),
    Case("dp_newton", {"n_steps": 3, "delta": DELTA}),
    Case("dp_newton", {"n_steps": 2, "delta": DELTA, **ADDED}, neighbours=ADD_REMOVE),
    Case("dp_gradient_descent", {"n_steps": 3, "delta": DELTA}),
    Case("dp_gradient_descent", {"n_steps": 2, "delta": DELTA, **ESTIMATE}, neighbours=ADD_REMOVE),
    Case("dp_sgd", BATCHES),
    Case("dp_sgd", {**BATCHES, "n_hidden": 2}),
    Case("dp_sgd", {**BATCHES, "n_hidden": 2}, n_classes=3),
    Case("dp_sgd", {**BATCHES, **ESTIMATE}, neighbours=ADD_REMOVE),
    Case("dp_sgd", {**BATCHES, **ESTIMATE}, 3, ADD_REMOVE),
    Case("boosted_adassp", {"n_rounds": 3, "delta": DELTA}),
    Case("boosted_adassp", {"n_rounds": 2, "delta": DELTA, "inputs": "numbers"}),
    Case("boosted_adassp", {"n_rounds": 2, "delta": DELTA, **ADDED}, neighbours=ADD_REMOVE),
    Case("mst", SYNTHETIC),
    Case("mst", {**SYNTHETIC, **ADDED}, neighbours=ADD_REMOVE),
    Case("aim", SYNTHETIC),
    Case("aim", {**SYNTHETIC, **ADDED}, neighbours=ADD_REMOVE),
    Case("tuned", {**RUNS, "learner": "noisy_majority"}),
    Case("tuned", {**RUNS, "learner": "privgam", "delta": DELTA}),
    Case("tuned", {**RUNS, "settings": CHOICE}),
    Case("tuned", {**RUNS, "settings": OF_CLASSES, "delta": DELTA}, n_classes=3),
    Case("random_trees", {**FOREST, "trust": "central"}),
    Case("random_trees", {**THREE, "trust": "local"}),
    Case("random_trees", {**THREE, "trust": "secure_sum", "n_colluding": 1}, n_classes=3),
    *(case for audit in _AUDITS.values() for case in audit.contract()),
)

# The kinds of answers that each learner releases. A test compares this table with the fits of all
# cases; another test attacks the floating-point noise of each learner that releases numbers.
RELEASES: Mapping[str, frozenset[str]] = {
    "noisy_majority": frozenset({NUMBERS}),
    "noisy_bayes": frozenset({NUMBERS, CHOICES}),
    "dp_logistic_regression": frozenset({MINIMA}),
    "one_rule": frozenset({CHOICES}),
    "lazybb": frozenset({CHOICES}),
    "topdown": frozenset({CHOICES}),
    "privgam": frozenset({WHOLE}),
    "dp_newton": frozenset({NUMBERS}),
    "dp_gradient_descent": frozenset({NUMBERS}),
    "dp_sgd": frozenset({NUMBERS}),
    "boosted_adassp": frozenset({NUMBERS}),
    "mst": frozenset({NUMBERS, CHOICES}),
    "aim": frozenset({NUMBERS, CHOICES}),
    "tuned": frozenset({NUMBERS, WHOLE, CHOICES}),
    "random_trees": frozenset({NUMBERS}),
    **{name: frozenset(audit.RELEASED) for name, audit in _AUDITS.items()},
}

# Values of parameters with which a candidate of private selection trains quickly.
QUICK = {
    **{"n_trees": 2, "n_teachers": 3, "n_partitions": 2, "n_queries": 3, "trust": "central"},
    # Use no small batches: in a candidate, a call on a batch costs as much ρ as a call on all
    # records.
    **{"n_epochs": 1, "batch_rate": 1.0},
}


def candidates() -> Iterator[Case]:
    """Yield cases of private selection, each with one learner as its only kind of candidate.

    Only in private selection (`tuned`), a fitted model scores the training records. So each learner
    needs a case in which it is the candidate.
    """
    for entry in registry.LEARNERS.values():
        if entry.name == "tuned" or not entry.proved or REPLACE_ONE not in entry.neighbours:
            continue
        setting = {name: value for name, value in QUICK.items() if name in entry.parameters}
        if "most_records" in entry.parameters:
            setting["n_rounds"] = 2  # for the learner that boosts synthetic records
        for delta in [0.0] * entry.pure + [DELTA] * entry.approximate:
            chosen = {"learner": entry.name, "settings": [setting], "delta": delta}
            yield Case("tuned", {**RUNS, **chosen}, sizes=(12, 60))


# If a range excludes an end, the check tries a value at the distance NEAR from this end. The check
# tries no number above LARGE and no integer above MOST, even if the range has larger ones.
NEAR, LARGE, MOST = 1e-3, 1e3, 30

# Values of ε far from 1, as a learner that uses ε² or √ε in place of ε would pass at ε = 1.
EPSILONS = (0.05, 30.0)


def ends_of(parameter: Parameter) -> tuple[Any, ...]:
    """Return the two ends of the range of a number, or all values of a choice.

    If the parameter's entry lists values to try, return these values.
    """
    if parameter.tried is not None:
        return parameter.tried
    if parameter.kind is str:
        return parameter.choices
    low, high = parameter.low, parameter.high
    if parameter.kind is int:
        return max(low, -MOST) + parameter.open_low, min(high - parameter.open_high, MOST)
    return (
        max(low, -LARGE) + NEAR * parameter.open_low,
        min(high, LARGE) - NEAR * parameter.open_high,
    )


def at_ends(cases: Sequence[Case]) -> Iterator[Case]:
    """Yield cases of one learner with ε and each numeric parameter at both ends of its range.

    Also yield a case for each value of a choice that occurs in none of `cases`. A parameter is
    changed in the first case that sets it, or else in the first case that allows it.
    """
    learner = cases[0].learner
    parameters = registry.entry(learner).parameters
    ends = {key: ends_of(one) for key, one in parameters.items()}
    for key, values in {**ends, "epsilon": EPSILONS}.items():
        default = parameters[key].default if key in parameters else None
        is_word = key in parameters and parameters[key].kind is str
        for end in values:
            if is_word and any(case.parameters.get(key, default) == end for case in cases):
                continue
            in_order = sorted(cases, key=lambda case: key not in case.parameters)
            more = {key: parameters[key].kind(end) if key in parameters else end}
            case = next((case for case in in_order if not _is_refused(case, more)), None)
            if case is not None and case.parameters.get(key, default) != end:
                yield replace(case, parameters={**case.parameters, **more}, at_end=True)


def _is_refused(case: Case, more: Mapping[str, Any]) -> bool:
    """Return whether the learner refuses a case with parameters `more`, or ignores them."""
    parameters = registry.entry(case.learner).parameters
    given = {key: value for key, value in {**case.parameters, **more}.items() if key in parameters}
    calibration = case.parameters.get("calibration", PROVED)
    moved = replace(case, parameters={**case.parameters, **more})
    try:
        registry.entry(case.learner).check_parameters(given, calibration)
        made = moved.estimator(case.bins)
        made._check_parameters()
        made.check_classes(case.n_classes)
    except ValueError:
        return True
    return False


def cases_of(learner: str) -> Iterable[Case]:
    """Return the cases of a learner.

    For a user's own learner, the cases are its defaults with each calibration, kind of δ and
    relation that it offers, then with each number at both ends of its range, and with each choice.
    Its file ``learners/<name>.py`` may define ``contract()``, which returns a list. A setting in
    the list takes the place of the defaults; a `Case` is used unchanged. Raises ValueError for
    other items.
    """
    if shipped := [case for case in CASES if case.learner == learner]:
        return [*shipped, *at_ends(shipped)]
    entry = registry.entry(learner)
    listed = own.contract(learner) if learner in own.names() else None
    cases: list[Case] = []
    for one in listed or [{}]:
        if isinstance(one, Mapping):
            cases += _offered(entry, one)
        elif isinstance(one, Case) and one.learner == learner:
            cases.append(one)
        else:
            raise ValueError(
                f"{own.path_of(learner)}: contract() lists {one!r}, which is neither a setting, "
                f"such as {{'n_rounds': 3}}, nor a Case of {learner!r}"
            )
    return [*cases, *at_ends(cases)]


def _offered(entry: LearnerEntry, setting: Mapping[str, Any]) -> list[Case]:
    """Return a case of a setting for each calibration, kind of δ and relation of a learner."""
    deltas = [0.0] * entry.pure + [DELTA] * entry.approximate
    return [
        Case(entry.name, {"delta": delta, **words, **setting}, k, relation)
        # A user's own learner does not accept `calibration="proved"`, so leave the parameter out.
        for words in ({} if one == PROVED else {"calibration": one} for one in entry.calibrations)
        for delta in deltas
        for k in (2, 3)[: 1 + entry.multiclass]
        for relation in entry.neighbours
        if relation != PRIVATE_COLUMNS or entry.neighbours == (PRIVATE_COLUMNS,)
    ] or [Case(entry.name, setting, neighbours=REPLACE_ONE)]
