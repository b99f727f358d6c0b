"""Report the progress of studies: finished, failed and remaining runs, and the remaining time.

For finished jobs only the metadata of their files are read, for other jobs only the ids of their
stored runs. This is fast, and works while the workflow runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cache
from operator import add

import numpy as np
from numpy.typing import NDArray

from privcurve import datasets
from privcurve.experiments.curves import STORE, Curve, Runs
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.runs import RunIds
from privcurve.experiments.store import Store


@dataclass(frozen=True)
class Progress:
    """Numbers of runs of a study or of a part of it, and what remains to be done."""

    runs: int = 0  # number of all requested runs
    done: int = 0
    failed: int = 0
    seconds_left: float = 0.0  # estimated seconds to train the remaining runs on one core
    jobs_left: int = 0  # number of unfinished jobs: more cores than jobs do not help

    @property
    def to_do(self) -> int:
        """Number of runs that are not trained yet."""
        return self.runs - self.done - self.failed

    def __add__(self, other: Progress) -> Progress:
        return Progress(*map(add, astuple(self), astuple(other)))


def progress(study: StudyJobs) -> Progress:
    """Return the progress of a study, from the files below the working directory.

    No run counts as done on a dataset that is not encoded.
    """
    facts = {name: fact for job in study.jobs.values() for name, fact in job.facts.items()}
    total = Progress()
    unfinished: set[str] = set()
    stored = cache(lambda folder: _shorten_ids(Store(folder).ids()))
    for curve in study.curves.values():
        checksum = (datasets.facts(curve.data) or {}).get("checksum")
        ids = RunIds(curve.dataset, checksum, curve.method, curve.seed) if checksum else None
        stored_ids = stored(STORE / curve.dataset.name / curve.method.learner) if ids else None
        measured = estimated = 0.0
        left: dict[str, Curve] = {}
        for part, name in ((one, name) for one in curve.parts for name in one.names):
            done = facts.get(name)
            if done is None or done["checksum"] != checksum:
                unfinished.add(study.job_of(part).name)
                left[name] = part
                continue
            # The metadata count all runs of the file. Its rows are fewer, as the runs of the
            # selection's second round have no row.
            good, failed = done["trained"] + done["reused"], done["failed"]
            total += Progress(good + failed, good, failed)
            if not part.is_fresh(name) and done["rows"]:
                measured += done["training_seconds"]
                estimated += part.grid_seconds * done["trained"] / done["rows"]
        # Measured over estimated seconds of the curve's finished runs; 1 if no run is finished.
        scale = measured / estimated if estimated else 1.0
        for name, part in left.items():
            total += _estimate(part, name, left, ids, stored_ids, scale)
    return replace(total, jobs_left=len(unfinished))


def _estimate(
    part: Curve,
    name: str,
    unfinished: Collection[str],
    ids: RunIds | None,
    stored: NDArray[np.uint64] | None,
    scale: float,
) -> Progress:
    """Return the progress of runs that are in no finished job's file, from their ids in the store.

    Parameters
    ----------
    part, name
        A part of a curve, and one of its `Curve.names`: the progress is about these runs.
    unfinished
        The names (`Curve.names`), over all parts of the curve, that no finished job's file has.
    ids, stored
        An object that computes the ids of the curve's runs, and shortened ids of stored runs; None
        if the dataset is not encoded.
    scale
        Factor by which runs of the curve took longer than estimated.
    """
    due: tuple[Runs, ...] = part.grid
    n_runs, seconds = part.n_grid, part.grid_seconds
    if part.is_fresh(name):
        n_runs, seconds = part.n_fresh, part.fresh_seconds
        # The selected settings are not known yet. So stored runs of all settings count, also runs
        # of settings that only an earlier selection chose. They count only after the runs that the
        # selection reads are finished.
        splits = (*(part.final_splits if part.chooses else ()), *part.fresh)
        before = [*part.names[:-1], *(one for source in part.reads for one in source.names)]
        is_early = any(one in unfinished for one in before)
        due = () if is_early else ((part.method.points_at(part.epsilons), splits),)
    n_done = 0
    if ids is not None and stored is not None:
        names = (one for points, splits in due for p in points for one in ids.names(p, splits))
        n_done = min(n_runs, len(np.intersect1d(_shorten_ids(names), stored)))
    return Progress(n_runs, n_done, 0, (1 - n_done / n_runs) * seconds * scale)


def _shorten_ids(ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each id, which save memory and distinguish a million ids."""
    return np.fromiter((int(name[:16], 16) for name in ids), np.uint64)


def table(studies: Mapping[str, Progress], cores: int) -> str:
    """Return the progress of studies as a text table; several studies get a line with the total.

    `cores` is the number of cores (on a cluster, of jobs) that work at the same time.
    """
    from tabulate import tabulate

    of_all = {"total": sum(studies.values(), Progress())} if len(studies) > 1 else {}
    rows = []
    for name, p in {**studies, **of_all}.items():
        # Percentages are rounded down, so that 100 means that all runs are done. A study that only
        # combines tables of other studies has no runs.
        percent = f"{math.floor(1000 * p.done / p.runs) / 10:.1f}" if p.runs else "–"
        rows.append([name, p.runs, p.done, p.failed, p.to_do, percent, _write_duration(p, cores)])
    return tabulate(
        rows,
        ["study", "runs", "done", "failed", "to do", "%", "time left"],
        colalign=["left", *["right"] * 6],
        disable_numparse=True,
    )


def _write_duration(progress: Progress, cores: int) -> str:
    seconds = math.ceil(progress.seconds_left / max(1, min(cores, progress.jobs_left)))
    if not seconds:
        return "–"
    if seconds < 60:
        return f"{seconds} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
