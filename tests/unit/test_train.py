"""Training of cells: the same result in any company, failures kept apart, nothing trained twice."""

import dataclasses
import io
import itertools
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privcurve import datasets
from privcurve.experiments import refit, results, study, summary, train
from privcurve.experiments.jobs import CODED, STORE, Curve, read_results
from privcurve.experiments.progress import Progress
from privcurve.experiments.shards import shard_points
from privcurve.experiments.splits import TEST, Split, Splitter, selection_splits
from privcurve.learners import lazybb, majority


@pytest.fixture(scope="module")
def dataset():
    return datasets.load("toy-line")


@pytest.fixture(scope="module")
def arm():
    raw = {
        "title": "t",
        "datasets": ["toy-line"],
        "epsilons": [0.5, 2],
        "folds": 3,
        "repeats": 2,
        "learners": {
            "b": {"learner": "lazybb", "grid": {"n_rounds": [3, 7, 9], "density": [0.5, 1]}}
        },
    }
    return study.from_mapping(raw, "t", "t.yaml").arm("b~certified")


def tasks(arm):
    return list(itertools.product(arm.points, selection_splits(3)))


def without_time(rows):
    return [{k: v for k, v in row.items() if k != "fit_seconds"} for row in rows]


def test_rows_do_not_depend_on_order_or_batch(dataset, arm, tmp_path, monkeypatch):
    one = train.Trainer(dataset, arm, 1, tmp_path / "one").run(tasks(arm))
    monkeypatch.setattr(train, "LARGEST_BATCH", 1)
    other = train.Trainer(dataset, arm, 1, tmp_path / "other").run(tasks(arm)[::-1])
    assert without_time(one) == without_time(other)
    assert len(one) == 2 * 6 * 3


def test_another_seed_gives_other_noise(dataset, arm, tmp_path):
    one = train.Trainer(dataset, arm, 1, tmp_path / "one").run(tasks(arm))
    other = train.Trainer(dataset, arm, 2, tmp_path / "one").run(tasks(arm))
    assert [r["accuracy"] for r in one] != [r["accuracy"] for r in other]


def test_what_is_stored_is_not_trained_again(dataset, arm, tmp_path):
    some = tasks(arm)[:7]
    first = train.Trainer(dataset, arm, 1, tmp_path)
    first.run(some)
    second = train.Trainer(dataset, arm, 1, tmp_path)
    second.run(tasks(arm))
    assert (first.n_trained, second.n_trained, second.n_reused) == (7, len(tasks(arm)) - 7, 7)


def test_a_store_that_cannot_be_written_is_found_before_training(dataset, arm, tmp_path):
    (tmp_path / "toy-line").write_text("a file, where the store wants a folder")
    trainer = train.Trainer(dataset, arm, 1, tmp_path)
    with pytest.raises(OSError, match="toy-line/lazybb can't be written"):
        trainer.run(tasks(arm))
    assert trainer.training_seconds == 0


def test_a_cell_that_fails_takes_no_other_with_it_and_is_tried_again(
    dataset, arm, tmp_path, monkeypatch
):
    whole = lazybb.LazyBBClassifier._plan

    def broken(self, n):
        if self.n_rounds == 7:
            raise ArithmeticError("seven is broken")
        return whole(self, n)

    monkeypatch.setattr(lazybb.LazyBBClassifier, "_plan", broken)
    trainer = train.Trainer(dataset, arm, 1, tmp_path)
    rows = trainer.run(tasks(arm))
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(failed) == trainer.n_failed == len(rows) // 3
    assert {row["error"] for row in failed} == {"ArithmeticError: seven is broken"}
    assert all('"n_rounds":7' in row["setting"] for row in failed)
    monkeypatch.undo()
    again = train.Trainer(dataset, arm, 1, tmp_path)
    rows = again.run(tasks(arm))
    assert again.n_trained == len(failed)
    assert all(row["status"] == "ok" for row in rows)


