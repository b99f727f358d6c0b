"""Read partitioned records from disk, and add up the answers of all parts to a question.

A *question* is a method of an object that holds the records of one part; its *answer* is a whole
number, or an array of them. A learner that sees records only through sums of such answers does not
need all records in one memory. An engine asks all parts, in threads or on several machines, and the
answers are added up. The sum is exact: neither the partition nor the order of the additions changes
it. :mod:`privcurve.privacy.curator` adds noise once, to the sum.

An answer depends only on the records of a part and on the question. So if a worker is lost, another
worker reads its part again, and nothing else has to be restored.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import metadata
from operator import add
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NoReturn, cast
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from privcurve import extras
from privcurve.coding import Records
from privcurve.errors import ExpectedError
from privcurve.privacy.sealed import NUMBER, Drawn, SealedError, call_open, open_values, seal
from privcurve.privacy.sums import with_bounds

LOCAL, DASK = "local", "dask"

# A function that makes, from records, the object whose methods answer questions about them.
Make = Callable[[Records], Any]

# Maximum number of seconds to wait for the scheduler, or for a worker. A process may take some
# seconds to start.
WAIT = 30

PACKAGE = "privcurve"
VERSION = metadata.version(PACKAGE)


class PartError(ExpectedError, RuntimeError):
    """A part can't be read, or an engine is not available."""


@dataclass(frozen=True)
class Part:
    """A part of encoded records on disk, in memory-mapped NumPy files."""

    # Path of the file of the bins, of shape (n_columns, n_rows); the labels are in a second file
    # (`labels_of`). All workers must find the files at the same path.
    path: str
    n_rows: int
    sha256: str  # SHA-256 of both files, in hex
    n_bins: tuple[int, ...]  # number of bins of each column; public

    @property
    def n(self) -> int:
        """Number of records."""
        return self.n_rows

    def labels(self) -> NDArray[Any]:
        """Return the labels of all records of the part."""
        return self._read(labels_of(Path(self.path)), None)

    def _read(self, path: Path, mode: Literal["r"] | None) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
        except OSError as error:
            raise PartError(
                f"{path} can't be read: {error.strerror or error}. All workers need the encoded "
                "records at the same path"
            ) from None
        except (ValueError, EOFError):  # the file is truncated, or is not a NumPy file
            raise self._changed() from None
        return array

    def _changed(self) -> PartError:
        return PartError(
            f"{self.path} has changed since it was encoded: delete its folder, and start again"
        )

    def records(self) -> Records:
        """Return the records of the part.

        Raises PartError if the files are missing or have changed.
        """
        path = Path(self.path)
        codes, labels = self._read(path, "r"), self.labels()
        if digest_of(path) != self.sha256:
            raise self._changed()
        ones = np.broadcast_to(np.int64(1), labels.shape)
        return Records(codes.T, labels, ones, np.array(self.n_bins))


@dataclass(frozen=True, eq=False)
class PartSubset:
    """A subset of the records of a part, such as the training records of a train-test split."""

    part: Part
    chosen: NDArray[np.bool_]  # (n_rows,): whether each record is chosen

    @property
    def path(self) -> str:
        """Path of the file of the part."""
        return self.part.path

    @property
    def n(self) -> int:
        """Number of chosen records."""
        return int(self.chosen.sum())

    def records(self) -> Records:
        """Return all records of the part; records that are not chosen have the count 0."""
        return self.part.records()._replace(counts=self.chosen.view(np.int8))


def labels_of(path: Path) -> Path:
    """Return the path of the labels of a part; `path` is the path of the bins."""
    return path.with_suffix(f".labels{path.suffix}")


def digest_of(path: Path) -> str:
    """Return the SHA-256, in hex, of the two files of a part; `path` is the path of the bins."""
    digest = hashlib.sha256()
    for file in (path, labels_of(path)):
        with file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


