"""Define the fits of private learners whose statements and results are recorded.

A case consists of the name of a learner, the kind of its rows, and plain parameters, so that
another version of the code can repeat the fit. See ``test_golden_statements.py``.
"""

import functools
import inspect
import itertools
import zlib
from unittest.mock import patch

import numpy as np
from made_learners import required_facts, required_parameters, small_problem

from privcurve.learners import base
from privcurve.learners.registry import LEARNERS, entry, estimator_class, multiclass_names
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.stored import stored

NAMES = [name for name in LEARNERS if entry(name).private and not entry(name).peer]

# At ε ≤ 1, mostly noise decides a model; at ε = 10, both noise and records do.
EPSILONS = (1.0, 0.1, 10.0, np.inf)
DELTA = 1e-5
# Several seeds: if noise decides a single choice, one fit shows little of the noise.
SEEDS = range(3)
ORDERED = (False, True, False, True)
CLASSES = {"two": ("no", "yes"), "weighted": ("no", "yes"), "three": (0, 1, 2)}

# Value of parameters that are sizes, for quick fits; SIZES has the learners that need larger ones.
SIZE = 3
SIZES = {"dp_bagging": {"n_teachers": 6, "n_partitions": 3, "n_queries": 20}}

# Parameters in all changes of a learner: by default, `tuned` would be slow.
BESIDE = {"tuned": {"learner": "noisy_bayes"}}

FACTS = {
    REPLACE_ONE: ({},),
    PRIVATE_COLUMNS: tuple({"public_columns": columns} for columns in ((1,), (0, 3), ())),
    ADD_REMOVE: ({"neighbours": ADD_REMOVE, "n_estimate": 100},),
}

# Parameters that `offers` sets, so that a change must not set them.
OFFERED = {"calibration", "epsilon", "delta", "public_columns", "neighbours", "n_estimate"}

TREES = {"weak_learner": "topdown", "depth": 2}
SECURE = {"trust": "secure_sum", "n_holders": 3}
TUNED = (
    {"settings": ({"learner": "noisy_bayes"}, {"learner": "one_rule"})},
    {"learner": "noisy_bayes", "settings": {"n_columns": (2, 3), "smoothing": (1.0, 5.0)}},
    {"learner": "topdown", "settings": {"depth": (1, 2)}, "eta": 0.0, "expected_runs": 2.0},
)
# Changes of several parameters at once, for mechanism calls that no single change reaches.
COMBINED = {
    "lazybb": (
        {**TREES, "mechanism": "exponential"},
        {**TREES, "leaves": "rules", "start": "public"},
        {**TREES, "start": "public", "splits": "threshold"},
        {"weak_learner": "topdown", "n_splits": 3},
        {"start": "public", "vote_worth": 0.5},
        {"start": "public", "mechanism": "exponential"},
    ),
    "topdown": (
        {"n_splits": 3},
        {"leaves": "rules", "mechanism": "exponential"},
        {"leaves": "rules", "splits": "threshold", "criterion": "entropy"},
    ),
    "dp_logistic_regression": (
        {"noise": "box", "encoding": "scaled"},
        {"noise": "box", "start": "public", "columns": "private"},
        {"noise": "box", "start": "public", "curvature_share": 0.3},
        {"encoding": "scaled", "columns": "private"},
    ),
    "brc": (
        {"intercept": "em", "intercept_share": 0.3, "estimate": "edge"},
        {"n_kept": 2, "algorithm": "private"},
        {"weights": "adaboost", "intercept": "zero"},
    ),
    "pate": ({"n_answers": 200}, {"n_answers": 300, "n_teachers": 9}),
    "noisy_bayes": ({"n_columns": 2, "start": "public"}, {"n_columns": 2, "choice_share": 0.5}),
    "distributed_topdown": (
        *(
            {"protocol": protocol, "trust": trust, "budget": budget}
            for protocol in ("noisy_counts", "local_rnm")
            for trust in ("central", "local", "secure_sum")
            for budget in ("levels", "decay")
        ),
        {**SECURE, "n_colluding": 1},
        {**SECURE, "protocol": "local_rnm", "vote_share": 0.6},
        {"n_holders": 1},
        {"n_holders": 1, "protocol": "local_rnm"},
        {"protocol": "single", "n_splits": 3},
        {"n_splits": 3, "budget": "uniform"},
        {"depth": 2, "leaf_share": 0.3},
    ),
    "random_trees": (
        {**SECURE, "n_colluding": 1},
        {"trust": "local", "n_holders": 7, "placement": "sizes"},
        {"n_holders": 1},
        {"batch": 2},
    ),
    "bdpe": (
        {"alpha": 0.3, "votes": "link"},
        {"alpha": 0.3, "votes": "sign", "alpha_decay": 0.5},
        {"calibrate_alpha": "released", "votes": "link"},
        {"calibrate_alpha": "exact", "leverage": "constant"},
        {"splits": "random", "votes": "link"},
        {"splits": "random", "votes": "shrunk"},
    ),
    "privgam": ({"ordered": (True,) * 4},),
    "tuned": TUNED,
}  # fmt: skip


