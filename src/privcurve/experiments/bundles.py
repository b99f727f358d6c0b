"""Small curves of a study that share a job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from privcurve.experiments import canonical
from privcurve.experiments.jobs import Curve
from privcurve.experiments.results import is_current


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

    @property
    def outputs(self) -> list[Path]:
        """All files that it makes."""
        selected = [curve.selected for curve in self.curves if curve.selects]
        return [path for curve in self.curves for path in curve.files] + selected

    @property
    def failures(self) -> list[Path]:
        """The files that count failed attempts."""
        return [
            curve.failures(shard)
            for curve in self.curves
            for shard in (*range(curve.shards), *([None] if curve.selects else []))
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

    def is_current(self, path: Path) -> bool:
        """Whether one of its files of cells that is there is of what is asked for now."""
        digest, curve = self._asked[path]
        return is_current(path, digest, curve.checksum)

    @cached_property
    def _asked(self) -> dict[Path, tuple[str, Curve]]:
        return {
            path: (digest, curve)
            for curve in self.curves
            for path, digest in zip(curve.files, digests(curve), strict=True)
        }


def digests(curve: Curve) -> list[str]:
    """Give the digests of all jobs that a curve would have alone."""
    shards = [curve.shard_digest(shard) for shard in range(curve.shards)]
    return [*shards, curve.refit_digest] if curve.selects else shards


def bundles(curves: Iterable[Curve]) -> list[Bundle]:
    """Give the bundles of some curves; those with jobs of their own are in none."""
    found: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        if curve.bundle:
            found.setdefault((curve.study.name, curve.bundle), []).append(curve)
    return [Bundle(tuple(members)) for members in found.values()]
