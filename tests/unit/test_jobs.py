"""Jobs: the runs that they train, the files that they write, and the check of these files."""

import json
import math
import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import small_study
import yaml

from privcurve import datasets, extras
from privcurve.experiments import jobs, manifest, results, study, summary
from privcurve.experiments.curves import CODED
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.work import work
from privcurve.learners import lazybb, registry
from privcurve.tables.table import read_table
from privcurve.workflow import failures
from privcurve.workflow import job as program
from privcurve.workflow.reading import study_files

SEED = 1
DESCRIBE = cache(datasets.describe)
LEARNERS = {
    "boost": {"learner": "lazybb", "grid": {"n_rounds": [3, 5], "density": [0.5, 1]}},
    "one_rule": {"learner": "one_rule"},
    "majority": {"learner": "majority_class"},
}
HOLDOUTS = {"splits": {"holdout": 0.2, "repeats": 3}, "folds": None, "repeats": None}
ALL = {"select": "all", "outputs": ["accuracy"]}


def content(learners=LEARNERS, **changes):
    return small_study.study_mapping(learners, **{"epsilons": [1], "folds": 2, **changes})


def jobs_of(seconds_per_job=30, seed=SEED, **changes):
    made = study.from_mapping(content(**changes), "t", "t.yaml")
    return StudyJobs(made, seed, seconds_per_job)


# Division of a study into jobs


@pytest.fixture(scope="module")
def boost():
    grid = {"n_rounds": [5, 9, 15, 99], "density": [0.25, 0.5, 1]}
    return {"boost": {"learner": "lazybb", "grid": grid}}


def by_point(parts):
    runs = [(p.epsilon, p.text, split) for one in parts for p, split in one.tasks]
    return sorted(runs, key=itemgetter(0, 1))


@pytest.mark.parametrize("changes", [{}, ALL])
@pytest.mark.parametrize("share", [2, 0.5, 0.2, 0.05, 0.011, 1e-9])
def test_parts_hold_every_run_once_and_are_short(boost, share, changes):
    uncut = jobs_of(1e9, learners=boost, epsilons=[2, 0.5, 1], **changes)
    (curve,) = uncut.curves.values()
    cut = jobs_of(share * curve.seconds / 2, learners=boost, epsilons=[2, 0.5, 1], **changes)
    (same,) = cut.curves.values()
    # The order of runs at one ε does not depend on the division.
    assert by_point(same.parts) == by_point([curve])
    fresh = [(e, split) for part in same.parts for e in part.epsilons for split in part.fresh]
    all_fresh = [(e, split) for e in (0.5, 1, 2) for split in curve.fresh_splits]
    assert sorted(fresh, key=itemgetter(0)) == ([] if changes else all_fresh)
    assert same.seconds == pytest.approx(curve.seconds)
    assert same.digest == curve.digest
    for job in cut.jobs.values():
        assert job.seconds <= share * curve.seconds or n_runs(job) == 1
    assert len({job.file for job in cut.jobs.values()}) == len(cut.jobs)


def n_runs(job):
    return sum(curve.n_grid + curve.n_fresh for curve in job.curves)


def test_points_that_share_a_calibration_are_together_where_they_are_short(boost):
    assert registry.entry("lazybb").shared == ("n_rounds",)
    (curve,) = jobs_of(1e9, learners=boost).curves.values()
    (cut,) = jobs_of(0.38 * curve.seconds, learners=boost).curves.values()
    shared = [{p.setting["n_rounds"] for p, _ in part.tasks} for part in cut.parts if part.grid]
    assert len(shared) > 1
    assert sum(map(len, shared)) == len(set.union(*shared)) == 4


ROOT = Path(__file__).parents[2]
PRINTED = ROOT / "docs/research/jobs.md"


@pytest.fixture(scope="module")
def shipped():
    """Return all studies of the project."""
    return [study.load(path) for path in study_files({}, ROOT).values()]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds_per_job", "column"), [(30, 2), (1200, 3)])
