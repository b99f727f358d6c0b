"""Do a job: train its portions one after the other, select, and write its file."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd

from privcurve import datasets
from privcurve.analysis import selection
from privcurve.experiments import results
from privcurve.experiments.curves import STORE
from privcurve.experiments.jobs import Job, second
from privcurve.experiments.splits import Splitter
from privcurve.experiments.train import Trainer
from privcurve.tables.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from privcurve.experiments.curves import Curve, Portion
    from privcurve.experiments.methods import Point
    from privcurve.privacy.seeds import Seed


def work(job: Job, started: float | None = None, file: Path | None = None) -> None:
    """Train what a job is asked for, but for what the store has, and write its file.

    `started` is when its process began, by `time.perf_counter`; now by default. `file` is the one
    of its two names to write to, by default the one that is there; the other is removed. Raises
    DatasetError if a dataset is not coded, or from another description than there is now;
    IncompleteError if a file that it selects from is missing, damaged, or of other data; WriteError
    if the store or the file can't be written.
    """
    # Portions on the same data have the same splits, most of them.
    read, splitter_of = cache(datasets.read_coded), cache(_splitter)
    last = time.perf_counter() if started is None else started
    tables: dict[str, pa.Table] = {}
    facts = []
    for portion in job.portions:
        curve = portion.curve
        print(portion.name, flush=True)
        splitter = splitter_of(read, curve.data, curve.seed, curve.method.train_share)
        data = read(curve.data)
        trainer = Trainer(data, curve.method, curve.seed, STORE, splitter, curve.scores)
        selected: dict[str, Any] = {}
        if portion.is_best:
            frame = select(portion, trainer, tables) if portion.selects else _selected(portion)
            rows = trainer.run(itertools.product(_points(curve, _settings(frame)), portion.fresh))
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
    file = file or job.file
    # First: of two that are there nobody would know which one counts.
    second(file).unlink(missing_ok=True)
    results.write(file, list(tables.values()), facts)


def _splitter(read: Any, folder: Path, seed: Seed, share: float) -> Splitter:
    return Splitter(read(folder), seed, share)


def select(portion: Portion, trainer: Trainer, here: Mapping[str, pa.Table]) -> pd.DataFrame:
    """Select at each ε, in a second round too where the study has one; a row an ε.

    `here` are parts of the grid that this job has trained, by name; others are read from their
    files.
    """
    curve = portion.curve
    metric, finalists = curve.study.metric, curve.finalists
    if curve.is_lone:
        return selection.table(_taken(portion), metric)
    columns = selection.run_columns(metric)
    n_best = finalists.settings if finalists else 1
    folds = [split.fold for split in curve.splits]
    best = selection.rank(_grid(portion, columns, here), n_best, metric, folds)
    if finalists:
        ranked = {(one.key[2], setting) for one in best for setting in one.settings}
        again = trainer.run(itertools.product(_points(curve, ranked), curve.final_splits))
        best = selection.final(best, pd.DataFrame(again, columns=columns), metric)
    return selection.table(best, metric)


def _grid(
    portion: Portion, columns: list[str], here: Mapping[str, pa.Table]
) -> Iterator[pd.DataFrame]:
    """Return the parts of a grid that is selected from, those together that share settings.

    Memory does not grow with the study.
    """
    checksum = portion.curve.checksum
    begun = pd.DataFrame(columns=columns)
    for part in portion.reads:
        if part.name in here:
            frame = here[part.name].select(columns).to_pandas()
        else:
            frame = Job((part,)).read(part, columns, checksum)
        frame = pd.concat([begun, frame]) if len(begun) else frame
        # Runs of these settings on other splits may be in the next part.
        points, splits = part.blocks[-1]
        last = [p.text for p in points] if len(splits) < len(portion.curve.splits) else []
        is_last = frame["setting"].isin(last)
        begun = frame[is_last]
        yield frame[~is_last]
    yield begun


def _taken(portion: Portion) -> list[selection.Candidate]:
    """Take a lone setting as selected at each ε."""
    method = portion.curve.method
    carried = (method.learner, method.calibration, method.delta)
    dataset, (setting,) = portion.curve.dataset.name, {point.text for point in method.points}
    return [
        selection.select_only((dataset, method.name, epsilon), carried, setting)
        for epsilon in portion.epsilons
    ]


def _selected(portion: Portion) -> pd.DataFrame:
    """Read what another job has selected."""
    (first,) = portion.reads
    facts = Job((first,)).check(first, portion.curve.checksum)
    return read_table(io.StringIO(facts["selected"]))


def _settings(selected: pd.DataFrame) -> set[tuple[float, str]]:
    """Return the pairs of ε and setting of a table of selected settings."""
    complete = selected[selected["setting"].notna()]
    return set(zip(complete["epsilon"], complete["setting"], strict=True))


def _points(curve: Curve, settings: Collection[tuple[float, str]]) -> list[Point]:
    """Return the points of some pairs of ε and setting."""
    return [point for point in curve.method.points if (point.epsilon, point.text) in settings]
