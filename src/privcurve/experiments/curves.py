"""A curve, a method of a study on a dataset: the runs that are asked for, in portions for jobs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

from privcurve.datasets import check_current, describe, facts
from privcurve.experiments import canonical
from privcurve.experiments.arms import Arm, Point
from privcurve.experiments.cells import Named
from privcurve.experiments.splits import Split
from privcurve.experiments.study import ALL, AUC, BEST, DEFAULT_METRIC, Finalists, Study
from privcurve.learners import registry
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed

# Where things are, from the working directory.
CODED = Path("results/data")
STORE = Path("results/store")

# The portion of a curve that is no part of its grid: its best settings, trained afresh.
BEST_PART = -1


def coded_checksum(dataset: str) -> str | None:
    """Return the checksum of a coded dataset; None if there is none that can be read.

    None too where it was coded from another description: it is going to be coded anew.
    """
    coded = _coded(dataset)
    return None if coded is None else str(coded["checksum"])


def raw_checksums(dataset: str) -> dict[str, str] | None:
    """Return the checksums of the raw files that a dataset was coded from; None as above."""
    coded = _coded(dataset)
    return None if coded is None else dict(coded["sources"])


def _coded(dataset: str) -> dict[str, Any] | None:
    try:
        return facts(CODED / dataset)
    except ValueError:
        return None


class About(Named, Protocol):
    """What a curve knows of its dataset: a description, or facts of the coded data."""

    @property
    def n_rows(self) -> int:
        """Training records."""

    @property
    def n_test(self) -> int:
        """Records of the test part."""


@dataclass(frozen=True)
class Curve:
    """A method of a study on a dataset: what is asked for, without a look at results.

    Where all settings are results nothing is selected; where a lone setting need not be
    selected the grid has no part.
    """

    study: Study
    dataset: About
    arm: Arm
    n_parts: int  # into how many parts its grid is cut
    seed: Seed  # base seed of the run

    @cached_property
    def name(self) -> Path:
        """Study, dataset and method."""
        return Path(self.study.name, self.dataset.name, self.arm.name)

    @property
    def data(self) -> Path:
        """The folder of its coded dataset."""
        return CODED / self.dataset.name

    @property
    def selects(self) -> bool:
        """Whether a setting is selected and trained afresh; else every setting is a result."""
        return self.study.select == BEST

    @cached_property
    def grid(self) -> list[Portion]:
        """The parts of its grid."""
        return [Portion(self, part) for part in range(self.n_parts)]

    @cached_property
    def best(self) -> Portion:
        """The selection and the fresh trainings of a curve that selects."""
        return Portion(self, BEST_PART)

    @property
    def portions(self) -> list[Portion]:
        """All that jobs train of it."""
        return [*self.grid, self.best] if self.selects else self.grid

    @property
    def results(self) -> list[Portion]:
        """The portions whose runs are its results: fresh trainings, or all."""
        return [self.best] if self.selects else self.grid

    @property
    def splits(self) -> list[Split]:
        """The splits that each point of its grid is trained on."""
        if self.selects:
            return self.study.selection_splits
        return self.study.fresh_splits(self.dataset.n_test > 0)

    @property
    def finalists(self) -> Finalists | None:
        """The second round of its selection; a learner without noise needs none."""
        return self.study.finalists if self.arm.calibration and len(self.arm.settings) > 1 else None

    @property
    def final_splits(self) -> list[Split]:
        """The splits of the second round; none without one."""
        second = self.finalists
        return self.study.final_splits(second.draws) if second else []

    @property
    def n_fresh(self) -> int:
        """How many runs follow the cross-validation at each ε: finalists and fresh ones."""
        second = self.finalists
        n_finalists = min(second.settings, len(self.arm.settings)) if second else 0
        return self.study.repeats + n_finalists * len(self.final_splits)

    @cached_property
    def digest(self) -> str:
        """A digest of all that its results depend on but the data."""
        study, second = self.study, self.finalists
        final = f"{second.settings} of {second.draws} " if second else ""
        metric = "" if study.metric == DEFAULT_METRIC else f"by {study.metric} "
        return f"{study.repeats} {final}{metric}{self.here}{_digest(study, self.arm, self.seed)}"

    @cached_property
    def here(self) -> str:
        """What its results depend on on this dataset, which other datasets have not.

        As of a study's words, nothing where it is as it always was.
        """
        told = [f"with {score} of classes " for score in self.scores]
        if self.dataset.domain.mixed_bins is not None:
            merged = {few for one in self.arm.settings for few in self.arm.few_bins(one)}
            told += [f"merged to {few} bins " for few in sorted(merged)]
        if self.dataset.domain.n_classes > 2:
            each = (self.arm.class_versions(one).items() for one in self.arm.settings)
            versions = set(itertools.chain(*each))
            told += [f"{learner} of classes {version} " for learner, version in sorted(versions)]
        return "".join(told)

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores without which a stored result is trained again.

        Until AUC was defined for more than two classes, their results were stored without it.
        """
        many = self.dataset.domain.n_classes > 2
        return (AUC,) if many and self.study.shows_auc else ()

    @property
    def shape(self) -> tuple[int, int, int]:
        """About how many rows a fit takes, how many columns and classes: for estimates of cost."""
        rows = round(self.dataset.n_rows * self.arm.train_share)
        domain = self.dataset.domain
        return max(1, rows), len(domain.columns), domain.n_classes

    @property
    def seconds(self) -> float:
        """An estimate of the time that all of it takes."""
        return sum(portion.seconds for portion in self.portions)

    @property
    def checksum(self) -> str | None:
        """Of the coded dataset as it is now; None if there is none.

        Raises DatasetError if it was coded from another description than there is now.
        """
        check_current(self.data)
        coded = facts(self.data)
        return None if coded is None else coded["checksum"]