def test_a_cell_that_cannot_be_scored_takes_no_other_with_it(dataset, arm, tmp_path, monkeypatch):
    whole = lazybb.LazyBBClassifier.decision_function

    def broken(self, X):
        if self.n_rounds == 7:
            raise ArithmeticError("no score for seven")
        return whole(self, X)

    right = train.Trainer(dataset, arm, 1, tmp_path / "right").run(tasks(arm))
    monkeypatch.setattr(lazybb.LazyBBClassifier, "decision_function", broken)
    trainer = train.Trainer(dataset, arm, 1, tmp_path / "store")
    rows = trainer.run(tasks(arm))
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(failed) == trainer.n_failed == len(rows) // 3
    assert {row["error"] for row in failed} == {"ArithmeticError: no score for seven"}
    others = [row for row in rows if row["status"] == "ok"]
    of_right = [row for row in right if '"n_rounds":7' not in row["setting"]]
    assert without_time(others) == without_time(of_right)


def test_a_fit_that_writes_into_its_records_changes_no_other(dataset, tmp_path, monkeypatch):
    raw = {
        "title": "t",
        "datasets": ["toy-line"],
        "epsilons": [0.5, 1, 2],
        "folds": 3,
        "repeats": 2,
        "learners": {"m": {"learner": "noisy_majority"}},
    }
    arm = study.from_mapping(raw, "t", "t.yaml").arm("m~certified")
    right = train.Trainer(dataset, arm, 1, tmp_path / "right").run(tasks(arm))
    whole = majority.NoisyMajorityClassifier._fit_one

    def careless(self, records, curator):
        statement = whole(self, records, curator)
        for given in (records.codes, records.labels, records.counts):
            given[:] = 1
        return statement

    monkeypatch.setattr(majority.NoisyMajorityClassifier, "_fit_one", careless)
    splitter = Splitter(dataset, 1)
    before = [part.X.copy() for part in splitter.parts(selection_splits(3)[0])]
    rows = train.Trainer(dataset, arm, 1, tmp_path / "store", splitter).run(tasks(arm))
    assert without_time(rows) == without_time(right)
    after = [part.X for part in splitter.parts(selection_splits(3)[0])]
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("shaped", [lambda s: s[:, None], lambda s: np.stack([-s, s], axis=1)])
def test_scores_of_a_wrong_shape_are_a_failed_cell(dataset, arm, tmp_path, monkeypatch, shaped):
    whole = lazybb.LazyBBClassifier._scores
    monkeypatch.setattr(lazybb.LazyBBClassifier, "_scores", lambda s, X: shaped(whole(s, X)))
    (row,) = train.Trainer(dataset, arm, 1, tmp_path).run(tasks(arm)[:1])
    assert row["status"] == "failed"
    assert "LazyBBClassifier._scores gives the shape" in row["error"]


def test_a_setting_that_the_proof_does_not_cover_is_a_failed_cell(dataset, tmp_path):
    raw = {
        "title": "t",
        "datasets": ["toy-line"],
        "epsilons": [0.5],
        "folds": 3,
        "repeats": 2,
        "learners": {
            "b": {"learner": "lazybb", "grid": {"n_rounds": [3], "density": [1e-20, 0.35]}}
        },
    }
    arm = study.from_mapping(raw, "t", "t.yaml").arm("b~certified")
    rows = train.Trainer(dataset, arm, 1, tmp_path).run(tasks(arm))
    failed = [row for row in rows if row["status"] == "failed"]
    assert 0 < len(failed) == len(rows) // 2
    for row in failed:
        assert "1e-20" in row["setting"]
        assert row["error"].startswith("ValueError: density = 1e-20 is too small for n = ")


def test_rows_survive_a_file_and_missing_ones_are_named(dataset, arm, tmp_path):
    rows = train.Trainer(dataset, arm, 1, tmp_path / "store").run(tasks(arm))
    results.write_cells(rows[:-2], tmp_path / "cells.parquet")
    frame = results.read_cells([tmp_path / "cells.parquet"])
    assert list(frame.columns) == results.SCHEMA.names
    assert frame["epsilon_spent"].to_numpy() == pytest.approx(frame["epsilon"].to_numpy())
    with pytest.raises(results.IncompleteError, match=r"2 cells are missing: ε=2 .*fold 2/3"):
        results.check_complete(frame, results.expected_keys(tasks(arm)), "toy-line, b")


