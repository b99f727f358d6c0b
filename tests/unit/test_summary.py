"""The summary: what is done, failed and to do, at any moment of a run."""

from dataclasses import replace

import pytest

from privcurve import datasets
from privcurve.experiments import results, study, summary, train
from privcurve.experiments.bundles import curves
from privcurve.experiments.jobs import CODED, STORE
from privcurve.learners import lazybb

SEED = 1
RAW = {
    "title": "t",
    "datasets": ["toy-line"],
    "epsilons": [0.5, 2],
    "folds": 3,
    "repeats": 2,
    "learners": {"b": {"learner": "lazybb", "grid": {"n_rounds": [3, 7, 9, 11, 15]}}},
}
GRID, FRESH = 2 * 5 * 3, 2 * 2


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def coded():
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")


def curve(seconds_per_job=1e-3, **changes):
    (found,) = curves(study.from_mapping({**RAW, **changes}, "t", "t"), SEED, seconds_per_job)
    return found


def run_shard(one, shard, n_cells=None, write=True):
    trainer = train.Trainer(datasets.read(CODED / "toy-line"), one.arm, SEED, STORE)
    rows = trainer.run(one.tasks(shard)[:n_cells])
    if write:
        results.write_cells(rows, one.shard(shard), trainer.facts(one.shard_digest(shard)))
    return len(rows)


def counts(one):
    found = summary.progress([one])
    return found.cells, found.done, found.failed, found.to_do


def test_nothing_is_done_before_the_data_are_there():
    found = summary.progress([curve()])
    assert (found.cells, found.done, found.to_do) == (GRID + FRESH, 0, GRID + FRESH)
    assert found.seconds_left > 0


@pytest.mark.usefixtures("coded")
def test_finished_and_running_shards_are_counted():
    one = curve()
    assert one.shards >= 4
    full = max(one.shard_numbers, key=lambda s: len(one.points(s)))
    done = run_shard(one, full)
    assert counts(one) == (GRID + FRESH, done, 0, GRID + FRESH - done)
    other = next(s for s in one.shard_numbers if s != full)
    done += run_shard(one, other, n_cells=2, write=False)
    assert counts(one)[1] == done
    # Other jobs, other seeds and grown grids: the store tells what of them is there.
    assert counts(curve(seconds_per_job=1e3))[1] == done
    assert summary.progress([replace(one, seed=SEED + 1)]).done == 0
    grown = curve(epsilons=[0.5, 1, 2])
    assert counts(grown)[:2] == (3 * 5 * 3 + 3 * 2, done)


@pytest.mark.usefixtures("coded")
def test_a_damaged_id_is_a_cell_to_do():
    one = curve(seconds_per_job=1e3)
    run_shard(one, 0, write=False)
    (path,) = (STORE / "toy-line/lazybb").glob("*.jsonl")
    found = path.read_bytes()
    path.write_bytes(found[:20] + bytes(50) + found[70:])
    assert counts(one) == (GRID + FRESH, GRID - 1, 0, FRESH + 1)


@pytest.mark.usefixtures("coded")
def test_failed_cells_are_told_apart(monkeypatch):
    def broken(self, n):
        raise ArithmeticError("broken")

    monkeypatch.setattr(lazybb.LazyBBClassifier, "_plan", broken)
    one = curve(seconds_per_job=1e3)
    assert run_shard(one, 0) == GRID
    assert counts(one) == (GRID + FRESH, 0, GRID, FRESH)


@pytest.mark.usefixtures("coded")
def test_measured_seconds_replace_the_estimate():
    one = curve()
    shard = one.shard_numbers[0]
    before = summary.progress([one]).seconds_left
    n_cells = run_shard(one, shard)
    path = one.shard(shard)
    facts = results.read_facts(path)
    for factor in (1, 10):
        slow = {**facts, "training_seconds": 1000.0 * factor * n_cells}
        results.write_cells([{}] * slow.pop("rows"), path, slow)
        left = summary.progress([one]).seconds_left
        assert left > 100 * factor * before


def test_the_table_has_a_total_and_no_false_hundred():
    studies = {
        "one": summary.Progress(1000, 1000, 0, 0.0),
        "two": summary.Progress(100_000, 99_999, 1, 7300.0, 9),
    }
    lines = summary.table(studies, cores=2).splitlines()
    assert lines[2].split() == ["one", "1000", "1000", "0", "0", "100.0", "–"]
    assert lines[3].split() == ["two", "100000", "99999", "1", "0", "99.9", "1", "h", "01", "min"]
    assert lines[4].split()[:5] == ["total", "101000", "100999", "1", "0"]
