"""Mixed bins are merged before a fit of learners that need few bins."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privcurve
from privcurve import Schema
from privcurve.binning import MIXED, MIXED_HIGH
from privcurve.coding import merge_bins
from privcurve.datasets.domain import Domain
from privcurve.learners import registry
from privcurve.learners.registry import estimator_class

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


# Merging of mixed bins --------------------------------------------------------------------------


def test_neighbours_are_merged_and_others_stay() -> None:
    first, second, third = merge_bins(np.array([6, 3, 5]), [5, 0, 4], 2)
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
def test_each_learner_gets_its_best_number_of_mixed_bins(
    tmp_path, table, name, parameters, bins
) -> None:
    model = fitted(name, table, **parameters)
    # One more bin for missing values; categories are not merged.
    assert model.n_bins_.tolist() == [bins + 1, bins + 1, 3]
    privcurve.save(tmp_path / "model.json", model)
    loaded = privcurve.load(tmp_path / "model.json")
    rows = table.assign(town="Oslo")
    np.testing.assert_array_equal(loaded.decision_function(rows), model.decision_function(rows))
    # A loaded domain has the merged bins, whose edges are edges of the fine bins.
    for before, after in zip(schema().domain.columns, loaded.domain.columns, strict=True):
        if before.kind == "numeric":
            assert set(after.edges) <= set(before.edges)
            assert after.n_bins == bins + 1
    assert loaded.domain == Domain.from_dict(loaded.domain.to_dict())


def test_equal_bins_are_never_merged() -> None:
    assert schema("equal").domain.mixed_bins is None
    assert registry.make("one_rule", schema("equal").domain).mixed_bins is None
    assert registry.make("one_rule", schema().domain).mixed_bins == (64, 64, 0)


def test_private_selection_leaves_merging_to_its_candidates(table) -> None:
    settings = [{"learner": "one_rule"}, {"learner": "lazybb", "n_rounds": 3}]
    model = fitted("tuned", table, settings=settings, epsilon=5.0)
    assert model.best_.n_bins_.tolist() == [9, 9, 3]
    assert "amount" in model.describe()


def test_mixed_bins_of_numbers_below_zero_are_finest_near_it() -> None:
    below = Schema({"energy": (-1000, 0)}, ["no", "yes"]).domain.columns[0]
    above = Schema({"energy": (0, 1000)}, ["no", "yes"]).domain.columns[0]
    assert below.spacing == MIXED_HIGH
    np.testing.assert_allclose(np.negative(below.edges)[::-1], above.edges, atol=1e-9)


def test_released_bins_are_refused_with_the_remedy() -> None:
    with pytest.raises(privcurve.datasets.DatasetError, match=r"private, .* is gone - take mixed"):
        schema("private")


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
    assert domain.merge_bins([np.arange(k) for k in domain.n_bins]) == domain
    assert replace(domain.columns[0], merged=(0.0, 1.0), bins=1).edges == (0.0, 1.0)
