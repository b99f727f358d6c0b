"""Do a job: train its portions one after the other, select, and write its file."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from privcurve import datasets
from privcurve.analysis import selection
from privcurve.experiments import results
from privcurve.experiments.curves import STORE, is_lone
from privcurve.experiments.jobs import Job
from privcurve.experiments.splits import Splitter
from privcurve.experiments.train import Trainer

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from privcurve.experiments.arms import Point
    from privcurve.experiments.curves import Curve
    from privcurve.privacy.seeds import Seed


def work(job: Job, started: float | None = None) -> None:
    """Train what a job is asked for, but for what the store has, and write its file.

    `started` is when its process began, by `time.perf_counter`; now by default. Raises DatasetError
    if a dataset is not coded, or from another description than there is now; IncompleteError if a
    file that it selects from is missing, damaged, or of other data; WriteError if the store or the
    file can't be written.
    """
    # Portions on the same data have the same splits, most of them.
    read, splitter_of = cache(datasets.read_coded), cache(_splitter)
    last = time.perf_counter() if started is None else started
    tables: dict[str, pa.Table] = {}
    facts = []
    for portion in job.portions:
        curve = portion.curve
        print(portion.name, flush=True)
        splitter = splitter_of(read, curve.data, curve.seed, curve.arm.train_share)
        data = read(curve.data)
        trainer = Trainer(data, curve.arm, curve.seed, STORE, splitter, curve.scores)
        selected: dict[str, Any] = {}
        if portion.is_best:
            frame, rows = select_and_train(curve, trainer, tables)
            selected["selected"] = frame.to_csv(index=False, float_format="%.17g")
            selected["left_out"] = int(frame["n_failed_settings"].sum())
        else:
            rows = trainer.run(portion.tasks)
        tables[portion.name] = results.table(rows)
        before, last = last, time.perf_counter()
        asked_for = {"name": portion.name, "digest": portion.digest}
        seconds = {"job_seconds": round(last - before, 3)}
        facts.append({**asked_for, **trainer.facts, **seconds, **selected})
        print(
            f"trained {trainer.n_trained} runs, reused {trainer.n_reused}, "
            f"failed {trainer.n_failed}"
        )
    results.write(job.file, list(tables.values()), facts)


def _splitter(read: Any, folder: Path, seed: Seed, share: float) -> Splitter:
    return Splitter(read(folder), seed, share)


def select_and_train(
    curve: Curve, trainer: Trainer, here: Mapping[str, pa.Table]
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Select at each ε, in a second round too where the study has one, and train what won.

    `here` are parts of the grid that this job has trained, by name; others are read from their
    files. Returns the selected settings, a row an ε, and a row a fresh training.
    """
    metric, finalists = curve.study.metric, curve.finalists
    if is_lone(curve.study, curve.arm):
        best = _taken(curve)
    else:
        columns = selection.cell_columns(metric)
        folds = [split.fold for split in curve.splits]
        n_best = finalists.settings if finalists else 1
        best = selection.rank(_grid(curve, columns, here), n_best, metric, folds)
        if finalists:
            again = trainer.run(itertools.product(_points(curve, best), curve.final_splits))
            best = selection.final(best, pd.DataFrame(again, columns=columns), metric)
    fresh = curve.study.fresh_splits(trainer.has_test)
    rows = trainer.run(itertools.product(_points(curve, best), fresh))
    return selection.table(best, metric), rows


def _grid(curve: Curve, columns: list[str], here: Mapping[str, pa.Table]) -> Iterator[pd.DataFrame]:
    """Return the parts of a grid, one at a time: memory does not grow with the study."""
    checksum = curve.checksum
    for part in curve.grid:
        if part.name in here:
            yield here[part.name].select(columns).to_pandas()
        else:
            yield Job((part,)).read(part, columns, checksum)


def _taken(curve: Curve) -> list[selection.Candidate]:
    """Take a lone setting as selected at each ε."""
    arm = curve.arm
    carried = (arm.learner, arm.calibration, arm.delta)
    return [
        selection.taken((curve.dataset.name, arm.name, point.epsilon), carried, point.text)
        for point in arm.points
    ]


def _points(curve: Curve, candidates: list[selection.Candidate]) -> list[Point]:
    """Return the points of the settings that some candidates are left with."""
    chosen = {(one.key[2], setting) for one in candidates for setting in one.settings}
    return [point for point in curve.arm.points if (point.epsilon, point.text) in chosen]