class OpenPart:
    """A part that is opened in a process, and the object that answers questions about its records.

    The part is read at the first question. A pickle contains only the arguments of the constructor,
    so that no record leaves the process.
    """

    def __init__(self, part: Part | PartSubset, make: Make, version: str = VERSION) -> None:
        if version != VERSION:
            raise PartError(
                f"this worker runs privcurve {VERSION}; install {version}, which "
                "prepared the records"
            )
        self._part, self._make = part, make
        self._lock = Lock()
        self._begun: tuple[Records, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenPart, (self._part, self._make, VERSION)

    def __repr__(self) -> str:
        return f"OpenPart({Path(self._part.path).name})"

    def ask(self, question: str, arguments: tuple[object, ...]) -> Any:
        """Return the answer of the part: the result of the method `question`."""
        with self._lock:
            # If the method fails, its object may be half changed. `_begun` is then None, so that
            # the next question makes a new object.
            with np.errstate(all="ignore"):  # NumPy has a separate error state in each thread
                records, state = self._begun or self._begin()
                self._begun = None
                answer = getattr(state, question)(*arguments)
            self._begun = records, state
            _give_back(records.codes)
            return answer

    def _begin(self) -> tuple[Records, Any]:
        records = self._part.records()
        return records, self._make(records)


def _give_back(mapped: NDArray[Any]) -> None:
    """Let the system free the memory of a mapped file; a later access reads the file again."""
    base: Any = mapped
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):  # Windows has no madvise
        base.madvise(mmap.MADV_DONTNEED)


