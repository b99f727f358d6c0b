"""A curve, a method of a study on a dataset: its runs, in parts for jobs.

A curve is cut by ε, and at an ε by settings, splits and repeats, in the order of the study: what is
appended to a study leaves earlier parts unchanged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from privcurve.datasets import check_current, describe, facts
from privcurve.experiments import canonical, provenance
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.provenance import UNKNOWN, Trained
from privcurve.experiments.runs import NamedData
from privcurve.experiments.splits import Split
from privcurve.experiments.study import AUC, BEST, DEFAULT_METRIC, Finalists, Study
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.stored import stored

# Where things are, from the working directory.
CODED = Path("results/data")
STORE = Path("results/store")

T = TypeVar("T")


def coded_facts(dataset: str) -> dict[str, Any]:
    """Return the facts of a coded dataset, such as its checksum and those of its raw files.

    Empty if they can't be read, or it will be coded anew, as its description has changed.
    """
    try:
        return facts(CODED / dataset) or {}
    except ValueError:
        return {}


class CurveData(NamedData, Protocol):
    """What a curve needs of its dataset: a description, or facts of the coded data."""

    @property
    def n_rows(self) -> int:
        """Training records."""

    @property
    def n_test(self) -> int:
        """Records of the test part."""


@dataclass(frozen=True)
class Curve:
    """A method of a study on a dataset: what is to be trained, whatever results are there."""

    study: Study
    dataset: CurveData
    method: Method
    seed: Seed  # base seed of the run
    most: float = math.inf  # seconds that a part may take by estimate, unless it is one fit

    @cached_property
    def name(self) -> Path:
        """Study, dataset and method."""
        return Path(self.study.name, self.dataset.name, stored(self.method.name))

    @property
    def data(self) -> Path:
        """The folder of its coded dataset."""
        return CODED / self.dataset.name

    @property
    def selects(self) -> bool:
        """Whether a setting is selected and trained afresh; if not, all runs are results."""
        return self.study.select == BEST

    @property
    def skips_grid(self) -> bool:
        """Whether its one setting is selected without training its grid.

        Only with hold-outs: tables of a study with folds show the cross-validated accuracy.
        """
        return self.selects and bool(self.study.holdout) and len(self.method.settings) == 1

    @cached_property
    def chunks(self) -> list[list[JobPart]]:
        """The parts in groups: parts of a grid with the parts that select from it."""
        seconds = sum(part.seconds for part in self.parts_at(self.method.epsilons[:1]))
        together = fill(sorted(self.method.epsilons), lambda _: seconds, self.most)
        return [self.parts_at(tuple(epsilons)) for epsilons in together]

    def parts_at(self, epsilons: tuple[float, ...]) -> list[JobPart]:
        """Return the parts at some ε: a grid and a selection, or more if one ε takes too long."""
        if epsilons not in self._made_parts:
            blocks = (Block(self.method.points_at(epsilons), tuple(self.splits)),)
            grid = [] if self.skips_grid else [JobPart(self, epsilons, blocks)]
            best = [JobPart(self, epsilons, fresh=tuple(self.fresh_splits))]
            made = [*grid, *(best if self.selects else [])]
            is_long = len(epsilons) == 1 and sum(part.seconds for part in made) > self.most
            self._made_parts[epsilons] = self._cut(*epsilons) if is_long else made
        return self._made_parts[epsilons]

    @cached_property
    def _made_parts(self) -> dict[tuple[float, ...], list[JobPart]]:
        return {}

    def _cut(self, epsilon: float) -> list[JobPart]:
        """Return the parts at one ε, cut to at most `most` seconds each."""
        grid = fill(self._cut_into_blocks(epsilon), self.seconds_of, self.most)
        # The first part that trains afresh also does the second round of the selection.
        first, mean = self.fresh_splits[:1], self.mean_seconds
        n_final = self.n_fresh - len(self.fresh_splits)
        best = fill(
            self.fresh_splits,
            lambda split: mean * (1 + n_final if [split] == first else 1),
            self.most,
        )
        return [
            *(
                JobPart(self, (epsilon,), tuple(blocks), (), place, len(grid))
                for place, blocks in enumerate(grid)
            ),
            *(
                JobPart(self, (epsilon,), (), tuple(splits), place, len(best))
                for place, splits in enumerate(best if self.selects else ())
            ),
        ]

    def _cut_into_blocks(self, epsilon: float) -> Iterator[Block]:
        """Yield the runs of the grid at an ε; short ones that share costly work stay together."""
        splits = tuple(self.splits)
        for points in () if self.skips_grid else _group_points(self.method, epsilon):
            if self.seconds_of(Block(points, splits)) <= self.most:
                yield Block(points, splits)
            elif self.seconds_of(Block(points, splits[:1])) <= self.most:
                yield from (Block(points, (split,)) for split in splits)
            else:
                yield from (Block((p,), (s,)) for p, s in itertools.product(points, splits))

    @property
    def job_parts(self) -> list[JobPart]:
        """All of its parts."""
        return list(itertools.chain(*self.chunks))

    @property
    def grid(self) -> list[JobPart]:
        """The parts of its grid."""
        return [part for part in self.job_parts if not part.is_best]

    @property
    def best(self) -> list[JobPart]:
        """The parts that select and train afresh."""
        return [part for part in self.job_parts if part.is_best]

    @property
    def results(self) -> list[JobPart]:
        """The parts whose runs are its results: fresh trainings, or all."""
        return self.best if self.selects else self.grid

    @property
    def splits(self) -> list[Split]:
        """The splits that each point of its grid is trained on."""
        if self.selects:
            return self.study.selection_splits
        return self.fresh_splits

    @property
    def fresh_splits(self) -> list[Split]:
        """The splits whose runs are the results of a setting."""
        return self.study.fresh_splits(self.dataset.n_test > 0)

    @property
    def finalists(self) -> Finalists | None:
        """The second round of its selection; None without noise or with a single setting."""
        has_rounds = self.method.calibration and len(self.method.settings) > 1
        return self.study.finalists if has_rounds else None

    @property
    def final_splits(self) -> list[Split]:
        """The splits of the second round; none without one."""
        second = self.finalists
        return self.study.final_splits(second.draws) if second else []

    @property
    def n_fresh(self) -> int:
        """Number of runs after the cross-validation at each ε: finalists and fresh ones."""
        second = self.finalists
        n_finalists = min(second.settings, len(self.method.settings)) if second else 0
        return self.study.repeats + n_finalists * len(self.final_splits)

    @cached_property
    def digest(self) -> str:
        """A digest of all that its results depend on, except the data."""
        return self.digest_at(self.method.epsilons)

    def digest_at(self, epsilons: tuple[float, ...]) -> str:
        """Return a digest of all that its results at some ε depend on, except the data."""
        study, second = self.study, self.finalists
        final = f"{second.settings} of {second.draws} " if second else ""
        metric = "" if study.metric == DEFAULT_METRIC else f"by {study.metric} "
        grid = _digest_at(self.method, epsilons, *self.digest_terms)
        return f"{study.repeats} {final}{metric}{self.dataset_terms}{grid}"

    @property
    def digest_terms(self) -> tuple[int, tuple[float, int] | None, int | None, int | str]:
        """Terms of the digest: folds, hold-outs, repeats and seed; None for a default."""
        study = self.study
        holdouts = (study.holdout, study.repeats) if study.holdout else None
        runs = None if study.holdout or self.selects else study.repeats
        return study.folds, holdouts, runs, seeds.public_name(self.seed)

    @cached_property
    def dataset_terms(self) -> str:
        """Terms of the digest that only some datasets have; empty for others."""
        words = [f"with {score} of classes " for score in self.scores]
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
        """The scores without which a stored result is trained again.

        Earlier versions stored no AUC for more than two classes.
        """
        many = self.dataset.domain.n_classes > 2
        return (AUC,) if many and self.study.shows_auc else ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """About how many rows a fit has, its columns and classes: for estimates of cost."""
        rows = round(self.dataset.n_rows * self.method.train_share)
        domain = self.dataset.domain
        return max(1, rows), len(domain.columns), domain.n_classes

    @cached_property
    def seconds(self) -> float:
        """An estimate of the time that all of it takes."""
        return sum(job_part.seconds for job_part in self.job_parts)

    @cached_property
    def _costs(self) -> dict[int, float]:
        # Keyed by identity: all points of a method share its setting objects.
        seconds = fit_seconds(self.method, *self.shape)
        return dict(zip(map(id, self.method.settings), seconds, strict=True))

    def seconds_of(self, block: Block) -> float:
        """Return an estimate of the time that some runs take."""
        return len(block.splits) * sum(self._costs[id(p.setting)] for p in block.points)

    @property
    def mean_seconds(self) -> float:
        """The estimate for one fit, over all settings."""
        return sum(self._costs.values()) / len(self._costs)

    @property
    def checksum(self) -> str | None:
        """The checksum of the coded dataset as it is now; None if there is none.

        Raises DatasetError if it was coded from another description.
        """
        check_current(self.data)
        coded = facts(self.data)
        return None if coded is None else coded["checksum"]


class Block(NamedTuple):
    """Points, each of them trained on all of some splits."""

    points: tuple[Point, ...]
    splits: tuple[Split, ...]


@dataclass(frozen=True)
class JobPart:
    """What one job trains of a curve at some ε: a part of its grid, or the selected settings."""

    curve: Curve
    epsilons: tuple[float, ...]
    blocks: tuple[Block, ...] = ()  # runs of the grid
    fresh: tuple[Split, ...] = ()  # splits on which selected settings are trained afresh
    place: int = 0  # among the parts of its kind at these ε
    n_parts: int = 1

    @cached_property
    def name(self) -> str:
        """Its name in the study: ``adult/boost~proved/eps=0.1~3-of-8``, or ``…~best``."""
        last = "~".join(filter(None, (self.epsilon_text, self.part)))
        return f"{self.curve.dataset.name}/{stored(self.curve.method.name)}/{last}"

    @property
    def epsilon_text(self) -> str:
        """Its ε, as a part of a file's name; empty if these are all of the method."""
        if len(self.epsilons) == len(self.curve.method.epsilons):
            return ""
        ends = dict.fromkeys((self.epsilons[0], self.epsilons[-1]))
        return "eps=" + "..".join(map(canonical.number, ends))

    @property
    def part(self) -> str:
        """Which part of the grid it is, or of the fresh trainings."""
        number = f"{self.place + 1}-of-{self.n_parts}"
        if self.is_best:
            return "best" if self.n_parts == 1 else f"best~{number}"
        return number

    @property
    def is_best(self) -> bool:
        """Whether it trains selected settings afresh, and is no part of the grid."""
        return bool(self.fresh)

    @property
    def selects(self) -> bool:
        """Whether it selects; later parts of the fresh trainings use the first one's selection."""
        return self.is_best and (self.place == 0 or self.curve.skips_grid)

    @property
    def ranks(self) -> bool:
        """Whether it selects by the runs of a grid."""
        return self.selects and not self.curve.skips_grid

    @property
    def reads(self) -> list[JobPart]:
        """The parts that it needs: those of the grid, or the first part that has selected."""
        if not self.is_best or self.curve.skips_grid:
            return []
        parts = self.curve.parts_at(self.epsilons)
        best = [part for part in parts if part.is_best]
        return [part for part in parts if not part.is_best] if self.selects else best[:1]

    @property
    def tasks(self) -> list[tuple[Point, Split]]:
        """The runs of a part of a grid, as points and splits."""
        return [task for block in self.blocks for task in itertools.product(*block)]

    @property
    def n_runs(self) -> int:
        """Number of runs that it trains, including a second round of the selection."""
        if not self.is_best:
            return sum(len(points) * len(splits) for points, splits in self.blocks)
        n_final = self.curve.n_fresh - len(self.curve.fresh_splits) if self.selects else 0
        return len(self.epsilons) * (len(self.fresh) + n_final)

    @property
    def digest(self) -> str:
        """A digest of all that it depends on, except the data."""
        curve = self.curve
        if self.is_best:
            part = [(split.fold, split.repeat) for split in self.fresh] if self.n_parts > 1 else ""
            return f"{part}{curve.digest_at(self.epsilons)}"
        terms = curve.digest_terms
        if self.n_parts == 1:
            return curve.dataset_terms + _digest_at(curve.method, self.epsilons, *terms)
        points = [point for block in self.blocks for point in block.points]
        partial = [
            ([p.text for p in points], [(split.fold, split.repeat) for split in splits])
            for points, splits in self.blocks
            if len(splits) < len(curve.splits)
        ]
        return f"{partial or ''}{curve.dataset_terms}{_digest_of(curve.method, points, *terms)}"

    def trained(self, fact: Mapping[str, Any]) -> Trained:
        """Return which code has trained its runs, by a fact of its file (`results.read_facts`).

        Earlier versions did not write it.
        """
        if "code" in fact:
            return dict(fact["code"])
        n_runs = fact["trained"] + fact["reused"]
        selections = provenance.count_selections(len(self.epsilons), UNKNOWN)
        return {
            **{learners: {UNKNOWN: n_runs} for learners in self.curve.method.all_learners},
            **(selections if self.ranks else {}),
        }

    @cached_property
    def seconds(self) -> float:
        """An estimate of the time that it takes."""
        if self.is_best:
            return self.n_runs * self.curve.mean_seconds
        return sum(map(self.curve.seconds_of, self.blocks))


