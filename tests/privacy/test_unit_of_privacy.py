"""Persons with several records: group privacy, and its exact cost on small tables."""

import math
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from privcurve import Schema, datasets
from privcurve.audit import contract
from privcurve.audit.contract import CHARGE, SENSITIVITY, BreachError, Case
from privcurve.audit.pairs import Pair
from privcurve.audit.worst_answers import worst_answers
from privcurve.coding import Records, limit_places
from privcurve.experiments import study
from privcurve.experiments.splits import distinct_records
from privcurve.learners import base, registry
from privcurve.learners.shared import by_schema
from privcurve.privacy.budget import (
    ADD_REMOVE,
    REPLACE_ONE,
    budget_within_group,
    group_guarantee,
    replace_one_guarantee,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.spent import epsilon_of_ledger
from privcurve.releases import request as requests
from privcurve.releases.request import Request

EPSILON = 1.2
AT_MOST = 2

# {person: number of records}. Person a is replaced or left out.
SIZES = {"a": 4, "b": 1, "c": 2, "d": 5, "e": 3, "f": 1}

DESCRIPTION = {
    "title": "Visits of patients",
    "parser": {"kind": "delimited", "header": True},
    "files": {"train": {"local": "visits.csv"}},
    "unit": {"column": "patient", "at_most": AT_MOST},
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["x", "y"], "source": "house"},
        {"name": "age", "kind": "numeric", "bounds": [0, 4], "n_bins": 2, "source": "house"},
    ],
    "label": {"column": "sick", "positive": "yes", "negative": "no"},
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that encodes the table with these records of person a."""
    monkeypatch.chdir(tmp_path)
    Path("descriptions").mkdir()

    def code(record, size=SIZES["a"], name="a"):
        rng = np.random.default_rng(3)
        lines = ["patient,ward,age,sick"]
        for person, many in SIZES.items():
            for k in range(many):
                ward, age = rng.choice(["x", "y"]), rng.integers(4)
                other = f"{ward},{age},{'no' if k % 2 else 'yes'}"
                if person != "a":
                    lines.append(f"{person},{other}")
                elif k < size:
                    lines.append(f"{name},{record}")
        n_rows = sum(min(many, AT_MOST) for person, many in SIZES.items() if person != "a")
        content = {**DESCRIPTION, "n_rows": n_rows + min(size, AT_MOST)}
        Path("visits.csv").write_text("\n".join(lines) + "\n")
        Path("descriptions/visits.yaml").write_text(yaml.safe_dump(content))
        return datasets.load("visits")

    return code


def learner_of(name, neighbours, **parameters):
    """Return the learner that a release of these records would train."""
    about = datasets.describe("visits")
    request = Request("visits", EPSILON, 0.0, name, parameters, neighbours, unit=about.unit)
    return requests.check(request, about)


def records(data):
    ones = np.ones(len(data.y), dtype=np.int64)
    return Records(data.X, data.y, ones, np.array(data.domain.n_bins))


SICK, WELL = "x,0,yes", "y,3,no"


@pytest.mark.parametrize(
    ("name", "other"),
    [("noisy_majority", "x,0,no"), ("noisy_bayes", WELL), ("noisy_bayes", "x,0,no")],
)
def test_all_records_of_a_person_replaced_cost_epsilon_and_not_more(load, name, other):
    left, right = records(load(SICK)), records(load(other))
    assert np.count_nonzero((left.codes != right.codes).any(1) | (left.labels != right.labels)) == 2
    loss = worst_answers(learner_of(name, REPLACE_ONE), Pair("tiny", "a", left, right))
    assert loss <= EPSILON * (1 + 1e-9)
    assert loss >= 0.95 * EPSILON


def test_a_study_trains_with_what_costs_epsilon_and_not_more(load):
    """The learner of a study's run trains on the whole table, which its splits leave complete."""
    left, right = records(load(SICK)), records(load("x,0,no"))
    content = {
        **{"title": "t", "datasets": ["visits"], "epsilons": [EPSILON], "folds": 2, "repeats": 1},
        "learners": {"m": {"learner": "noisy_majority"}},
    }
    (method,) = study.from_mapping(content, "s", "s.yaml").methods.values()
    data = load(SICK)
    parameters = method.estimator_parameters(method.points[0], data.at_most)
    learner = registry.make(method.learner, data.domain, parameters)
    loss = worst_answers(learner, Pair("tiny", "a", left, right))
    assert 0.95 * EPSILON <= loss <= EPSILON * (1 + 1e-9)


