"""Records in parts on disk, and the engines that add up what is asked of every part.

A learner that sees records only through sums of whole numbers need not have them together. What it
asks is answered part by part, by whatever process has the part at hand, and the answers are added:
in which order, and how the records are divided, makes no difference to a single bit. Answers are
exact. Noise is drawn once, by whoever adds them up, and behind the door of
:mod:`privcurve.privacy.curator`.

An answer follows from the part's records and from what the question says alone. So a part whose
worker was lost is read again elsewhere, and nothing else has to be kept.
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

# Turns records into an object whose methods answer questions about them, by name.
Make = Callable[[Records], Any]

# Seconds for a scheduler to answer, and for its first worker.
WAIT = 30

PACKAGE = "privcurve"
VERSION = metadata.version(PACKAGE)


class PartError(ExpectedError, RuntimeError):
    """Records in parts can't be read, or an engine can't be had; the message says what to do."""


@dataclass(frozen=True)
class Part:
    """Some coded records on disk, in a file of NumPy's that is read memory-mapped."""

    # The file of the codes, of shape (n_columns, n_rows); labels are beside it, under the same name
    # with `.labels`. Each worker finds it under the same path.
    path: str
    n_rows: int
    sha256: str  # of both files, in hex
    n_bins: tuple[int, ...]  # public: how many codes each column has

    @property
    def n(self) -> int:
        """How many records it has."""
        return self.n_rows

    def labels(self) -> NDArray[Any]:
        """Return the labels of all records."""
        return self._read(labels_of(Path(self.path)), None)

    def _read(self, path: Path, mode: Literal["r"] | None) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
        except OSError as error:
            raise PartError(
                f"{path} can't be read: {error.strerror or error}. All workers need the coded "
                "records under the same path"
            ) from None
        except (ValueError, EOFError):  # cut off, or without NumPy's header
            raise self._changed() from None
        return array

    def _changed(self) -> PartError:
        return PartError(f"{self.path} is not what was coded: delete its folder, and start again")

    def records(self) -> Records:
        """Return the records; raises PartError if they are not there, or not those."""
        path = Path(self.path)
        codes, labels = self._read(path, "r"), self.labels()
        if digest_of(path) != self.sha256:
            raise self._changed()
        ones = np.broadcast_to(np.int64(1), labels.shape)
        return Records(codes.T, labels, ones, np.array(self.n_bins))


@dataclass(frozen=True, eq=False)
class PartSubset:
    """Some records of a part."""

    part: Part
    chosen: NDArray[np.bool_]  # (n_rows,): whether each record is one of them

    @property
    def path(self) -> str:
        """The file of the part."""
        return self.part.path

    @property
    def n(self) -> int:
        """How many records are chosen."""
        return int(self.chosen.sum())

    def records(self) -> Records:
        """Return all rows of the part; rows that are not chosen count as no record."""
        return self.part.records()._replace(counts=self.chosen.view(np.int8))


def labels_of(path: Path) -> Path:
    """Return the file of a part's labels."""
    return path.with_suffix(f".labels{path.suffix}")


def digest_of(path: Path) -> str:
    """Return the SHA-256, in hex, of both files of a part."""
    digest = hashlib.sha256()
    for file in (path, labels_of(path)):
        with file.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    return digest.hexdigest()


class OpenPart:
    """A part, and what answers questions about it, where they are.

    It is sent, copied and stored as the recipe that it is made by: no record leaves its process.
    """

    def __init__(self, part: Part | PartSubset, make: Make, version: str = VERSION) -> None:
        if version != VERSION:
            raise PartError(f"a worker has privcurve {VERSION}, and not {version}: install that")
        self._part, self._make = part, make
        self._lock = Lock()
        self._begun: tuple[Records, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenPart, (self._part, self._make, VERSION)

    def __repr__(self) -> str:
        return f"Held({Path(self._part.path).name})"

    def ask(self, question: str, arguments: tuple[Any, ...]) -> Any:
        """Answer a question."""
        with self._lock:
            # If this fails half-way, the next question begins anew.
            with np.errstate(all="ignore"):  # a thread, or a worker, has its own
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
    """Let the system take back the pages of a file, which are read again when they are needed."""
    base: Any = mapped
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):  # not on Windows
        base.madvise(mmap.MADV_DONTNEED)


