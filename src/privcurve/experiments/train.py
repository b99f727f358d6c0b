"""Train and score cells: take what is in the store, train the rest, append as it goes."""

from __future__ import annotations

import itertools
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from privcurve.datasets import Dataset, distinct, stratified_folds
from privcurve.experiments import canonical, metrics
from privcurve.experiments.cell import (
    TEST,
    Cell,
    CellIds,
    Split,
    generator,
    key_scheme,
    partition_generator,
    selection_splits,
    shard_digest,
    shard_key,
    shard_points,
)
from privcurve.experiments.keys import Keys
from privcurve.experiments.results import Key, read_shards
from privcurve.experiments.store import Store
from privcurve.experiments.study import Arm, Point, Study
from privcurve.learners import registry

logger = logging.getLogger(__name__)

# Cells that are trained in one call of a learner: enough to share the work on the data,
# few enough that a killed job loses about a second at most.
LARGEST_BATCH = 32
SECONDS_PER_BATCH = 1.0


@dataclass(frozen=True)
class Part:
    """Distinct coded rows, their signs, and how many records each stands for."""

    X: Any
    y: Any
    counts: Any


class Splitter:
    """Cuts a dataset into training and scoring parts, remembering partitions.

    Parameters
    ----------
    dataset : Dataset
    seed : int
        Base seed.
    """

    def __init__(self, dataset: Dataset, seed: int) -> None:
        self._dataset = dataset
        self._seed = seed
        self._folds: dict[tuple[int, int], Any] = {}

    def parts(self, split: Split) -> tuple[Part, Part]:
        """Give the training and the scoring part of a split."""
        data = self._dataset
        if split.fold == TEST:
            if data.X_test is None or data.y_test is None:
                raise ValueError(f"{data.name} has no test part")
            return Part(*distinct(data.X, data.y)), Part(*distinct(data.X_test, data.y_test))
        key = (split.n_folds, split.partition)
        if key not in self._folds:
            rng = partition_generator(data.name, data.checksum, *key, self._seed)
            self._folds[key] = stratified_folds(data.y, split.n_folds, rng)
        scored = self._folds[key] == split.fold_number
        return (
            Part(*distinct(data.X[~scored], data.y[~scored])),
            Part(*distinct(data.X[scored], data.y[scored])),
        )


