"""Progress of a study: finished, failed and remaining runs, and the remaining time.

Of finished jobs only the metadata of their files are read, of other jobs only the ids of their
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
    """Progress of a study or of a part of it."""

    runs: int = 0  # all requested runs
    done: int = 0
    failed: int = 0
    seconds_left: float = 0.0  # estimated seconds of the remaining runs on one core
    jobs_left: int = 0  # unfinished jobs: at most this many cores can share the remaining runs

    @property
    def to_do(self) -> int:
        """Number of runs that are not trained yet."""
        return self.runs - self.done - self.failed

    def __add__(self, other: Progress) -> Progress:
        return Progress(*map(add, astuple(self), astuple(other)))


def progress(study: StudyJobs) -> Progress:
    """Return the progress of a study.

    Results are read below the working directory. On a dataset without an encoding no run is done.
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
            # The facts count all runs; rows would not do, as runs of the second round have none.
            good, failed = done["trained"] + done["reused"], done["failed"]
            total += Progress(good + failed, good, failed)
            if not part.is_fresh(name) and done["rows"]:
                measured += done["training_seconds"]
                estimated += part.grid_seconds * done["trained"] / done["rows"]
        # How many times longer runs of this curve took than estimated; 1 if none is finished.
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
    """Return the progress of runs that no finished job has, from the runs in the store.

    Parameters
    ----------
    part, name
        The runs are the runs of `part` that are called `name`.
    unfinished
        The names of all such runs of the curve.
    ids, stored
        Ids of the curve's runs, and shortened ids of stored runs; None without encoded data.
    scale
        Factor for the estimated seconds.
    """
    due: tuple[Runs, ...] = part.grid
    n_runs, seconds = part.n_grid, part.grid_seconds
    if part.is_fresh(name):
        n_runs, seconds = part.n_fresh, part.fresh_seconds
        # The selected points are not known yet, so that stored runs of all points are counted, even
        # of an earlier selection; none before the runs on which the selection depends are finished.
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
    """Return ids shortened to eight bytes: a million need little memory, and stay distinct."""
    return np.fromiter((int(name[:16], 16) for name in ids), np.uint64)


def table(studies: Mapping[str, Progress], cores: int) -> str:
    """Write the progress of studies as a table, with a total line.

    `cores` is the number of cores (on a cluster, of jobs) that work at the same time.
    """
    from tabulate import tabulate

    of_all = {"total": sum(studies.values(), Progress())} if len(studies) > 1 else {}
    rows = []
    for name, p in {**studies, **of_all}.items():
        # Percentages are rounded down, so that 100 means all. A study that only combines tables of
        # other studies has no runs.
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