def rows(kind):
    """Return bins, labels, counts and the number of bins per column, of the rows of a kind."""
    X, y, n_bins = small_problem(120)
    if kind == "three":
        y = X[:, 2].astype(np.int64)
    counts = 1 + np.arange(120) % 3 if kind == "weighted" else None
    return X, y, counts, n_bins


def cases(name, all_crossed=False):
    """Yield the cases of a learner: (label, kind of rows, parameters without the seed).

    Each changed parameter is combined with some of the learner's `offers`, or with all of them
    (`all_crossed`).
    """
    seen = {}
    for change in changes_of(name):
        for rows_of, offer in offers(name, default=all_crossed or not change):
            parameters = {**facts_of(name, rows_of), **sizes(name, change), **change, **offer}
            seen.setdefault(label(rows_of, {**change, **offer}), (rows_of, parameters))
    yield from ((text, *case) for text, case in seen.items())


def label(rows_of, expected):
    """Return the label of a case: kind of rows, budget, and the parameters with other values."""
    budget = f"{stored(expected['calibration'])} δ={expected['delta']:g} ε={expected['epsilon']:g}"
    others = sorted(expected.keys() - {"calibration", "delta", "epsilon"})
    return " ".join([rows_of, budget, *(f"{key}={expected[key]}" for key in others)])


def offers(name, default):
    """Yield what a learner offers for any parameters: (kind of rows, budget and public facts).

    `default` says whether all offers are tried, or only some.
    """
    learner = entry(name)
    deltas = [0.0] * learner.pure + [DELTA] * learner.approximate
    kinds = ["two", "three"] if name in multiclass_names() else ["two"]
    facts = [FACTS[relation] if default else FACTS[relation][:1] for relation in learner.neighbours]
    budgets = itertools.product(learner.calibrations, deltas, EPSILONS)
    for calibration, delta, epsilon in budgets:
        budget = {"calibration": calibration, "delta": delta, "epsilon": epsilon}
        # For changed parameters, fewer budgets suffice: without noise, δ changes little.
        if not default and (epsilon <= 1 or (epsilon == np.inf and delta != deltas[0])):
            continue
        for kind, public in itertools.product(kinds, itertools.chain(*facts)):
            yield kind, {**budget, **public}
        if default and epsilon <= 1:
            for seed in SEEDS:
                yield "two", {**budget, **required_facts(name), "random_state": seed}
        if default and epsilon == 1:
            yield "weighted", {**budget, **required_facts(name)}
            yield "two", {**budget, **required_facts(name), "classes": None}


def changes_of(name):
    """Yield changes of a learner's parameters: of none, of a single one, or of several."""
    yield {}
    for key, parameter in entry(name).parameters.items():
        for value in parameter.choices or other_numbers(parameter):
            if value != parameter.default:
                beside = {**required_parameters(name, {key: value}), **BESIDE.get(name, {})}
                yield {**{k: v for k, v in beside.items() if k not in OFFERED}, key: value}
    yield from COMBINED.get(name, ())
    if name == "tuned":
        for other in NAMES:
            yield {"learner": other, "settings": (sizes(other, {}),)}


def other_numbers(parameter):
    """Return one number other than the parameter's default, in a tuple; () if none is tried."""
    if parameter.size or parameter.structure:
        return ()
    if parameter.kind is int:
        number = 2 if parameter.default is None else parameter.default + 1
    else:
        number = 0.4 if not parameter.default else 0.8 * parameter.default
    return (number,) if parameter.admits(number) else ()


def sizes(name, change):
    """Return small values for the size parameters that have an effect after a change."""
    setting = entry(name).complete(change)
    return {
        key: SIZES.get(name, {}).get(key, min(parameter.default, SIZE))
        for key, parameter in entry(name).parameters.items()
        if parameter.size and all(setting[other] in of for other, of in parameter.used_with.items())
    }


@functools.cache
def facts_of(name, rows_of):
    arguments = inspect.signature(estimator_class(name)).parameters
    n_bins = rows(rows_of)[-1]
    ordered = {"ordered": ORDERED} if "ordered" in arguments else {}
    return {"n_bins": tuple(n_bins), "classes": CLASSES[rows_of], **ordered}


def fit(name, rows_of, parameters):
    """Fit the model of a case, with a random stream that depends on the case alone."""
    X, y, counts, _ = rows(rows_of)
    named = {**parameters, "calibration": stored(parameters["calibration"])}
    result = repr([name, rows_of, sorted(named.items(), key=str)])
    learner = estimator_class(name)(**parameters)
    if "random_state" in parameters:
        return learner.fit(X, y, counts)
    stream = np.random.default_rng(zlib.crc32(result.encode()))
    with patch.object(base, "generator_of", lambda *_: stream):
        return learner.fit(X, y, counts)
