"""The real Snakemake on a tiny study: results, growth, resumption, independence of cores."""

import json
import os
import random
import signal
import subprocess
import time

import pandas as pd
import pytest

pytestmark = pytest.mark.workflow


def ids_of(lines):
    return [json.loads(line)["id"] for line in lines]


def test_a_run_makes_everything_and_a_second_does_nothing(project):
    project.run()
    made = project.outputs()
    tables = {
        f"results/tables/tiny/{table}.{ending}"
        for table in ("accuracy", "selected_settings")
        for ending in ("csv", "md", "tex")
    }
    assert tables | {f"results/figures/tiny.{e}" for e in ("pdf", "png", "csv")} == set(made)
    frame = pd.read_csv(project.folder / "results/tables/tiny/accuracy.csv")
    assert len(frame) == 2 * (2 * 2 + 1)
    assert (frame["status"] == "ok").all()
    assert project.counts() == (project.cells(), 0, 0)
    assert "Nothing to be done" in project.run()
    assert project.outputs() == made


def test_a_grown_grid_trains_the_new_cells_and_nothing_else(project):
    project.run()
    before = project.stored()
    for changes in (
        {"epsilons": [0.5, 1, 2]},
        {"epsilons": [0.5, 1, 2], "repeats": 4},
    ):
        project.forget_logs()
        project.write_study(**changes)
        project.run()
        after = project.stored()
        trained, _, failed = project.counts()
        assert failed == 0
        assert trained == len(after) - len(before)
        assert len(after) == len(set(ids_of(after))) == project.cells(**changes)
        assert set(before) < set(after)
        before = after


def test_one_core_and_two_give_the_same_bytes(project):
    project.run()
    two = project.outputs()
    for folder in ("results", "logs", ".snakemake"):
        subprocess.run(["rm", "-rf", str(project.folder / folder)], check=True)
    # Other shards too: nothing may depend on which job trains a cell.
    project.run("--cores", "1", "--config", "seconds_per_job=0.001")
    assert project.outputs() == two


def test_another_job_size_retrains_nothing(project):
    project.run()
    stored, made = project.stored(), project.outputs()
    project.run("--config", "seconds_per_job=0.001")
    project.run()
    assert project.stored() == stored
    assert project.outputs() == made


def test_one_figure_needs_only_its_study(project):
    output = project.run("--dry-run", "results/figures/quickstart.pdf", ok=False)
    assert "quickstart" in output  # there is no such study in this copy
    project.run("results/figures/tiny.pdf")
    assert (project.folder / "results/figures/tiny.pdf").exists()


@pytest.mark.parametrize("victim", ["job", "snakemake"])
def test_a_killed_run_is_resumed_without_retraining(project, victim):
    # More cells, so that there is a middle to be killed in.
    grown = {"datasets": ["wdbc"], "repeats": 10}
    grown["learners"] = {
        "boost": {
            "learner": "lazybb",
            "calibrations": ["certified"],
            "grid": {"n_rounds": list(range(5, 400, 2)), "density": [0.25, 0.5]},
        }
    }
    project.write_study(**grown)
    running = subprocess.Popen(
        project.command(),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(project.stored()) < 50:
        assert running.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(random.Random(0).uniform(0.01, 0.05))
    if victim == "snakemake":
        os.killpg(running.pid, signal.SIGKILL)
    else:
        subprocess.run(["pkill", "-KILL", "-s", str(running.pid), "-f", "steps.train"], check=True)
    running.wait(timeout=120)
    survived = project.stored()
    assert survived
    if victim == "snakemake":
        project.run("--unlock")
    project.forget_logs()
    project.run()
    after = project.stored()
    whole = ids_of([line for line in after if line.endswith("}")])
    assert len(whole) == len(set(whole)) == project.cells(**grown)
    resumed = project.outputs()
    for folder in ("results", "logs", ".snakemake"):
        subprocess.run(["rm", "-rf", str(project.folder / folder)], check=True)
    project.run()
    assert project.outputs() == resumed