class Threads:
    """Asks parts in threads of this process, whose compiled loops run at the same time.

    As many as `n` at a time; by default one a core.
    """

    def __init__(self, n: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(n or os.cpu_count())

    def hold(self, parts: Sequence[Part | PartSubset], make: Make) -> list[OpenPart]:
        """Return the parts, which are opened when they are first asked."""
        return [OpenPart(part, make) for part in parts]

    def ask(
        self, held: Sequence[OpenPart], question: str, arguments: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Yield the answers of all parts."""
        yield from self._pool.map(lambda one: one.ask(question, arguments), held)

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()


class Cluster:
    """Asks parts on the workers of Dask; to be closed.

    Each question says all that its answer follows from. So where a worker was lost, Dask asks
    another one, which opens its parts and begins again: there is nothing else to restore. A
    scheduler is such as ``tcp://10.0.0.1:8786``; without it workers are started on this machine.
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
                f"no Dask workers at {where}: {error}. Start them: dask scheduler, and on each "
                "machine dask worker tcp://…"
            ) from None
        self._lost = (OSError, distributed.CancelledError, distributed.scheduler.KilledWorker)

    def _check_versions(self) -> None:
        """Refuse a scheduler or workers that have another privcurve, before a question is asked."""
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
                raise PartError(f"{place} has privcurve {version}: install {VERSION} on each")

    def close(self) -> None:
        """Leave the workers, and stop those that were started."""
        if hasattr(self, "_client"):
            self._client.close()

    def hold(self, parts: Sequence[Part | PartSubset], make: Make) -> list[Any]:
        """Return what stands for each part on a worker."""
        return [self._client.submit(OpenPart, part, make, VERSION, pure=False) for part in parts]

    def ask(self, held: Sequence[Any], question: str, arguments: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the answers of all parts."""
        try:
            places = self._client.who_has(held)
            futures = [
                self._client.submit(
                    OpenPart.ask,
                    *(one, question, arguments),
                    pure=False,
                    key=f"ask-{uuid4().hex}",
                    # On the worker that has the part; on another one if that is lost.
                    workers=places.get(one.key) or None,
                    allow_other_workers=bool(places.get(one.key)),
                )
                for one in held
            ]
            self._wait(futures)
            yield from self._client.gather(futures)
        except self._lost as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise PartError(f"Dask could not ask all parts: {why}") from None

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait for answers; raise TimeoutError if no worker is left to give them."""
        from distributed import wait

        while True:
            try:
                with self._client.as_current():
                    wait(futures, timeout=WAIT)
            except TimeoutError:
                self._client.wait_for_workers(1, timeout=WAIT)
            else:
                return


# What holds parts, and asks them.
Engine = Threads | Cluster


@contextmanager
def open_engine(name: str = LOCAL, scheduler: str | None = None) -> Iterator[Engine]:
    """Open an engine by its name, and close it in the end.

    Raises PartError if Dask is not installed, or none of its workers can be reached.
    """
    engine = Cluster(scheduler) if name == DASK else Threads()
    try:
        yield engine
    finally:
        engine.close()


class SealedParts:
    """Parts whose records a private fit does not read: :class:`Totals` asks them."""

    def __init__(self, parts: tuple[Part | PartSubset, ...], learner: str) -> None:
        self._parts, self._learner = parts, learner

    def __getitem__(self, place: Any) -> NoReturn:
        raise SealedError(self._learner, "the records of a part", "ask for Totals")


@dataclass(frozen=True)
class PartedRecords:
    """Records in parts: what :class:`~privcurve.coding.Records` are in one memory."""

    parts: tuple[Part | PartSubset, ...] | SealedParts  # in any order
    n_bins: NDArray[np.int64]  # (n_columns,)
    engine: Engine = field(default_factory=Threads)
    learner: str = ""  # in whose fit answers are sealed; empty: they are open
    counted: bool = True  # whether their number is public

    @property
    def n(self) -> int:
        """Number of records."""
        if not self.counted:
            raise SealedError(self.learner, NUMBER)
        return sum(part.n for part in _open_parts(self.parts))

    def copy(self) -> PartedRecords:
        """Return the same: they are files, and read only."""
        return self


class SealedRecords(Records):
    """Records that are sealed; how many there are is public, but for `_n` of None."""

    _n: int | None
    _learner: str
    _exact: Records | None
    _batch: str = ""

    @property
    def learner(self) -> str:
        """In whose fit they are sealed."""
        return self._learner

    @property
    def batch(self) -> str:
        """The name of the sampled batch that they are; empty: they are all records of a fit."""
        return self._batch

    @property
    def n(self) -> int:
        """Number of records."""
        if self._n is None:
            raise SealedError(self._learner, NUMBER)
        return self._n

    @property
    def exact(self) -> Records:
        """The open records of the fit, of which a curator makes rows.

        A learner never has them: it may write into what it gets, and replace parts of it.
        """
        if self._exact is None:
            what = "rows of records of which a part was replaced"
            raise SealedError(self._learner, what, "take those of the fit (curator.rows)")
        return self._exact

    def as_batch(self, drawn: Records, name: str) -> SealedRecords:
        """Return some of these records, sealed as a batch of a name; its size is sealed too."""
        codes, labels, counts = (cast(Any, Drawn(one, self._learner, name)) for one in drawn[:3])
        made = SealedRecords(codes, labels, counts, drawn.n_bins.copy())
        made._n, made._learner, made._exact, made._batch = None, self._learner, drawn, name
        return made

    def copy(self) -> SealedRecords:
        """Return records that can be written into without a change of these."""
        made = cast(SealedRecords, super().copy())
        made._exact, made._batch = self._exact, self._batch
        return made

    def _replace(self, **changes: Any) -> SealedRecords:
        return sealed_records(super()._replace(**changes), self._learner, self._n)

    def trusted(self) -> SealedRecords:
        """Return these, as the library made them of the records of a fit."""
        codes, labels, counts, n_bins = open_values(tuple(self))
        # A copy: bounds of rows follow from it.
        self._exact = Records(codes, labels, counts, n_bins.copy())
        return self


def sealed_records(records: Records, learner: str, n: int | None) -> SealedRecords:
    """Seal records for the fit of a learner; `n` is their number where it is public."""
    codes, labels, counts, n_bins = records
    made = SealedRecords(seal(codes, learner, 0), seal(labels, learner, 0),
                         seal(counts, learner, 0), n_bins)  # fmt: skip
    made._n, made._learner, made._exact = n, learner, None
    return made


def seal_records(learner: str, records: Any, counted: bool) -> Any:
    """Return records as the private fit of a learner sees them; `counted`: how many is public."""
    if isinstance(records, PartedRecords):
        parts = SealedParts(_open_parts(records.parts), learner)
        return replace(records, parts=parts, learner=learner, counted=counted)
    return sealed_records(records, learner, records.n if counted else None).trusted()


def _open_parts(
    parts: tuple[Part | PartSubset, ...] | SealedParts,
) -> tuple[Part | PartSubset, ...]:
    return parts._parts if isinstance(parts, SealedParts) else parts


class Totals:
    """Answers about all records: sums of whole numbers over their parts.

    `make` makes of some records, in memory or in a part, what answers about them. With parts it can
    be pickled, and its answers are whole numbers or arrays of them.
    """

    def __init__(self, records: Records | PartedRecords, make: Make) -> None:
        self._engine: Engine | None = None
        self._learner, self._make = records.learner, make
        if isinstance(records, Records) and records.batch:
            what = "totals of a sampled batch, which their sums do not name"
            raise SealedError(self._learner, what, "take sums of rows (curator.rows)")
        if isinstance(records, PartedRecords):
            self._engine = records.engine
            self._held = self._engine.hold(_open_parts(records.parts), make)
        else:
            given = Records(*open_values(tuple(records)))
            private = bool(self._learner)
            self._state = call_open(self._learner, make, (given,), {}) if private else make(given)

    def ask(self, question: str, *arguments: Any) -> Any:
        """Return the sum of all parts' answers to a question: a method by its name.

        The answer of a loop with bounds (`sums.adds`) is a sum that has them.
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
            return error  # it tells of files and machines, and of no record

    def _answer(self, question: str, *arguments: Any) -> Any:
        if self._engine is None:
            return getattr(self._state, question)(*arguments)
        return reduce(add, self._engine.ask(self._held, question, arguments))
