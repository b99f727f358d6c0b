"""Execute a job: train its curves one after another, select settings, and write the job's file."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from privcurve import datasets
from privcurve.analysis import selection
from privcurve.experiments import provenance, results
from privcurve.experiments.curves import STORE, Curve
from privcurve.experiments.jobs import Job
from privcurve.experiments.methods import Point
from privcurve.experiments.provenance import Trained
from privcurve.experiments.splits import Splitter
from privcurve.experiments.train import Trainer
from privcurve.privacy.seeds import Seed
from privcurve.stored import spoken, spoken_frame, stored_frame
from privcurve.tables.table import read_table


def work(job: Job, started: float | None = None, *, fresh: bool = False) -> None:
    """Train the runs of a job that are not in the store, and write the job's file.

    `started` is the value of `time.perf_counter` when the process began; default: now. If `fresh`,
    stored runs of other code are retrained.

    Raises DatasetError if a dataset is not encoded, or if its description has changed since the
    encoding; IncompleteError if a file that the selection reads is missing, damaged, or has runs of
    other data; WriteError if the store or the file is not writable.
    """
    read = cache(datasets.read_coded)

    # Curves on the same data share a splitter, which caches the training and the scoring part of
    # each split.
    @cache
    def splitter_of(folder: Path, seed: Seed, share: float) -> Splitter:
        return Splitter(read(folder), seed, share)

    last = time.perf_counter() if started is None else started
    tables: dict[str, pa.Table] = {}
    facts: dict[str, dict[str, Any]] = {}
    for curve, name in job.runs:
        print(spoken(name), flush=True)
        splitter = splitter_of(curve.data, curve.seed, curve.method.train_share)
        terms = (curve.method, curve.seed, STORE, splitter, curve.scores)
        trainer = Trainer(read(curve.data), *terms, fresh=fresh)
        selected: dict[str, Any] = {}
        if curve.is_fresh(name):
            if curve.chooses:
                frame = select(curve, trainer, tables.get(curve.grid_name))
            else:
                (first,) = curve.reads
                chosen = Job((first,)).check(first.fresh_name, curve.checksum)
                frame = read_table(io.StringIO(chosen["selected"]))
            pairs = zip(frame["epsilon"], frame["setting"], strict=True)
            rows = trainer.run(itertools.product(_find_points(curve, pairs), curve.fresh))
            selected["selected"] = write_selected(frame)
            selected["left_out"] = int(frame["n_failed_settings"].sum())
            code = _add_sources(curve, trainer.trained, facts.get(curve.grid_name))
        else:
            rows, code = trainer.run(curve.tasks), trainer.trained
        tables[name] = results.table(rows)
        before, last = last, time.perf_counter()
        identity = {"name": name, "digest": job.digests[name]}
        seconds = {"job_seconds": round(last - before, 3)}
        facts[name] = {**identity, **trainer.facts, **seconds, **selected, "code": code}
        print(
            f"trained {trainer.n_trained} runs, reused {trainer.n_reused}, "
            f"failed {trainer.n_failed}"
        )
    results.write(job.file, tables.values(), [*facts.values()])


def _add_sources(curve: Curve, trained: Trained, grid: Mapping[str, object] | None) -> Trained:
    """Add to `trained` the selections of a part of a curve, and the code on which its runs depend.

    Fresh trainings depend on the code that trained the grid and selected the settings. This code is
    listed with 0 runs, as other entries count the runs of the grid and the selections. Because the
    code is listed, a change of it makes the fresh trainings outdated. `grid` is the entry of the
    curve's grid in `Job.facts` if the same job trained the grid, else None.
    """
    read = [] if grid is None else [curve.trained(curve.grid_name, grid)]
    for source in curve.reads:
        (name,), checksum = source.names, curve.checksum
        read.append(source.trained(name, Job((source,)).check(name, checksum)))
    selections = provenance.count_selections(
        len(curve.epsilons), provenance.checksum(provenance.SELECTION)
    )
    more = [selections] if curve.ranks else []
    return provenance.add_up([trained, *map(provenance.without_counts, read), *more])


def select(curve: Curve, trainer: Trainer, grid: pa.Table | None) -> pd.DataFrame:
    """Return the selected settings of a curve: one row per ε.

    `trainer` trains the second round of the selection, if the study has one. `grid` has the runs of
    the curve's grid if this job trained them; if None, they are read from other jobs' files.
    """
    metric, finalists = curve.study.metric, curve.finalists
    if curve.skips_grid:
        method, (setting,) = curve.method, {point.text for point in curve.method.points}
        carried = (method.learner, method.calibration, method.delta)
        keys = [(curve.dataset.name, method.name, epsilon) for epsilon in curve.epsilons]
        rankings = [selection.select_only(key, carried, setting) for key in keys]
        return selection.table(rankings, metric)
    columns = selection.run_columns(metric)
    n_best = finalists.settings if finalists else 1
    folds = [split.fold for split in curve.splits]
    best = selection.rank_settings(_read_grid(curve, columns, grid), n_best, metric, folds)
    if finalists:
        ranked = {(ranking.key[2], setting) for ranking in best for setting in ranking.settings}
        again = trainer.run(itertools.product(_find_points(curve, ranked), curve.final_splits))
        best = selection.choose_finalists(best, pd.DataFrame(again, columns=columns), metric)
    return selection.table(best, metric)


def write_selected(frame: pd.DataFrame) -> str:
    """Write selected settings as CSV, with all digits of floats."""
    return stored_frame(frame).to_csv(index=False, float_format="%.17g")


def _read_grid(curve: Curve, columns: list[str], grid: pa.Table | None) -> Iterator[pd.DataFrame]:
    """Yield the runs of a grid in several frames; all runs of a setting are in the same frame.

    Reading frame by frame keeps the memory independent of the size of the study.
    """
    if grid is not None:
        yield spoken_frame(grid.select(columns).to_pandas())
    checksum = curve.checksum
    begun = pd.DataFrame(columns=columns)
    for part in curve.reads:
        frame = Job((part,)).read_grid(part, columns, checksum)
        frame = pd.concat([begun, frame]) if len(begun) else frame
        # The next part may have further runs of this part's last settings, on other splits: hold
        # the last settings back until then.
        points, splits = part.grid[-1]
        last = [p.text for p in points] if len(splits) < len(curve.splits) else []
        is_last = frame["setting"].isin(last)
        begun = frame[is_last]
        yield frame[~is_last]
    yield begun


def _find_points(curve: Curve, pairs: Iterable[tuple[float, str]]) -> list[Point]:
    """Return the points of a curve that match one of `pairs`: ε and setting (canonical JSON)."""
    chosen = set(pairs)
    return [point for point in curve.method.points if (point.epsilon, point.text) in chosen]
