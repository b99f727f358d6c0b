"""A cell: one trained and scored model, its id, and the randomness derived from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from privcurve.experiments import canonical
from privcurve.experiments.arms import Arm, Point
from privcurve.experiments.splits import Split


@dataclass(frozen=True)
class Cell:
    """One point of an arm on one split of one dataset."""

    point: Point
    split: Split
    id: str


class CellIds:
    """Makes the cells of one arm on one dataset.

    Parameters
    ----------
    dataset : str
    checksum : str
        Of the coded dataset.
    arm : Arm
    seed : int
        Base seed of the run.
    """

    def __init__(self, dataset: str, checksum: str, arm: Arm, seed: int) -> None:
        facts = {
            "calibration": arm.calibration,
            "checksum": checksum,
            "dataset": dataset,
            "delta": arm.delta,
        }
        # The key is canonical JSON, put together from parts: a study may have a million cells.
        self._first = canonical.text(facts)[1:-1]
        # What a study need not say stands in the key only where it says something else.
        relation = {} if arm.neighbours is None else {"neighbours": arm.neighbours}
        share = {} if arm.train_share == 1 else {"train_share": arm.train_share}
        self._learner = canonical.text({"learner": arm.learner, **relation})[1:-1]
        self._seed = canonical.text({"seed": seed})[1:-1]
        self._version = canonical.text({**share, "version": arm.version})[1:-1]

    def cell(self, point: Point, split: Split) -> Cell:
        """Give the cell of a point on a split."""
        (name,) = self.names(point, [split])
        return Cell(point, split, name)

    def names(self, point: Point, splits: Iterable[Split]) -> Iterator[str]:
        """Give the ids of the cells of a point."""
        epsilon, setting = canonical.text(point.epsilon), canonical.text(point.text)
        for split in splits:
            key = (
                f'{{{self._first},"epsilon":{epsilon},"fold":"{split.fold}",{self._learner},'
                f'"repeat":{split.repeat},{self._seed},"setting":{setting},{self._version}}}'
            )
            yield hashlib.sha256(key.encode()).hexdigest()


def generator(cell: Cell) -> np.random.Generator:
    """Give the random stream of a cell."""
    return np.random.default_rng(np.random.SeedSequence(int(cell.id, 16)))
