"""Training of runs: independent results, separate failures, no repeated training."""

import itertools
import time

import numpy as np
import pytest
from small_study import study_with

from privcurve import datasets
from privcurve.experiments import train
from privcurve.experiments.runs import RunIds
from privcurve.experiments.splits import TEST, Split, Splitter, fold_splits
from privcurve.learners import lazybb, majority


@pytest.fixture(scope="module")
def dataset():
    return datasets.load("toy-line")


@pytest.fixture(scope="module")
def method():
    grid = {"n_rounds": [3, 7, 9], "density": [0.5, 1]}
    return study_with({"b": {"learner": "lazybb", "grid": grid}}).methods["b~proved"]


def tasks(method):
    return list(itertools.product(method.points, fold_splits(3)))


def without_time(rows):
    return [{k: v for k, v in row.items() if k not in ("fit_seconds", "memory")} for row in rows]


def test_rows_do_not_depend_on_order_or_batch(dataset, method, tmp_path, monkeypatch):
    one = train.Trainer(dataset, method, 1, tmp_path / "one").run(tasks(method))
    monkeypatch.setattr(train, "LARGEST_BATCH", 1)
    other = train.Trainer(dataset, method, 1, tmp_path / "other").run(tasks(method)[::-1])
    assert without_time(one) == without_time(other)
    assert len(one) == 2 * 6 * 3


def test_for_add_remove_a_learner_gets_an_estimate_of_n(dataset, tmp_path):
    gam = {"learner": "privgam", "deltas": [1e-5], "neighbours": "add-remove"}
    given = {**gam, "fixed": {"n_estimate": 7}}
    methods = study_with({"gam": gam, "given": given}, epsilons=[1]).methods
    part, _ = Splitter(dataset, 1).parts(Split("1/3", 1))
    estimates = []
    for method in methods.values():
        ids = RunIds(dataset, dataset.checksum, method, 1)
        runs = [ids.run(point, Split("1/3", 1)) for point in method.points]
        (model,) = train.fit_method(dataset, method, runs, part, ids)
        estimates.append(model.n_estimate)
    # Thirds of 1,333 or 1,334 records round to 1000; a given estimate stays.
    assert estimates == [1000, 7]


def test_a_store_that_cannot_be_written_is_found_before_training(dataset, method, tmp_path):
    (tmp_path / "toy-line").write_text("a file, where the store wants a folder")
    trainer = train.Trainer(dataset, method, 1, tmp_path)
    with pytest.raises(OSError, match="toy-line/lazybb can't be written"):
        trainer.run(tasks(method))
    assert trainer.training_seconds == 0


@pytest.mark.parametrize("name", ["_plan", "score_codes"])
def test_a_run_that_fails_takes_no_other_with_it_and_is_tried_again(
    dataset, method, tmp_path, monkeypatch, name
):
    """Either the training or the scoring fails."""
    original = getattr(lazybb.LazyBBClassifier, name)

    def broken(self, given):
        if self.n_rounds == 7:
            raise ArithmeticError("seven is broken")
        return original(self, given)

    right = train.Trainer(dataset, method, 1, tmp_path / "right").run(tasks(method))
    monkeypatch.setattr(lazybb.LazyBBClassifier, name, broken)
    trainer = train.Trainer(dataset, method, 1, tmp_path / "store")
    rows = trainer.run(tasks(method))
    failed = [row for row in rows if row["status"] == "failed"]
    assert len(failed) == trainer.n_failed == len(rows) // 3
    assert {row["error"] for row in failed} == {"ArithmeticError: seven is broken"}
    others = [row for row in rows if row["status"] == "ok"]
    of_right = [row for row in right if '"n_rounds":7' not in row["setting"]]
    assert without_time(others) == without_time(of_right)
    monkeypatch.undo()
    again = train.Trainer(dataset, method, 1, tmp_path / "store")
    assert without_time(again.run(tasks(method))) == without_time(right)
    assert again.n_trained == len(failed)


