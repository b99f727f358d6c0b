"""Cells: ids, shards, splits and randomness."""

import dataclasses

import numpy as np
import pytest

from privcurve.datasets import describe
from privcurve.experiments import canonical, cells, study
from privcurve.experiments.jobs import Curve
from privcurve.experiments.shards import n_shards, shard_key, shard_of, shard_points
from privcurve.experiments.splits import Split, fresh_splits, partition_generator, selection_splits
from privcurve.learners import registry

ARM = study.Arm(
    name="boost~certified",
    learner="lazybb",
    title="boost",
    calibration="certified",
    delta=0.0,
    epsilons=(0.5, 1.0),
    settings=tuple({"n_rounds": n, "density": d} for n in (5, 9, 15) for d in (0.25, 0.5)),
)
STUDY = study.Study("s", "s", ("wdbc",), 5, 3, "s", {ARM.name: ARM})
SPLIT = Split("1/5", 0)


def digests(arm, shards):
    curve = Curve(STUDY, describe("wdbc"), arm, shards, 1)
    return [curve.shard_digest(shard) for shard in range(shards)]


def ids(arm=ARM, dataset="wdbc", checksum="c", seed=1, splits=(SPLIT,)):
    maker = cells.CellIds(dataset, checksum, arm, seed)
    return {maker.cell(point, split).id for point in arm.points for split in splits}


def test_ids_are_distinct_and_depend_on_each_part_of_the_key():
    base = ids()
    assert len(base) == len(ARM.points)
    for other in (
        ids(dataset="adult"),
        ids(checksum="d"),
        ids(seed=2),
        ids(dataclasses.replace(ARM, calibration="published")),
        ids(dataclasses.replace(ARM, delta=1e-5)),
        ids(splits=[Split("2/5", 0)]),
        ids(splits=[Split("1/5", 1)]),
    ):
        assert not base & other


def test_an_id_is_the_digest_of_its_key():
    # The stores of all users hang on this.
    for arm, epsilon in ((ARM, 0.5), (dataclasses.replace(ARM, calibration=None, delta=1e-5), 1)):
        point = next(p for p in arm.points if p.epsilon == epsilon)
        key = {
            "dataset": "wdbc",
            "checksum": "c",
            "learner": "lazybb",
            "version": registry.entry("lazybb").version,
            "calibration": arm.calibration,
            "delta": arm.delta,
            "seed": 1,
            "epsilon": point.epsilon,
            "setting": point.text,
            "fold": "1/5",
            "repeat": 0,
        }
        assert cells.CellIds("wdbc", "c", arm, 1).cell(point, SPLIT).id == canonical.digest(key)


def test_ids_do_not_depend_on_the_arm_name_or_the_rest_of_the_grid():
    grown = dataclasses.replace(
        ARM, name="other", title="x", settings=({"density": 0.5, "n_rounds": 99}, *ARM.settings)
    )
    assert ids() < ids(grown)


def test_a_version_raise_makes_new_cells(monkeypatch):
    before = ids()
    entry = registry.entry("lazybb")
    raised = dataclasses.replace(entry, version=entry.version + 1)
    monkeypatch.setattr(registry, "LEARNERS", {"lazybb": raised})
    assert not before & ids()


@pytest.mark.parametrize("n_shards", [1, 2, 8])
def test_shards_partition_the_points(n_shards):
    shards = [shard_points(ARM, shard, n_shards) for shard in range(n_shards)]
    found = [(p.epsilon, p.text) for points in shards for p in points]
    assert sorted(found) == sorted((p.epsilon, p.text) for p in ARM.points)
    for shard, points in enumerate(shards):
        assert {shard_of(ARM, point, n_shards) for point in points} <= {shard}


def test_a_grown_grid_changes_only_the_digests_of_touched_shards():
    grown = dataclasses.replace(ARM, settings=(*ARM.settings, {"n_rounds": 99, "density": 1}))
    touched = {shard_of(grown, p, 8) for p in grown.points}
    new = {shard_of(grown, p, 8) for p in grown.points if p.setting["n_rounds"] == 99}
    pairs = zip(digests(ARM, 8), digests(grown, 8), strict=True)
    changed = {shard for shard, (before, after) in enumerate(pairs) if before != after}
    assert changed == new
    assert changed < touched


def test_points_that_share_a_calibration_are_trained_by_one_job():
    for n_rounds in (5, 9, 15):
        for epsilon in ARM.epsilons:
            shards = {
                shard_of(ARM, p, 64)
                for p in ARM.points
                if p.epsilon == epsilon and p.setting["n_rounds"] == n_rounds
            }
            assert len(shards) == 1


def test_a_reordered_grid_changes_no_digest():
    turned = dataclasses.replace(ARM, settings=ARM.settings[::-1], epsilons=ARM.epsilons[::-1])
    assert digests(ARM, 1) == digests(turned, 1)


def test_the_number_of_shards_follows_the_cost():
    few = n_shards(ARM, 5, 1000, 10, seconds_per_job=1e9)
    many = n_shards(ARM, 5, 10**6, 10, seconds_per_job=0.05)
    assert few == 1
    # As many as there are keys to deal, at most: more would be empty.
    n_keys = len({shard_key(ARM, point) for point in ARM.points})
    assert many <= n_keys < 2 * many
    assert many & (many - 1) == 0


def test_many_classes_cost_more_where_the_registry_says_so():
    shape = 10_000, 20
    cost = registry.entry("logistic_regression").cost
    assert cost({}, *shape, 2) == cost({}, *shape)
    assert cost({}, *shape, 10) == pytest.approx(5 * cost({}, *shape))
    cost = registry.entry("majority_class").cost
    assert cost({}, *shape, 10) == cost({}, *shape)


def test_fresh_splits_use_new_partitions():
    splits = fresh_splits(5, 10, has_test=False)
    assert [s.partition for s in splits] == [1] * 5 + [2] * 5
    assert [s.fold_number for s in splits] == [0, 1, 2, 3, 4] * 2
    assert {s.partition for s in selection_splits(5)} == {0}
    assert {s.fold for s in fresh_splits(5, 10, has_test=True)} == {"test"}


def test_streams_differ_between_cells_and_repeat_for_the_same():
    maker = cells.CellIds("wdbc", "c", ARM, 1)
    first = maker.cell(ARM.points[0], SPLIT)
    second = maker.cell(ARM.points[1], SPLIT)
    assert cells.generator(first).random() == cells.generator(first).random()
    assert cells.generator(first).random() != cells.generator(second).random()
    draws = [partition_generator("wdbc", "c", 5, p, 1).random() for p in range(3)]
    assert len(np.unique(draws)) == 3
