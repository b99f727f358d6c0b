"""Errors of datasets, and lists of faults that are told in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from privcurve.errors import UNDECIDED, ExpectedError

# Faults in one message: enough to mend several at a time, and few enough to read.
MOST = 20


class DatasetError(ExpectedError, RuntimeError):
    """A dataset, its description or its file is not as it must be.

    The message names the culprit (dataset, file, line, column) and the way out; `faults` has each
    of several apart.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)


class UndecidedError(DatasetError):
    """A description of which a person has to decide something first."""

    exit_code = UNDECIDED


class Problems:
    """Faults of a dataset's description or files.

    With `is_file`, `dataset` is the name of a file or frame, which each message has anyway.
    """

    def __init__(self, dataset: str, *, is_file: bool = False) -> None:
        self.dataset = dataset
        self.is_file = is_file
        # Messages, each with how often its fault is there.
        self._faults: dict[Hashable, tuple[str, int]] = {}
        self.n_unread = 0  # how many records could not be read: they count as records all the same
        # The faults of each record that is skipped, by its line (:class:`Skipped`).
        self.rows: dict[int, list[str]] = {}
        # Remarks, which are no faults: the number of lines or rows by remark.
        self._noted: Counter[str] = Counter()

    def add(self, message: str, key: Hashable = None) -> None:
        """Note a fault.

        Faults with equal keys are counted, and only the first is told. By default the key is the
        message itself.
        """
        key = message if key is None else key
        if key in self._faults or not self.full:
            first, n = self._faults.get(key, (message, 0))
            self._faults[key] = (first, n + 1)

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Note a fault of the record at a line, and what to do."""
        self.add(f"{fault} {remedy}", key)

    def note(self, what: str, n: int = 1) -> None:
        """Count `n` lines or rows for a remark, which is no fault."""
        if n:
            self._noted[what] += n

    @property
    def remarks(self) -> tuple[str, ...]:
        """Each remark with its count of lines or rows."""
        return tuple(f"{what}: {n:,}" for what, n in self._noted.items())

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self._faults)

    @property
    def full(self) -> bool:
        """Whether there are as many as a message has: it is not worth looking for more."""
        return len(self._faults) >= MOST

    def check(self) -> None:
        """Raise an error that names all problems, if there are any."""
        messages = self.messages
        if not messages:
            return
        subject = self.dataset if self.is_file else f"dataset {self.dataset!r}"
        if len(messages) == 1:
            raise DatasetError(
                messages[0] if self.is_file else f"{subject}: {messages[0]}", messages
            )
        most = "at least " if self.full else ""
        lines = "\n".join(f"  {message}" for message in messages)
        raise DatasetError(f"{subject}: {most}{len(messages)} problems:\n{lines}", messages)

    @property
    def messages(self) -> tuple[str, ...]:
        """One message for each problem."""
        return tuple(
            message + (f" ({n - 1} more like it)" if n > 1 else "")
            for message, n in self._faults.values()
        )


class Skipped(Problems):
    """Problems of a file whose faulty records are skipped, and are not errors."""

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Note a fault of the record at a line, each by itself."""
        self.rows.setdefault(line, []).append(fault.removesuffix("."))