def test_without_the_division_a_person_is_not_protected(load, monkeypatch):
    left, right = records(load(SICK)), records(load("x,0,no"))
    monkeypatch.setattr(
        requests, "budget_within_group", lambda epsilon, delta, size: (epsilon, delta)
    )
    loss = worst_answers(learner_of("noisy_majority", REPLACE_ONE), Pair("tiny", "a", left, right))
    assert loss >= 1.9 * EPSILON


def test_with_all_of_a_persons_records_a_person_is_not_protected(load, monkeypatch):
    loading = import_module("privcurve.datasets.load")
    monkeypatch.setattr(loading, "limit_places", lambda persons, *_: np.arange(len(persons)))
    monkeypatch.setattr(loading, "check_kept", lambda *_, **__: None)
    left, right = records(load(SICK)), records(load("x,0,no"))
    loss = worst_answers(learner_of("noisy_majority", REPLACE_ONE), Pair("tiny", "a", left, right))
    assert loss >= 1.9 * EPSILON


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_person_left_out_costs_epsilon_and_not_more(load, size):
    """One side has four records of the person and keeps two; the other side has fewer."""
    left, right = records(load(SICK)), records(load(SICK, size))
    learner = learner_of("privgam", ADD_REMOVE, n_estimate=12)
    loss = worst_answers(learner, Pair("tiny", "a", left, right, ADD_REMOVE))
    assert loss <= EPSILON * (1 + 1e-9)
    assert loss == 0 if size == 3 else loss >= (0.9 if size == 0 else 0.3) * EPSILON


# Python: a frame, a schema with a unit, and `fit` ------------------------------------

SCHEMA = Schema(
    {"ward": ["x", "y"], "age": {"bounds": [0, 4], "n_bins": 2}},
    ["no", "yes"],
    unit=DESCRIPTION["unit"],
)


def fitted(learner, frame, curator):
    """Return the learner fitted on a frame with a given curator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "Curator", lambda stream: curator)
        return learner.fit(frame, frame["sick"])


class OfFrames(Case):
    """A case that the contract tries on frames: neighbours differ in all rows of a person."""

    group = AT_MOST


def some_frames(rng):
    """Return two small frames that differ in all rows of one person."""
    n = int(rng.integers(2, 13))
    draw = {"ward": ["x", "y"], "age": [0, 1, 3], "sick": ["no", "yes"]}
    one = pd.DataFrame({key: rng.choice(values, n) for key, values in draw.items()})
    one["patient"] = rng.choice(["a", "b", "c"], n)
    other, mine = one.copy(), one["patient"] == one["patient"].iloc[rng.integers(n)]
    for key, values in draw.items():
        other.loc[mine, key] = rng.choice(values)
    return one, other


def tried(patch, name, more):
    """Return the contract's verdict on a learner that `fit` trains on such frames."""

    def train(case, frame, curator):
        learner = registry.estimator_class(name)(schema=SCHEMA, **case.parameters)
        fitted(learner, frame, curator)
        # The schema is public and equal on both sides.
        learner.schema = None
        learner._fitted_parameters = {**learner._fitted_parameters, "schema": None}
        return learner

    patch.setattr(contract, "train", train)
    verdict = contract.Verdict(OfFrames(name, {"epsilon": EPSILON, **more}))
    rng = np.random.default_rng(3)
    for k in range(20):
        contract._check_pair(some_frames(rng), (0, k), verdict)
    return verdict


