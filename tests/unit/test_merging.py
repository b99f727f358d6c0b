"""Bins that are merged before a fit: evenly where few are best, and by what is paid for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import privcurve
from privcurve import Schema
from privcurve.coding import LEAVES, MIXED, MIXED_HIGH, PRIVATE, Records, edges, merged_bins
from privcurve.datasets.domain import Domain
from privcurve.experiments.study import StudyError, from_mapping, notes
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.learners.registry import estimator_class
from privcurve.learners.shared.merging import MOST, Histograms
from privcurve.privacy.calibration.private_bins import WHAT, price
from privcurve.privacy.curator import EXACT, Curator

N = 3000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    amount = np.exp(rng.normal(3, 1.5, N))
    share = np.where(rng.random(N) < 0.1, np.nan, rng.random(N))
    high = rng.random(N) < 1 / (1 + np.exp(3 - np.log(amount)))
    return pd.DataFrame({"amount": amount, "share": share, "high": np.where(high, "yes", "no")})


def schema(spacing: str = MIXED) -> Schema:
    columns = {"amount": (0, 100_000), "share": (0, 1), "town": ["Oslo", "Bergen"]}
    return Schema(columns, ["no", "yes"], missing="bin", spacing=spacing)


def fitted(name, table, spacing=MIXED, **parameters):
    made = estimator_class(name)(schema=schema(spacing), random_state=1, **parameters)
    return made.fit(table.assign(town="Oslo"), table.high)


# Mixed bins, and learners that are best with few of them ----------------------------------------


def test_neighbours_are_merged_and_others_stay() -> None:
    first, second, third = merged_bins(np.array([6, 3, 5]), [5, 0, 4], 2)
    assert first.tolist() == [0, 0, 0, 1, 1, 2]
    assert second.tolist() == [0, 1, 2]
    assert third.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("name", "parameters", "bins"),
    [
        ("noisy_bayes", {}, 12),
        ("dp_logistic_regression", {"C": 0.01}, 12),
        ("one_rule", {}, 8),
        ("lazybb", {"n_rounds": 5}, 8),
        ("lazybb", {"n_rounds": 3, "weak_learner": "topdown", "splits": "threshold"}, 64),
        ("privgam", {"delta": 1e-6}, 64),
    ],
)
def test_each_learner_sees_as_many_mixed_bins_as_it_is_best_with(
    tmp_path, table, name, parameters, bins
) -> None:
    model = fitted(name, table, **parameters)
    # With a bin for missing values, of categories as many as there are.
    assert model.n_bins_.tolist() == [bins + 1, bins + 1, 3]
    privcurve.save(tmp_path / "model.json", model)
    loaded = privcurve.load(tmp_path / "model.json")
    rows = table.assign(town="Oslo")
    np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
    # Merged bins are read as they are written: their edges are edges of the fine ones.
    for before, after in zip(schema().domain.columns, loaded.domain.columns, strict=True):
        if before.kind == "numeric":
            assert set(after.edges) <= set(before.edges)
            assert after.n_bins == bins + 1
    assert loaded.domain == Domain.from_dict(loaded.domain.to_dict())


def test_equal_bins_are_never_merged() -> None:
    assert schema("equal").domain.mixed_bins is None
    assert registry.make("one_rule", schema("equal").domain).mixed_bins is None
    assert registry.make("one_rule", schema().domain).mixed_bins == (64, 64, 0)


def test_a_choice_leaves_it_to_what_it_chooses_from(table) -> None:
    settings = [{"learner": "one_rule"}, {"learner": "lazybb", "n_rounds": 3}]
    model = fitted("tuned", table, settings=settings, epsilon=5.0)
    assert model.best_.n_bins_.tolist() == [9, 9, 3]
    assert "amount" in model.describe()


def test_mixed_bins_of_numbers_below_zero_are_finest_near_it() -> None:
    below = Schema({"energy": (-1000, 0)}, ["no", "yes"]).domain.columns[0]
    above = Schema({"energy": (0, 1000)}, ["no", "yes"]).domain.columns[0]
    assert below.spacing == MIXED_HIGH
    assert edges(-1000, 0, 64, PRIVATE).tolist() == list(below.edges)
    np.testing.assert_allclose(np.negative(below.edges)[::-1], above.edges, atol=1e-9)


# Private bins ---------------------------------------------------------------------------------


def counted(codes: list[int], counts: list[int], leaves: int, n_codes: int, call=EXACT):
    records = Records(
        np.array(codes, dtype=np.uint16)[:, None],
        np.ones(len(codes), dtype=np.int8),
        np.array(counts),
        np.array([n_codes]),
    )
    (group,) = Histograms([leaves]).released(records, call, Curator(np.random.default_rng(0)))
    return group


def test_bins_are_finest_where_most_records_are() -> None:
    group = counted([5, 6, 3000, 4096], [500, 500, 10, 7], 4096, 4097)
    assert group[5] != group[6] != group[7]
    # Where there is nobody they are as coarse as the sixteen that there are in any case.
    assert len(set(group[1024:1280].tolist())) == 1
    assert (np.diff(group.astype(int)) >= 0).all()
    # Missing values have a bin of their own.
    assert group[4096] == group[4095] + 1 <= MOST


def test_noise_makes_no_bins() -> None:
    call = price(8, 1.0, 1e-6, 0.05, "replace-one")
    assert max(counted([0], [1], LEAVES, LEAVES, call)) + 1 <= 18


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        ("privgam", 1e-6),
        ("privgam", 0.0),
        ("noisy_bayes", 0.0),
        ("lazybb", 1e-6),
        ("random_trees", 1e-6),
        ("dp_newton", 1e-6),
    ],
)
def test_private_bins_are_in_the_ledger_and_the_model(tmp_path, table, name, delta) -> None:
    model = fitted(name, table, PRIVATE, delta=delta, epsilon=2.0)
    statement = model.privacy_
    assert [entry.what for entry in statement.ledger].count(WHAT) == 1
    assert (statement.epsilon, statement.delta, model.epsilon) == (2.0, delta, 2.0)
    assert 2 * 0.998 < statement.epsilon_spent <= 2 * (1 + 1e-9)
    assert max(model.n_bins_[:2]) <= MOST + 1
    rows = table.assign(town="Oslo")
    assert model.score(rows, table.high) > 0.6
    if model._released:
        privcurve.save(tmp_path / "model.json", model)
        loaded = privcurve.load(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
        assert loaded.domain.private_bins is None
        assert f"{LEAVES}" not in loaded.domain.to_json()


def test_a_share_of_epsilon_is_left_to_the_learner(table) -> None:
    model = fitted("noisy_bayes", table, PRIVATE, epsilon=1.0, bin_share=0.2)
    histograms, counts = model.privacy_.ledger
    assert histograms.epsilon == pytest.approx(0.2, rel=1e-3)
    assert counts.epsilon == pytest.approx(0.8, rel=1e-3)


def test_without_noise_bins_are_those_of_exact_counts(table) -> None:
    model = fitted("privgam", table, PRIVATE, epsilon=float("inf"))
    assert not model.privacy_.private
    assert model.n_bins_.tolist()[0] == MOST + 1


@pytest.mark.parametrize(
    ("name", "parameters", "hint"),
    [
        ("noisy_bayes", {"bin_share": 1.5}, "bin_share"),
        ("one_rule", {"calibration": "published"}, "private bins"),
        ("dpl_decision_tree", {"calibration": "published"}, "private bins"),
    ],
)
def test_what_can_not_pay_is_refused(table, name, parameters, hint) -> None:
    if name == "dpl_decision_tree":
        pytest.importorskip("diffprivlib")
    with pytest.raises(ValueError, match=hint):
        fitted(name, table, PRIVATE, **parameters)


def test_a_peer_is_refused_before_it_is_made() -> None:
    with pytest.raises(ValueError, match="private bins"):
        registry.make("dpl_decision_tree", Facts([3, 4], private_bins=(0, 4)))


def test_a_study_is_refused_before_any_training() -> None:
    learners = {"rule": {"learner": "one_rule", "calibrations": ["published"], "epsilons": [1]}}
    content = {"title": "t", "datasets": ["mine"], "folds": 2, "repeats": 2, "learners": learners}
    study = from_mapping(content, "mine", "mine.yaml")
    about = SimpleNamespace(
        name="mine",
        path="mine.yaml",
        unit=None,
        part_rows=0,
        n_rows=N,
        domain=schema(PRIVATE).domain,
    )
    with pytest.raises(StudyError, match="private bins"):
        list(notes(study, {"mine": about}, "mine.yaml"))
    about.domain = schema().domain
    assert list(notes(study, {"mine": about}, "mine.yaml")) == []


def test_leaves_are_mixed_bins_by_public_bounds_alone() -> None:
    (amount, *_), low_high = schema(PRIVATE).domain.columns, (0.0, 100_000.0)
    assert amount.bins == LEAVES
    assert list(amount.edges) == edges(*low_high, LEAVES, MIXED).tolist()
    own = Schema({"a": {"bounds": (0, 1), "spacing": PRIVATE}}, ["no", "yes"])
    assert own.domain.private_bins == (LEAVES,)


def test_merged_edges_of_a_file_must_rise(tmp_path, table) -> None:
    model = fitted("one_rule", table)
    content = privcurve.models.document.document(model, schema().domain)
    column = content["domain"]["columns"][0]
    for wrong in (column["merged"][:-1], column["merged"][::-1]):
        changed = {**content, "domain": {**content["domain"]}}
        columns = [{**column, "merged": wrong}, *content["domain"]["columns"][1:]]
        changed["domain"]["columns"] = columns
        path = tmp_path / "model.json"
        privcurve.models.text.write(path, changed)
        with pytest.raises(privcurve.models.ModelError, match="merged bins"):
            privcurve.load(path)


def test_grouped_domain_is_the_same_without_groups() -> None:
    domain = schema().domain
    assert domain.in_groups([np.arange(k) for k in domain.n_bins]) == domain
    assert replace(domain.columns[0], merged=(0.0, 1.0), bins=1).edges == (0.0, 1.0)
