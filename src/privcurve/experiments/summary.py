"""How far a study is: cells that are done, failed and to do, and the time that is left.

Nothing is read but what is small: facts of finished jobs, and ids of stored cells where a job
is not finished. So this may look at a run while it goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve import datasets
from privcurve.experiments import cells
from privcurve.experiments.jobs import STORE, Curve
from privcurve.experiments.keys import Keys, Marks
from privcurve.experiments.results import facts_are_current, read_facts
from privcurve.experiments.shards import key_scheme, shard_key
from privcurve.experiments.splits import Split
from privcurve.experiments.store import Store
from privcurve.experiments.study import Point
from privcurve.learners import registry


@dataclass(frozen=True)
class Progress:
    """How far something is.

    Attributes
    ----------
    cells : int
        All that are asked for.
    done, failed : int
    seconds_left : float
        About what one core needs for the rest.
    jobs_left : int
        Jobs that are not finished: no more cores than that can share the rest.
    """

    cells: int = 0
    done: int = 0
    failed: int = 0
    seconds_left: float = 0.0
    jobs_left: int = 0

    @property
    def to_do(self) -> int:
        """Cells that nobody has trained yet."""
        return self.cells - self.done - self.failed

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.cells + other.cells,
            self.done + other.done,
            self.failed + other.failed,
            self.seconds_left + other.seconds_left,
            self.jobs_left + other.jobs_left,
        )


def progress(curves: Iterable[Curve]) -> Progress:
    """Return the progress of some curves together.

    Parameters
    ----------
    curves : iterable of Curve

    Returns
    -------
    Progress
        Results are looked for below the working directory; a dataset that is not coded yet
        has none.
    """
    alone, shared = Progress(), Progress()
    unfinished = set()
    for curve in curves:
        found = _progress(curve)
        if not curve.bundle:
            alone += found
            continue
        shared += found
        if found.jobs_left:
            unfinished.add((curve.study.name, curve.bundle))
    return alone + replace(shared, jobs_left=len(unfinished))


def _progress(curve: Curve) -> Progress:
    stored = datasets.facts(curve.data)
    checksum = None if stored is None else stored["checksum"]
    costs = _Costs(curve)
    finished = Progress()
    unfinished: list[Point] = []
    jobs_left = 0
    for shard in curve.shard_numbers:
        points = curve.points(shard)
        facts = read_facts(curve.shard(shard))
        if _is_current(facts, curve.shard_digest(shard), checksum):
            finished += _of_facts(facts)
            costs.learn(facts, points)
        else:
            unfinished += points
            jobs_left += 1
    facts = read_facts(curve.refit)
    fresh = Progress(len(curve.arm.epsilons) * curve.n_refits, jobs_left=int(curve.selects))
    if not curve.selects:
        pass
    elif _is_current(facts, curve.refit_digest, checksum):
        finished, fresh = finished + _of_facts(facts), Progress()
    elif stored is not None and not jobs_left:
        # Which points it trains is not known here: cells of an earlier selection count too.
        splits = curve.final_splits + curve.fresh_splits(bool(stored["n_test"]))
        done = _n_stored(curve, curve.arm.points, splits, stored["checksum"])
        fresh = replace(fresh, done=min(done, fresh.cells))
    splits = curve.splits
    n_stored = 0 if checksum is None else _n_stored(curve, unfinished, splits, checksum)
    cells = len(unfinished) * len(splits)
    to_do = (cells - n_stored) / cells if cells else 0.0
    seconds = to_do * len(splits) * costs.of(unfinished) + fresh.to_do * costs.mean
    return finished + fresh + Progress(cells, n_stored, 0, seconds * costs.scale, jobs_left)


def _is_current(facts: Any, digest: str, checksum: str | None) -> bool:
    # Where no dataset is coded, nothing is done.
    return checksum is not None and facts_are_current(facts, digest, checksum)


def _of_facts(facts: Any) -> Progress:
    # A refit's file has no row for a finalist: count what was worked on.
    good = facts["trained"] + facts["reused"]
    return Progress(good + facts["failed"], good, facts["failed"])


def _n_stored(curve: Curve, points: Sequence[Point], splits: Sequence[Split], checksum: str) -> int:
    """Count the cells of some points and splits that are in the store."""
    folder = STORE / curve.dataset.name / curve.arm.learner
    scheme = key_scheme(curve.arm)
    marks = Marks(scheme, (path.name for path in folder.glob("*.jsonl")))
    keyed = ((shard_key(curve.arm, point), point) for point in points)
    held = [(key, point) for key, point in keyed if marks.may_hold(key)]
    if not held:
        return 0
    ids = cells.CellIds(curve.dataset.name, checksum, curve.arm, curve.seed)
    asked = _short(name for _, point in held for name in ids.names(point, splits))
    found = _short(Store(folder, Keys(scheme, (key for key, _ in held))).ids())
    return len(np.intersect1d(asked, found))


def _short(ids: Iterable[str]) -> NDArray[np.uint64]:
    """Shorten ids to eight bytes: a million cells in little memory, and no two alike."""
    return np.fromiter((int(name[:16], 16) for name in ids), np.uint64)


class _Costs:
    """Seconds of fits: the registry's estimate, in proportion to what was measured."""

    def __init__(self, curve: Curve) -> None:
        cost = registry.entry(curve.arm.learner).cost
        # By identity: the settings of an arm are the same objects in all its points.
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
        """Take in what a finished job has measured of the cells that it trained itself."""
        if facts["rows"]:
            share = facts["trained"] / facts["rows"]
            self._measured += facts["training_seconds"]
            self._estimated += share * self._n_splits * self.of(points)

    @property
    def scale(self) -> float:
        """How much longer than estimated the cells took that were measured; 1 if none were."""
        return self._measured / self._estimated if self._estimated else 1.0


def table(studies: Mapping[str, Progress], cores: int) -> str:
    """Write the progress of studies as a table, with a line for all of them.

    Parameters
    ----------
    studies : mapping of str to Progress
    cores : int
        That share what is left to do: of a cluster, the jobs that run at once.

    Returns
    -------
    str
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
        ["study", "cells", "done", "failed", "to do", "%", "time left"],
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
