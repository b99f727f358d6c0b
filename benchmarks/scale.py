"""Measure the time and memory of the workflow itself, for a million runs in 2,000 jobs.

    python benchmarks/scale.py [--cells N] [--jobs N] [--run] [--folder DIR] [--json FILE]

The program makes a copy of the workflow with one study on tiny data. By default it does not train
the grid: it writes the store and the jobs' files with made-up results, so that Snakemake finds
these jobs done. With --run, Snakemake runs every job.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from privcurve import datasets
from privcurve.experiments import provenance, results, runs, study
from privcurve.experiments.curves import CODED, STORE, Curve
from privcurve.experiments.jobs import Job, StudyJobs
from privcurve.experiments.store import Store
from privcurve.learners import registry

ROOT = Path(__file__).parents[1]
DATASET = "toy-line"
EPSILONS, FOLDS, DENSITIES = 50, 5, 50
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=10**6, help="about how many")
    parser.add_argument("--jobs", type=int, default=2048, help="about how many")
    parser.add_argument("--run", action="store_true", help="train everything")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="of the checkout; by default a temporary one")
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    options = parser.parse_args()
    if options.json is not None:
        options.json = options.json.absolute()  # absolute, as the working directory changes
    with tempfile.TemporaryDirectory() as temporary:
        measured = measure(options, options.folder or Path(temporary))
    if options.json is not None:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make the copy of the workflow, run the steps, and return the time and memory of each."""
    lay_out(folder, options.cells, options.jobs)
    os.chdir(folder)
    made = study.load(Path("config/studies/scale.yaml"))
    configuration = yaml.safe_load(Path("config/config.yaml").read_text())
    study_jobs = StudyJobs(made, SEED, configuration[PER_JOB])
    grid = [job for job in study_jobs.jobs.values() if job.stage == 0]
    best = next(job for job in study_jobs.jobs.values() if job.stage == 1)
    n_runs = sum(job.curves[0].n_grid for job in grid)
    n_jobs = len(grid)
    print(f"{n_runs:,} runs in {n_jobs:,} jobs, {options.cores} cores\n", flush=True)
    measured: dict[str, Any] = {"cells": n_runs, "jobs": n_jobs, "cores": options.cores}

    def show(what: str, target: str, *command: str, says: str = "") -> None:
        seconds, memory = run(*command, says=says)
        measured[what] = {"seconds": seconds, "memory_mib": memory}
        print(f"{what:44} {seconds:8.2f} s {memory:7.0f} MiB   {target}", flush=True)

    snakemake = ("-m", "snakemake", "--cores", str(options.cores))
    run(*snakemake, "results/data/ready/scale.txt")
    show("DAG, nothing done (dry run)", "< 10 s", *snakemake, "--dry-run")
    show("summary, nothing done", "< 10 s", *summary())
    if options.run:
        show("all jobs", "", *snakemake)
    else:
        started = time.perf_counter()
        synthesise(grid)
        print(f"{'(made up all results)':44} {time.perf_counter() - started:8.2f} s", flush=True)
        show("selection, tables, figure, manifest", "", *snakemake)
    best.file.unlink()
    show("DAG, trained (dry run)", "< 10 s", *snakemake, "--dry-run")
    show("aggregation (the selection alone)", "< 60 s, 1 GiB", *train(best))
    # The repeated selection is newer than the outputs. Make the outputs again: otherwise the next
    # run would have something to do.
    run(*snakemake)
    show("no-op rerun", "< 20 s", *snakemake, says="Nothing to be done")
    show("summary, all done", "< 10 s", *summary())
    shutil.move("results/cells", "cells")
    says = f"trained 0 runs, reused {grid[0].curves[0].n_grid}, "
    show("a job, all of its cells stored", "", *train(grid[0]), says=says)
    shutil.rmtree("results/cells")
    show("summary, stored by other jobs", "< 10 s", *summary())
    shutil.move("cells", "results/cells")
    return measured


PER_JOB = "seconds_per_job"