class Trainer:
    """Trains the cells of one arm on one dataset.

    Parameters
    ----------
    dataset : Dataset
    arm : Arm
    seed : int
        Base seed.
    store : Path
        Folder of the store; results are kept in a folder of this dataset and learner.

    Attributes
    ----------
    n_trained, n_reused, n_failed : int
        Counts so far.
    training_seconds : float
        Spent in fits and scores so far.
    """

    def __init__(self, dataset: Dataset, arm: Arm, seed: int, store: Path) -> None:
        self._dataset = dataset
        self._arm = arm
        self._ids = CellIds(dataset.name, dataset.checksum, arm, seed)
        self._splitter = Splitter(dataset, seed)
        self._folder = store / dataset.name / arm.learner
        self._version = registry.entry(arm.learner).version
        self.n_trained = self.n_reused = self.n_failed = 0
        self.training_seconds = 0.0

    @property
    def checksum(self) -> str:
        """Of the coded dataset."""
        return self._dataset.checksum

    @property
    def has_test(self) -> bool:
        """Whether the dataset has a test part."""
        return self._dataset.X_test is not None

    def facts(self, digest: str) -> dict[str, Any]:
        """Give what is written beside the rows of a job: what it was asked for, and its work.

        Parameters
        ----------
        digest : str
            Of what the job was asked for.

        Returns
        -------
        dict
        """
        return {
            "digest": digest,
            "checksum": self._dataset.checksum,
            "trained": self.n_trained,
            "reused": self.n_reused,
            "failed": self.n_failed,
            "training_seconds": round(self.training_seconds, 3),
        }

    def run(self, tasks: Iterable[tuple[Point, Split]]) -> list[dict[str, Any]]:
        """Train what is not in the store and give all rows.

        Parameters
        ----------
        tasks : iterable of (Point, Split)

        Returns
        -------
        list of dict
            One row a cell, ordered by ε, setting, repeat and fold.
        """
        cells = {cell.id: cell for cell in (self._ids.cell(*task) for task in tasks)}
        points = {(cell.point.epsilon, cell.point.text): cell.point for cell in cells.values()}
        keys = Keys(key_scheme(self._arm), [shard_key(self._arm, p) for p in points.values()])
        store = Store(self._folder, keys)
        results = store.read(cells)
        self.n_reused += len(results)
        missing = [cell for name, cell in cells.items() if name not in results]
        logger.info(
            "%s, %s: %d cells, %d stored, %d to train",
            self._dataset.name,
            self._arm.name,
            len(cells),
            len(results),
            len(missing),
        )
        if missing:
            store.check()
        with store, Progress(len(missing)) as progress:
            for cell, result in self._train(missing):
                results[cell.id] = result
                if result["status"] == "ok":
                    self.n_trained += 1
                    store.add(cell.id, result)
                else:
                    self.n_failed += 1
                progress.step()
        rows = [self._row(cell, results[name]) for name, cell in cells.items()]
        rows.sort(key=lambda r: (r["epsilon"], r["setting"], r["repeat"], r["fold"]))
        return rows

    def _row(self, cell: Cell, result: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": cell.id,
            "dataset": self._dataset.name,
            "arm": self._arm.name,
            "learner": self._arm.learner,
            "calibration": self._arm.calibration,
            "delta": self._arm.delta,
            "epsilon": cell.point.epsilon,
            "setting": cell.point.text,
            "fold": cell.split.fold,
            "repeat": cell.split.repeat,
            "version": self._version,
            **result,
        }

    def _train(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
        for split in sorted({cell.split for cell in cells}, key=lambda s: (s.repeat, s.fold)):
            train, scored = self._splitter.parts(split)
            mine = [cell for cell in cells if cell.split == split]
            # Neighbours in this order share most: a kernel trains equal settings together.
            mine.sort(key=lambda cell: (cell.point.text, cell.point.epsilon))
            while mine:
                size = self._batch_size(mine[0], train)
                batch, mine = mine[:size], mine[size:]
                yield from zip(batch, self._fit(batch, train, scored), strict=True)

    def _batch_size(self, cell: Cell, train: Part) -> int:
        cost = registry.entry(self._arm.learner).cost(cell.point.setting, *train.X.shape)
        return min(LARGEST_BATCH, max(1, round(SECONDS_PER_BATCH / cost)))

    def _fit(self, cells: Sequence[Cell], train: Part, scored: Part) -> list[dict[str, Any]]:
        template = registry.estimator_class(self._arm.learner)(
            n_bins=self._dataset.domain.n_bins, classes=(-1, 1)
        )
        settings = [self._arm.estimator_parameters(cell.point) for cell in cells]
        started = time.perf_counter()
        try:
            fitted = template.fit_many(
                train.X, train.y, settings, [generator(cell) for cell in cells], train.counts
            )
            seconds = (time.perf_counter() - started) / len(cells)
            scores = [score(learner, train, scored, seconds) for learner in fitted]
        except Exception as error:
            if len(cells) > 1:
                # One bad setting must not take its neighbours with it.
                return [self._fit([cell], train, scored)[0] for cell in cells]
            logger.exception("a cell failed: %s", cells[0])
            self.training_seconds += time.perf_counter() - started
            return [failure(error)]
        self.training_seconds += time.perf_counter() - started
        return scores


def failure(error: Exception) -> dict[str, Any]:
    """Give the result of a cell that could not be trained."""
    return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def score(learner: Any, train: Part, scored: Part, seconds: float) -> dict[str, Any]:
    """Score a fitted learner.

    Parameters
    ----------
    learner : fitted learner
    train, scored : Part
    seconds : float
        What the fit took.

    Returns
    -------
    dict
        The result columns of a cell, plain JSON values.
    """
    values = learner.decision_function(scored.X)
    if not np.isfinite(values).all():
        return failure(FloatingPointError("the model gives scores that are not finite"))
    loss = None
    if hasattr(learner, "predict_proba"):
        loss = metrics.log_loss(learner.predict_proba(scored.X), scored.y, scored.counts)
    statement = learner.privacy_
    return {
        "neighbours": statement.neighbours,
        "epsilon_spent": float(statement.epsilon_spent),
        "accuracy": metrics.accuracy(values, scored.y, scored.counts),
        "balanced_accuracy": metrics.balanced_accuracy(values, scored.y, scored.counts),
        "auc": metrics.auc(values, scored.y, scored.counts),
        "log_loss": loss,
        "train_accuracy": metrics.accuracy(
            learner.decision_function(train.X), train.y, train.counts
        ),
        "n_train": int(train.counts.sum()),
        "n_features_used": int(learner.n_features_used_),
        "fit_seconds": round(seconds, 6),
        "status": "ok",
        "error": None,
    }


class Progress:
    """Tells how far a job is: as a bar in a terminal, else in the log, every few seconds.

    Parameters
    ----------
    total : int
        Cells to train.
    every : float
        Seconds between two lines of the log.
    """

    def __init__(self, total: int, every: float = 10.0) -> None:
        self._total = total
        self._every = every
        self._done = 0
        self._started = self._last = time.monotonic()
        self._bar = None
        if total and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="cell", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self) -> None:
        """Count one cell."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
            return
        now = time.monotonic()
        if now - self._last >= self._every and self._done < self._total:
            self._last = now
            left = (now - self._started) / self._done * (self._total - self._done)
            logger.info("%d of %d cells, about %.0f s left", self._done, self._total, left)


def start_log() -> None:
    """Send this process's log to standard error, one plain line an event."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )


def expected_keys(tasks: Iterable[tuple[Point, Split]]) -> list[Key]:
    """Give the keys that the rows of some tasks must have."""
    return [
        (canonical.number(point.epsilon), point.text, split.fold, split.repeat)
        for point, split in tasks
    ]


def read_selection(
    asked: tuple[Study, Arm, int],
    checksum: str | None,
    folder: Path,
    shards: int,
    columns: list[str],
) -> Iterator[Any]:
    """Read the cross-validation of an arm on a dataset, as it is asked for now.

    Parameters
    ----------
    asked : (Study, Arm, base seed)
    checksum : str or None
        Of the coded dataset.
    folder : Path
        Of the shards.
    shards : int
        How many there are.
    columns : list of str
        Those to read.

    Yields
    ------
    pandas.DataFrame
        One a shard.

    Raises
    ------
    IncompleteError
        If a shard was made for something else, is damaged, or has other cells than it must.
    """
    study, arm, seed = asked
    splits = selection_splits(study.folds)

    def digest(shard: int) -> str:
        return shard_digest(study, arm, shard, shards, seed)

    def keys(shard: int) -> list[Key]:
        return expected_keys(itertools.product(shard_points(arm, shard, shards), splits))

    return read_shards(folder, shards, columns, digest, checksum, keys)
