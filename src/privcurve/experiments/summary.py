"""How far a study is: runs that are done, failed and to do, and the time that is left.

Nothing is read but what is small: facts of finished jobs, and ids of stored runs where a job
is not finished. So this may look at a run while it goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve import datasets
from privcurve.experiments.arms import Point
from privcurve.experiments.cells import CellIds
from privcurve.experiments.curves import STORE, Curve, Portion
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.splits import Split
from privcurve.experiments.store import Store
from privcurve.learners import registry


@dataclass(frozen=True)
class Progress:
    """How far something is."""

    cells: int = 0  # all that are asked for
    done: int = 0
    failed: int = 0
    seconds_left: float = 0.0  # about what one core needs for the rest
    jobs_left: int = 0  # jobs that are not finished: no more cores than that can share the rest

    @property
    def to_do(self) -> int:
        """Runs that nobody has trained yet."""
        return self.cells - self.done - self.failed

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.cells + other.cells,
            self.done + other.done,
            self.failed + other.failed,
            self.seconds_left + other.seconds_left,
            self.jobs_left + other.jobs_left,
        )


def progress(study: StudyJobs) -> Progress:
    """Return how far a study is.

    Results are looked for below the working directory; a dataset that is not coded yet has none.
    """
    facts = {name: job.facts for name, job in study.jobs.items()}
    total = Progress()
    unfinished: set[str] = set()
    stored = cache(_stored)
    for curve in study.curves.values():
        coded = datasets.facts(curve.data)
        checksum = None if coded is None else str(coded["checksum"])
        costs = _Costs(curve)
        finished: set[str] = set()
        for portion in curve.portions:
            job = study.of(portion)
            done = _facts_of(portion, facts[job.name], checksum)
            if done is None:
                unfinished.add(job.name)
                continue
            finished.add(portion.name)
            total += _of_facts(done)
            if not portion.is_best:
                costs.learn(done, portion.points)
        total += _to_do(curve, finished, checksum, costs, stored)
    return replace(total, jobs_left=len(unfinished))


def _facts_of(
    portion: Portion, facts: Sequence[Mapping[str, Any]] | None, checksum: str | None
) -> Mapping[str, Any] | None:
    """Return what the file of a job says of a portion, if it is of the data as they are now."""
    if checksum is None:
        return None
    mine = [one for one in facts or () if one["name"] == portion.name]
    return mine[0] if mine and mine[0]["checksum"] == checksum else None


def _of_facts(facts: Mapping[str, Any]) -> Progress:
    # Of what was selected there is no row for a finalist: count what was worked on.
    good = facts["trained"] + facts["reused"]
    return Progress(good + facts["failed"], good, facts["failed"])


def _to_do(
    curve: Curve,
    finished: Collection[str],
    checksum: str | None,
    costs: _Costs,
    stored: Callable[[Path], NDArray[np.uint64]],
) -> Progress:
    """Return the progress of the portions of a curve that are not finished: by the store."""
    ids = None if checksum is None else CellIds.on(curve.dataset, checksum, curve.arm, curve.seed)

    def n_stored(points: Iterable[Point], splits: Sequence[Split]) -> int:
        """Count the runs of some points and splits that are in the store."""
        if ids is None:
            return 0
        due = _short(name for point in points for name in ids.names(point, splits))
        return len(np.intersect1d(due, stored(STORE / curve.dataset.name / curve.arm.learner)))

    points = [p for part in curve.grid if part.name not in finished for p in part.points]
    n_grid = len(points) * len(curve.splits)
    n_done = n_stored(points, curve.splits) if points else 0
    left = (n_grid - n_done) / n_grid if n_grid else 0.0
    seconds = left * len(curve.splits) * costs.of(points)
    if curve.selects and curve.best.name not in finished:
        n_fresh = len(curve.arm.epsilons) * curve.n_fresh
        # Which points it trains is not known here: runs of an earlier selection count too.
        splits = curve.final_splits + curve.study.fresh_splits(curve.dataset.n_test > 0)
        n_fresh_done = 0 if points else min(n_fresh, n_stored(curve.arm.points, splits))
        n_grid, n_done = n_grid + n_fresh, n_done + n_fresh_done
        seconds += (n_fresh - n_fresh_done) * costs.mean
    return Progress(n_grid, n_done, 0, seconds * costs.scale)


def _stored(folder: Path) -> NDArray[np.uint64]:
    """Return the ids in a folder of the store."""
    return _short(Store(folder).ids())


def _short(ids: Iterable[str]) -> NDArray[np.uint64]:
    """Shorten ids to eight bytes: a million runs in little memory, and no two alike."""
    return np.fromiter((int(name[:16], 16) for name in ids), np.uint64)


class _Costs:
    """Seconds of fits: the registry's estimate, in proportion to what was measured."""

    def __init__(self, curve: Curve) -> None:
        cost = registry.entry(curve.arm.learner).cost
        # By identity: the settings of a method are the same objects in all its points.
        self._of = {id(s): cost(s, *curve.shape) for s in curve.arm.settings}
        self._n_splits = len(curve.splits)
        self._measured = self._estimated = 0.0

    def of(self, points: Iterable[Point]) -> float:
        """Return the estimate of one fit of each of some points."""
        return sum(self._of[id(point.setting)] for point in points)

    @property
    def mean(self) -> float:
        """The estimate of one fit, over all settings."""
        return sum(self._of.values()) / len(self._of)

    def learn(self, facts: Any, points: Sequence[Point]) -> None:
        """Take in what a finished job has measured of the runs that it trained itself."""
        if facts["rows"]:
            share = facts["trained"] / facts["rows"]
            self._measured += facts["training_seconds"]
            self._estimated += share * self._n_splits * self.of(points)

    @property
    def scale(self) -> float:
        """How much longer than estimated the runs took that were measured; 1 if none were."""
        return self._measured / self._estimated if self._estimated else 1.0


def table(studies: Mapping[str, Progress], cores: int) -> str:
    """Write the progress of studies as a table, with a line for all of them.

    `cores` share what is left to do: of a cluster, the jobs that run at once.
    """
    from tabulate import tabulate

    rows = dict(studies)
    if len(rows) > 1:
        rows["total"] = sum(studies.values(), Progress())
    return tabulate(
        [
            [name, p.cells, p.done, p.failed, p.to_do, _percent(p), _duration(p, cores)]
            for name, p in rows.items()
        ],
        ["study", "runs", "done", "failed", "to do", "%", "time left"],
        colalign=["left", *["right"] * 6],
        disable_numparse=True,
    )


def _percent(progress: Progress) -> str:
    # Rounded down: 100 is all.
    return f"{math.floor(1000 * progress.done / progress.cells) / 10:.1f}"


def _duration(progress: Progress, cores: int) -> str:
    seconds = math.ceil(progress.seconds_left / max(1, min(cores, progress.jobs_left)))
    if not seconds:
        return "–"
    if seconds < 60:
        return f"{seconds} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
