"""The curves of a study; small ones share a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from privcurve.datasets import describe
from privcurve.experiments import canonical
from privcurve.experiments.jobs import About, Curve, coded_checksum, curve
from privcurve.experiments.results import is_done
from privcurve.experiments.study import Study
from privcurve.privacy.seeds import Seed


@dataclass(frozen=True)
class Bundle:
    """Curves that one job trains whole: what selects, the selection, and fresh trainings.

    Attributes
    ----------
    curves : tuple of Curve
        Of one study, each of one shard or none.
    """

    curves: tuple[Curve, ...]

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.curves[0].study.name

    @property
    def name(self) -> str:
        """Its name in the study, ``bundle~k``."""
        return self.curves[0].bundle

    @property
    def rule(self) -> str:
        """The name of the rule that makes it."""
        return f"train_{self.study}_{self.name.replace('~', '_')}"

    @property
    def datasets(self) -> list[str]:
        """The datasets that it trains on."""
        return list(dict.fromkeys(curve.dataset.name for curve in self.curves))

    @cached_property
    def files(self) -> list[Path]:
        """The files of cells that it writes."""
        return [path for curve in self.curves for path in curve.files]

    @property
    def outputs(self) -> list[Path]:
        """All files that it makes."""
        return [*self.files, *(curve.selected for curve in self.curves if curve.selects)]

    @property
    def failures(self) -> list[Path]:
        """The files that count failed attempts."""
        return [
            curve.failures(shard)
            for curve in self.curves
            for shard in (*curve.shard_numbers, *([None] if curve.selects else []))
        ]

    @property
    def arguments(self) -> list[str]:
        """Its curves as a command line names them."""
        return [f"{c.dataset.name}/{c.arm.name}/{c.shards}" for c in self.curves]

    @cached_property
    def digest(self) -> str:
        """A digest of all that it is asked for: the job reruns when it changes."""
        return canonical.digest([[*curve.name.parts, digests(curve)] for curve in self.curves])

    @property
    def work(self) -> float:
        """An estimate of the seconds that it trains."""
        return sum(curve.work for curve in self.curves)

    def is_done(self, path: Path) -> bool:
        """Whether one of its files that is there is of what is asked for now, and whole."""
        digest, curve = self._asked[path]
        return is_done(path, digest, coded_checksum(curve.dataset.name))

    @cached_property
    def _asked(self) -> dict[Path, tuple[str, Curve]]:
        return {
            path: (digest, curve)
            for curve in self.curves
            for path, digest in zip(curve.files, digests(curve), strict=True)
        }


def digests(one: Curve) -> list[str]:
    """Return the digests of all jobs that a curve would have alone."""
    shards = [one.shard_digest(shard) for shard in one.shard_numbers]
    return [*shards, one.refit_digest] if one.selects else shards


def bundles(curves: Iterable[Curve]) -> list[Bundle]:
    """Return the bundles of some curves; those with jobs of their own are in none."""
    found: dict[tuple[str, str], list[Curve]] = {}
    for one in curves:
        if one.bundle:
            found.setdefault((one.study.name, one.bundle), []).append(one)
    return [Bundle(tuple(members)) for members in found.values()]


def curves(
    study: Study,
    seed: Seed,
    seconds_per_job: float,
    about: Callable[[str], About] = describe,
) -> list[Curve]:
    """Return all curves of a study, dataset by dataset; small ones share jobs.

    A start costs a job more than some arms cost to train. Those that take less than
    `seconds_per_job` are put together in their order, until they take half of it: so few of
    them read the same data, and what is added at the end of a study moves none before it. A job
    whose members change takes from the store what they have.

    Parameters
    ----------
    study : Study
    seed : Seed
        Base seed of the run.
    seconds_per_job : float
    about : callable
        Gives the description of a dataset by its name.
    """
    cut = [
        curve(study, dataset, arm, seed, seconds_per_job)
        for dataset in map(about, study.datasets)
        for arm in study.arms.values()
    ]
    small = [one for one in cut if one.shards < 2 and one.work < seconds_per_job]
    bundles = _together(small, seconds_per_job / 2)
    names = {one.name: f"bundle~{k}" for k, bundle in enumerate(bundles) for one in bundle}
    return [replace(one, bundle=names[one.name]) if one.name in names else one for one in cut]


def _together(small: Iterable[Curve], enough: float) -> list[list[Curve]]:
    """Put curves together until they take enough seconds; those of more than one are bundles."""
    bundles: list[list[Curve]] = []
    work = enough
    for one in small:
        if work >= enough:
            bundles.append([])
            work = 0.0
        bundles[-1].append(one)
        work += one.work
    if len(bundles) > 1 and work < enough:
        # What is left over is less than a job.
        bundles[-2:] = [bundles[-2] + bundles[-1]]
    return [bundle for bundle in bundles if len(bundle) > 1]
