"""Define runs and their ids: a run is one training of a model and the scores of this model.

The random stream of a run follows from its id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privcurve.datasets import Domain
from privcurve.experiments import canonical
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.splits import Split
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.stored import stored


@dataclass(frozen=True)
class Run:
    """One training of a method: at a point (ε and setting), on one split of a dataset."""

    point: Point
    split: Split
    id: str


class NamedData(Protocol):
    """The facts about a dataset that ids of runs need: its name and its domain."""

    @property
    def name(self) -> str:
        """Name of the dataset."""

    @property
    def domain(self) -> Domain:
        """Public facts about the dataset: columns, bins, classes."""


class RunIds:
    """Computes the ids of the runs of one method on one dataset.

    An id is the SHA-256 of all that determines a run: the dataset and the `checksum` of its
    encoding, the method, point, split, seed and version of the learner. A secret seed enters by its
    public name only. If the dataset has mixed bins, the id also depends on the number of bins to
    which the learner merges them. If the dataset has more than two classes, the id also depends on
    the version of the learner's fits for more than two classes.
    """

    def __init__(self, dataset: NamedData, checksum: str, method: Method, seed: Seed) -> None:
        # The id is the hash of canonical JSON. The JSON is assembled from parts that are written
        # once, as a study may have a million runs.
        noise = {"calibration": stored(method.calibration), "delta": method.delta}
        facts = {**noise, "checksum": checksum, "dataset": dataset.name}
        self._first = canonical.text(facts)[1:-1]
        # Values that later versions added to the JSON are left out if they equal their default, so
        # that the ids of older runs stay valid.
        self._relation = {} if method.neighbours is None else {"neighbours": method.neighbours}
        share = {} if method.train_share == 1 else {"train_share": method.train_share}
        self._dataset, self._checksum, self._method, self._base = dataset, checksum, method, seed
        domain = dataset.domain
        self._is_mixed, self._has_many = domain.mixed_bins is not None, domain.n_classes > 2
        self._plain = self._write_learner({})
        self._seed = canonical.text({"seed": seeds.public_name(seed)})[1:-1]
        self._version = canonical.text({**share, "version": method.version})[1:-1]

    def _write_learner(self, added: Mapping[str, object]) -> str:
        return canonical.text({"learner": self._method.learner, **added, **self._relation})[1:-1]

    def run(self, point: Point, split: Split) -> Run:
        """Return the run of a point on a split."""
        (name,) = self.names(point, [split])
        return Run(point, split, name)

    def stream(self, run: Run) -> np.random.Generator:
        """Return the random stream of a run, derived from its id and the seed."""
        return seeds.generator(self._base, run.id)

    def names(self, point: Point, splits: Iterable[Split]) -> Iterator[str]:
        """Yield the ids of the runs of a point, one for each of `splits`."""
        epsilon, setting = canonical.text(point.epsilon), canonical.text(point.text)
        few = self._method.few_bins(point.setting) if self._is_mixed else ()
        versions = self._method.class_versions(point.setting) if self._has_many else {}
        terms = {"learner_of_classes": versions, "merged_to": few}
        used = {key: value for key, value in terms.items() if value}
        learner = self._write_learner(used) if used else self._plain
        for split in splits:
            key = (
                f'{{{self._first},"epsilon":{epsilon},"fold":"{split.fold}",{learner},'
                f'"repeat":{split.repeat},{self._seed},"setting":{setting},{self._version}}}'
            )
            yield hashlib.sha256(key.encode()).hexdigest()
