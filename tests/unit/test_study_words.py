"""Optional keys of a study: the effect of each, and one message for misuse."""

import dataclasses
import math
import re

import pytest
from small_study import dataset_stub, study_with

from privcurve import datasets
from privcurve.experiments import readiness, study
from privcurve.experiments.curves import curves_of
from privcurve.experiments.runs import RunIds
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE

HOLDOUTS = {"holdout": 0.25, "repeats": 4}
BOOST = {"learner": "lazybb", "grid": {"n_rounds": [5, 9]}}


def study_of_boost(learners=None, **changes):
    plain = {"folds": None, "repeats": None} if "splits" in changes else {}
    return study_with(
        learners or {"boost": BOOST}, "s", **{**plain, "epsilons": [0.5, 1], **changes}
    )


def jobs(one, method=None):
    by_method = {each.method.name: each for each in curves_of(one, 1, 30)}
    return by_method[method or next(iter(one.methods))]


def ids(one, method):
    maker = RunIds(dataset_stub("toy-line"), "c", one.methods[method], 1)
    return {
        name for p in one.methods[method].points for name in maker.names(p, one.selection_splits)
    }


def offer(monkeypatch, *relations):
    """Let the booster offer more neighbouring relations."""
    entry = dataclasses.replace(registry.entry("lazybb"), neighbours=relations)
    monkeypatch.setattr(registry, "LEARNERS", {**registry.LEARNERS, "lazybb": entry})


def test_keys_at_their_defaults_change_no_id_and_no_digest():
    plain = study_of_boost()
    result = study_of_boost(
        neighbours=REPLACE_ONE,
        train_shares=[1],
        metric="accuracy",
        select="best",
        outputs=["accuracy", {"selected_settings": None}, "learning_curves"],
    )
    assert list(result.methods) == list(plain.methods)
    assert result.outputs == plain.outputs
    before, after = jobs(plain), jobs(result)
    assert ids(plain, "boost~proved") == ids(result, "boost~proved")
    assert before.digests == after.digests
    assert before.digest == after.digest


@pytest.mark.parametrize(
    "changes",
    [
        {"train_shares": [0.5]},
        {"splits": HOLDOUTS},
        {"splits": {"folds": 3}, "select": "all", "outputs": ["runs"]},
        {"select": "all", "outputs": ["runs"]},
    ],
)
def test_keys_that_change_the_runs_change_the_digest(changes):
    assert jobs(study_of_boost()).digests != jobs(study_of_boost(**changes)).digests


def test_a_metric_is_a_reason_to_select_again_and_not_to_train():
    plain, other = jobs(study_of_boost()), jobs(study_of_boost(metric="auc"))
    assert plain.digests[plain.grid_name] == other.digests[other.grid_name]
    assert plain.digest != other.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": None}, "give 'folds' and 'repeats', or 'splits', for example"),
        ({"folds": 3, "splits": HOLDOUTS}, "'folds' is given with 'splits'"),
        ({"splits": {"holdout": 0.1}}, "give either 'holdout' and 'repeats', or 'folds'"),
        ({"splits": {**HOLDOUTS, "folds": 3}}, "give either 'holdout' and 'repeats', or 'folds'"),
        ({"splits": {"holdout": float("nan"), "repeats": 2}}, "splits: holdout must be a share"),
        ({"splits": {"folds": 3}}, "splits: folds alone need 'select: all'"),
        ({"select": "all"}, "'select: all' needs 'outputs'"),
        (
            {"select": "all", "outputs": ["a"], "finalists": {"settings": 2, "draws": 1}},
            "'finalists' are a second round",
        ),
        ({"select": "all", "outputs": ["a"], "metric": "auc"}, "'metric' selects"),
    ],
)
def test_contradicting_keys_are_named(changes, message):
    with pytest.raises(study.StudyError, match=f"^s.yaml: .*{re.escape(message)}"):
        study_of_boost(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": {"density": [0.5, math.nan]}}, "density must be a number in (0, 1]; got nan"),
        ({"epsilons": [1, 0.5, 1.0]}, "epsilon must be distinct; 1 occurs twice"),
        ({"deltas": [1e-5, 1e-5]}, "delta must be distinct; 1e-05 occurs twice"),
        ({"vary": {"density": []}}, "vary: axis 'density' must have a value"),
        ({"vary": {"density": [0.5, 0.5]}}, "vary: density must have distinct values"),
        ({"vary": {"densty": [0.5]}}, "no parameter 'densty'; did you mean 'density'"),
        ({"vary": {"n_rounds": [5]}}, "'n_rounds' must be under 'vary', 'fixed' or 'grid'"),
        ({"vary": {"density": ["a/b"]}}, "which name the curves; got 'a/b'"),
        (
            {"neighbours": ADD_REMOVE},
            "lazybb offers neighbours = 'replace-one' or 'private-columns', not 'add-remove'",
        ),
        ({"learner": "majority_class", "grid": {}, "neighbours": REPLACE_ONE}, "is not private"),
    ],
)
def test_a_value_that_a_learner_does_not_offer_is_named(changes, message):
    with pytest.raises(study.StudyError, match=f"^s.yaml: learners: boost: .*{re.escape(message)}"):
        study_of_boost({"boost": {**BOOST, **changes}})