@pytest.fixture
def curve(tmp_path, monkeypatch):
    """Make curves of a small study in two shards; the data are coded."""
    monkeypatch.chdir(tmp_path)
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")

    def made(seed=1, arm="b~certified", **changes):
        raw = {
            "title": "t",
            "datasets": ["toy-line"],
            "epsilons": [0.5],
            "folds": 2,
            "repeats": 2,
            "learners": {"b": {"learner": "lazybb", "grid": {"n_rounds": [3, 7]}}},
        }
        asked = {key: value for key, value in (raw | changes).items() if value is not None}
        found = study.from_mapping(asked, "t", "t.yaml")
        about = datasets.describe("toy-line")
        return Curve(found, about, found.arm(arm), 2, seed)

    return made


# In place of folds and repeats.
HOLD_OUT = {"folds": None, "repeats": None}


def train_shards(curve):
    for shard in curve.shard_numbers:
        trainer = train.Trainer(datasets.read(curve.data), curve.arm, curve.seed, STORE)
        rows = trainer.run(curve.tasks(shard))
        results.write_cells(rows, curve.shard(shard), trainer.facts(curve.shard_digest(shard)))
    return trainer


def change_data():
    path = CODED / "toy-line/domain.json"
    path.write_text(path.read_text().replace('"checksum": "', '"checksum": "0'))


def test_a_shard_without_points_is_no_job(curve):
    """A hash deals few points unevenly: of 64 shards most are empty."""
    one = replace(curve(), shards=64)
    assert 0 < len(one.shard_numbers) <= len(one.arm.points)
    assert sorted(p.text for k in one.shard_numbers for p in one.points(k)) == sorted(
        point.text for point in one.arm.points
    )
    assert len(one.files) == len(one.shard_numbers) + 1
    assert len(one.benchmarks["train"]) == len(one.shard_numbers)
    train_shards(one)
    assert sum(len(part) for part in one.selection(["accuracy"])) == 2 * len(one.arm.points)
    assert summary.progress([one]).jobs_left == 1  # that of the refit


def test_a_selection_is_read_only_if_it_is_of_what_is_asked_for(curve):
    train_shards(curve())

    def read(**asked):
        return sum(len(part) for part in curve(**asked).selection(["accuracy"]))

    assert read() == 2 * 2
    for other in ({"seed": 2}, {"epsilons": [2]}, {"folds": 3}):
        with pytest.raises(results.IncompleteError, match="was made for another"):
            read(**other)
    change_data()
    with pytest.raises(results.IncompleteError, match="was made for another"):
        read()


def test_the_selected_setting_is_trained_afresh_and_read_if_it_is_of_what_is_asked_for(curve):
    one = curve()
    selected, rows = refit.select_and_train(one, train_shards(one))
    assert list(selected["arm"]) == ["b~certified"]
    assert [row["setting"] for row in rows] == [selected["setting"][0]] * 2
    assert [row["repeat"] for row in rows] == [1, 2]
    with pytest.raises(results.IncompleteError, match=r"cells.parquet is missing"):
        read_results([one])
    facts = {"digest": one.refit_digest, "checksum": one.checksum}
    results.write_cells(rows, one.refit, facts)
    assert len(read_results([one, one])) == 4
    with pytest.raises(results.IncompleteError, match="was made for another"):
        read_results([curve(repeats=3)])
    change_data()
    with pytest.raises(results.IncompleteError, match="was made for another"):
        read_results([one])


def test_all_runs_are_results_where_nothing_is_selected(curve):
    splits = {"holdout": 0.5, "repeats": 3}
    one = curve(**HOLD_OUT, splits=splits, select="all", outputs=["runs"])
    train_shards(one)
    (first, second) = one.results(["accuracy", "n_train"])
    frame = pd.concat([first, second])
    assert set(frame["fold"]) == {"1@0.5", "2@0.5", "3@0.5"}
    assert len(frame) == 2 * 3
    assert set(frame["n_train"]) == {1000}
    # More hold-outs are more cells, and those that are there stay.
    grown = curve(**HOLD_OUT, splits={**splits, "repeats": 4}, select="all", outputs=["runs"])
    with pytest.raises(results.IncompleteError, match="was made for another"):
        list(grown.results())
    assert train_shards(grown).n_reused == 3


