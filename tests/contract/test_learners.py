"""Test requirements on every learner; each entry of the registry is tested."""

import inspect
import pickle
import re
from dataclasses import fields, replace
from inspect import get_annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from made_learners import (
    DOMAIN,
    each_learner,
    each_private_learner,
    generators,
    is_private,
    make_learner,
    parameter_changes,
    required_facts,
    required_parameters,
    small_problem,
)
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from privcurve.audit.pairs import records
from privcurve.learners import registry
from privcurve.learners.entries import of_papers
from privcurve.learners.entry import Facts, parameters_of
from privcurve.learners.registry import LEARNERS, entry, estimator_class, missing_package
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import AUTHORS_WORD, CLAIMED, PrivacyStatement

# Checks of scikit-learn that a learner cannot pass, with the reason. It must pass all other checks.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "brc": {"check_classifiers_train": "random half-spaces are not accurate enough"},
    "one_rule": {"check_classifiers_train": "one bin of one column is not accurate enough"},
    "dpl_decision_tree": {"check_classifiers_train": "random splits are not accurate enough"},
    "majority_class": {"check_classifiers_train": "by design it does not learn from X"},
    "noisy_majority": {"check_classifiers_train": "by design it does not learn from X"},
    "pate": {"check_estimators_pickle": "a copy gives no answers that nobody adds up"},
}


def check_instances(epsilon, names):
    """Yield learners with this ε; None means the default."""
    budget = {} if epsilon is None else {"epsilon": epsilon}
    for name in names:
        if not missing_package(name):
            yield estimator_class(name)(**DOMAIN, **budget, **required_facts(name))


def scikit_learn_checks(*instances):
    ids = [f"{one._learner}-{getattr(one, 'epsilon', None)}" for one in instances]
    return pytest.mark.parametrize("estimator", instances, ids=ids)


COMMON = {
    *("epsilon", "delta", "calibration", "n_bins", "bounds", "classes", "schema", "random_state")
}

PRIVATE = [name for name in LEARNERS if is_private(name)]
OTHERS = [name for name in LEARNERS if not is_private(name)]


# scikit-learn checks accuracy on some dozens of rows; with ε = 1, these would give only noise.
ACCURATE = 1e6
# Boosted stumps, sums of columns and a linear model: together they have all that the base class
# offers.
FAMILIES = ("lazybb", "noisy_bayes", "dp_logistic_regression")


@scikit_learn_checks(*check_instances(ACCURATE, FAMILIES))
def test_scikit_learn(estimator):
    expected = EXPECTED_FAILURES.get(estimator._learner)
    check_estimator(estimator, expected_failed_checks=expected, on_skip=None)


@pytest.mark.slow
@scikit_learn_checks(
    # AIM takes a minute, and has the same base class as MST.
    *check_instances(ACCURATE, [name for name in PRIVATE if name not in (*FAMILIES, "aim")]),
    *check_instances(np.inf, FAMILIES),
    *check_instances(None, OTHERS),
)
def test_scikit_learn_checks_of_other_learners_and_without_noise(estimator):
    test_scikit_learn(estimator)


@each_learner
def test_defaults_and_public_facts_match_the_estimator(name):
    signature = estimator_class(name)().get_params()
    learner = entry(name)
    assert learner.defaults == {key: signature[key] for key in learner.parameters}
    # Each field of the dataclass is a parameter in the registry, a public fact, or common to all
    # learners.
    own = {field.name for field in fields(estimator_class(name)) if field.init}
    facts = {field.name for field in fields(Facts)}
    relation = {"neighbours"} if len(learner.neighbours) > 1 else set()
    assert own - COMMON - facts - relation == set(learner.parameters)
    assert all(p.admits(p.default) for p in learner.parameters.values())
    assert set(learner.needs) <= set(signature) & {f.name for f in fields(Facts)}
    learner.check_parameters(learner.defaults)


@each_learner
def test_each_hyperparameter_is_declared_once(name):
    """Default and range are declared in a module that a plan imports; docstrings repeat neither."""
    kind, learner = estimator_class(name), entry(name)
    assert learner.parameters == parameters_of(kind)
    light = {"privcurve.learners.entries.parameters", *of_papers.PACKAGES.values()}
    for key in learner.parameters:
        (declaring,) = (
            one for one in kind.__mro__ if key in {*vars(one)} & {*get_annotations(one)}
        )
        assert declaring.__module__ in light, f"{declaring} must not declare {key}"
    text = inspect.getdoc(kind).partition("Parameters\n---")[2].partition("Attributes\n---")[0]
    assert not re.findall(r"\bin [(\[]-?\d[\d.]*, .*?[)\]]", text)


@each_learner
def test_cost_grows_with_each_size(name):
    learner = entry(name)
    assert learner.cost({}, 1000, 10) > 0
    for key, parameter in learner.parameters.items():
        if parameter.size:
            fixed = {other: values[0] for other, values in parameter.used_with.items()}
            costs = [learner.cost({**fixed, key: value}, 10**5, 10) for value in (2, 4, 8)]
            assert costs[0] < costs[1] < costs[2], key