@pytest.mark.parametrize(
    ("shares", "message"),
    [([0], "must be in (0, 1]; got 0"), ([2], "got 2"), ([0.5, 0.5], "occurs twice")],
)
def test_shares_are_checked(shares, message):
    with pytest.raises(study.StudyError, match=re.escape(message)):
        study_of_boost(train_shares=shares)


def test_a_varied_value_is_a_method_of_its_own():
    vary = {"learning_rate": [0.25, 0.5], "mechanism": ["auto", "exponential"]}
    one = study_of_boost(
        {"boost": {**BOOST, "vary": vary, "deltas": [1e-5]}}, train_shares=[0.1, 1]
    )
    assert len(one.methods) == 2 * 2 * 2
    base = "boost~proved~delta=1e-05"
    name = f"{base}~learning_rate=0.25~mechanism=exponential"
    all_rows, part = one.methods[name], one.methods[f"{name}~train_share=0.1"]
    assert {method.base for method in one.methods.values()} == {base}
    assert {method.base_title for method in one.methods.values()} == {"LazyBB, 1-rules"}
    axes = {"learning_rate": 0.25, "mechanism": "exponential"}
    assert all_rows.varied == {**axes, "train_share": 1.0}
    assert part.varied == {**axes, "train_share": 0.1}
    assert part.title.endswith("learning_rate = 0.25, mechanism = exponential, train_share = 0.1")
    assert [s["n_rounds"] for s in all_rows.settings] == [5, 9]
    assert all(s["learning_rate"] == 0.25 for s in all_rows.settings)
    assert not ids(one, all_rows.name) & ids(one, part.name)


def test_varied_runs_match_a_grid():
    grid = study_of_boost({"boost": {**BOOST, "grid": {"n_rounds": [5, 9], "density": [0.25]}}})
    vary = study_of_boost({"boost": {**BOOST, "vary": {"density": [0.25]}}})
    assert ids(grid, "boost~proved") == ids(vary, "boost~proved~density=0.25")


def test_a_relation_reaches_the_learner_and_the_id_where_it_is_not_the_default(monkeypatch):
    plain = ids(study_of_boost(), "boost~proved")
    offer(monkeypatch, REPLACE_ONE, PRIVATE_COLUMNS)
    for relation, expected in (
        (None, None),
        (REPLACE_ONE, None),
        (PRIVATE_COLUMNS, PRIVATE_COLUMNS),
    ):
        one = study_of_boost(neighbours=relation)
        method = one.methods["boost~proved"]
        assert method.relation == (relation or REPLACE_ONE)
        assert method.claim == (relation or REPLACE_ONE)
        assert (ids(one, method.name) == plain) == (expected is None)


def test_a_learner_without_privacy_gets_the_public_columns():
    learners = {"boost": BOOST, "lr": {"learner": "logistic_regression"}}
    assert study_of_boost(learners).methods["lr"].claim == REPLACE_ONE
    method = study_of_boost(learners, neighbours=PRIVATE_COLUMNS).methods["lr"]
    assert (method.claim, method.relation) == (PRIVATE_COLUMNS, None)
    with pytest.raises(study.StudyError, match="has no 'neighbours'"):
        study_of_boost({"lr": {"learner": "logistic_regression", "neighbours": PRIVATE_COLUMNS}})


def test_a_learner_with_a_stronger_relation_runs_unchanged():
    learners = {"boost": BOOST, "bag": {"learner": "dp_bagging"}, "pate": {"learner": "pate"}}
    one = study_of_boost(learners, neighbours=PRIVATE_COLUMNS)
    assert one.methods["boost~proved"].relation == PRIVATE_COLUMNS
    assert one.methods["bag~proved"].relation == REPLACE_ONE
    # The learner's own relation changes no id, but is printed.
    assert one.methods["pate~proved"].neighbours is None
    assert one.methods["pate~proved"].claim == PRIVATE_COLUMNS


def notes(one, **domain):
    about = datasets.describe("toy-line")
    changed = dataclasses.replace(about.domain, **domain)
    return list(
        study.notes(one, {"toy-line": dataclasses.replace(about, domain=changed)}, "s.yaml")
    )


def test_public_facts_must_be_declared_public():
    with pytest.raises(study.StudyError, match="no learner of the study offers 'private-columns'"):
        notes(study_of_boost({"bag": {"learner": "dp_bagging"}}, neighbours=PRIVATE_COLUMNS))
    one = study_of_boost(neighbours=PRIVATE_COLUMNS)
    with pytest.raises(study.StudyError, match=r"on toy-line: .*yaml does not declare its label"):
        notes(one)
    about = datasets.describe("toy-line").domain
    label = dataclasses.replace(about.label, public=True)
    columns = tuple(dataclasses.replace(column, public=True) for column in about.columns)
    with pytest.raises(study.StudyError, match="so nothing is private"):
        notes(one, label=label, columns=columns)
    private = tuple(dataclasses.replace(column, public=False) for column in about.columns)
    assert notes(one, label=label, columns=private) == []


