"""Accept stored runs of older code if a retrained sample has the same bits (`snakemake stamp`).

The command is for changes that only move or rename code. Runs are grouped by learner and by
the checksum of the code that trained them. For each group, one run of each curve and ε is retrained
and compared with the stored run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from privcurve import datasets
from privcurve.datasets import DatasetError
from privcurve.experiments import canonical, results
from privcurve.experiments.curves import STORE, Curve
from privcurve.experiments.jobs import Job, StudyJobs
from privcurve.experiments.methods import Point
from privcurve.experiments.provenance import SELECTION, Stamps
from privcurve.experiments.results import KEY_COLUMNS, MEMORY, IncompleteError
from privcurve.experiments.splits import Split
from privcurve.experiments.store import Store, Stored
from privcurve.experiments.train import Trainer
from privcurve.experiments.work import select, write_selected
from privcurve.stored import spoken

# The retrained sample of a group of runs takes at most MOST_SECONDS estimated seconds, but has at
# least LEAST_RUNS runs.
MOST_SECONDS, LEAST_RUNS = 120, 3
# Maximum number of runs that are looked up in the store, for each part of a curve and each ε. One
# run is not enough: several versions of the code may have trained a part.
MOST_CANDIDATES = 20
# Fields of a result that may differ between two trainings of the same run.
TIMINGS = ("fit_seconds", MEMORY)


class _GroupedRuns(NamedTuple):
    """The runs in one job's file that the same learners and the same other code trained.

    `name` is the name of the curve's grid or of its fresh trainings (`Curve.names`); `fact` is what
    the file's metadata contain about these runs (`Job.facts`).
    """

    job: Job
    curve: Curve
    name: str
    fact: Mapping[str, Any]
    n_runs: int


class _Run(NamedTuple):
    """A stored run that is retrained for the comparison, with its stored result."""

    curve: Curve
    point: Point
    split: Split
    stored: Stored

    def __str__(self) -> str:
        at = f"ε = {canonical.number(self.point.epsilon)}, {self.point.text}"
        curve = spoken(str(self.curve.name))
        return f"{curve}, {at}, fold {self.split.fold}, repeat {self.split.repeat}"


def stamp(studies: Mapping[str, StudyJobs], say: Callable[[str], None]) -> list[str]:
    """Retrain a sample of each group of runs of other code, and accept the groups with equal bits.

    Calls `say` with a line for each group. Returns the learners of the groups that are not
    accepted.
    """
    stamps = Stamps(STORE)
    refused = []
    for (learners, code), parts in sorted(_find_groups(studies, stamps).items()):
        n_runs = sum(part.n_runs for part in parts)
        if learners == SELECTION:
            group = f"{n_runs:,} selections of settings"
            n_same, difference = _compare_selections(parts)
        else:
            group = f"{n_runs:,} runs of {learners}"
            n_same, difference = _compare_runs(parts, code)
        if n_same and not difference:
            stamps.stamp(learners, code)
            say(f"{group}: stamped; {n_same} were retrained with the same bits")
        else:
            refused.append(learners)
            why = difference or "their data have changed, or they are no longer in the store"
            say(f"{group}: not stamped: {why}")
    return refused


def _find_groups(
    studies: Mapping[str, StudyJobs], stamps: Stamps
) -> dict[tuple[str, str], list[_GroupedRuns]]:
    """Return the runs in files of jobs that other code trained, by learners and checksum."""
    groups: dict[tuple[str, str], list[_GroupedRuns]] = {}
    for job in (job for study in studies.values() for job in study.jobs.values()):
        facts = job.facts
        for curve, name in job.runs if facts else ():
            for learners, runs in curve.trained(name, facts[name]).items():
                for code, n_runs in runs.items():
                    if n_runs and not stamps.is_current(learners, code):
                        part = _GroupedRuns(job, curve, name, facts[name], n_runs)
                        groups.setdefault((learners, code), []).append(part)
    return groups


def _compare_runs(parts: Iterable[_GroupedRuns], code: str) -> tuple[int, str]:
    """Retrain a sample of the runs that code with the checksum `code` trained, and compare results.

    Returns the number of retrained runs with the same bits, and a text on the first difference; the
    text is empty if there is no difference.
    """
    read = cache(datasets.read_coded)
    seconds, n_same = 0.0, 0
    for run in _sample(parts, code):
        curve = run.curve
        seconds += curve.seconds_of(((run.point,), (run.split,)))
        if n_same >= LEAST_RUNS and seconds > MOST_SECONDS:
            break
        trainer = Trainer(read(curve.data), curve.method, curve.seed, STORE)
        again = trainer.train_again(run.point, run.split)
        if again["status"] != "ok":
            return n_same, f"{run}: {again['error']}"
        for name, value in run.stored.result.items():
            # Two NaN are unequal, but their JSON texts are equal.
            if name not in TIMINGS and json.dumps(value) != json.dumps(again.get(name)):
                return n_same, f"{run}: {name} was {value} and is {again.get(name)}"
        n_same += 1
    return n_same, ""


def _sample(parts: Iterable[_GroupedRuns], code: str) -> list[_Run]:
    """Return one stored run for each curve and ε; more runs if these are too few.

    There are at least `LEAST_RUNS` runs, if so many are stored. Runs are taken in the order of
    their ids, which is as good as random.
    """
    # Group the candidates by folder of the store, so that each folder is read once. Index them by
    # id, so that a run of two studies is a candidate only once.
    candidates: dict[Path, dict[str, tuple[Curve, Point, Split]]] = {}
    for part in parts:
        curve = part.curve
        folder = STORE / curve.dataset.name / curve.method.learner
        candidates.setdefault(folder, {}).update(_list_candidates(part))
    runs = []
    for folder, named in candidates.items():
        stored = Store(folder).read(named, is_current=lambda _, of_run: of_run == code)
        of_code = {name: one for name, one in stored.items() if one.code == code}
        runs += [(name, _Run(*named[name], one)) for name, one in of_code.items()]
    first, more = {}, []
    for _, run in sorted(runs, key=itemgetter(0)):
        stratum = (run.curve.dataset.name, run.curve.method.name, run.point.epsilon)
        if stratum in first:
            more.append(run)
        else:
            first[stratum] = run
    return [*first.values(), *more[: max(0, LEAST_RUNS - len(first))]]


def _list_candidates(part: _GroupedRuns) -> dict[str, tuple[Curve, Point, Split]]:
    """Return up to `MOST_CANDIDATES` runs of a part at each ε, by id; none if the data changed."""
    curve, job = part.curve, part.job
    read = job.read_fresh if curve.is_fresh(part.name) else job.read_grid
    try:
        frame = read(curve, ["id", *KEY_COLUMNS], curve.checksum)
    except (IncompleteError, DatasetError):
        return {}
    points = {(canonical.number(p.epsilon), p.text): p for p in curve.method.points}
    some = frame.sort_values("id").groupby("epsilon").head(MOST_CANDIDATES)
    columns: Iterable[Any] = zip(*(some[k].tolist() for k in ("id", *KEY_COLUMNS)), strict=True)
    return {
        name: (curve, points[canonical.number(epsilon), setting], Split(fold, repeat))
        for name, epsilon, setting, fold, repeat in columns
    }


def _compare_selections(parts: Iterable[_GroupedRuns]) -> tuple[int, str]:
    """Repeat the selection of settings for each curve, and compare the selected settings.

    Returns the number of equal selections, and a text on the first difference, as in
    :func:`_compare_runs`.
    """
    n_same = 0
    for name, part in {str(part.curve.name): part for part in parts}.items():
        curve = part.curve
        try:
            trainer = Trainer(datasets.read_coded(curve.data), curve.method, curve.seed, STORE)
            grid = None
            if curve.grid:
                grid = part.job.read_grid(curve, results.SCHEMA.names, curve.checksum)
            selected = select(curve, trainer, None if grid is None else pa.Table.from_pandas(grid))
        except (IncompleteError, DatasetError):
            continue
        if write_selected(selected) != part.fact["selected"]:
            return n_same, f"{spoken(name)}: other settings are selected"
        n_same += len(curve.epsilons)
    return n_same, ""