@pytest.mark.parametrize(
    ("owner", "name", "wrong", "point"),
    [
        (by_schema, "budget_within_group", lambda epsilon, delta, size: (epsilon, delta), CHARGE),
        (by_schema, "training_rows", lambda schema, X, counts: slice(None), SENSITIVITY),
    ],
)
def test_in_python_a_share_and_a_selection_are_needed(monkeypatch, owner, name, wrong, point):
    monkeypatch.setattr(owner, name, wrong)
    monkeypatch.setattr(base, name, wrong, raising=False)
    with pytest.raises(BreachError) as breach:
        tried(monkeypatch, "noisy_majority", {})
    assert breach.value.point == point


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("noisy_majority", {}),
        ("noisy_bayes", {}),
        ("noisy_bayes", {"delta": 1e-2}),
        pytest.param("privgam", {}, marks=pytest.mark.slow),
        pytest.param("privgam", {"delta": 1e-2}, marks=pytest.mark.slow),
        ("lazybb", {"n_rounds": 3, "density": 0.5}),
    ],
)
def test_in_python_learners_keep_the_contract_for_persons(monkeypatch, name, more):
    verdict = tried(monkeypatch, name, more)
    assert verdict.n_pairs == 20
    # Two rows of a person change a call by more than half of the sensitivity.
    assert max(part for part, _ in verdict.largest.values()) > 0.5


# Group privacy ---------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("size", [1, 2, 5, 50])
def test_the_budget_of_a_record_is_the_groups_budget_divided(epsilon, size):
    each = budget_within_group(epsilon, 1e-5, size)
    assert group_guarantee(*each, size) == pytest.approx((epsilon, 1e-5), rel=1e-12)
    factor = math.expm1(epsilon) / math.expm1(epsilon / size)
    assert each == pytest.approx((epsilon / size, 1e-5 / factor), rel=1e-12)
    assert budget_within_group(epsilon, 0.0, size) == (epsilon / size, 0.0)
    assert group_guarantee(1.0, 0.3, 2) == replace_one_guarantee(1.0, 0.3)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def test_the_delta_of_a_group_holds_and_is_reached():
    """A chain of distributions on two points: each is just (ε, δ)-close to the next."""
    epsilon, delta, size = 0.5, 0.02, 3
    chances = [0.0]
    for _ in range(size):
        chances.insert(0, math.exp(epsilon) * chances[0] + delta)
    chain = [np.array([chance, 1 - chance]) for chance in chances]
    for p, q in pairwise(chain):
        assert hockey_stick(p, q, epsilon) == pytest.approx(delta)
        assert hockey_stick(q, p, epsilon) <= delta
    together, of_all = group_guarantee(epsilon, delta, size)
    reached = hockey_stick(chain[0], chain[-1], together)
    assert reached == pytest.approx(of_all)
    # Without the conversion of δ the statement would be false.
    assert reached > 3 * delta


@pytest.mark.parametrize("divided", [True, False])
def test_gaussian_noise_has_epsilon_and_delta_for_all_records_of_a_person(
    load, monkeypatch, divided
):
    """Two records move a Gaussian's mean twice as far: its exact ε at the persons' δ holds."""
    delta = 1e-4
    if not divided:
        monkeypatch.setattr(
            requests, "budget_within_group", lambda epsilon, delta, size: (epsilon, delta)
        )
    data = load(SICK)
    unit = datasets.describe("visits").unit
    request = Request("visits", EPSILON, delta, "noisy_bayes", unit=unit)
    learner = requests.make_estimator(request, data.domain)
    side = distinct_records(data.domain, data.X, data.y)
    (fitted,) = learner.fit_records(side, [{}], [Curator(np.random.default_rng(0))])
    stated = fitted.privacy_
    assert {entry.mechanism for entry in stated.ledger} == {"gaussian"}
    of_person = [replace(one, sensitivity=2 * one.sensitivity) for one in stated.ledger]
    reached = epsilon_of_ledger(stated.composition, of_person, delta)
    assert (reached <= EPSILON) is divided
    assert reached >= 0.5 * EPSILON


# Kept records ----------------------------------------------------------------------


def test_a_person_keeps_the_same_records_whatever_others_have():
    own = ["a"] * 7
    kept = limit_places(own, 3, 0)
    assert len(kept) == 3
    among = ["b", *own, *["c"] * 9, "d"]
    assert [place - 1 for place in limit_places(among, 3, 0) if 1 <= place <= 7] == kept.tolist()
    assert len(limit_places(among, 3, 0)) == 8
    assert limit_places(own, 7, 0).tolist() == list(range(7))
    # Records are kept at random, not the first ones: over persons and seeds equally often.
    counts = np.zeros(5)
    for seed in range(300):
        counts[limit_places(["a"] * 5, 2, seed)] += 1
    assert np.abs(counts / 300 - 0.4).max() < 0.12
    assert limit_places(own, 3, 1).tolist() != limit_places(own, 3, 2).tolist()