def lay_out(folder: Path, n_runs: int, n_jobs: int) -> None:
    """Copy the workflow, and write a study of about `n_runs` runs in about `n_jobs` jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("workflow", "profiles", "resources"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "config/studies").mkdir(parents=True)
    n_rounds = max(1, n_runs // (EPSILONS * FOLDS * DENSITIES))
    content = {
        "title": "scale",
        "datasets": [DATASET],
        "epsilons": [round(0.1 * (i + 1), 1) for i in range(EPSILONS)],
        "folds": FOLDS,
        "repeats": FOLDS,
        "learners": {
            "lazybb_1r": {
                "learner": "lazybb",
                "grid": {
                    "n_rounds": list(range(1, n_rounds + 1)),
                    "density": [round(0.02 * (i + 1), 2) for i in range(DENSITIES)],
                },
            }
        },
    }
    path = folder / "config/studies/scale.yaml"
    path.write_text(yaml.safe_dump(content))
    (method,) = study.load(path).methods.values()
    about = datasets.describe(DATASET)
    cost = registry.entry(method.learner).cost
    columns = len(about.domain.columns)
    total = sum(cost(s, about.n_rows, columns) for s in method.settings) * EPSILONS * FOLDS
    configuration = {
        "studies": ["scale"],
        "audit": False,
        "seed": SEED,
        PER_JOB: total / n_jobs / 2,
    }
    (folder / "config/config.yaml").write_text(yaml.safe_dump(configuration))


def synthesise(grid: list[Job]) -> None:
    """Write the store and the files of a grid's jobs, with made-up accuracies."""
    facts = datasets.facts(CODED / DATASET)
    assert facts is not None
    rng = np.random.default_rng(0)
    for job in grid:
        (curve,) = job.curves
        method = curve.method
        ids = runs.RunIds(curve.dataset, facts["checksum"], method, SEED)
        rows, learners = [], method.learner
        code = provenance.checksum(learners)
        with Store(STORE / DATASET / learners) as store:
            for row, result in made_up(curve, ids, rng):
                store.add(row["id"], result, code)
                rows.append(row | result)
        names = {
            "name": curve.grid_name,
            "digest": job.digests[curve.grid_name],
            "checksum": facts["checksum"],
        }
        work: dict[str, Any] = {"trained": len(rows), "reused": 0, "failed": 0}
        work |= {"code": {learners: {code: len(rows)}}}
        seconds = {"training_seconds": 1.0, "job_seconds": 2.0}
        results.write(job.file, [results.table(rows)], [names | work | seconds])


def made_up(
    curve: Curve, ids: runs.RunIds, rng: np.random.Generator
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the columns that identify each run of a grid, and a made-up result."""
    for point, split in curve.tasks:
        row = {
            "id": ids.run(point, split).id,
            "dataset": DATASET,
            "method": curve.method.name,
            "learner": curve.method.learner,
            "calibration": curve.method.calibration,
            "delta": curve.method.delta,
            "epsilon": point.epsilon,
            "setting": point.text,
            "fold": split.fold,
            "repeat": split.repeat,
            "version": registry.entry(curve.method.learner).version,
        }
        accuracy = rng.integers(1000, 2000) / 2000
        scores = dict.fromkeys(("accuracy", "balanced_accuracy", "auc", "train_accuracy"), accuracy)
        yield (
            row,
            scores
            | {
                "neighbours": "replace-one",
                "epsilon_spent": point.epsilon,
                "log_loss": None,
                "n_train": 1600,
                "n_features_used": 1,
                "fit_seconds": 0.00025,
                "status": "ok",
                "error": None,
            },
        )


def train(job: Job) -> list[str]:
    line = ["train", "--study", "scale", "--dataset", job.dataset, "--part", job.part]
    return ["-m", "privcurve.workflow.job", *line]


def summary() -> list[str]:
    return ["-m", "privcurve.workflow.job", "summary", "--cores", "2"]


def run(*command: str, says: str = "") -> tuple[float, float]:
    """Run Python; return its seconds and its peak memory in MiB, including children.

    Exits if the program fails, or if its output does not contain `says`.
    """
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen([sys.executable, *command], stdout=output, stderr=output)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        output.seek(0)
        text = output.read().decode()
        if child.returncode or says not in text:
            sys.exit(f"{' '.join(command)}:\n{text[-4000:]}")
    return seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