class Threads:
    """An engine that asks parts in `n` threads of this process, by default one thread per core.

    Compiled loops release Python's lock, so that they run at the same time.
    """

    def __init__(self, n: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(n or os.cpu_count())

    def hold(self, parts: Sequence[Part | PartSubset], make: Make) -> list[OpenPart]:
        """Return an :class:`OpenPart` for each part; a part is read at its first question."""
        return [OpenPart(part, make) for part in parts]

    def ask(
        self, held: Sequence[OpenPart], question: str, arguments: tuple[object, ...]
    ) -> Iterator[Any]:
        """Yield the answer of each part to a question, in the order of the parts."""
        yield from self._pool.map(lambda one: one.ask(question, arguments), held)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()


class Cluster:
    """An engine that asks parts on the workers of Dask; it must be closed.

    `scheduler` is the address of a scheduler, such as ``tcp://10.0.0.1:8786``; without it, workers
    are started on this machine. If a worker is lost, Dask asks another one, which opens the part
    again.
    """

    def __init__(self, scheduler: str | None = None) -> None:
        if fault := extras.explain_missing("distributed", "engine: dask"):
            raise PartError(fault)
        import distributed

        try:
            self._client: Any = distributed.Client(scheduler, set_as_default=False, timeout=WAIT)
            self._client.wait_for_workers(1, timeout=WAIT)
            self._check_versions()
        except OSError as error:
            where = scheduler or "this machine"
            self.close()
            raise PartError(
                f"Dask has no workers at {where}: {error}. Start them: run `dask scheduler`, "
                "and on each machine `dask worker tcp://…`"
            ) from None
        self._lost = (OSError, distributed.CancelledError, distributed.scheduler.KilledWorker)

    def _check_versions(self) -> None:
        """Raise PartError unless the scheduler and all workers have this version of privcurve."""
        ask = (metadata.version, PACKAGE)
        try:
            versions = {
                "the scheduler": self._client.run_on_scheduler(*ask),
                **self._client.run(*ask),
            }
        except metadata.PackageNotFoundError:
            versions = {"the scheduler, or a worker,": "not installed"}
        for place, version in versions.items():
            if version != VERSION:
                self.close()
                raise PartError(f"{place} runs privcurve {version}; install {VERSION} on each")

    def close(self) -> None:
        """Disconnect from the workers, and stop the workers that this engine started."""
        if hasattr(self, "_client"):
            self._client.close()

    def hold(self, parts: Sequence[Part | PartSubset], make: Make) -> list[Any]:
        """Open each part on a worker; return Dask futures of the :class:`OpenPart` objects."""
        return [self._client.submit(OpenPart, part, make, VERSION, pure=False) for part in parts]

    def ask(self, held: Sequence[Any], question: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the answer of each part to a question, in the order of the parts."""
        try:
            places = self._client.who_has(held)
            futures = [
                self._client.submit(
                    OpenPart.ask,
                    one,
                    question,
                    arguments,
                    pure=False,
                    key=f"ask-{uuid4().hex}",
                    # Ask the worker that has opened the part, or another worker if it is lost.
                    workers=places.get(one.key) or None,
                    allow_other_workers=bool(places.get(one.key)),
                )
                for one in held
            ]
            self._wait(futures)
            yield from self._client.gather(futures)
        except self._lost as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise PartError(f"Dask could not query all parts: {why}") from None

    def _wait(self, futures: Sequence[object]) -> None:
        """Wait for all answers; raise TimeoutError if no worker is left and none starts."""
        from distributed import wait

        while True:
            try:
                with self._client.as_current():
                    wait(futures, timeout=WAIT)
            except TimeoutError:
                self._client.wait_for_workers(1, timeout=WAIT)
            else:
                return


# An engine opens parts (`hold`), and yields their answers to a question (`ask`).
Engine = Threads | Cluster


@contextmanager
def open_engine(name: str = LOCAL, scheduler: str | None = None) -> Iterator[Engine]:
    """Open an engine by its name, ``local`` or ``dask``; close it at the end of the context.

    `scheduler` is the address of a Dask scheduler. Raises PartError if Dask is not installed, or if
    it has no workers.
    """
    engine = Cluster(scheduler) if name == DASK else Threads()
    try:
        yield engine
    finally:
        engine.close()


class SealedParts:
    """The parts of a private fit: :class:`Totals` can query them, but no learner can read them."""

    def __init__(self, parts: tuple[Part | PartSubset, ...], learner: str) -> None:
        self._parts, self._learner = parts, learner

    def __getitem__(self, place: object) -> NoReturn:
        raise SealedError(self._learner, "the records of a part", "use Totals")


@dataclass(frozen=True)
class PartedRecords:
    """Partitioned records on disk; records in memory are :class:`~privcurve.coding.Records`."""

    parts: tuple[Part | PartSubset, ...] | SealedParts  # in any order
    n_bins: NDArray[np.int64]  # (n_columns,)
    engine: Engine = field(default_factory=Threads)
    learner: str = ""  # name of the learner, if a private fit seals the answers; else empty
    counted: bool = True  # whether the number of records is public

    @property
    def n(self) -> int:
        """Number of records."""
        if not self.counted:
            raise SealedError(self.learner, NUMBER)
        return sum(part.n for part in _open_parts(self.parts))

    def copy(self) -> PartedRecords:
        """Return this object: its files are never written to."""
        return self


class SealedRecords(Records):
    """Records that a private fit has sealed.

    `_n` is the number of records if it is public, else None. `_exact` has the unsealed records; it
    is None if a learner replaced some of the sealed arrays. `_batch` is the name of the batch if
    the records are a sampled batch.
    """

    _n: int | None
    _learner: str
    _exact: Records | None
    _batch: str = ""

    @property
    def learner(self) -> str:
        """Name of the learner whose private fit sealed the records."""
        return self._learner

    @property
    def batch(self) -> str:
        """Name of the batch if these records are a random sample of a fit's records; else ""."""
        return self._batch

    @property
    def n(self) -> int:
        """Number of records; raises SealedError if it is not public."""
        if self._n is None:
            raise SealedError(self._learner, NUMBER)
        return self._n

    @property
    def exact(self) -> Records:
        """The unsealed records, from which a curator takes rows.

        The learner has no access to these arrays, and so can't change them. Raises SealedError if
        the learner has replaced some of the sealed arrays.
        """
        if self._exact is None:
            what = "rows of records with a replaced part"
            raise SealedError(self._learner, what, "take the rows of the fit (curator.rows)")
        return self._exact

    def as_batch(self, drawn: Records, name: str) -> SealedRecords:
        """Seal `drawn`, a sample of these records, and its size; `name` names the batch."""
        codes, labels, counts = (cast(Any, Drawn(one, self._learner, name)) for one in drawn[:3])
        made = SealedRecords(codes, labels, counts, drawn.n_bins.copy())
        made._n, made._learner, made._exact, made._batch = None, self._learner, drawn, name
        return made

    def copy(self) -> SealedRecords:
        """Return an independent copy of the records, which may be modified."""
        made = cast(SealedRecords, super().copy())
        made._exact, made._batch = self._exact, self._batch
        return made

    def _replace(self, **changes: Any) -> SealedRecords:
        return sealed_records(super()._replace(**changes), self._learner, self._n)

    def trusted(self) -> SealedRecords:
        """Mark these records as made by the library, not by a learner, and return them.

        Only marked records have :attr:`exact`.
        """
        codes, labels, counts, n_bins = open_values(tuple(self))
        # Copy n_bins: the bounds of rows depend on it, and a learner could change the original
        # array.
        self._exact = Records(codes, labels, counts, n_bins.copy())
        return self


def sealed_records(records: Records, learner: str, n: int | None) -> SealedRecords:
    """Seal in-memory records for the private fit of a learner.

    `n` is the number of records if it is public, else None.
    """
    codes, labels, counts, n_bins = records
    made = SealedRecords(seal(codes, learner, 0), seal(labels, learner, 0),
                         seal(counts, learner, 0), n_bins)  # fmt: skip
    made._n, made._learner, made._exact = n, learner, None
    return made


def seal_records(learner: str, records: Any, counted: bool) -> Any:
    """Seal records, in memory or partitioned, for the private fit of a learner.

    `counted` says whether the number of records is public.
    """
    if isinstance(records, PartedRecords):
        parts = SealedParts(_open_parts(records.parts), learner)
        return replace(records, parts=parts, learner=learner, counted=counted)
    return sealed_records(records, learner, records.n if counted else None).trusted()


def _open_parts(
    parts: tuple[Part | PartSubset, ...] | SealedParts,
) -> tuple[Part | PartSubset, ...]:
    return parts._parts if isinstance(parts, SealedParts) else parts


class Totals:
    """Answers questions about all records, in memory or partitioned.

    `make` makes, from some records, the object whose methods are the questions. If the records are
    partitioned, the answer is the sum of the answers of the parts; `make` must be picklable, and
    answers must be whole numbers or arrays of them.
    """

    def __init__(self, records: Records | PartedRecords, make: Make) -> None:
        self._engine: Engine | None = None
        self._learner, self._make = records.learner, make
        if isinstance(records, Records) and records.batch:
            what = "totals of a sampled batch, which do not carry the name of the batch"
            raise SealedError(self._learner, what, "take sums of rows (curator.rows)")
        if isinstance(records, PartedRecords):
            self._engine = records.engine
            self._held = self._engine.hold(_open_parts(records.parts), make)
        else:
            given = Records(*open_values(tuple(records)))
            private = bool(self._learner)
            self._state = call_open(self._learner, make, (given,), {}) if private else make(given)

    def ask(self, question: str, *arguments: Any) -> Any:
        """Return the result of the method `question` for all records: the sum over all parts.

        In a private fit, the sum is sealed. If the method declares bounds (`sums.adds`), the sum
        has these bounds, from which its sensitivity follows.
        """
        rows = getattr(self._make, "func", self._make)
        bounds = getattr(getattr(rows, question, None), "bounds", None)
        answer = self._ask(question, *arguments)
        if bounds is not None:
            return with_bounds(answer, self._learner, bounds(None, *arguments))
        if self._learner and answer is None:
            raise SealedError(self._learner, "an answer about records that is None")
        return seal(answer, self._learner) if self._learner else answer

    def _ask(self, question: str, *arguments: Any) -> Any:
        if not self._learner:
            return self._answer(question, *arguments)
        if self._engine is None:
            return call_open(self._learner, getattr(self._state, question), arguments, {})
        given = (question, *arguments)
        answer = call_open(self._learner, self._answer_or_fault, given, {})
        if isinstance(answer, PartError):
            raise answer
        return answer

    def _answer_or_fault(self, question: str, *arguments: Any) -> Any:
        try:
            return self._answer(question, *arguments)
        except PartError as error:
            # do not seal this error: it depends on files and machines, not on records
            return error

    def _answer(self, question: str, *arguments: Any) -> Any:
        if self._engine is None:
            return getattr(self._state, question)(*arguments)
        return reduce(add, self._engine.ask(self._held, question, arguments))