@pytest.mark.parametrize("name", [name for name in LEARNERS if missing_package(name)])
def test_a_learner_whose_package_is_not_there_is_not_made(name):
    with pytest.raises(ImportError):
        registry.make(name, Facts([2, 3]))


def test_a_required_fact_must_be_given(monkeypatch):
    needy = replace(entry("majority_class"), needs=("ordered",))
    monkeypatch.setitem(LEARNERS, "majority_class", needy)
    with pytest.raises(ValueError, match="majority_class needs the public fact 'ordered'"):
        registry.make("majority_class", Facts([2]))


def test_a_parameter_does_not_take_the_place_of_a_public_fact():
    with pytest.raises(TypeError, match="n_bins"):
        registry.make("noisy_majority", Facts([2, 3]), {"n_bins": [5, 5]})


@each_learner
def test_fitted_attributes(name):
    X, y, n_bins = small_problem()
    model = make_learner(name, n_bins=n_bins, random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.n_features_in_ == 4
    assert isinstance(model.n_features_used_, (int, np.integer))
    scores = model.decision_function(X)
    assert scores.shape == (300,)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert np.array_equal(model.predict(X) == "yes", scores > 0)


@each_learner
def test_the_seed_decides(name):
    X, y, n_bins = small_problem()
    # A generator is used as it is, so generators in equal states give equal models.
    states = [np.random.RandomState(3) for _ in range(2)]
    for seeds in ((5, 5), generators(5, 5), states):
        fits = [make_learner(name, n_bins=n_bins, random_state=seed).fit(X, y) for seed in seeds]
        assert np.array_equal(fits[0].decision_function(X), fits[1].decision_function(X))
    for bad in (-1, 0.5, "0", [1]):
        with pytest.raises(ValueError, match="random_state"):
            make_learner(name, n_bins=n_bins, random_state=bad).fit(X, y)


def first_number(name, X, y, counts=None, **parameters):
    """Return the first random number of the stream that `fit` hands to a learner."""
    seen = []

    class Watched(type(make_learner(name))):
        def _fit_batch(self, learners, records, curators):
            seen.extend(curator.coins.random() for curator in curators)
            for learner in learners:
                spent = name, 0.0, 0.0, learner._neighbours()
                learner._fitted_statement = PrivacyStatement(
                    *spent, None, BASIC, (), status=CLAIMED, caveat=AUTHORS_WORD
                )

    Watched(**parameters).fit(X, y, counts)
    return seen[0]


@each_private_learner
def test_one_seed_gives_another_stream_for_other_public_facts(name):
    X, y, n_bins = small_problem(60)
    facts = {"n_bins": n_bins, "random_state": 5}
    if entry(name).approximate:
        facts["delta"] = 1e-6
    others = [{"epsilon": 10.0}, {"epsilon": 20.0}, {"n_bins": [2, 5, 3, 11]}]
    others += [{"classes": ("no", "yes")}, {"random_state": 6}]
    others += [change for change in parameter_changes(name) if "random_state" not in change]
    if entry(name).approximate:
        others.append({"delta": 1e-7})
    others += [{key: 2} for key, p in entry(name).parameters.items() if p.kind is int and p.size]
    used = [{**change, **required_parameters(name, change)} for change in others]
    streams = [first_number(name, X, y, **{**facts, **change}) for change in used]
    # Here `classes` are the classes in the labels, so the stream is the same as without `classes`.
    assert streams[3] == first_number(name, X, y, **facts)
    streams.append(first_number(name, X[1:], y[1:], **facts))
    assert len(set(streams)) == len({repr(sorted(c.items(), key=str)) for c in used}) + 1
    # Equal facts of other types give the same stream, and so do distinct rows with counts.
    words = {**facts, "n_bins": np.array(n_bins), "random_state": np.int64(5), "epsilon": 10}
    assert first_number(name, X, y, **words) == streams[0]
    rows, counts = np.unique(np.c_[X, y == "yes"], axis=0, return_counts=True)
    labels = np.where(rows[:, -1] == 1, "yes", "no")
    assert first_number(name, rows[:, :-1], labels, counts, **facts) == streams[3]


@each_private_learner
def test_noise_is_drawn_when_private(name):
    X, y, n_bins = small_problem()
    scores = set()
    for seed in range(8):
        model = make_learner(name, n_bins=n_bins, epsilon=0.01, random_state=seed).fit(X, y)
        scores.add(model.decision_function(X).tobytes())
    assert len(scores) > 1


# Learners that draw random numbers even without noise, as in their papers: half-spaces, questions
# of random trees, synthetic records or batches.
DRAWN = {"aim", "brc", "dp_forest", "dp_sgd", "mst", "random_trees"}
LEAST_RIGHT = {"brc": 0.5, "noisy_majority": 0.5}


@each_private_learner
def test_infinite_epsilon_is_the_method_without_noise(name):
    X, y, n_bins = small_problem()
    for calibration in LEARNERS[name].calibrations:
        options = {"n_bins": n_bins, "epsilon": np.inf, "calibration": calibration}
        fits = [make_learner(name, **options, random_state=seed).fit(X, y) for seed in (0, 1)]
        scores = [model.decision_function(X) for model in fits]
        assert np.array_equal(*scores) == (name not in DRAWN)
        for model in fits:
            assert (model.predict(X) == y).mean() > LEAST_RIGHT.get(name, 0.6)
            assert not model.privacy_.private
            assert model.privacy_.epsilon_spent == np.inf


@each_learner
def test_counts_stand_for_records(name):
    X, y, n_bins = small_problem()
    rows, counts = np.unique(np.c_[X, y == "yes"], axis=0, return_counts=True)
    labels = np.where(rows[:, -1] == 1, "yes", "no")
    options = {"epsilon": np.inf} if is_private(name) else {}
    learner = make_learner(name, n_bins=n_bins, random_state=0, **options)
    by_record = learner.fit(X, y).predict(X)
    by_count = learner.fit(rows[:, :-1], labels, counts).predict(X)
    assert (by_record == by_count).mean() > 0.95
    for bad in (counts[:-1], counts * 0, counts + 0.5, counts.astype(str), counts * 2**52):
        with pytest.raises(ValueError, match="counts"):
            learner.fit(rows[:, :-1], labels, bad)


@each_learner
@pytest.mark.usefixtures("given_streams")
def test_a_fit_does_not_depend_on_other_fits_of_a_batch(name):
    X, y, n_bins = small_problem()
    y = np.where(y == "yes", 1, -1)
    learner = make_learner(name, n_bins=n_bins, classes=(-1, 1))
    settings = [{}, {}]
    if is_private(name):
        settings = [{"epsilon": 0.3}, {"epsilon": np.inf}, {"epsilon": 4.0}, {"epsilon": 0.3}]
    seeds = range(len(settings))
    alone = [
        clone(learner)
        .set_params(**setting, random_state=np.random.default_rng(seed))
        .fit(X, y)
        .decision_function(X)
        for setting, seed in zip(settings, seeds, strict=True)
    ]
    for order in (list(seeds), list(seeds)[::-1]):
        together = learner.fit_records(
            records(X, y, n_bins), [settings[i] for i in order], [*map(Curator, generators(*order))]
        )
        for i, fitted in zip(order, together, strict=True):
            assert np.array_equal(fitted.decision_function(X), alone[i])
            assert {**fitted.get_params(), **settings[i]} == fitted.get_params()
            assert fitted.privacy_.epsilon == settings[i].get("epsilon", np.inf)


@each_learner
def test_measures_and_stages(name):
    X, y, n_bins = small_problem()
    for change in [{}, *parameter_changes(name)]:
        options = {"n_bins": n_bins, "random_state": 0, **change}
        model = make_learner(name, **options).fit(X, y)
        measures = model.measures_
        assert all(isinstance(value, (int, float)) for value in measures.values())
        scores = model.decision_function(X)
        if not hasattr(model, "staged_decision_function"):
            continue
        stages = list(model.staged_decision_function(X))
        assert len(stages) == measures["rounds"]
        assert all(stage.shape == (300,) for stage in stages)
        assert np.array_equal(stages[-1], scores)
        assert len(stages) == 1 or not np.array_equal(stages[0], stages[-1])


@each_learner
def test_a_refit_keeps_nothing_of_the_earlier_fit(name):
    X, y, n_bins = small_problem(120)
    settings = [{}, *parameter_changes(name)]
    fresh = [
        make_learner(name, n_bins=n_bins, **{"random_state": 0, **s}).fit(X, y) for s in settings
    ]
    # Change from the default to each other setting, and back. The earlier fit has column names.
    for i, j in [pair for k in range(1, len(fresh)) for pair in ((0, k), (k, 0))]:
        model = clone(fresh[i]).fit(pd.DataFrame(X, columns=list("abcd")), y)
        assert hasattr(model, "feature_names_in_")
        model.set_params(**fresh[j].get_params()).fit(X, y)
        assert np.array_equal(model.decision_function(X), fresh[j].decision_function(X))
        left = vars(model)
        assert left.keys() == vars(fresh[j]).keys()
        for attribute, value in vars(fresh[j]).items():
            if LEARNERS[name].peer and attribute == "model_":
                continue  # a tree of scikit-learn has padding bytes, which may have any value
            assert joblib.hash(left[attribute]) == joblib.hash(value), (settings[j], attribute)


def test_a_refit_keeps_what_scikit_learn_has_set():
    X, y, n_bins = small_problem(40)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_learner("majority_class", n_bins=n_bins).set_fit_request(counts=True)
        assert model.fit(X, y).fit(X, y).get_metadata_routing().fit.requests == {"counts": True}


@each_learner
def test_pickling_and_cloning(name):
    X, y, n_bins = small_problem()
    model = make_learner(name, n_bins=n_bins, random_state=0).fit(X, y)
    # PATE answers only rows that were queried before it is copied: query all rows first.
    scores = model.decision_function(X)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.privacy_ == model.privacy_
    assert np.array_equal(copy.decision_function(X), scores)
    fresh = clone(model)
    assert not hasattr(fresh, "n_features_in_")
    assert np.array_equal(fresh.fit(X, y).decision_function(X), model.decision_function(X))
