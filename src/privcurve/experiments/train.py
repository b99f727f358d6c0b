"""Train and score runs: reuse stored results, train the missing runs, and store their results."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from privcurve.coding import Records
from privcurve.datasets import Dataset, PartedDataset
from privcurve.experiments.methods import Method, Point
from privcurve.experiments.metrics import failure, score
from privcurve.experiments.provenance import Stamps, Trained, add_up, checksum, say_trained
from privcurve.experiments.results import MEMORY
from privcurve.experiments.runs import Run, RunIds
from privcurve.experiments.splits import Split, Splitter
from privcurve.experiments.store import Store
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import PartedRecords
from privcurve.privacy.seeds import Seed

logger = logging.getLogger(__name__)

# One call of a learner trains a batch of runs, which share work on the data. The results of a batch
# are stored at its end, so that a killed job loses its last batch. A batch therefore has at most
# LARGEST_BATCH runs and takes about SECONDS_PER_BATCH.
LARGEST_BATCH = 32
SECONDS_PER_BATCH = 1.0

# Seconds between two lines of progress in the log.
SECONDS_PER_LINE = 10.0


def fit_method(
    dataset: Dataset | PartedDataset,
    method: Method,
    runs: Sequence[Run],
    train: Records | PartedRecords,
    ids: RunIds,
) -> list[Any]:
    """Train a method on the records `train` of a dataset; return a fitted learner for each run.

    Each run uses the random stream of its id. If the dataset protects persons, the privacy
    statements of the learners are about persons.
    """
    for run in runs:
        say_trained(method.learners(run.point.setting))
    template = registry.make(method.learner, dataset.domain, neighbours=method.claim)
    public: dict[str, Any] = {}
    if "n_estimate" in method.learner_entry.parameters and method.claim == ADD_REMOVE:
        # Under add-remove the number of records is secret. A study passes this number rounded to
        # its first digit as a public estimate, and the privacy statement says so.
        public["n_estimate"] = int(float(f"{train.n:.0e}"))
    settings = [
        {**public, **method.estimator_parameters(run.point, dataset.at_most)} for run in runs
    ]
    curators = [Curator(ids.stream(run)) for run in runs]
    learners: list[Any] = template.fit_records(train, settings, curators)
    for learner in learners:
        learner._fitted_statement = learner._fitted_statement.of_persons(dataset.at_most)
    return learners


def forget_peak() -> None:
    """Reset the peak that :func:`peak_memory` returns; has an effect only on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def peak_memory() -> float | None:
    """Return the peak memory of this process in MiB; None if the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        return None
    kib = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return round(kib[0] / 1024, 1) if kib else None


class Trainer:
    """Trains the runs of one method on one dataset, and appends their results to the store.

    `store` is the folder of the store. Trainers with the same dataset, seed and share of the
    training records can use the same `splitter`. A run is retrained if its stored result lacks one
    of the `scores` (see `Curve.scores`) or, with `fresh`, if other code trained it. The attributes
    ``n_…`` and `training_seconds` are totals over all calls of :meth:`run`.
    """

    def __init__(
        self,
        dataset: Dataset | PartedDataset,
        method: Method,
        seed: Seed,
        store: Path,
        splitter: Splitter | None = None,
        scores: Collection[str] = (),
        *,
        fresh: bool = False,
    ) -> None:
        self._dataset = dataset
        self._method = method
        self._scores = scores
        self._fresh = fresh
        self._ids = RunIds(dataset, dataset.checksum, method, seed)
        self._splitter = splitter or Splitter(dataset, seed, method.train_share)
        self._folder = store / dataset.name / method.learner
        self._stamps = Stamps(store)
        # Number of runs so far, both stored and new, by the code that trained them.
        self.trained: Trained = {}
        self._version = method.version
        self._learners: dict[str, str] = {}  # result of `Method.learners` by setting, cached
        self.n_trained = self.n_reused = self.n_failed = 0
        self.training_seconds = 0.0

    @property
    def facts(self) -> dict[str, Any]:
        """Metadata for a job's file: the checksum of the data, numbers of runs, and seconds."""
        return {
            "checksum": self._dataset.checksum,
            "trained": self.n_trained,
            "reused": self.n_reused,
            "failed": self.n_failed,
            "training_seconds": round(self.training_seconds, 3),
        }

    def run(self, tasks: Iterable[tuple[Point, Split]]) -> list[dict[str, Any]]:
        """Train the runs that are not stored; return a row for each run, stored or not.

        `tasks` are the runs, as pairs of a point and a split. Rows are sorted by ε, setting, repeat
        and fold.
        """
        runs = {run.id: run for run in (self._ids.run(*task) for task in tasks)}
        store = Store(self._folder)
        learners = {name: self._learners_of(run.point) for name, run in runs.items()}
        # Checksums are computed before the training, as files may be edited during it.
        codes = {one: checksum(one) for one in {*learners.values()}}

        def is_current(name: str, code: str) -> bool:
            return self._stamps.is_current(learners[name], code)

        stored = store.read(runs, self._scores, is_current)
        if self._fresh:
            stored = {name: one for name, one in stored.items() if is_current(name, one.code)}
        results = {name: one.result for name, one in stored.items()}
        self._count((learners[name], one.code) for name, one in stored.items())
        self.n_reused += len(results)
        missing = [run for name, run in runs.items() if name not in results]
        counts = (len(runs), len(results), len(missing))
        names = (self._dataset.name, self._method.name)
        logger.info("%s, %s: %d runs, %d stored, %d to train", *names, *counts)
        if missing:
            store.check()
        started = logged = time.monotonic()
        with store:
            for done, (run, result) in enumerate(self._train(missing), start=1):
                results[run.id] = result
                if result["status"] == "ok":
                    self.n_trained += 1
                    store.add(run.id, result, codes[learners[run.id]])
                    self._count([(learners[run.id], codes[learners[run.id]])])
                else:
                    self.n_failed += 1
                now = time.monotonic()
                if now - logged >= SECONDS_PER_LINE and done < len(missing):
                    logged, left = now, (now - started) / done * (len(missing) - done)
                    logger.info("%d of %d runs, about %.0f s left", done, len(missing), left)
        rows = [self._make_row(run, results[name]) for name, run in runs.items()]
        rows.sort(key=lambda r: (r["epsilon"], r["setting"], r["repeat"], r["fold"]))
        return rows

    def train_again(self, point: Point, split: Split) -> dict[str, Any]:
        """Train a run even if it is stored, and return its result without storing it."""
        (result,) = self._fit([self._ids.run(point, split)], *self._splitter.parts(split))
        return result

    def _learners_of(self, point: Point) -> str:
        if point.text not in self._learners:
            self._learners[point.text] = self._method.learners(point.setting)
        return self._learners[point.text]

    def _count(self, codes: Iterable[tuple[str, str]]) -> None:
        """Add runs to `trained`; `codes` has the learners and the code's checksum of each run."""
        counts: dict[str, dict[str, int]] = {}
        for learners, code in codes:
            of_code = counts.setdefault(learners, {})
            of_code[code] = of_code.get(code, 0) + 1
        self.trained = add_up([self.trained, counts])

    def _make_row(self, run: Run, result: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": run.id,
            "dataset": self._dataset.name,
            "method": self._method.name,
            "learner": self._method.learner,
            "calibration": self._method.calibration,
            "delta": self._method.delta,
            "epsilon": run.point.epsilon,
            "setting": run.point.text,
            "fold": run.split.fold,
            "repeat": run.split.repeat,
            "version": self._version,
            **result,
        }

    def _train(self, runs: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
        for split in sorted({run.split for run in runs}, key=lambda s: (s.repeat, s.fold)):
            train, scored = self._splitter.parts(split)
            queue = [run for run in runs if run.split == split]
            # Runs with equal settings go into one batch, as kernels train these together.
            queue.sort(key=lambda run: (run.point.text, run.point.epsilon))
            while queue:
                size = self._choose_batch_size(queue[0], train)
                batch, queue = queue[:size], queue[size:]
                yield from zip(batch, self._fit(batch, train, scored), strict=True)

    def _budget(self, point: Point) -> tuple[float, float] | None:
        """Return the ε and δ that the privacy statement may have at most; None without privacy."""
        return (point.epsilon, self._method.delta) if self._method.calibration else None

    def _choose_batch_size(self, run: Run, train: Records | PartedRecords) -> int:
        n_rows = train.n if isinstance(train, PartedRecords) else len(train.codes)
        n_columns, n_classes = len(self._dataset.domain.n_bins), self._dataset.domain.n_classes
        seconds = self._method.learner_entry.cost
        cost = seconds(run.point.setting, n_rows, n_columns, n_classes)
        return min(LARGEST_BATCH, max(1, round(SECONDS_PER_BATCH / cost)))

    def _fit(
        self, runs: Sequence[Run], train: Records | PartedRecords, scored: Records
    ) -> list[dict[str, Any]]:
        started = time.perf_counter()
        forget_peak()
        try:
            learners = fit_method(self._dataset, self._method, runs, train, self._ids)
            seconds = (time.perf_counter() - started) / len(runs)
            peak = {MEMORY: peak_memory()}
            relation = self._method.relation
            scores = [
                score(learner, train, scored, seconds, relation, self._budget(run.point)) | peak
                for learner, run in zip(learners, runs, strict=True)
            ]
        except Exception as error:
            if len(runs) > 1:
                # Each run of the batch is trained alone, so that only the runs fail that cause an
                # error themselves.
                return [self._fit([run], train, scored)[0] for run in runs]
            logger.exception("a run failed: %s", runs[0])
            self.training_seconds += time.perf_counter() - started
            return [failure(error)]
        self.training_seconds += time.perf_counter() - started
        return scores
