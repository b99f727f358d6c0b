"""Define curves: all runs of one method of a study on one dataset, and their division into parts.

A long curve is divided into parts, and one job trains a part. A part has all runs at one or several
ε. If the runs at a single ε take too long, a part has some of the settings and splits at this ε.
Parts follow the order of the study file. So if values are added at the end of a list in that file,
earlier parts and their result files stay the same.

If the study selects settings, a curve has two kinds of runs. The *grid* contains the runs of all
settings on folds or hold-outs; their scores select the best setting at each ε. *Fresh trainings*
are later runs of the selected setting, with fresh noise; their scores are the results. Between the
two, a *second round* of the selection may compare a few best settings again (`Finalists`). If the
study does not select settings, the grid contains all runs, and their scores are the results.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from privcurve.analysis.measures import AUC, NEW
from privcurve.datasets import check_current, describe, facts
from privcurve.experiments import canonical, provenance
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.provenance import UNKNOWN, Trained
from privcurve.experiments.runs import NamedData
from privcurve.experiments.splits import Split
from privcurve.experiments.study import BEST, DEFAULT_METRIC, Finalists, Study
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.stored import stored

# Folders of the encoded datasets and of the stored runs, relative to the working directory.
CODED = Path("results/data")
STORE = Path("results/store")

# A group of runs: each of the points is trained on each of the splits.
Runs: TypeAlias = tuple[tuple[Point, ...], tuple[Split, ...]]
T = TypeVar("T")


def coded_facts(dataset: str) -> dict[str, Any]:
    """Return the metadata of an encoded dataset, such as its checksum and the raw files' checksums.

    The result is empty if the dataset is not encoded, if the metadata are unreadable, or if a
    changed description requires a new encoding.
    """
    try:
        return facts(CODED / dataset) or {}
    except ValueError:
        return {}


class CurveData(NamedData, Protocol):
    """The facts about a dataset that a curve needs, from its description or its encoded data."""

    @property
    def n_rows(self) -> int:
        """Number of training records."""

    @property
    def n_test(self) -> int:
        """Number of test records."""


@dataclass(frozen=True)
class Curve:
    """One method of a study on one dataset, with the list of its runs, whether trained or not.

    A curve that :func:`curves_of` returns has all of its runs; an element of `parts` has only the
    runs of one job.
    """

    study: Study
    dataset: CurveData
    method: Method
    seed: Seed  # seed (secret or public) of all random streams
    most: float = math.inf  # maximum estimated seconds of a part, unless the part is a single run
    epsilons: tuple[float, ...] = ()
    grid: tuple[Runs, ...] = ()
    fresh: tuple[Split, ...] = ()  # splits of the fresh trainings of selected settings
    # Name of this part, if it has only some of the runs at one ε, else empty. A part of the grid is
    # named like `3-of-8`, a part with fresh trainings `best` or like `best~1-of-2`.
    part: str = ""

    @cached_property
    def name(self) -> Path:
        """The names of study, dataset and method, joined to a path."""
        return Path(self.study.name, self.dataset.name, stored(self.method.name))

    @property
    def data(self) -> Path:
        """The folder of the encoded dataset."""
        return CODED / self.dataset.name

    @property
    def selects(self) -> bool:
        """Whether settings are selected and trained afresh; if not, all runs are results."""
        return self.study.select == BEST

    @property
    def skips_grid(self) -> bool:
        """Whether the grid is empty, as the method has one setting and the study uses hold-outs.

        With folds, the only setting is still trained on the grid, as the tables of the study show
        the cross-validated accuracy.
        """
        return self.selects and bool(self.study.holdout) and len(self.method.settings) == 1

    @cached_property
    def parts(self) -> list[Curve]:
        """The parts into which the curve is divided; one job trains all runs of a part."""
        seconds = self.at(self.method.epsilons[:1]).seconds
        groups = fill(sorted(self.method.epsilons), lambda _: seconds, self.most)
        return [part for epsilons in groups for part in self.at(tuple(epsilons)).cut()]

    def at(self, epsilons: tuple[float, ...]) -> Curve:
        """Return the curve with all of its runs at `epsilons`."""
        grid = () if self.skips_grid else ((self.method.points_at(epsilons), tuple(self.splits)),)
        fresh = tuple(self.fresh_splits) if self.selects else ()
        return replace(self, epsilons=epsilons, grid=grid, fresh=fresh, part="")

    def cut(self) -> list[Curve]:
        """Divide a curve at one ε into parts that take at most `most` seconds or have a single run.

        The curve is returned undivided if it has several ε or takes at most `most` seconds.
        """
        if len(self.epsilons) > 1 or self.seconds <= self.most:
            return [self]
        grids = fill(self._short_runs(), self.seconds_of, self.most)
        # The part with the first fresh training also trains the `n_final` runs of the selection's
        # second round, as it selects the setting that all fresh trainings use.
        first, mean = self.fresh[:1], self.mean_seconds
        fresh = fill(
            self.fresh,
            lambda split: mean * (1 + self.n_final if (split,) == first else 1),
            self.most,
        )
        best = ["best"] if len(fresh) == 1 else [f"best~{part}" for part in _count(fresh)]
        parts = [
            *(replace(self, grid=tuple(runs), fresh=(), part=part)
              for runs, part in zip(grids, _count(grids), strict=True)),
            *(replace(self, grid=(), fresh=tuple(splits), part=part)
              for splits, part in zip(fresh, best, strict=True)),
        ]  # fmt: skip
        return parts if len(parts) > 1 else [self]

    def _short_runs(self) -> Iterator[Runs]:
        """Yield the grid of a curve with one ε as groups of runs; a part has one or several groups.

        Points that share expensive work stay in one group if the group takes at most `most`
        seconds. Otherwise the group is divided by splits and, if necessary, by points.
        """
        splits = tuple(self.splits)
        for points in _group_points(self.method, *self.epsilons) if self.grid else ():
            if self.seconds_of((points, splits)) <= self.most:
                yield points, splits
            elif self.seconds_of((points, splits[:1])) <= self.most:
                yield from ((points, (split,)) for split in splits)
            else:
                yield from (((p,), (s,)) for p, s in itertools.product(points, splits))

    @property
    def reads(self) -> list[Curve]:
        """The parts of the same curve whose result files this part reads.

        The part that selects a setting reads all parts of the grid. Parts with later fresh
        trainings read the part that selects. The parts of the grid read nothing.
        """
        if not self.fresh or self.grid or self.skips_grid:
            return []
        parts = self.at(self.epsilons).cut()
        return [part for part in parts if (part.grid if self.chooses else part.chooses)]

    @property
    def chooses(self) -> bool:
        """Whether this part of a curve selects settings.

        Other parts with fresh trainings read its selection. If the grid is skipped, each part with
        fresh trainings selects the only setting.
        """
        return self.begins or (self.skips_grid and bool(self.fresh))

    @property
    def begins(self) -> bool:
        """Whether this part of a curve includes the first fresh training."""
        return bool(self.fresh) and self.fresh[0] == self.fresh_splits[0]

    @property
    def ranks(self) -> bool:
        """Whether this part of a curve selects settings by their scores on the grid."""
        return self.chooses and not self.skips_grid

    @property
    def grid_name(self) -> str:
        """Name under which files list the grid, such as ``adult/boost~proved/eps=0.1~3-of-8``."""
        return self._name(self.part or "1-of-1")

    @property
    def fresh_name(self) -> str:
        """Name under which files list fresh trainings, like ``adult/boost~proved/eps=0.1~best``."""
        return self._name(self.part or "best")

    def _name(self, part: str) -> str:
        last = "~".join(filter(None, (self.epsilon_text, part)))
        return f"{self.dataset.name}/{stored(self.method.name)}/{last}"

    @property
    def epsilon_text(self) -> str:
        """The range of ε of this part, for a file name; empty if it has all ε of its method."""
        if len(self.epsilons) == len(self.method.epsilons):
            return ""
        ends = dict.fromkeys((self.epsilons[0], self.epsilons[-1]))
        return "eps=" + "..".join(map(canonical.number, ends))

    @property
    def names(self) -> list[str]:
        """`grid_name` if the curve has a grid, and `fresh_name` if it has fresh trainings."""
        of_grid = [self.grid_name] if self.grid else []
        return [*of_grid, self.fresh_name] if self.fresh else of_grid

    def is_fresh(self, name: str) -> bool:
        """Return whether `name` is `fresh_name` and there are fresh trainings."""
        return bool(self.fresh) and name == self.fresh_name

    @property
    def splits(self) -> list[Split]:
        """The splits on which each point of the grid is trained."""
        if self.selects:
            return self.study.selection_splits
        return self.fresh_splits

    @property
    def fresh_splits(self) -> list[Split]:
        """The splits of the fresh trainings.

        If the study does not select settings, these are the splits of all runs.
        """
        return self.study.fresh_splits(self.dataset.n_test > 0)

    @property
    def finalists(self) -> Finalists | None:
        """The numbers of settings and trainings of the selection's second round.

        None if the study has no second round, the method has no noise, or it has only one setting.
        """
        has_rounds = self.method.calibration and len(self.method.settings) > 1
        return self.study.finalists if has_rounds else None

    @property
    def final_splits(self) -> list[Split]:
        """The splits of the second round of the selection; empty if there is no second round."""
        second = self.finalists
        return self.study.final_splits(second.draws) if second else []

    @property
    def n_final(self) -> int:
        """Number of runs in the second round of the selection, at each ε."""
        second = self.finalists
        n_finalists = min(second.settings, len(self.method.settings)) if second else 0
        return n_finalists * len(self.final_splits)

    @cached_property
    def digest(self) -> str:
        """A text that depends on all that determines the results of the curve, except the data."""
        study, second = self.study, self.finalists
        final = f"{second.settings} of {second.draws} " if second else ""
        metric = "" if study.metric == DEFAULT_METRIC else f"by {study.metric} "
        grid = _digest_at(self.method, self.epsilons, *self.digest_terms)
        return f"{study.repeats} {final}{metric}{self.dataset_terms}{grid}"

    @property
    def digests(self) -> dict[str, str]:
        """For each of `names`, a text that depends on all that determines the runs with this name.

        The text does not depend on the data.
        """
        digests = {}
        if self.grid:
            digests[self.grid_name] = self.dataset_terms + self._grid_digest
        if self.fresh:
            is_part = len(self.fresh) < len(self.fresh_splits)
            part = [(split.fold, split.repeat) for split in self.fresh] if is_part else ""
            digests[self.fresh_name] = f"{part}{self.digest}"
        return digests

    @property
    def _grid_digest(self) -> str:
        if not self.part:
            return _digest_at(self.method, self.epsilons, *self.digest_terms)
        partial = [
            ([p.text for p in points], [(split.fold, split.repeat) for split in splits])
            for points, splits in self.grid
            if len(splits) < len(self.splits)
        ]
        points = [point for points, _ in self.grid for point in points]
        return f"{partial or ''}{_digest_of(self.method, points, *self.digest_terms)}"

    @property
    def digest_terms(self) -> tuple[int, tuple[float, int] | None, int | None, int | str]:
        """The splits and the seed, as a part of the grid's digest.

        The items are the number of folds, the pair (hold-out share, number of hold-outs), the
        number of repeats, and the seed. The pair and the repeats are None if the runs of the grid
        do not depend on them.
        """
        study = self.study
        holdouts = (study.holdout, study.repeats) if study.holdout else None
        runs = None if study.holdout or self.selects else study.repeats
        return study.folds, holdouts, runs, seeds.public_name(self.seed)

    @cached_property
    def dataset_terms(self) -> str:
        """Part of the digest that depends on the dataset; empty for most datasets.

        This part names the `scores`. If a fit may merge bins of the dataset
        (`Domain.mixed_bins`), it names the maximum numbers of bins that are left. If the dataset
        has more than two classes, it names the versions of the learners' fits for more than two
        classes. For all other datasets it is empty, so that digests in files of earlier versions
        of this project stay valid.
        """
        words = [f"with {score} {'of classes ' * (score == AUC)}" for score in self.scores]
        if self.dataset.domain.mixed_bins is not None:
            merged = set(itertools.chain(*map(self.method.few_bins, self.method.settings)))
            words += [f"merged to {few} bins " for few in sorted(merged)]
        if self.dataset.domain.n_classes > 2:
            of_settings = map(self.method.class_versions, self.method.settings)
            versions = {item for of_one in of_settings for item in of_one.items()}
            words += [f"{learner} of classes {version} " for learner, version in sorted(versions)]
        return "".join(words)

    @property
    def scores(self) -> tuple[str, ...]:
        """Names of scores that the study needs and that stored results of old versions may lack.

        These scores are the AUC for more than two classes, and the measures in `NEW` of
        analysis/measures.py. If a stored result lacks one of them, its run is trained again.
        """
        many = self.dataset.domain.n_classes > 2
        return tuple(name for name in (AUC,) * many + NEW if self.study.shows(name))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Approximate numbers of rows, columns and classes of a fit, to estimate its seconds."""
        rows = round(self.dataset.n_rows * self.method.train_share)
        domain = self.dataset.domain
        return max(1, rows), len(domain.columns), domain.n_classes

    @property
    def tasks(self) -> list[tuple[Point, Split]]:
        """The runs of the grid: all pairs of a point and a split."""
        return [task for runs in self.grid for task in itertools.product(*runs)]

    @property
    def n_grid(self) -> int:
        """Number of runs in the grid."""
        return sum(len(points) * len(splits) for points, splits in self.grid)

    @property
    def n_fresh(self) -> int:
        """Number of runs that are trained after the grid: the second round and fresh trainings."""
        return len(self.epsilons) * (len(self.fresh) + (self.n_final if self.chooses else 0))

    @property
    def grid_seconds(self) -> float:
        """Estimated seconds of training the grid."""
        return sum(map(self.seconds_of, self.grid))

    @property
    def fresh_seconds(self) -> float:
        """Estimated seconds of the second round and of the fresh trainings."""
        return self.n_fresh * self.mean_seconds

    @cached_property
    def seconds(self) -> float:
        """Estimated seconds of all runs."""
        return self.grid_seconds + self.fresh_seconds

    def seconds_of(self, runs: Runs) -> float:
        """Return the estimated seconds of `runs`."""
        points, splits = runs
        costs = _costs(self.method, *self.shape)
        return len(splits) * sum(costs[id(point.setting)] for point in points)

    @property
    def mean_seconds(self) -> float:
        """Mean estimated seconds of a fit, over all settings."""
        costs = _costs(self.method, *self.shape)
        return sum(costs.values()) / len(costs)

    def trained(self, name: str, fact: Mapping[str, Any]) -> Trained:
        """Return how many of the runs called `name` each version of the code trained.

        `fact` is the entry of these runs in `Job.facts`. Files of earlier versions do not record
        the code; all runs then count as `UNKNOWN`.
        """
        if "code" in fact:
            return dict(fact["code"])
        n_runs = fact["trained"] + fact["reused"]
        selections = provenance.count_selections(len(self.epsilons), UNKNOWN)
        return {
            **{learners: {UNKNOWN: n_runs} for learners in self.method.all_learners},
            **(selections if self.ranks and self.is_fresh(name) else {}),
        }

    @property
    def checksum(self) -> str | None:
        """The checksum of the encoded dataset; None if the dataset is not encoded.

        Raises DatasetError if the dataset's description has changed since the encoding.
        """
        check_current(self.data)
        coded = facts(self.data)
        return None if coded is None else coded["checksum"]