def test_a_lone_setting_of_hold_outs_is_not_selected(curve):
    learners = {"b": {"learner": "lazybb", "grid": {"n_rounds": [3]}}}
    found = curve(**HOLD_OUT, splits={"holdout": 0.1, "repeats": 3}, learners=learners)
    one = dataclasses.replace(found, shards=0)
    trainer = train.Trainer(datasets.read(one.data), one.arm, one.seed, STORE)
    selected, rows = refit.select_and_train(one, trainer)
    assert trainer.n_trained == len(rows) == 3
    assert selected["cv_accuracy"].isna().all()
    assert list(selected["status"]) == ["ok"]


def test_hold_outs_select_and_others_are_trained_afresh(curve):
    one = curve(**HOLD_OUT, splits={"holdout": 0.1, "repeats": 3}, metric="auc")
    selected, rows = refit.select_and_train(one, train_shards(one))
    assert selected["cv_auc"].notna().all()
    assert [row["fold"] for row in rows] == ["1@0.1", "2@0.1", "3@0.1"]
    assert [row["repeat"] for row in rows] == [1, 2, 3]


def test_a_share_of_the_training_part_is_trained_on(curve):
    one = curve(train_shares=[0.1, 1], arm="b~certified~train_share=0.1")
    _, rows = refit.select_and_train(one, train_shards(one))
    assert {row["n_train"] for row in rows} == {100}
    whole = curve(train_shares=[0.1, 1])
    assert whole.arm.varied == {"train_share": 1.0}
    # The cells of the whole training part are those of a study without the word.
    train_shards(curve())
    assert train_shards(whole).n_trained == 0


def test_a_dataset_without_test_part_is_not_scored_on_one(dataset):
    with pytest.raises(ValueError, match="no test part"):
        Splitter(dataset, 1).parts(Split(TEST, 1))


def test_what_another_sharding_stored_is_found(dataset, arm, tmp_path):
    store = tmp_path / "store"
    for shard in range(4):
        points = shard_points(arm, shard, 4)
        trainer = train.Trainer(dataset, arm, 1, store)
        trainer.run(itertools.product(points, selection_splits(3)))
        assert trainer.n_reused == 0
    # All files of the store have marks; other jobs look into those that concern them.
    for shards in (1, 2, 16):
        for shard in range(shards):
            points = shard_points(arm, shard, shards)
            trainer = train.Trainer(dataset, arm, 1, store)
            trainer.run(itertools.product(points, selection_splits(3)))
            assert (trainer.n_trained, trainer.n_reused) == (0, 3 * len(points))


def test_a_store_without_marks_is_read(dataset, arm, tmp_path):
    train.Trainer(dataset, arm, 1, tmp_path).run(tasks(arm))
    for path in tmp_path.rglob("*.jsonl"):
        path.rename(path.with_name("20260101T000000-host-1-abcdef01.jsonl"))
    trainer = train.Trainer(dataset, arm, 1, tmp_path)
    trainer.run(tasks(arm))
    assert (trainer.n_trained, trainer.n_reused) == (0, len(tasks(arm)))


def test_facts_say_what_a_job_did(dataset, arm, tmp_path):
    train.Trainer(dataset, arm, 1, tmp_path).run(tasks(arm)[:7])
    trainer = train.Trainer(dataset, arm, 1, tmp_path)
    started = time.perf_counter()
    trainer.run(tasks(arm))
    wall = time.perf_counter() - started
    facts = trainer.facts("d")
    assert (facts["trained"], facts["reused"], facts["failed"]) == (len(tasks(arm)) - 7, 7, 0)
    assert (facts["digest"], facts["checksum"]) == ("d", dataset.checksum)
    assert 0 < facts["training_seconds"] <= wall


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_in_a_terminal(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("sys.stderr", Terminal())
    with Progress(3, every=0) as progress:
        for _ in range(3):
            progress.step()
    assert "3/3" in sys.stderr.getvalue()
    assert not caplog.records


def test_progress_is_lines_in_a_log(monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with Progress(3, every=0) as progress:
        for _ in range(3):
            progress.step()
    assert [r.getMessage().partition(",")[0] for r in caplog.records] == [
        "1 of 3 cells",
        "2 of 3 cells",
    ]
    assert not sys.stderr.getvalue()
