"""Studies: the keys of a file, and the methods and curves that follow from them."""

import math
import re
from pathlib import Path

import pytest
from small_study import study_mapping, study_with

from privcurve.datasets import describe
from privcurve.experiments import canonical, study
from privcurve.experiments.study import StudyError
from privcurve.workflow.reading import study_files

SHIPPED = study_files({}, Path(__file__).parents[2])


LEARNERS = {
    "boost": {
        "learner": "lazybb",
        "calibrations": ["proved", "published"],
        "fixed": {"weak_learner": "one_rule"},
        "grid": {"n_rounds": [5, 9], "density": [0.25, 0.5, 1]},
    },
    "majority": {"learner": "majority_class"},
}


def boost(**changes):
    return study_mapping({"boost": {"learner": "lazybb", "grid": {"n_rounds": [5]}, **changes}})


def two_learners(name="other", **changes):
    """Return a study with two learners, the second with its own title and numbers."""
    spec = {"learner": "lazybb", "grid": {"n_rounds": [5]}}
    boosted = {**spec, "title": "LazyBB", "epsilons": [0.3, 1]}
    return study_mapping({"boost": boosted, name: {**spec, "title": "other", **changes}})


def test_methods_and_points_are_the_full_product():
    made = study_with(LEARNERS, "s")
    assert list(made.methods) == ["boost~proved", "boost~published", "majority"]
    assert len(made.methods["boost~proved"].points) == 2 * 2 * 3
    assert made.methods["majority"].epsilons == (math.inf,)
    assert made.methods["majority"].calibration is None
    assert all(s["weak_learner"] == "one_rule" for s in made.methods["boost~published"].settings)
    assert made.figure == "s"


def test_keys_without_effect_may_be_at_their_default():
    made = study.from_mapping(boost(fixed={"depth": 3, "leaves": "labels"}), "s", "s.yaml")
    assert made.methods["boost~proved"].settings == (
        {"depth": 3, "leaves": "labels", "n_rounds": 5},
    )


def test_shipped_studies_are_allowed():
    for path in SHIPPED.values():
        made = study.load(path)
        assert made.studies or made.methods, path


def test_estimator_parameters_hold_the_budget_for_private_learners_only():
    made = study_with(LEARNERS)
    method = made.methods["boost~published"]
    parameters = method.estimator_parameters(method.points[0], None)
    assert parameters["epsilon"] == 0.5
    assert parameters["calibration"] == "published"
    majority = made.methods["majority"]
    assert majority.estimator_parameters(majority.points[0], None) == {}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (boost(learner="lazyb"), "did you mean 'lazybb'"),
        (boost(grid={"n_round": [5]}), "did you mean 'n_rounds'"),
        (boost(grid={"n_rounds": [2.5]}), "n_rounds must be a whole number in [1, 1e+09]; got 2.5"),
        (boost(grid={"n_rounds": []}), "axis 'n_rounds' must have a value"),
        (boost(grid={"n_rounds": [5, 5.0]}), "n_rounds must be distinct; 5 occurs twice"),
        (boost(fixed={"n_rounds": 5}), "must be under 'fixed' or 'grid'"),
        (boost(fixed={"depth": 2}), "depth = 2 has no effect with weak_learner = 'one_rule'"),
        (
            boost(fixed={"weak_learner": "topdown", "n_splits": 4, "depth": 2}),
            "depth = 2 has no effect with n_splits = 4: leave it out, or give n_splits = None",
        ),
        (study_mapping({"m": {"learner": "majority_class", "epsilons": [1]}}), "not private"),
        (study_mapping(LEARNERS, epsilons=None), "epsilons must be a list of ε; add it"),
        (
            study_mapping(LEARNERS, epsilons=[0.3, 0.1 + 0.2]),
            "epsilon must be distinct; 0.3 and 0.30000000000000004 differ only",
        ),
        (
            two_learners(epsilons=[0.1 + 0.2]),
            "other: epsilon must be distinct; 0.3 and 0.30000000000000004 differ only",
        ),
        (
            two_learners(title=" Lazybb "),
            "is also the title of boost~proved. Give one of them another title",
        ),
        (two_learners("Boost"), "Boost: name must differ from boost~proved"),
    ],
)
def test_invalid_keys_are_named(raw, message):
    with pytest.raises(study.StudyError, match=f"^s.yaml: learners: .*{re.escape(message)}"):
        study.from_mapping(raw, "s", "s.yaml")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.05, "0.05"),
        (1.0, "1"),
        (1e-5, "1e-05"),
        (math.inf, "inf"),
        (3, "3"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_numbers_are_written_in_one_way(value, written):
    assert canonical.number(value) == written


def test_curves_that_legends_tell_apart_may_have_one_title():
    # Settings by rule; best of a grid; another calibration; with δ; on a share of the data.
    others = [{"grid": {"n_rounds": [5, 9]}}, {"calibrations": ["published"]}, {"deltas": [1e-5]}]
    for changes in others:
        assert (
            len(study.from_mapping(two_learners(title="LazyBB", **changes), "s", "s.yaml").methods)
            == 2
        )
    assert len(study.from_mapping(boost(deltas=[0, 1e-5]), "s", "s.yaml").methods) == 2
    # Without selection, the label does not mention the grid.
    without_folds = {
        key: value for key, value in two_learners().items() if key not in ("folds", "repeats")
    }
    without_folds |= {"select": "all", "splits": {"folds": 3}, "outputs": ["accuracy"]}
    without_folds["learners"]["other"] |= {"title": "LazyBB", "grid": {"n_rounds": [5, 9]}}
    with pytest.raises(study.StudyError, match="other: title must be unique"):
        study.from_mapping(without_folds, "s", "s.yaml")


def test_curves_that_only_their_learner_names_are_reported():
    plain = {"learner": "majority_class"}
    made = study_with({"one": plain, "other": plain, "last": {**plain, "title": "last"}})
    descriptions = {"toy-line": describe("toy-line")}
    assert list(study.notes(made, descriptions, "s.yaml")) == [
        "s.yaml: learners: one, other: all have the title 'Majority class'; "
        "give each a title of its own"
    ]


def test_canonical_text_ignores_order_and_number_type():
    assert canonical.text({"b": 1.0, "a": 0.5}) == canonical.text({"a": 0.5, "b": 1})


def test_many_texts_keep_their_digest():
    pairs = [("1", '{"a":1}'), ("inf", "ä")]
    others = ("lazybb", None, 1e-6, 5, (0.2, 10), {"b": 1.0})
    assert canonical.digest_of_texts(pairs, *others) == canonical.digest([pairs, *others])
    assert canonical.digest_of_texts([], 1) == canonical.digest([[], 1])


def test_an_unknown_metric_is_named_with_the_known_ones():
    with pytest.raises(
        StudyError, match=r"s.yaml: metric must be one of: accuracy, .*; got 'precision'"
    ):
        study.from_mapping(study_mapping(LEARNERS, metric="precision"), "s", "s.yaml")
    assert study.from_mapping(study_mapping(LEARNERS, metric="brier"), "s", "s.yaml").shows("brier")
