"""Split a dataset: choose which records train a model and which records score it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from privcurve.coding import Records, code_type
from privcurve.datasets import (
    Dataset,
    Domain,
    PartedDataset,
    distinct,
    label_persons,
    stratified_folds,
)
from privcurve.experiments import canonical
from privcurve.privacy import seeds
from privcurve.privacy.parts import PartedRecords
from privcurve.privacy.seeds import Seed

TEST = "test"

# Maximum bytes of training and scoring parts that a splitter caches. Without the cache, each method
# and repeat would compute the distinct rows again, which can take longer than a fit.
REMEMBERED = 2**27

# Smallest allowed expected number of drawn records (share × number of records). At least one record
# of each label is always drawn, so that a smaller share would draw far more records than requested.
LEAST_HELD_OUT = 0.1


class Split(NamedTuple):
    """One division of a dataset into records that train a model and records that score it."""

    # The part that is scored: `"k/n"` is fold k of n (k from 1), `"k@h"` is hold-out number k with
    # a share h of the records, and `"test"` is the dataset's own test part.
    fold: str
    # 0 in the selection of settings; −1, −2, … in its second round; 1, 2, … in fresh trainings.
    repeat: int

    @property
    def n_folds(self) -> int:
        """Number of folds into which the dataset is divided; 0 for a hold-out."""
        return int(self.fold.partition("/")[2] or 0)

    @property
    def fold_number(self) -> int:
        """Number of the fold that is scored, from 0."""
        return int(self.fold.partition("/")[0]) - 1

    @property
    def holdout(self) -> float:
        """Share of the records that are held out and scored; 0 for a fold."""
        return float(self.fold.partition("@")[2] or 0)

    @property
    def partition(self) -> int:
        """Number of the random partition of the dataset that the split uses.

        Folds of the same partition have the same number: 0 in the selection of settings, and
        1, 2, … in fresh trainings. Each hold-out has a partition of its own: these partitions have
        the numbers −1, −2, … in the selection and 1, 2, … in fresh trainings.
        """
        if self.holdout:
            return self.repeat if self.repeat > 0 else -int(self.fold.partition("@")[0])
        return 0 if self.repeat <= 0 else 1 + (self.repeat - 1) // self.n_folds


def fold_splits(n_folds: int) -> list[Split]:
    """Return the splits of the cross-validation that selects settings: one for each fold."""
    return [Split(f"{k}/{n_folds}", 0) for k in range(1, n_folds + 1)]


def holdout_splits(share: float, repeats: int, *, fresh: bool) -> list[Split]:
    """Return `repeats` hold-outs: for fresh trainings if `fresh`, else to select settings."""
    text = canonical.number(share)
    return [Split(f"{k}@{text}", k if fresh else 0) for k in range(1, repeats + 1)]


def partition_generator(
    dataset: str, checksum: str, n_folds: int, partition: int, seed: Seed, **more: Any
) -> np.random.Generator:
    """Return the random stream that draws the partition number `partition` of a dataset."""
    key = {"dataset": dataset, "checksum": checksum, "folds": n_folds, "partition": partition}
    named = {**key, "seed": seeds.public_name(seed), **more}
    return seeds.generator(seed, canonical.digest(named))


def draw_held_out(y: Any, share: float, rng: np.random.Generator) -> Any:
    """Draw a share of the records of each label: at least one record, and never all.

    Returns a Boolean array that is true for the drawn records.
    """
    chosen = np.zeros(len(y), dtype=bool)
    labels = np.unique(y)
    if share * len(y) < LEAST_HELD_OUT:
        raise ValueError(
            f"holdout must be ≥ {len(labels) / len(y):.2g} on this dataset; got {share:g}, "
            f"which is less than one of its {len(y)} records"
        )
    for label in labels:
        rows = rng.permutation(np.flatnonzero(y == label))
        if len(rows) < 2:
            raise ValueError("each label must have two records or more to hold some out")
        chosen[rows[: min(max(1, round(share * len(rows))), len(rows) - 1)]] = True
    return chosen


def take_share(y: Any, rows: Any, order: Any, share: float) -> Any:
    """Draw a share of `rows` from each label, but at least one row.

    `rows` are positions of records. `y` has the labels of all records, and `order` their random
    ranks: of each label, the rows of lowest rank are drawn. The rows of a smaller share are
    therefore a subset of the rows of a larger share.
    """
    parts, labels = [], np.unique(y[rows])
    if share * len(rows) < LEAST_HELD_OUT:
        raise ValueError(
            f"train_shares must be ≥ {len(labels) / len(rows):.2g} on this dataset; got "
            f"{share:g}, which is less than one of its {len(rows)} records"
        )
    for label in labels:
        alike = rows[y[rows] == label]
        n_taken = max(1, round(share * len(alike)))
        parts.append(alike[np.argsort(order[alike], kind="stable")][:n_taken])
    return np.sort(np.concatenate(parts))


def labels_for_folds(dataset: Dataset | PartedDataset) -> tuple[Any, Any]:
    """Return the label of each unit that is drawn into folds, and the unit of each record.

    A unit is a record or, if the dataset protects persons, a person: all records of a person are in
    the same fold.
    """
    if dataset.persons is None:
        return dataset.y, slice(None)
    return label_persons(dataset.y, dataset.persons)


def distinct_records(domain: Domain, X: Any, y: Any) -> Records:
    """Return the distinct rows of encoded records, and how many records equal each row."""
    return Records(*distinct(X, y), np.array(domain.n_bins))


class Splitter:
    """Divides a dataset into training and scoring parts, and caches the parts.

    With `train_share` < 1, models train on a share of the training part. On the same split, the
    records of a smaller share are a subset of the records of a larger share.
    """

    def __init__(
        self, dataset: Dataset | PartedDataset, seed: Seed, train_share: float = 1.0
    ) -> None:
        self._dataset = dataset
        self._seed = seed
        self._share = train_share
        self._folds: dict[tuple[int, int], Any] = {}
        self._parts: dict[tuple[str, int], tuple[Records | PartedRecords, Records]] = {}

    def parts(self, split: Split) -> tuple[Records | PartedRecords, Records]:
        """Return the training part and the scoring part of a split."""
        partition = self._partition(split)
        key = (split.fold, 0 if split.fold == TEST and self._share == 1 else partition)
        if key not in self._parts:
            domain = self._dataset.domain
            width = len(domain.n_bins) * np.dtype(code_type(domain.n_bins)).itemsize
            size = (width + 9) * self._dataset.n_rows
            while len(self._parts) >= max(1, REMEMBERED // size):
                del self._parts[next(iter(self._parts))]
            self._parts[key] = self._cut(split)
        return self._parts[key]

    def rows(self, split: Split) -> tuple[Any, Any]:
        """Return the positions of the training records, and the positions of the scoring records.

        For the fold `TEST`, the scoring records are all records of the dataset's test part, and
        their positions count from its start.
        """
        data = self._dataset
        if split.fold == TEST:
            if data.X_test is None or data.y_test is None:
                raise ValueError(f"{data.name} has no test part")
            return self._sample_rows(np.arange(len(data.y)), split), np.arange(len(data.y_test))
        scored = self._find_scored_rows(split)
        return self._sample_rows(np.flatnonzero(~scored), split), np.flatnonzero(scored)

    def _cut(self, split: Split) -> tuple[Records | PartedRecords, Records]:
        data = self._dataset
        train, scored = self.rows(split)
        trained = data.select(train) if isinstance(data, PartedDataset) else self._records(train)
        if split.fold == TEST and data.X_test is not None and data.y_test is not None:
            return trained, distinct_records(data.domain, data.X_test, data.y_test)
        return trained, self._records(scored)

    def _find_scored_rows(self, split: Split) -> Any:
        labels, places = labels_for_folds(self._dataset)
        if split.holdout:
            # A hold-out is not cached, as only one split uses it.
            rng = self._stream(split, holdout=split.holdout)
            return draw_held_out(labels, split.holdout, rng)[places]
        key = (split.n_folds, split.partition)
        if key not in self._folds:
            folds = stratified_folds(labels, split.n_folds, self._stream(split))
            self._folds[key] = folds[places]
        return self._folds[key] == split.fold_number

    def _sample_rows(self, rows: object, split: Split) -> Any:
        if self._share == 1:
            return rows
        y = self._dataset.y
        order = self._stream(split, order=split.fold).permutation(len(y))
        return take_share(y, rows, order, self._share)

    def _records(self, rows: Any) -> Records:
        return distinct_records(self._dataset.domain, *self._dataset.rows(rows))

    def _stream(self, split: Split, **more: Any) -> np.random.Generator:
        data, partition = self._dataset, self._partition(split)
        return partition_generator(
            data.name, data.checksum, split.n_folds, partition, self._seed, **more
        )

    def _partition(self, split: Split) -> int:
        return split.repeat if split.fold == TEST else split.partition