def test_a_fit_that_writes_into_its_records_changes_no_other(dataset, tmp_path, monkeypatch):
    method = study_with({"m": {"learner": "noisy_majority"}}).methods["m~proved"]
    right = train.Trainer(dataset, method, 1, tmp_path / "right").run(tasks(method))
    original = majority.NoisyMajorityClassifier._fit_one

    def careless(self, records, curator):
        statement = original(self, records, curator)
        for given in (records.codes, records.labels, records.counts):
            given[:] = 1
        return statement

    monkeypatch.setattr(majority.NoisyMajorityClassifier, "_fit_one", careless)
    splitter = Splitter(dataset, 1)
    before = [part.codes.copy() for part in splitter.parts(fold_splits(3)[0])]
    rows = train.Trainer(dataset, method, 1, tmp_path / "store", splitter).run(tasks(method))
    assert without_time(rows) == without_time(right)
    after = [part.codes for part in splitter.parts(fold_splits(3)[0])]
    assert all((one == other).all() for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("shaped", [lambda s: s[:, None], lambda s: np.stack([-s, s], axis=1)])
def test_scores_of_a_wrong_shape_are_a_failed_run(dataset, method, tmp_path, monkeypatch, shaped):
    original = lazybb.LazyBBClassifier._scores
    monkeypatch.setattr(lazybb.LazyBBClassifier, "_scores", lambda s, X: shaped(original(s, X)))
    (row,) = train.Trainer(dataset, method, 1, tmp_path).run(tasks(method)[:1])
    assert row["status"] == "failed"
    assert "LazyBBClassifier._scores gives the shape" in row["error"]


def test_a_setting_that_the_proof_does_not_cover_is_a_failed_run(dataset, tmp_path):
    grid = {"n_rounds": [3], "density": [1e-20, 0.35]}
    method = study_with({"b": {"learner": "lazybb", "grid": grid}}).methods["b~proved"]
    rows = train.Trainer(dataset, method, 1, tmp_path).run(tasks(method))
    failed = [row for row in rows if row["status"] == "failed"]
    assert 0 < len(failed) == len(rows) // 2
    for row in failed:
        assert "1e-20" in row["setting"]
        assert row["error"].startswith("ValueError: density must be ≥ ")


def test_a_dataset_without_test_part_is_not_scored_on_one(dataset):
    with pytest.raises(ValueError, match="no test part"):
        Splitter(dataset, 1).parts(Split(TEST, 1))


def test_a_store_of_any_file_names_is_read(dataset, method, tmp_path):
    """Earlier versions wrote into a file's name which runs it may hold."""
    half = len(tasks(method)) // 2
    for some in (tasks(method)[:half], tasks(method)[half:]):
        train.Trainer(dataset, method, 1, tmp_path).run(some)
    for k, path in enumerate(sorted(tmp_path.rglob("*.jsonl"))):
        path.rename(path.with_name(f"20260101T000000-host-1-abcdef0{k}~00c0ffee~{k}-of-2.jsonl"))
    trainer = train.Trainer(dataset, method, 1, tmp_path)
    trainer.run(tasks(method))
    assert (trainer.n_trained, trainer.n_reused) == (0, len(tasks(method)))


def test_facts_record_what_a_job_did(dataset, method, tmp_path):
    train.Trainer(dataset, method, 1, tmp_path).run(tasks(method)[:7])
    trainer = train.Trainer(dataset, method, 1, tmp_path)
    started = time.perf_counter()
    trainer.run(tasks(method))
    wall = time.perf_counter() - started
    facts = trainer.facts
    assert (facts["trained"], facts["reused"], facts["failed"]) == (len(tasks(method)) - 7, 7, 0)
    assert facts["checksum"] == dataset.checksum
    assert 0 < facts["training_seconds"] <= wall


def test_the_log_shows_the_progress_of_a_job(dataset, method, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(train, "SECONDS_PER_LINE", 0)
    caplog.set_level("INFO")
    train.Trainer(dataset, method, 1, tmp_path).run(tasks(method)[:3])
    lines = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert lines[-2:] == ["1 of 3 runs", "2 of 3 runs"]