def fill(items: Iterable[T], seconds: Callable[[T], float], most: float) -> list[list[T]]:
    """Group items in their order, each group of at most `most` seconds or one item."""
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
def fit_seconds(method: Method, *shape: int) -> tuple[float, ...]:
    """Return the registry's estimate of one fit of each setting of a method."""
    cost = method.learner_entry.cost
    return tuple(cost(setting, *shape) for setting in method.settings)


def curves_of(
    study: Study, seed: Seed, seconds_per_job: float, about: Callable[[str], CurveData] = describe
) -> list[Curve]:
    """Return all curves of a study, dataset by dataset.

    Parts that are estimated to take more than twice `seconds_per_job` are cut.
    """
    pairs = itertools.product(map(about, study.datasets), study.methods.values())
    return [Curve(study, dataset, method, seed, 2 * seconds_per_job) for dataset, method in pairs]


def _group_points(method: Method, epsilon: float) -> Iterable[tuple[Point, ...]]:
    """Return the points at an ε, grouped by the costly work that they share."""
    shared = method.learner_entry.shared
    groups: dict[str, list[Point]] = {}
    for point in method.points:
        if point.epsilon == epsilon:
            setting = canonical.text([point.setting.get(s) for s in shared]) if shared else ""
            groups.setdefault(setting or point.text, []).append(point)
    return map(tuple, groups.values())


@cache
def _digest_at(method: Method, epsilons: tuple[float, ...], *terms: Any) -> str:
    """Return a digest of a method's grid at some ε, which is the same on each dataset."""
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