def fill(items: Iterable[T], seconds: Callable[[T], float], most: float) -> list[list[T]]:
    """Divide items into groups of consecutive items that take at most `most` seconds in all.

    `seconds` returns the estimated seconds of an item. An item that takes longer is a group by
    itself.
    """
    groups: list[list[T]] = []
    total = 0.0
    for item in items:
        added = seconds(item)
        if not groups or total + added > most:
            groups.append([])
            total = 0.0
        groups[-1].append(item)
        total += added
    return groups


@cache
def _costs(method: Method, *shape: int) -> dict[int, float]:
    """Return the estimated seconds of a fit with each setting, indexed by the setting's ``id()``.

    `shape` is `Curve.shape`. An ``id()`` identifies a setting, as points of a method with the
    same setting share one object.
    """
    cost = method.learner_entry.cost
    return {id(setting): cost(setting, *shape) for setting in method.settings}


def _count(groups: Sequence[object]) -> list[str]:
    return [f"{place}-of-{len(groups)}" for place in range(1, len(groups) + 1)]


def curves_of(
    study: Study, seed: Seed, seconds_per_job: float, about: Callable[[str], CurveData] = describe
) -> list[Curve]:
    """Return the curves of a study, each with all of its runs, sorted by dataset.

    `about` returns the facts of a dataset by its name. A curve whose estimated seconds
    exceed twice `seconds_per_job` is divided into several `parts`.
    """
    pairs = itertools.product(map(about, study.datasets), study.methods.values())
    return [
        Curve(study, dataset, method, seed, 2 * seconds_per_job).at(method.epsilons)
        for dataset, method in pairs
    ]


