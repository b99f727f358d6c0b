"""Test every learner with wrong, rare or missing input."""

import math

import numpy as np
import pandas as pd
import pytest
from made_learners import (
    DOMAIN,
    each_learner,
    make_learner,
    parameter_changes,
    required_parameters,
    small_problem,
    small_sizes,
)

from privcurve.learners.entry import ANY
from privcurve.learners.registry import LEARNERS, entry
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE


@each_learner
def test_public_facts_are_checked(name):
    X, y, n_bins = small_problem(40)
    for wrong, message in (
        # A fit never derives the domain from the rows.
        ({"n_bins": None}, "n_bins"),
        ({"n_bins": [2, 5, 3, 10.9]}, "n_bins must be whole numbers"),
        ({"n_bins": "10"}, "n_bins must be whole numbers"),
        ({"n_bins": [2, 5]}, "n_bins must have an entry for each of the 4 columns of X; it has 2"),
        ({"bounds": "05"}, "bounds must be a pair"),
        ({"bounds": ("0", "5")}, "bounds must be a pair"),
        ({"bounds": (0, 5, 6)}, "bounds must be a pair"),
        (
            {"bounds": (0, [5, 6])},
            "bounds must have an entry for each of the 4 columns of X; they have 2",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            make_learner(name, **{"n_bins": n_bins, **wrong}).fit(X, y)


@each_learner
def test_every_row_needs_a_label(name):
    X, y, n_bins = small_problem(40)
    for nothing in (None, float("nan"), pd.NA, pd.NaT):
        labels = y.astype(object)
        labels[7] = nothing
        for classes in (None, ("no", "yes")):
            with pytest.raises(
                ValueError, match=f"y must have a label in every row; got {nothing} in row 7"
            ):
                make_learner(name, n_bins=n_bins, classes=classes).fit(X, labels)


@each_learner
def test_columns_named_by_numbers_are_not_read_by_position(name):
    X, y, n_bins = small_problem(40)
    frame = pd.DataFrame(X)
    for other in (frame[[1, 0, 2, 3]], frame.rename(columns=lambda number: number + 1)):
        with pytest.raises(ValueError, match=r"the columns of X are called 1, .* in their order"):
            make_learner(name, n_bins=n_bins).fit(other, y)


@each_learner
def test_a_mask_is_not_lost(name):
    X, y, n_bins = small_problem(40)
    for masked in (
        {"X": np.ma.array(X, mask=X == 1)},
        {"y": np.ma.array(y, mask=y == y[0])},
        {"counts": np.ma.array(np.ones(40, dtype=int), mask=np.arange(40) == 3)},
    ):
        given = {"X": X, "y": y, **masked}
        with pytest.raises(ValueError, match=f"{next(iter(masked))} must not have masked values"):
            make_learner(name, n_bins=n_bins).fit(**given)


def test_names_and_masks_are_checked_again_to_predict():
    X, y, n_bins = small_problem(40)
    frame, nothing_masked = pd.DataFrame(X), np.ma.array(X, mask=np.zeros_like(X))
    model = make_learner("privgam", n_bins=n_bins).fit(frame, y)
    assert np.array_equal(model.predict(frame), model.predict(nothing_masked))
    with pytest.raises(ValueError, match="the columns of X are called 3, 2, 1, 0"):
        model.predict(frame[[3, 2, 1, 0]])
    with pytest.raises(ValueError, match="X must not have masked values"):
        model.predict(np.ma.array(X, mask=X == 1))


@each_learner
def test_a_parameter_without_effect_is_refused(name):
    X, y, n_bins = small_problem(40)
    for key, one in entry(name).parameters.items():
        for other, values in one.used_with.items():
            unlike = entry(name).parameters[other]
            apart = [v for v in unlike.choices or (3,) if v not in values]
            values_of = [v for v in (*one.choices, 2, 0.5, 0.25) if one.admits(v)]
            value = next(v for v in values_of if v != one.default)
            for setting in ({key: value, other: v} for v in apart):
                with pytest.raises(ValueError, match=f"{key} = .* has no effect with {other}"):
                    make_learner(name, n_bins=n_bins, **setting).fit(X, y)


@each_learner
def test_a_value_that_another_calibration_offers_is_refused(name):
    X, y, n_bins = small_problem(40)
    for key, one in entry(name).parameters.items():
        for restricted, calibration in one.only.items():
            values = (*one.choices, 2, 0.5) if restricted == ANY else (restricted,)
            value = next(v for v in values if one.admits(v) and v != one.default)
            setting = {**required_parameters(name, {key: value}), key: value}
            for other in {*entry(name).calibrations} - {calibration}:
                result = f"{key} = .* needs calibration = '{calibration}'"
                with pytest.raises(ValueError, match=result):
                    make_learner(name, n_bins=n_bins, **{**setting, "calibration": other}).fit(X, y)


@each_learner
def test_a_parameter_beyond_its_bounds_is_refused(name):
    X, y, n_bins = small_problem(40)
    for key, one in entry(name).parameters.items():
        if one.structure:
            continue
        step = 1 if one.kind is int else 1e-9
        ends = ((one.low, one.open_low, -step), (one.high, one.open_high, step))
        beyond = [end if out else end + by for end, out, by in ends if math.isfinite(end)]
        for value in (*beyond, math.nan, True, "no such choice", *(1.5,) * (one.kind is int)):
            assert not one.admits(value)
            with pytest.raises(ValueError, match=f"{name}: {key} must be .*; got"):
                make_learner(name, n_bins=n_bins, **{key: value}).fit(X, y)
        for end, left_out, _ in ends:
            assert math.isinf(end) or one.admits(end) != left_out


@each_learner
def test_a_whole_number_may_have_a_point(name):
    X, y, n_bins = small_problem(40)
    parameters = entry(name).parameters.items()
    numbers = {key: one.default for key, one in parameters if one.kind is int and one.default}
    numbers |= {key: value for key, value in small_sizes(name).items() if key in numbers}
    scores = [
        make_learner(
            name, n_bins=n_bins, random_state=0, **{key: kind(numbers[key]) for key in numbers}
        )
        .fit(X, y)
        .decision_function(X)
        for kind in (int, float)
    ]
    np.testing.assert_array_equal(*scores)


@each_learner
def test_codes_outside_the_domain_are_an_error(name):
    X, y, n_bins = small_problem()
    outside = X.copy()
    outside[3, 2] = 3
    with pytest.raises(ValueError, match=r"codes of column 2 must be below its n_bins, .*; got 3"):
        make_learner(name, n_bins=n_bins).fit(outside, y)
    model = make_learner(name, n_bins=n_bins, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"codes of column 2 must be below its n_bins, .*; got 3"):
        model.predict(outside)
    with pytest.raises(ValueError, match="codes"):
        model.predict(X + 0.5)
    with pytest.raises(ValueError, match="codes"):
        model.predict(X.astype(int) - 1)


@each_learner
def test_codes_that_never_occurred_are_scored(name):
    X, y, n_bins = small_problem()
    seen = X[:, 3] != 4
    model = make_learner(name, n_bins=n_bins, random_state=0).fit(X[seen], y[seen])
    assert set(model.predict(X[~seen])) <= {"no", "yes"}


@each_learner
def test_numbers_outside_the_bounds_are_clipped(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] > 0
    model = make_learner(name, **DOMAIN, random_state=0).fit(X, y)
    far = np.array([[1e9, -1e9, 0.0]])
    near = np.clip(far, -5, 5)
    assert np.array_equal(model.decision_function(far), model.decision_function(near))


@each_learner
def test_weights_of_records_are_refused_with_what_to_give(name):
    X, y, n_bins = small_problem(20)
    learner = make_learner(name, n_bins=n_bins)
    with pytest.raises(TypeError, match=f"{name} has no sample_weight: .* give counts="):
        learner.fit(X, y, sample_weight=np.ones(20))
    with pytest.raises(TypeError, match=f"{name}: fit has only X, y and counts; got groups"):
        learner.fit(X, y, groups=y)


@each_learner
def test_one_class(name):
    X, _, n_bins = small_problem(40)
    y = np.full(40, "yes")
    with pytest.raises(ValueError, match="one class"):
        make_learner(name, n_bins=n_bins).fit(X, y)
    with pytest.raises(ValueError, match=r"y must have labels of classes=.* got 'yes'"):
        make_learner(name, n_bins=n_bins, classes=("no", "maybe")).fit(X, y)
    with pytest.raises(ValueError, match="two different labels"):
        make_learner(name, n_bins=n_bins, classes=("no", "no")).fit(X, y)
    model = make_learner(name, n_bins=n_bins, classes=("no", "yes"), random_state=0).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}


@each_learner
def test_very_few_records(name):
    for n in (1, 2, 3):
        X, _, n_bins = small_problem(n)
        y = np.array(["no", "yes", "yes"])[:n]
        model = make_learner(name, n_bins=n_bins, classes=("no", "yes"), random_state=0).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all(), n


ADDED = [name for name in LEARNERS if ADD_REMOVE in entry(name).neighbours]


def added(name):
    """Return the parameters that choose add-remove, if a learner also has replace-one."""
    if REPLACE_ONE not in entry(name).neighbours:
        return {}
    takes = "n_estimate" in entry(name).parameters
    return {"neighbours": ADD_REMOVE} | ({"n_estimate": 50} if takes else {})


@pytest.mark.parametrize("name", ADDED)
def test_no_record_gives_a_model_of_noise_where_one_may_be_added(name):
    """An empty table must give a model, because a neighbouring table with one record does."""
    X, _, n_bins = small_problem(50)
    adding = added(name)
    with pytest.raises(ValueError, match="y must have two classes; it has no label"):
        make_learner(name, n_bins=n_bins, **adding).fit(X[:0], [])
    for change in [{}, *parameter_changes(name)]:
        options = {"n_bins": n_bins, "classes": ("no", "yes"), "epsilon": 1.0, **adding, **change}
        drawn = set()
        for seed in range(8):
            model = make_learner(name, **{**options, "random_state": seed}).fit(X[:0], [])
            scores = model.decision_function(X)
            assert np.isfinite(scores).all(), change
            assert set(model.predict(X)) <= {"no", "yes"}
            relation = ADD_REMOVE if model.privacy_.private else REPLACE_ONE
            assert model.privacy_.neighbours == relation
            drawn.add(scores.tobytes())
        # The models of two libraries are not random without records of both labels; their
        # statements exclude this case.
        excluded = any("both labels" in one for one in model.privacy_.exclusions)
        assert len(drawn) > 1 or not model.privacy_.private or excluded, change


REPLACED = [name for name in LEARNERS if REPLACE_ONE in entry(name).neighbours]


@pytest.mark.parametrize("name", REPLACED)
def test_no_record_is_an_error_where_their_number_is_public(name):
    X, _, n_bins = small_problem(4)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        make_learner(name, n_bins=n_bins, classes=("no", "yes")).fit(X[:0], [])