@dataclass(frozen=True)
class Portion:
    """What one job trains of a curve: a part of its grid, or (`BEST_PART`) what is best in it."""

    curve: Curve
    part: int

    @cached_property
    def name(self) -> str:
        """Its name in the study, and on command lines: ``adult/boost~certified/3-of-8``."""
        part = "best" if self.is_best else str(self.part + 1)
        return f"{self.curve.dataset.name}/{self.curve.arm.name}/{part}-of-{self.curve.n_parts}"

    @property
    def is_best(self) -> bool:
        """Whether it selects from the grid and trains afresh."""
        return self.part == BEST_PART

    @property
    def points(self) -> list[Point]:
        """The points that a part of a grid trains."""
        return parts(self.curve.arm, self.curve.n_parts)[self.part]

    @property
    def tasks(self) -> list[tuple[Point, Split]]:
        """The runs of a part of a grid, as points and splits."""
        return list(itertools.product(self.points, self.curve.splits))

    @property
    def digest(self) -> str:
        """A digest of all that it is asked for, but the data."""
        curve = self.curve
        if self.is_best:
            return curve.digest
        return curve.here + _digest(curve.study, curve.arm, curve.seed, self.part, curve.n_parts)

    @cached_property
    def seconds(self) -> float:
        """An estimate of the time that it takes."""
        curve = self.curve
        each = fit_seconds(curve.arm, *curve.shape)
        if self.is_best:
            return len(curve.arm.epsilons) * curve.n_fresh * sum(each) / len(each)
        return len(curve.arm.epsilons) * len(curve.splits) * sum(each) / curve.n_parts


def portion(study: Study, dataset: About, arm: str, part: str, seed: Seed) -> Portion:
    """Return a portion of a curve by the last part of its name: ``3-of-8`` or ``best-of-8``."""
    number, n_parts = part.split("-of-")
    curve = Curve(study, dataset, study.arms[arm], int(n_parts), seed)
    return Portion(curve, BEST_PART if number == "best" else int(number) - 1)


def is_lone(study: Study, arm: Arm) -> bool:
    """Whether a method has one setting that is taken as selected: hold-outs say so.

    A study with folds has its cross-validated accuracy in its tables, of lone settings too.
    """
    return study.select == BEST and bool(study.holdout) and len(arm.settings) == 1


@cache
def fit_seconds(arm: Arm, *shape: int) -> tuple[float, ...]:
    """Return the registry's estimate of one fit of each setting of a method."""
    cost = registry.entry(arm.learner).cost
    return tuple(cost(setting, *shape) for setting in arm.settings)


def curves(
    study: Study,
    seed: Seed,
    seconds_per_job: float,
    about: Callable[[str], About] = describe,
) -> list[Curve]:
    """Return all curves of a study, dataset by dataset.

    A grid that takes twice `seconds_per_job` or more is cut, into as few parts as take less each.
    """
    return [
        _cut(Curve(study, dataset, arm, 1, seed), seconds_per_job)
        for dataset in map(about, study.datasets)
        for arm in study.arms.values()
    ]


def _cut(curve: Curve, seconds_per_job: float) -> Curve:
    if is_lone(curve.study, curve.arm):
        return replace(curve, n_parts=0)
    n_parts = math.ceil(curve.grid[0].seconds / (2 * seconds_per_job))
    return replace(curve, n_parts=min(n_parts, len(_groups(curve.arm)))) if n_parts > 1 else curve


@cache
def parts(arm: Arm, n_parts: int) -> list[list[Point]]:
    """Deal the points of a method, as evenly as cards: neighbours cost about the same."""
    if n_parts == 1:
        return [list(arm.points)]
    groups = _groups(arm)
    return [list(itertools.chain(*groups[part::n_parts])) for part in range(n_parts)]


@cache
def _groups(arm: Arm) -> list[list[Point]]:
    """Return the points that share costly work, and that one job trains therefore.

    By setting first: what a setting costs does not depend on ε.
    """
    shared = registry.entry(arm.learner).shared
    n_settings = len(arm.settings)
    groups: dict[tuple[str, float], list[Point]] = {}
    for place in range(n_settings):
        for point in arm.points[place::n_settings]:
            setting = canonical.text([point.setting.get(s) for s in shared]) if shared else ""
            groups.setdefault((setting or point.text, point.epsilon), []).append(point)
    return list(groups.values())


def _digest(study: Study, arm: Arm, seed: Seed, part: int = 0, n_parts: int = 1) -> str:
    """Return a digest of what a part of a grid is asked for; on each dataset it is the same.

    What a study need not say stands in it only where it says something else.
    """
    runs = study.repeats if study.select == ALL and not study.holdout else None
    holdouts = (study.holdout, study.repeats) if study.holdout else None
    return _digest_of(arm, study.folds, holdouts, runs, seeds.named(seed), part, n_parts)


@cache
def _digest_of(
    arm: Arm,
    folds: int,
    holdouts: tuple[float, int] | None,
    runs: int | None,
    seed: int | str,
    part: int,
    n_parts: int,
) -> str:
    epsilons = {epsilon: canonical.number(epsilon) for epsilon in arm.epsilons}
    more = {
        "neighbours": arm.neighbours,
        "train_share": None if arm.train_share == 1 else arm.train_share,
        "holdouts": holdouts,
        "runs": runs,
    }
    more = {word: value for word, value in more.items() if value is not None}
    return canonical.digest_of_texts(
        sorted((epsilons[point.epsilon], point.text) for point in parts(arm, n_parts)[part]),
        arm.learner,
        arm.calibration,
        arm.delta,
        folds,
        seed,
        arm.version,
        *([more] if more else []),
    )