def test_a_delta_that_reveals_a_record_gives_a_warning():
    n_rows = datasets.describe("toy-line").n_rows
    spec = {**BOOST, "deltas": [0, 0.5 / n_rows, 1 / n_rows]}
    (note,) = notes(study_of_boost({"boost": spec}))
    assert note.startswith(f"s.yaml: boost~proved~delta={1 / n_rows:g}: ")
    assert "is not private on toy-line" in note


def test_the_jobs_of_each_way_of_selecting():
    two, lone = {"boost": BOOST}, {"boost": {**BOOST, "grid": {"n_rounds": [5]}}}
    one = jobs(study_of_boost(two, splits=HOLDOUTS))
    assert [split.fold for split in one.splits] == [f"{k}@0.25" for k in range(1, 5)]
    assert one.selects
    assert one.n_grid
    assert list(one.fresh) == one.fresh_splits
    # A single setting is used directly; with folds the tables have its cross-validation.
    assert jobs(study_of_boost(lone, splits=HOLDOUTS)).n_grid == 0
    assert jobs(study_of_boost(lone)).n_grid
    everything = jobs(study_of_boost(two, splits={"folds": 3}, select="all", outputs=["runs"]))
    assert everything.n_grid
    assert everything.fresh == ()
    assert everything.splits == jobs(study_of_boost()).splits
    assert not everything.selects
    # With folds and repeats, all runs equal runs of the selected setting elsewhere.
    runs = jobs(study_of_boost(two, select="all", outputs=["runs"]))
    assert runs.splits == study_of_boost().fresh_splits(has_test=False)


def test_estimates_are_of_the_rows_that_a_share_leaves():
    one = study_of_boost(train_shares=[0.1, 1])
    all_rows, part = (jobs(one, f"boost~proved{s}") for s in ("", "~train_share=0.1"))
    n_rows, *others = all_rows.shape
    assert part.shape == (n_rows // 10, *others)
    assert part.seconds < all_rows.seconds


def test_too_few_records_and_missing_probabilities_are_reported_before_training():
    data = datasets.load("toy-line")
    for changes in ({}, {"splits": HOLDOUTS}, {"metric": "auc"}, {"train_shares": [0.001, 1]}):
        readiness.check(study_of_boost(**changes), data)
    with pytest.raises(ValueError, match=r"train_shares must be ≥ .* got 1e-05"):
        readiness.check(study_of_boost(train_shares=[1e-5, 1]), data)
    # This file tells Snakemake to repeat the check.
    shares = (None, [1], [0.1, 1], [1e-5, 1])
    words = [study_of_boost(train_shares=each).resampling for each in shares]
    assert study_of_boost(metric="log_loss").resampling == (3, 0.0, "log_loss", "lazybb")
    assert words == [3, 3, (3, 0, "accuracy", 0.1), (3, 0, "accuracy", 1e-5)]
    one_positive = dataclasses.replace(data, y=data.y.copy())
    one_positive.y[:] = -1
    one_positive.y[0] = 1
    with pytest.raises(ValueError, match="each label must have two"):
        readiness.check(study_of_boost(splits=HOLDOUTS), one_positive)
    with pytest.raises(ValueError, match=r"lazybb \(boost~proved\) has none"):
        readiness.check(study_of_boost(metric="log_loss"), data)
    readiness.check(
        study_of_boost({"lr": {"learner": "logistic_regression"}}, metric="log_loss"), data
    )


def test_public_columns_of_a_learner_need_the_relation():
    regression = {"learner": "logistic_regression", "fixed": {"columns": "public"}}
    with pytest.raises(
        study.StudyError, match="needs to know for columns = 'public' which columns"
    ):
        study_of_boost({"lr": regression})
    boosted = {**BOOST, "fixed": {"start": "public"}}
    for changes in ({}, {"neighbours": REPLACE_ONE}):
        with pytest.raises(study.StudyError, match="lazybb needs to know for start = 'public'"):
            study_of_boost({"boost": {**boosted, **changes}})
    one = study_of_boost({"lr": regression, "boost": boosted}, neighbours=PRIVATE_COLUMNS)
    assert one.methods["boost~proved"].relation == PRIVATE_COLUMNS


def test_answers_that_are_not_paid_for_are_reported_before_training():
    data = datasets.load("toy-line-fine")

    def study_of(n_answers):
        pate = {"learner": "pate", "grid": {"n_answers": [None, n_answers]}}
        return study_of_boost(
            {"pate": pate}, datasets=["toy-line-fine"], neighbours=PRIVATE_COLUMNS, folds=4
        )

    # 1,500 training records and 500 distinct test points.
    readiness.check(study_of(2000), data)
    with pytest.raises(ValueError, match=r"pate: n_answers must be at least .* for 1500 training"):
        readiness.check(study_of(1999), data)
