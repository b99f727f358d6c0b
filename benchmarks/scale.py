"""The cost of the workflow itself when a study has a million cells and 2,000 jobs.

    python benchmarks/scale.py [--cells N] [--jobs N] [--run] [--folder DIR] [--json FILE]

Makes a checkout with one study on tiny data. Unless --run is given, the cells are not trained:
their files are written by the library with made-up results, and Snakemake is told that they
are done. With --run every job runs.
"""

from __future__ import annotations

import argparse
import itertools
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
from privcurve.experiments import cells, results, study
from privcurve.experiments.bundles import curves
from privcurve.experiments.jobs import CODED, STORE, Curve
from privcurve.experiments.keys import Keys
from privcurve.experiments.shards import key_scheme, shard_key
from privcurve.experiments.splits import selection_splits
from privcurve.experiments.store import Store
from privcurve.learners import registry

ROOT = Path(__file__).parents[1]
DATASET = "toy-line"
EPSILONS, FOLDS, DENSITIES = 50, 5, 50
SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=10**6, help="about how many")
    parser.add_argument("--jobs", type=int, default=2048, help="a power of two")
    parser.add_argument("--run", action="store_true", help="train everything")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="of the checkout; by default a temporary one")
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    options = parser.parse_args()
    if options.json is not None:
        options.json = options.json.absolute()  # the working directory changes
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(options, options.folder or Path(temporary))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make the checkout, fill it, and measure."""
    lay_out(folder, options.cells, options.jobs)
    os.chdir(folder)
    made = study.load(Path("config/studies/scale.yaml"))
    per_job = yaml.safe_load(Path("config/config.yaml").read_text())[PER_JOB]
    (curve,) = curves(made, SEED, per_job)
    n_cells = len(curve.arm.points) * FOLDS
    n_jobs = len(curve.shard_numbers)
    print(f"{n_cells:,} cells in {n_jobs:,} jobs, {options.cores} cores\n", flush=True)
    found: dict[str, Any] = {"cells": n_cells, "jobs": n_jobs, "cores": options.cores}

    def show(what: str, target: str, *command: str, says: str = "") -> None:
        seconds, memory = run(*command, says=says)
        found[what] = {"seconds": seconds, "memory_mib": memory}
        print(f"{what:44} {seconds:8.2f} s {memory:7.0f} MiB   {target}", flush=True)

    snakemake = ("-m", "snakemake", "--cores", str(options.cores))
    run(*snakemake, "results/data/ready/scale.txt")
    show("DAG, nothing done (dry run)", "< 10 s", *snakemake, "--dry-run")
    show("summary, nothing done", "< 10 s", *summary())
    if options.run:
        show("all jobs", "", *snakemake)
    else:
        started = time.perf_counter()
        synthesise(curve)
        print(f"{'(made up all results)':44} {time.perf_counter() - started:8.2f} s", flush=True)
        run(*snakemake, "--touch", "--forceall", "--until", "train")
        show("refit, tables, figure, manifest", "", *snakemake)
    for path in (curve.refit, curve.refit.with_name("selected.csv")):
        path.unlink()
    show("DAG, trained (dry run)", "< 10 s", *snakemake, "--dry-run")
    show("aggregation (the refit job alone)", "< 60 s, 1 GiB", *refit(curve))
    # What follows from the refit is older now.
    run(*snakemake, "--touch", "--forcerun", "refit")
    show("no-op rerun", "< 20 s", *snakemake, says="Nothing to be done")
    show("summary, all done", "< 10 s", *summary())
    shutil.move("results/cells", "cells")
    n_stored = len(curve.tasks(shard := one_job(curve)))
    says = f"trained 0 cells, reused {n_stored}, "
    show("a job, all of its cells stored", "", *train(curve, shard), says=says)
    shutil.rmtree("results/cells")
    show("summary, stored under other shards", "< 10 s", *summary())
    shutil.move("cells", "results/cells")
    found["store"] = read_store(curve)
    return found


PER_JOB = "seconds_per_job"


def lay_out(folder: Path, n_cells: int, n_jobs: int) -> None:
    """Copy the workflow and write a study of about that many cells, cut into that many jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("workflow", "profiles", "resources"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "config/studies").mkdir(parents=True)
    n_rounds = max(1, n_cells // (EPSILONS * FOLDS * DENSITIES))
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
    (arm,) = study.load(path).arms.values()
    about = datasets.describe(DATASET)
    cost = registry.entry(arm.learner).cost
    columns = len(about.domain.columns)
    total = sum(cost(s, about.n_rows, columns) for s in arm.settings) * EPSILONS * FOLDS
    configuration = {"studies": ["scale"], "audit": False, "seed": SEED, PER_JOB: total / n_jobs}
    (folder / "config/config.yaml").write_text(yaml.safe_dump(configuration))


def synthesise(curve: Curve) -> None:
    """Write store and shards of a curve as its jobs would, with made-up accuracies."""
    facts = datasets.facts(CODED / DATASET)
    assert facts is not None
    ids = cells.CellIds(DATASET, facts["checksum"], curve.arm, SEED)
    scheme = key_scheme(curve.arm)
    rng = np.random.default_rng(0)
    for shard in curve.shard_numbers:
        points = curve.points(shard)
        keys = Keys(scheme, (shard_key(curve.arm, point) for point in points))
        rows = []
        with Store(STORE / DATASET / curve.arm.learner, keys) as store:
            for row, result in made_up(curve, points, ids, rng):
                store.add(row["id"], result)
                rows.append(row | result)
        asked = {"digest": curve.shard_digest(shard), "checksum": facts["checksum"]}
        work = {"trained": len(rows), "reused": 0, "failed": 0, "training_seconds": 1.0}
        results.write_cells(rows, curve.shard(shard), asked | work)


def made_up(
    curve: Curve, points: list[study.Point], ids: cells.CellIds, rng: np.random.Generator
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the key columns and the result of each cell of some points."""
    for point, split in itertools.product(points, selection_splits(FOLDS)):
        row = {
            "id": ids.cell(point, split).id,
            "dataset": DATASET,
            "arm": curve.arm.name,
            "learner": curve.arm.learner,
            "calibration": curve.arm.calibration,
            "delta": curve.arm.delta,
            "epsilon": point.epsilon,
            "setting": point.text,
            "fold": split.fold,
            "repeat": split.repeat,
            "version": registry.entry(curve.arm.learner).version,
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


def one_job(curve: Curve) -> int:
    """Give the shard that stands for all: the one with most cells."""
    return max(curve.shard_numbers, key=lambda shard: len(curve.points(shard)))


def common(curve: Curve) -> list[str]:
    return [
        *("--study", "config/studies/scale.yaml", "--dataset", DATASET, "--arm", curve.arm.name),
        *("--shards", str(curve.shards), "--seed", str(SEED)),
    ]


def train(curve: Curve, shard: int) -> list[str]:
    own = ["--shard", str(shard), "--digest", curve.shard_digest(shard)]
    return ["-m", "privcurve.steps.train", *common(curve), *own]


def refit(curve: Curve) -> list[str]:
    return ["-m", "privcurve.steps.refit", *common(curve), "--digest", curve.refit_digest]


def summary() -> list[str]:
    return ["-m", "privcurve.steps.summary"]


def read_store(curve: Curve) -> dict[str, float]:
    """Read the cells of one job: from marked files, and without marks, as in old stores."""
    facts = datasets.facts(CODED / DATASET)
    assert facts is not None
    ids = cells.CellIds(DATASET, facts["checksum"], curve.arm, SEED)
    points = curve.points(one_job(curve))
    wanted = {ids.cell(*task).id for task in itertools.product(points, selection_splits(FOLDS))}
    keys = Keys(key_scheme(curve.arm), (shard_key(curve.arm, p) for p in points))
    found = {}
    for what, marks in (("by marks", keys), ("every file", None)):
        started = time.perf_counter()
        got = Store(STORE / DATASET / curve.arm.learner, marks).read(wanted)
        found[what] = time.perf_counter() - started
        assert set(got) == wanted
        print(f"{f'store: {len(got)} cells of one job, {what}':44} {found[what]:8.3f} s")
    return found


def run(*command: str, says: str = "") -> tuple[float, float]:
    """Run a Python program; give its seconds and its peak memory in MiB, children included.

    It must end well, and say what is expected of it.
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