def test_no_job_of_a_shipped_study_is_long_and_none_has_two_datasets(
    shipped, seconds_per_job, column
):
    """docs/research/jobs.md has the numbers of jobs that `benchmarks/job_counts.py` prints."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PRINTED.read_text(), re.M)
    has_diffprivlib = not extras.explain_missing("diffprivlib", "peers")
    printed = {name: [int(text) for text in cells.split(" | ")] for name, cells in rows}
    assert set(printed) == {made.name for made in shipped if made.datasets}
    for made in shipped:
        cut = StudyJobs(made, SEED, seconds_per_job, DESCRIBE)
        for job in cut.jobs.values():
            assert job.seconds <= 2 * seconds_per_job or n_runs(job) == 1, job.title
            assert {curve.dataset.name for curve in job.curves} == {job.dataset}
        # Jobs have different files, and each part of a curve is in one job.
        assert len({job.file for job in cut.jobs.values()}) == len(cut.jobs)
        parts = [part for curve in cut.curves.values() for part in curve.parts]
        assert sum(len(job.curves) for job in cut.jobs.values()) == len(parts)
        # The page has the numbers of an environment like `make test`'s, with one of the two peers.
        has_interpret = any(method.learner == "dp_ebm" for method in made.methods.values())
        if made.datasets and has_diffprivlib and not has_interpret:
            numbers = printed[made.name]
            assert numbers[:2] == [len(made.datasets), len(cut.curves)]
            assert numbers[column] == len(cut.jobs), made.name


def words(study_jobs):
    return [job.part.rpartition("~")[0] for job in study_jobs.jobs.values()]


def test_jobs_are_named_after_what_they_train(boost):
    both = {**boost, "majority": {"learner": "majority_class"}, "rule": {"learner": "one_rule"}}
    one = jobs_of(learners=both, epsilons=[0.5, 1, 2])
    assert words(one) == ["small"]
    (small,) = one.jobs.values()
    title = "boost~proved, majority and 1 more on toy-line, ε = 0.5 … 2 (t)"
    assert (small.dataset, small.title) == ("toy-line", title)
    curve = one.curves["toy-line", "boost~proved"]
    for share, named in {
        1.01: ["boost~certified"],
        0.7: ["boost~certified~eps=0.5..1", "boost~certified~eps=2"],
        0.4: ["boost~certified~eps=0.5", "boost~certified~eps=1", "boost~certified~eps=2"],
    }.items():
        per_job = share / 2 * curve.seconds
        assert words(jobs_of(per_job, learners=boost, epsilons=[0.5, 1, 2])) == named, share
    cut = jobs_of(curve.seconds / 25, learners=boost, epsilons=[0.5, 1, 2])
    first, *_, last = words(cut)
    assert re.fullmatch(r"boost~certified~eps=0\.5~1-of-\d", first)
    assert last.startswith("boost~certified~eps=2~best")
    assert "on toy-line, ε = 0.5, 1-of-" in next(iter(cut.jobs.values())).title
    # A name has no ε if the method has none, and long names are cut.
    name = "x" * 200
    long = jobs_of(1e-9, learners={name: {"learner": "majority_class"}})
    assert words(long)[0].startswith("x" * 150 + "~1-of-")
    assert max(len(job.file.name) for job in long.jobs.values()) < 200


def test_values_added_at_the_end_change_no_earlier_job(boost):
    (curve,) = jobs_of(learners=boost).curves.values()
    for share in (0.9, 0.2, 0.05):
        names = set(jobs_of(share * curve.seconds, learners=boost, epsilons=[1, 2]).jobs)
        grown = jobs_of(share * curve.seconds, learners=boost, epsilons=[1, 2, 4, 8]).jobs
        assert len(names & set(grown)) >= len(names) - 1


def test_a_selection_reads_the_parts_and_what_follows_reads_the_selection():
    study_jobs = jobs_of(1e-9)
    mine = [job for job in study_jobs.jobs.values() if job.methods == ["boost~proved"]]
    grid = [job for job in mine if job.curves[0].grid]
    first, second = mine[len(grid) :]
    assert len(grid) == 4 * 2
    assert [job.name for job in first.reads] == [job.name for job in grid]
    assert [job.name for job in second.reads] == [first.name]
    assert [job.stage for job in (grid[0], first, second)] == [0, 1, 2]
    assert not any(job.reads for job in jobs_of().jobs.values())


@pytest.mark.parametrize("changes", [{}, ALL, HOLDOUTS])
@pytest.mark.parametrize("share", [2, 0.3, 1e-9])
def test_a_process_finds_its_job_by_its_arguments(changes, share):
    seconds = sum(one.seconds for one in jobs_of(**changes).curves.values())
    cut = jobs_of(share * seconds, **changes)
    for job in cut.jobs.values():
        made = job.curves[0].study
        same = jobs.find_job(made, "toy-line", job.part, SEED, share * seconds)
        assert same.name == job.name
        assert [one.name for one in same.reads] == [one.name for one in job.reads]
        assert jobs.find_job(made, "toy-line", job.part, SEED + 1, share * seconds) is None


def test_the_name_of_a_job_depends_on_all_requested_runs(monkeypatch):
    names = set(jobs_of().jobs)
    assert set(jobs_of(title="other").jobs) == names
    fewer = dict(list(LEARNERS.items())[:2])
    for changes in (
        *({"epsilons": [2]}, {"folds": 3}, {"repeats": 3}, {"learners": fewer}, {"seed": 2}),
        *({"metric": "auc"}, {"datasets": ["wdbc"]}, HOLDOUTS, {"seconds_per_job": 1e-9}),
    ):
        assert not names & set(jobs_of(**changes).jobs)
    entry = registry.entry("lazybb")
    raised = {**registry.LEARNERS, "lazybb": replace(entry, version=entry.version + 1)}
    monkeypatch.setattr(registry, "LEARNERS", raised)
    assert not names & set(jobs_of().jobs)


# Runs of a job


@pytest.fixture
def coded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.save(datasets.load("toy-line"), CODED / "toy-line")


def run(study_jobs):
    for job in study_jobs.jobs.values():
        work(job)
    return study_jobs


def read(study_jobs):
    parts = [part for one in study_jobs.curves.values() for part in study_jobs.results(one)]
    keys = ["method", *results.KEY_COLUMNS]
    return pd.concat(parts).sort_values(keys).reset_index(drop=True)


def printed_counts(capsys):
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    counts = [[int(line[k].rstrip(",")) for k in (1, 4, 6)] for line in lines if len(line) == 7]
    return [sum(column) for column in zip(*counts, strict=True)]


@pytest.mark.usefixtures("coded")
@pytest.mark.parametrize("changes", [{}, ALL, HOLDOUTS, {**HOLDOUTS, **ALL}])
def test_however_a_study_is_cut_its_results_are_the_same(capsys, changes):
    in_one_job = run(jobs_of(**changes))
    assert all(job.is_done for job in in_one_job.jobs.values())
    n_trained, n_reused, n_failed = printed_counts(capsys)
    progress = summary.progress(in_one_job)
    assert (progress.done, progress.jobs_left) == (progress.runs, 0) == (n_trained, 0)
    assert n_reused == n_failed == 0
    # Other jobs take the runs from the store.
    cut = run(jobs_of(1e-9, **changes))
    assert len(cut.jobs) > len(in_one_job.jobs)
    assert printed_counts(capsys) == [0, n_trained, 0]
    assert read(cut).equals(read(in_one_job))
    for name in in_one_job.curves if "select" not in changes else ():
        selected = in_one_job.read_selected(in_one_job.curves[name])
        assert cut.read_selected(cut.curves[name]) == selected
    # The store alone is enough.
    for job in in_one_job.jobs.values():
        job.file.unlink()
    assert read(run(jobs_of(**changes))).equals(read(cut))


def step(job, path):
    configuration = {"seed": SEED, "seconds_per_job": 30, "studies_folder": str(path.parent)}
    program.train(program.Run(configuration, ROOT), path.stem, job.dataset, job.part)


@pytest.mark.usefixtures("coded")
def test_a_step_refuses_a_study_that_was_edited_meanwhile(tmp_path):
    path = tmp_path / "t.yaml"
    (job,) = jobs_of().jobs.values()
    for changes in ({"epsilons": [2]}, {"learners": {"boost": LEARNERS["boost"]}}):
        path.write_text(yaml.safe_dump(content(**changes), sort_keys=False))
        with pytest.raises(study.StudyError, match=r"t\.yaml, or the configuration, was changed"):
            step(job, path)
    assert not job.file.exists()
    path.write_text(yaml.safe_dump(content(), sort_keys=False))
    step(job, path)
    assert job.is_done


@pytest.mark.usefixtures("coded")
def test_a_lone_setting_of_hold_outs_is_not_selected(capsys):
    learners = {"boost": {"learner": "lazybb", "grid": {"n_rounds": [3]}}}
    study_jobs = run(jobs_of(**HOLDOUTS, learners=learners))
    (one,) = study_jobs.curves.values()
    assert one.names == ["toy-line/boost~certified/best"]
    assert printed_counts(capsys) == [3, 0, 0]
    assert study_jobs.read_selected(one)[0].splitlines()[1].split(",")[-5:-4] == [""]


@pytest.mark.usefixtures("coded")
def test_a_share_of_the_training_part_is_used():
    learners = {"boost": LEARNERS["boost"]}
    shares = run(jobs_of(learners=learners, train_shares=[0.1, 1]))
    frame = read(shares)
    assert set(frame["n_train"][frame["method"].str.endswith("=0.1")]) == {100}
    # Runs on the full training part are equal to runs of a study without `train_shares`.
    assert read(run(jobs_of(learners=learners)))["id"].isin(frame["id"]).all()


# Files of a job


def change_data():
    path = CODED / "toy-line/domain.json"
    path.write_text(path.read_text().replace('"checksum": "', '"checksum": "0'))


@pytest.mark.usefixtures("coded")
def test_runs_of_other_data_are_no_results():
    study_jobs = run(jobs_of())
    (job,) = study_jobs.jobs.values()
    change_data()
    assert not job.is_done
    with pytest.raises(IncompleteError, match=r"boost~proved.*was made from other data"):
        read(study_jobs)
    with pytest.raises(IncompleteError, match="was made from other data"):
        study_jobs.read_selected(next(iter(study_jobs.curves.values())))
    # Encoding with another description changes the job. A damaged file does not: Snakemake ignores
    # errors here.
    coded = CODED / "toy-line/domain.json"
    coded.write_text(json.dumps({**json.loads(coded.read_text()), "origin": {"description": "x"}}))
    assert job.is_done
    coded.write_text("torn")
    assert job.is_done


@pytest.mark.usefixtures("coded")
def test_a_missing_file_or_a_file_of_another_job_is_named():
    study_jobs, other = run(jobs_of()), jobs_of(seed=2)
    (job,), (another,) = study_jobs.jobs.values(), other.jobs.values()
    with pytest.raises(IncompleteError, match=f"{another.part}.parquet is missing; run the same"):
        read(other)
    another.file.write_bytes(job.file.read_bytes())
    assert not another.is_done
    with pytest.raises(IncompleteError, match=f"{another.part}.parquet is damaged; delete it"):
        read(other)


@pytest.mark.usefixtures("coded")
@pytest.mark.parametrize("size", [0, 3, 1000, -1])
def test_a_file_that_was_cut_is_named(size):
    study_jobs = run(jobs_of(learners={"majority": LEARNERS["majority"]}))
    (job,) = study_jobs.jobs.values()
    job.file.write_bytes(job.file.read_bytes()[:size])
    assert not job.is_done
    with pytest.raises(IncompleteError, match=f"{job.part}.parquet is damaged"):
        read(study_jobs)


@pytest.mark.usefixtures("coded")
def test_trainings_that_failed_are_named_and_tried_again(monkeypatch, capsys):
    def broken(self, n):
        raise ArithmeticError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(lazybb.LazyBBClassifier, "_plan", broken)
        study_jobs = run(jobs_of())
    (job,) = study_jobs.jobs.values()
    n_trained, _, n_failed = printed_counts(capsys)
    assert n_failed == 2 * 4
    assert not job.is_done
    (first, end) = failures.remarks([job])
    assert first.startswith("failed: t: 8 of 8 trainings of boost~proved on toy-line: Arith")
    assert "the same command trains them" in end
    written = job.file.stat().st_mtime
    assert failures.ended_since(job, written)
    assert not failures.ended_since(job, written + 1)
    # If no setting is complete, no final model is trained.
    assert len(read(study_jobs)) == 2 * 2
    progress = summary.progress(study_jobs)
    assert (progress.failed, progress.done) == (8, n_trained)
    run(study_jobs)
    assert job.is_done
    assert failures.remarks([job]) == []


@pytest.mark.usefixtures("coded")
def test_a_selection_from_a_grid_that_had_failures_is_not_done_though_the_grid_is(monkeypatch):
    """A selection from a grid with failures is outdated, even if the grid was trained again since.

    This happens if a job outlives Snakemake and writes its selection late.
    """
    original = lazybb.LazyBBClassifier._plan

    def broken(self, n):
        if self.n_rounds == 5:
            raise ArithmeticError("broken")
        return original(self, n)

    study_jobs = jobs_of(1e-9, learners={"boost": LEARNERS["boost"]})
    in_order = list(study_jobs.jobs.values())
    grid, best = in_order[:-2], in_order[-2:]
    with monkeypatch.context() as patch:
        patch.setattr(lazybb.LazyBBClassifier, "_plan", broken)
        run(study_jobs)
    for job in grid:
        work(job)
    assert all(job.is_done for job in grid)
    for job in best:
        assert all(facts["failed"] == 0 for facts in job.facts.values())
        assert not job.is_done
    for job in best:
        work(job)
    assert all(job.is_done for job in best)


def row(setting, fold="1/1", epsilon=1.0):
    return {"epsilon": epsilon, "setting": setting, "fold": fold, "repeat": 0, "accuracy": 0.5}


def test_files_of_earlier_versions_name_the_method_in_another_column(tmp_path):
    row = {"setting": "{}", "method": "boost~proved", "accuracy": 0.5}
    old = results.table([row]).rename_columns(
        ["arm" if name == "method" else name for name in results.SCHEMA.names]
    )
    pq.write_table(old, tmp_path / "old.parquet")
    frame = results.read_rows(tmp_path / "old.parquet", 0, ["method", "accuracy"])
    assert frame.to_dict("records") == [{"method": "boost~proved", "accuracy": 0.5}]
    # A method name that looks like a number stays text.
    (tmp_path / "old.csv").write_text("dataset,arm,accuracy\nd,1,0.5\nd,gam~certified,0.5\n")
    assert read_table(tmp_path / "old.csv")["method"].tolist() == ["1", "gam~proved"]


def test_each_row_group_is_read_separately_with_the_requested_columns(tmp_path):
    path = tmp_path / "cells.parquet"
    groups = [[row("a"), row("b", epsilon=math.inf)], [], [row("c")]]
    results.write(path, list(map(results.table, groups)), [{"name": n} for n in "xyz"])
    facts = results.read_facts(path)
    assert facts == [{"name": n, "rows": rows} for n, rows in zip("xyz", (2, 0, 1), strict=True)]
    frames = [results.read_rows(path, k, ["setting", "accuracy"]) for k in range(3)]
    assert [list(frame["setting"]) for frame in frames] == [["a", "b"], [], ["c"]]
    assert list(frames[0].columns) == ["setting", "accuracy"]
    with pytest.raises(IncompleteError, match="is damaged"):
        results.read_rows(path, 0, ["no_column"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("abc", "f: 1 runs are missing, such as ε = 1, c, fold 1/1, repeat 0; delete it"),
        ("a", "f: 1 runs are not requested, such as ε = 1, b, fold 1/1, repeat 0; delete"),
    ],
)
def test_unexpected_runs_are_refused(settings, message):
    frame = pd.DataFrame([row("a"), row("b")])
    with pytest.raises(IncompleteError, match=message):
        results.check_complete(frame, [("1", s, "1/1", 0) for s in settings], "f")


@pytest.mark.parametrize("page", [pytest.param(64, marks=pytest.mark.slow), 512, 4096])
@pytest.mark.parametrize("fill", [b"\0", b"\xff"])
def test_damage_is_named_wherever_it_is(tmp_path, page, fill):
    """Random accuracies do not compress, so the file contains their bytes."""
    rng = random.Random(0)
    path = tmp_path / "cells.parquet"
    rows = [row("ab"[n % 2], f"{n}/900") | {"accuracy": rng.random()} for n in range(900)]
    results.write(path, [results.table(rows)], [{"digest": "d"}])
    undamaged, bytes_ = results.read_rows(path, 0, results.SCHEMA.names), path.read_bytes()
    messages = []
    for start in range(0, len(bytes_), page // 2):
        hole = len(bytes_[start : start + page])
        path.write_bytes(bytes_[:start] + fill * hole + bytes_[start + hole :])
        # A damaged file has its digest, or no facts.
        assert results.read_facts(path) in ([{"digest": "d", "rows": 900}], [], None)
        try:
            assert results.read_rows(path, 0, results.SCHEMA.names).equals(undamaged)
        except IncompleteError as error:
            messages.append(str(error))
    assert set(messages) == {
        f"{path} is damaged; delete it and run the same command again. Finished trainings are kept."
    }
    # Few bytes of the file are never read.
    assert len(messages) > 0.9 * len(range(0, len(bytes_), page // 2))


# Entries of the manifest

HEAD = "s\th:m:s\tmax_rss\tcpu_time\n"


@pytest.mark.parametrize("left", ["", HEAD, HEAD + "1.5\t0:00", "\0" * 100])
def test_an_incomplete_benchmark_file_is_not_counted(left, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (job,) = jobs_of().jobs.values()
    job.benchmark.parent.mkdir(parents=True)
    job.benchmark.write_text(HEAD + "2.5\t0:00:02\t100.5\tNA\n")
    damaged = job.benchmark.with_name("damaged.tsv")
    damaged.write_text(left)
    result = manifest.manifest({}, {"t": jobs_of()}, [damaged, damaged.with_name("missing.tsv")])
    expected = {"jobs": 1, "wall_seconds": 2.5, "cpu_seconds": 0.0, "max_rss_mib": 100.5}
    assert result["rules"]["train"] == expected
    assert result["not_training"] is None


@pytest.mark.usefixtures("coded")
def test_the_share_of_time_without_training_uses_the_jobs_own_times():
    study_jobs = run(jobs_of(1e-9))
    for job in study_jobs.jobs.values():
        facts = [
            {**one, "training_seconds": 0.5, "job_seconds": 1.05} for one in job.facts.values()
        ]
        tables = [results.table([{}] * one.pop("rows")) for one in facts]
        results.write(job.file, tables, facts)
    result = manifest.manifest({}, {"t": study_jobs}, [])
    assert result["not_training"] == result["studies"]["t"]["not_training"] == 0.5238
    assert result["studies"]["t"]["trained"] == summary.progress(study_jobs).runs


def test_the_plan_and_its_outputs_load_no_pandas():
    # Snakemake imports these modules whenever it builds the DAG.
    code = (
        "import json, sys, privcurve.workflow.plan, privcurve.outputs.registry; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {"privcurve.workflow.plan", "privcurve.papers.boosted_dp.ensembles"} <= loaded
    slow = {"pandas", "matplotlib", "seaborn", "sklearn.ensemble", "scipy.stats", "numba"}
    assert loaded & slow == set()
