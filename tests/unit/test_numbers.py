"""Codes as numbers in [0, 1] by public bounds: where they come from, bounds, and a learner."""

import numpy as np
import pandas as pd
import pytest

import privcurve
from privcurve.audit.pairs import records
from privcurve.datasets.domain import Column
from privcurve.learners import registry
from privcurve.learners.linear.boosted_adassp import BoostedAdaSSPClassifier
from privcurve.learners.shared.numbers import LEVEL_UNIT, NumbersClassifier
from privcurve.privacy.curator import Curator

N_BINS = (4, 3, 2)
LEVELS = ((0.125, 0.375, 0.625, 0.875), (0.0, 1.0, 0.5), None)


class Numbers(NumbersClassifier):
    """A learner's numbers, without a fit."""

    _learner = "boosted_adassp"


def with_levels(levels):
    learner = Numbers(levels=levels)
    learner.n_bins_ = np.array(N_BINS)
    return learner


def test_bins_are_from_0_to_1_by_their_middles_and_a_missing_value_is_a_half():
    column = Column("age", "numeric", bounds=(10.0, 30.0), bins=5, missing_bin=True)
    assert column.levels == (0, 0.25, 0.5, 0.75, 1, 0.5)
    edges = (10.0, 12.0, 18.0, 42.0)
    merged = Column("age", "numeric", bounds=(10.0, 42.0), bins=3, merged=edges)
    # Middles 11, 15 and 30.
    assert merged.levels == (0, 4 / 19, 1)
    assert Column("age", "numeric", bounds=(10.0, 30.0), bins=1).levels == (0.5,)
    assert Column("word", "categorical", categories=(("a", "a"),)).levels is None


def test_numbers_of_codes_are_levels_and_of_categories_equal_distances():
    codes = np.array([[0, 1, 0], [3, 2, 1]], dtype=np.uint8)
    assert with_levels(LEVELS).numbers(codes).tolist() == [[0.125, 1, 0], [0.875, 0.5, 1]]
    even = with_levels(None).numbers(np.array([[1, 1, 1]], dtype=np.uint8))
    # A third is rounded, so that sums of products are exact.
    assert even.tolist() == [[341 / 1024, 0.5, 1]]


@pytest.mark.parametrize(
    "levels",
    [
        LEVELS[:2],
        (*LEVELS[:2], (0.0, 1.5)),
        (*LEVELS[:2], (-0.25, 1.0)),
        (*LEVELS[:2], (0.0, float("nan"))),
        (*LEVELS[:2], (0.0, 0.5, 1.0)),
    ],
)
def test_levels_beyond_the_bounds_or_of_other_codes_are_refused(levels):
    with pytest.raises(ValueError, match="levels must be None, or for each of the 3 columns"):
        with_levels(levels).numbers(np.zeros((1, 3), dtype=np.uint8))


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_sensitivity_of_a_sum_of_numbers_follows_from_their_bounds(factor):
    """A mutant that scales numbers beyond [0, 1] pays for what it scales by."""
    table = records([[0, 0, 0], [3, 1, 1]], [1, -1], N_BINS)
    rows, _ = Curator(np.random.default_rng(1)).rows(table)
    learner = with_levels(((0.0, 0.25, 0.5, 1.0), (0.0, 1.0, 0.5), (0.0, 1.0)))
    total = (factor * learner.numbers(rows)).sum(axis=0)
    size, change, *_ = total._bounds
    assert size.entries.tolist() == [factor] * 3
    assert change.l1 == pytest.approx(3 * factor)
    assert change.l2 == pytest.approx(np.sqrt(3) * factor)


def frame(n=300):
    rng = np.random.default_rng(5)
    age, income = rng.uniform(0, 100, n), rng.exponential(20.0, n)
    word = rng.choice(["a", "b", "c"], n)
    odds = (age - 50) / 15 + (word == "a")
    income[::17] = np.nan
    table = pd.DataFrame({"age": age, "income": income, "word": word})
    return table, np.where(rng.logistic(size=n) < odds, "yes", "no")


def schema():
    columns = {"age": (0, 100), "income": (0, 80), "word": list("abc")}
    return privcurve.Schema(columns, label=["no", "yes"], missing="bin")


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_model_of_numbers_is_linear_in_them_and_predicts_alike_after_loading(
    tmp_path, neighbours
):
    X, y = frame()
    made = BoostedAdaSSPClassifier(
        epsilon=5.0, inputs="numbers", schema=schema(), neighbours=neighbours, random_state=3
    )
    made.fit(X, y)
    *levels, words = schema().domain.levels
    assert words is None
    at = 0
    for own in levels:
        part = made.coef_[at : at + len(own)]
        rounded = LEVEL_UNIT * np.rint(np.array(own) / LEVEL_UNIT)
        np.testing.assert_allclose(part, part[-2] / rounded[-2] * rounded, rtol=1e-12)
        at += len(own)
    privcurve.save(tmp_path / "model.json", made)
    assert "levels" not in (tmp_path / "model.json").read_text()
    again = privcurve.load(tmp_path / "model.json")
    assert np.array_equal(again.predict_proba(X), made.predict_proba(X))


def test_numbers_learn_what_is_linear_in_numbers():
    X, y = frame(3000)
    scores = {}
    for inputs in ("codes", "numbers"):
        made = BoostedAdaSSPClassifier(epsilon=1.0, inputs=inputs, schema=schema(), random_state=3)
        scores[inputs] = made.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])
    assert scores["numbers"] > 0.75
    # Fewer inputs have less noise.
    assert scores["numbers"] > scores["codes"] - 0.02


def test_codes_are_the_default_and_entries_give_levels_to_learners_that_take_them():
    entry = registry.entry("boosted_adassp")
    assert entry.complete({})["inputs"] == "codes"
    assert "levels" in entry.takes