def _group_points(method: Method, epsilon: float) -> Iterable[tuple[Point, ...]]:
    """Return the points at an ε in groups: fits at points of one group share expensive work."""
    shared = method.learner_entry.shared
    groups: dict[str, list[Point]] = {}
    for point in method.points:
        if point.epsilon == epsilon:
            setting = canonical.text([point.setting.get(s) for s in shared]) if shared else ""
            groups.setdefault(setting or point.text, []).append(point)
    return map(tuple, groups.values())


@cache
def _digest_at(method: Method, epsilons: tuple[float, ...], *terms: Any) -> str:
    """Return the part of a grid's digest at `epsilons` that does not depend on the dataset."""
    return _digest_of(method, method.points_at(epsilons), *terms)


def _digest_of(
    method: Method,
    points: Sequence[Point],
    folds: int,
    holdouts: tuple[float, int] | None,
    runs: int | None,
    seed: int | str,
) -> str:
    epsilons = {epsilon: canonical.number(epsilon) for epsilon in method.epsilons}
    share = None if method.train_share == 1 else method.train_share
    words: dict[str, Any] = {"neighbours": method.neighbours, "train_share": share}
    words |= {"holdouts": holdouts, "runs": runs}
    more = {word: value for word, value in words.items() if value is not None}
    return canonical.digest_of_texts(
        sorted((epsilons[point.epsilon], point.text) for point in points),
        method.learner,
        stored(method.calibration),
        method.delta,
        folds,
        seed,
        method.version,
        *([more] if more else []),
    )
