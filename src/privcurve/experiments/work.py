"""Do a job: train its parts one after the other, select, and write its file."""

from __future__ import annotations

import io
import itertools
import os
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
from privcurve.experiments.curves import STORE, Curve, JobPart
from privcurve.experiments.jobs import Job, other_name
from privcurve.experiments.methods import Point
from privcurve.experiments.provenance import FRESH, Trained
from privcurve.experiments.splits import Splitter
from privcurve.experiments.train import Trainer
from privcurve.privacy.seeds import Seed
from privcurve.stored import spoken, spoken_frame, stored_frame
from privcurve.tables.table import read_table


def work(job: Job, started: float | None = None, file: Path | None = None) -> None:
    """Train the runs of a job that are not in the store, and write its file.

    `started` is when its process began, by `time.perf_counter`; now by default. `file` is one of
    the job's two file names, by default the existing one; the other file is removed. With the
    environment variable `FRESH` stored runs of other code than the present are trained again.
    Raises DatasetError if a dataset is not coded, or from another description; IncompleteError if a
    file that it selects from is missing, damaged, or of other data; WriteError if the store or the
    file can't be written.
    """
    read = cache(datasets.read_coded)

    # Most parts on the same data share their splits.
    @cache
    def splitter_of(folder: Path, seed: Seed, share: float) -> Splitter:
        return Splitter(read(folder), seed, share)

    last = time.perf_counter() if started is None else started
    tables: dict[str, pa.Table] = {}
    facts: list[dict[str, Any]] = []
    for job_part in job.job_parts:
        curve = job_part.curve
        print(spoken(job_part.name), flush=True)
        splitter = splitter_of(curve.data, curve.seed, curve.method.train_share)
        data = read(curve.data)
        terms = (curve.method, curve.seed, STORE, splitter, curve.scores)
        trainer = Trainer(data, *terms, fresh=bool(os.environ.get(FRESH)))
        selected: dict[str, Any] = {}
        if job_part.is_best:
            if job_part.selects:
                frame = select(job_part, trainer, tables)
            else:
                frame = _read_selected(job_part)
            pairs = zip(frame["epsilon"], frame["setting"], strict=True)
            rows = trainer.run(itertools.product(_find_points(curve, pairs), job_part.fresh))
            selected["selected"] = write_selected(frame)
            selected["left_out"] = int(frame["n_failed_settings"].sum())
        else:
            rows = trainer.run(job_part.tasks)
        tables[job_part.name] = results.table(rows)
        before, last = last, time.perf_counter()
        identity = {"name": job_part.name, "digest": job_part.digest}
        seconds = {"job_seconds": round(last - before, 3)}
        code = {"code": _add_sources(job_part, trainer.trained, facts)}
        facts.append({**identity, **trainer.facts, **seconds, **selected, **code})
        print(
            f"trained {trainer.n_trained} runs, reused {trainer.n_reused}, "
            f"failed {trainer.n_failed}"
        )
    file = file or job.file
    # Removed first: if both were there, nobody would know which one counts.
    other_name(file).unlink(missing_ok=True)
    results.write(file, list(tables.values()), facts)


def _add_sources(
    job_part: JobPart, trained: Trained, facts: Iterable[Mapping[str, Any]]
) -> Trained:
    """Add to the codes of a part which code selected its settings, and trained what it read.

    `facts` are of the parts before it in its job.
    """
    of_job = {fact["name"]: fact for fact in facts}
    checksum = job_part.curve.checksum
    read = [
        source.trained(of_job.get(source.name) or Job((source,)).check(source, checksum))
        for source in job_part.reads
    ]
    selections = provenance.count_selections(
        len(job_part.epsilons), provenance.checksum(provenance.SELECTION)
    )
    more = [selections] if job_part.ranks else []
    return provenance.add_up([trained, *map(provenance.without_counts, read), *more])


def select(job_part: JobPart, trainer: Trainer, trained: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Return the selected settings, a row per ε, after a second round if the study has one.

    `trained` has the parts of the grid that this job has trained, by name; others are read from
    their files.
    """
    curve = job_part.curve
    metric, finalists = curve.study.metric, curve.finalists
    if curve.skips_grid:
        method, (setting,) = curve.method, {point.text for point in curve.method.points}
        carried = (method.learner, method.calibration, method.delta)
        keys = [(curve.dataset.name, method.name, epsilon) for epsilon in job_part.epsilons]
        rankings = [selection.select_only(key, carried, setting) for key in keys]
        return selection.table(rankings, metric)
    columns = selection.run_columns(metric)
    n_best = finalists.settings if finalists else 1
    folds = [split.fold for split in curve.splits]
    best = selection.rank_settings(_read_grid(job_part, columns, trained), n_best, metric, folds)
    if finalists:
        ranked = {(ranking.key[2], setting) for ranking in best for setting in ranking.settings}
        again = trainer.run(itertools.product(_find_points(curve, ranked), curve.final_splits))
        best = selection.choose_finalists(best, pd.DataFrame(again, columns=columns), metric)
    return selection.table(best, metric)


def write_selected(frame: pd.DataFrame) -> str:
    """Write selected settings as CSV, to the last bit."""
    return stored_frame(frame).to_csv(index=False, float_format="%.17g")


def _read_grid(
    job_part: JobPart, columns: list[str], trained: Mapping[str, pa.Table]
) -> Iterator[pd.DataFrame]:
    """Yield the runs of a grid in pieces, with all runs of a setting in one piece.

    Memory does not grow with the study.
    """
    checksum = job_part.curve.checksum
    begun = pd.DataFrame(columns=columns)
    for part in job_part.reads:
        if part.name in trained:
            frame = spoken_frame(trained[part.name].select(columns).to_pandas())
        else:
            frame = Job((part,)).read(part, columns, checksum)
        frame = pd.concat([begun, frame]) if len(begun) else frame
        # Runs of these settings on other splits may be in the next part.
        points, splits = part.blocks[-1]
        last = [p.text for p in points] if len(splits) < len(job_part.curve.splits) else []
        is_last = frame["setting"].isin(last)
        begun = frame[is_last]
        yield frame[~is_last]
    yield begun


def _read_selected(job_part: JobPart) -> pd.DataFrame:
    """Read what another job has selected."""
    (first,) = job_part.reads
    facts = Job((first,)).check(first, job_part.curve.checksum)
    return read_table(io.StringIO(facts["selected"]))


def _find_points(curve: Curve, pairs: Iterable[tuple[float, str]]) -> list[Point]:
    """Return the points of some pairs of ε and setting."""
    chosen = set(pairs)
    return [point for point in curve.method.points if (point.epsilon, point.text) in chosen]
