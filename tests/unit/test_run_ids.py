"""Runs: ids, splits and random streams."""

import dataclasses

import numpy as np
import pytest
from small_study import dataset_stub, study_with

from privcurve.experiments import canonical, runs, study
from privcurve.experiments.curves import curves_of
from privcurve.experiments.splits import Split, fold_splits, partition_generator
from privcurve.learners import registry

METHOD = study.Method(
    name="boost~proved",
    learner="lazybb",
    title="boost",
    calibration="proved",
    delta=0.0,
    epsilons=(0.5, 1.0),
    settings=tuple({"n_rounds": n, "density": d} for n in (5, 9, 15) for d in (0.25, 0.5)),
)
SPLIT = Split("1/5", 0)
WDBC, MIXED = dataset_stub("wdbc"), dataset_stub("wdbc", mixed=True)


def ids(method=METHOD, dataset="wdbc", checksum="c", seed=1, splits=(SPLIT,)):
    maker = runs.RunIds(dataset_stub(dataset), checksum, method, seed)
    return {maker.run(point, split).id for point in method.points for split in splits}


def test_ids_are_distinct_and_depend_on_each_part_of_the_key():
    base = ids()
    assert len(base) == len(METHOD.points)
    for other in (
        ids(dataset="adult"),
        ids(checksum="d"),
        ids(seed=2),
        ids(dataclasses.replace(METHOD, calibration="published")),
        ids(dataclasses.replace(METHOD, delta=1e-5)),
        ids(splits=[Split("2/5", 0)]),
        ids(splits=[Split("1/5", 1)]),
    ):
        assert not base & other


def test_an_id_is_the_digest_of_its_key():
    # Stored results of all users depend on these ids.
    for method, epsilon in (
        (METHOD, 0.5),
        (dataclasses.replace(METHOD, calibration=None, delta=1e-5), 1),
    ):
        point = next(p for p in method.points if p.epsilon == epsilon)
        key = {
            "dataset": "wdbc",
            "checksum": "c",
            "learner": "lazybb",
            "version": registry.entry("lazybb").version,
            "calibration": method.calibration and "certified",
            "delta": method.delta,
            "seed": 1,
            "epsilon": point.epsilon,
            "setting": point.text,
            "fold": "1/5",
            "repeat": 0,
        }
        assert runs.RunIds(WDBC, "c", method, 1).run(point, SPLIT).id == canonical.digest(key)


def test_ids_of_merged_mixed_bins_hold_how_many_there_are(monkeypatch):
    """Before learners of few bins merged bins, their results came from other models."""
    on_equal = runs.RunIds(WDBC, "c", METHOD, 1)
    on_mixed = runs.RunIds(MIXED, "c", METHOD, 1)
    for point in METHOD.points:
        assert on_equal.run(point, SPLIT).id != on_mixed.run(point, SPLIT).id
    first = on_mixed.run(METHOD.points[0], SPLIT).id
    fewer = dataclasses.replace(registry.entry("lazybb"), few_bins=4)
    monkeypatch.setitem(registry.LEARNERS, "lazybb", fewer)
    assert runs.RunIds(MIXED, "c", METHOD, 1).run(METHOD.points[0], SPLIT).id != first
    assert runs.RunIds(WDBC, "c", METHOD, 1).run(METHOD.points[0], SPLIT).id == (
        on_equal.run(METHOD.points[0], SPLIT).id
    )
    # A learner that uses all bins keeps its id.
    fine = dataclasses.replace(METHOD, learner="privgam", settings=({},))
    ids = [
        runs.RunIds(dataset, "c", fine, 1).run(fine.points[0], SPLIT).id
        for dataset in (MIXED, WDBC)
    ]
    assert ids[0] == ids[1]


def test_ids_of_more_classes_hold_the_version_of_such_fits():
    gam = dataclasses.replace(METHOD, learner="privgam", settings=({},))
    own = registry.entry("privgam").class_version
    for method, text in ((METHOD, {}), (gam, {"privgam": own})):
        assert method.class_versions(method.settings[0]) == text
        ids = [
            runs.RunIds(dataset, "c", method, 1).run(method.points[0], SPLIT).id
            for dataset in (dataset_stub("wdbc", n_classes=3), WDBC)
        ]
        assert (ids[0] == ids[1]) == (not text)


def test_files_of_merged_mixed_bins_differ_from_earlier_files(write_dataset):
    bounds = {"bounds": [0, 120], "n_bins": 64, "spacing": "mixed"}
    learners = {"rules": {"learner": "one_rule"}, "gam": {"learner": "privgam"}}
    content = {"title": "t", "datasets": ["mine"], "epsilons": [1], "folds": 5, "repeats": 2}
    one = study.from_mapping({**content, "learners": learners}, "s", "s.yaml")
    digests = []
    for more in ({}, {"spacing": "equal"}):
        write_dataset(columns=[{"name": "age", "kind": "numeric", **bounds, **more}])
        digests.append([curve.digest for curve in curves_of(one, 1, 30)])
    (rules, gam), (rules_before, gam_before) = digests
    assert rules != rules_before
    assert rules == f"2 merged to 8 bins {rules_before.removeprefix('2 ')}"
    assert gam == gam_before


def test_ids_do_not_depend_on_the_method_name_or_the_rest_of_the_grid():
    grown = dataclasses.replace(
        METHOD,
        name="other",
        title="x",
        settings=({"density": 0.5, "n_rounds": 99}, *METHOD.settings),
    )
    assert ids() < ids(grown)


def test_many_classes_cost_more_where_the_registry_says_so():
    shape = 10_000, 20
    cost = registry.entry("logistic_regression").cost
    assert cost({}, *shape, 2) == cost({}, *shape)
    assert cost({}, *shape, 10) == pytest.approx(5 * cost({}, *shape))
    cost = registry.entry("majority_class").cost
    assert cost({}, *shape, 10) == cost({}, *shape)


def test_fresh_splits_use_new_partitions():
    made = study_with({"m": {"learner": "majority_class"}}, folds=5, repeats=10)
    splits = made.fresh_splits(has_test=False)
    assert [s.partition for s in splits] == [1] * 5 + [2] * 5
    assert [s.fold_number for s in splits] == [0, 1, 2, 3, 4] * 2
    assert {s.partition for s in fold_splits(5)} == {0}
    assert {s.fold for s in made.fresh_splits(has_test=True)} == {"test"}


def test_streams_differ_between_runs_and_repeat_for_the_same():
    maker = runs.RunIds(WDBC, "c", METHOD, 1)
    first = maker.run(METHOD.points[0], SPLIT)
    second = maker.run(METHOD.points[1], SPLIT)
    one, again, other = (maker.stream(run).random() for run in (first, first, second))
    assert one == again != other
    draws = [partition_generator("wdbc", "c", 5, p, 1).random() for p in range(3)]
    assert len(np.unique(draws)) == 3
