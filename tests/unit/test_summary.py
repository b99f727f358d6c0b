"""The summary: runs done, failed and to do, at any moment."""

from pathlib import Path

import pytest
from small_study import plan_with_studies, study_mapping, study_with

from privcurve import datasets
from privcurve.experiments import results, summary, train
from privcurve.experiments.curves import CODED, STORE
from privcurve.experiments.jobs import CELLS, StudyJobs
from privcurve.experiments.work import work
from privcurve.learners import lazybb
from privcurve.workflow import job as program

LEARNERS = {"b": {"learner": "lazybb", "grid": {"n_rounds": [3, 7, 9, 11, 15]}}}
GRID, FRESH = 2 * 5 * 3, 2 * 2
CONFIGURATION = {"studies": ["good"], "audit": False, "seed": 1, "seconds_per_job": 30}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def coded():
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")


def cut(seconds_per_job=1e-3, seed=1, **changes):
    return StudyJobs(study_with(LEARNERS, **changes), seed, seconds_per_job)


def counts(study_jobs):
    progress = summary.progress(study_jobs)
    return progress.runs, progress.done, progress.failed, progress.to_do


def test_nothing_is_done_before_the_data_are_there():
    progress = summary.progress(cut())
    assert (progress.runs, progress.done, progress.to_do) == (GRID + FRESH, 0, GRID + FRESH)
    assert progress.seconds_left > 0
    assert progress.jobs_left == len(cut().jobs) > 3


@pytest.mark.usefixtures("coded")
def test_finished_and_running_jobs_are_counted():
    first, second, *_ = cut().jobs.values()
    work(first)
    done = first.curves[0].n_grid
    assert counts(cut()) == (GRID + FRESH, done, 0, GRID + FRESH - done)
    assert summary.progress(cut()).jobs_left == len(cut().jobs) - 1
    # A job that has trained two runs so far.
    (curve,) = second.curves
    trainer = train.Trainer(datasets.read(CODED / "toy-line"), curve.method, 1, STORE)
    trainer.run(curve.tasks[:2])
    done += 2
    assert counts(cut())[1] == done
    # With other jobs, seeds and larger grids, the store decides which runs are done.
    assert counts(cut(seconds_per_job=1e3))[1] == done
    assert counts(cut(seed=2))[1] == 0
    assert counts(cut(epsilons=[0.5, 1, 2]))[:2] == (3 * 5 * 3 + 3 * 2, done)


@pytest.mark.usefixtures("coded")
def test_a_damaged_id_is_a_run_to_do():
    (job,) = cut(1e3).jobs.values()
    work(job)
    job.file.unlink()
    (path,) = [p for p in (STORE / "toy-line/lazybb").glob("*.jsonl") if p.stat().st_size > 9000]
    content = path.read_bytes()
    path.write_bytes(content[:20] + bytes(50) + content[70:])
    assert counts(cut(1e3)) == (GRID + FRESH, GRID - 1, 0, FRESH + 1)


@pytest.mark.usefixtures("coded")
def test_failed_runs_are_distinguished(monkeypatch):
    def broken(self, n):
        raise ArithmeticError("broken")

    monkeypatch.setattr(lazybb.LazyBBClassifier, "_plan", broken)
    for job in cut().jobs.values():
        if job.stage == 0:
            work(job)
    assert counts(cut()) == (GRID + FRESH, 0, GRID, FRESH)


@pytest.mark.usefixtures("coded")
def test_measured_seconds_replace_the_estimate():
    first, *_ = cut().jobs.values()
    before = summary.progress(cut()).seconds_left
    work(first)
    (facts,) = first.facts.values()
    for factor in (1, 10):
        slow = {**facts, "training_seconds": 1000.0 * factor * facts["rows"]}
        results.write(first.file, [results.table([{}] * slow.pop("rows"))], [slow])
        assert summary.progress(cut()).seconds_left > 100 * factor * before


def test_a_study_that_can_not_be_read_is_left_out(tmp_path, capsys):
    plan_with_studies(
        tmp_path, good=study_mapping(LEARNERS), ill=study_mapping(LEARNERS, learnerss={})
    )
    for name in ("good", "ill"):
        (tmp_path / CELLS / name).mkdir(parents=True)
    program.summary(program.Run(CONFIGURATION, tmp_path), "1")
    *table, last = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[2:]] == ["good"]
    assert last.startswith("left out: config/studies/ill.yaml: ")
    assert "learnerss" in last


def test_old_files_of_jobs_are_listed_and_removed(tmp_path, capsys):
    plan_with_studies(
        tmp_path, good=study_mapping(LEARNERS), ill=study_mapping(LEARNERS, learnerss={})
    )
    run = program.Run(CONFIGURATION, tmp_path)
    (tmp_path / CELLS / "good").mkdir(parents=True)
    (job,) = program._list_begun(run)[0]["good"].jobs.values()
    kept = [job.file, job.file.with_name(".1.a.part.parquet"), CELLS / "ill/toy-line/x.parquet"]
    kept.append(CELLS / "gone/toy-line/x.parquet")
    old = [job.file.with_name(f"{name}.parquet") for name in (f"{job.part}~again", "small~0")]
    for path in (*kept, *old):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 10**5)
    program.prune(run)
    assert all(map(Path.exists, kept))
    assert not any(map(Path.exists, old))
    first, second, left_out, *places, last = capsys.readouterr().out.splitlines()
    assert [first, second] == sorted(map(str, old))
    assert left_out.startswith("left out: config/studies/ill.yaml")
    assert places == [f"kept: {CELLS / name}: no study of this run" for name in ("gone", "ill")]
    assert last == "removed 2 files (0.2 MB); results/store keeps what is trained"


def test_the_table_has_a_total_and_no_rounded_100_percent():
    studies = {
        "one": summary.Progress(1000, 1000, 0, 0.0),
        "two": summary.Progress(100_000, 99_999, 1, 7300.0, 9),
    }
    lines = summary.table(studies, cores=2).splitlines()
    assert lines[2].split() == ["one", "1000", "1000", "0", "0", "100.0", "–"]
    assert lines[3].split() == ["two", "100000", "99999", "1", "0", "99.9", "1", "h", "01", "min"]
    assert lines[4].split()[:5] == ["total", "101000", "100999", "1", "0"]


def test_a_study_that_puts_tables_together_has_no_runs():
    lines = summary.table({"all_claims": summary.Progress()}, cores=2).splitlines()
    assert lines[2].split() == ["all_claims", "0", "0", "0", "0", "–", "–"]
