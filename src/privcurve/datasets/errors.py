"""Errors of datasets, and lists of faults that are reported in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from privcurve.errors import UNDECIDED, ExpectedError

# Maximum number of faults in one message: enough to repair several at once, few enough to read.
MOST = 20


class DatasetError(ExpectedError, RuntimeError):
    """Error about a dataset, its description or its file.

    The message names the culprit (dataset, file, line, column) and the remedy; `faults` lists the
    faults one by one.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)


class UndecidedError(DatasetError):
    """Error about a description with undecided keys (:mod:`privcurve.datasets.blanks`)."""

    exit_code = UNDECIDED


class Problems:
    """Collects the faults of a dataset's description or files, to report them in one error.

    With `is_file`, `dataset` is the name of a file or frame. The messages already contain this
    name, so that the error does not put it before a single message.
    """

    def __init__(self, dataset: str, *, is_file: bool = False) -> None:
        self.dataset = dataset
        self.is_file = is_file
        # For each key: the first message with this key, and how many faults have the key.
        self._faults: dict[Hashable, tuple[str, int]] = {}
        self.n_unread = 0  # number of unreadable records, a part of all records
        # For each line with a skipped record (:class:`Skipped`): the faults of this record.
        self.rows: dict[int, list[str]] = {}
        # Remarks, which are not faults: how many lines or rows each one concerns.
        self._noted: Counter[str] = Counter()

    def add(self, message: str, key: Hashable = None) -> None:
        """Add a fault.

        Of several faults with the same key, only the first message is reported, with the number of
        the others. By default the key is the message.
        """
        key = message if key is None else key
        if key in self._faults or not self.full:
            first, n = self._faults.get(key, (message, 0))
            self._faults[key] = (first, n + 1)

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Add a fault of the record at a line, with its remedy."""
        self.add(f"{fault} {remedy}", key)

    def note(self, what: str, n: int = 1) -> None:
        """Count `n` more lines or rows for the remark `what`; a remark is not a fault."""
        if n:
            self._noted[what] += n

    @property
    def remarks(self) -> tuple[str, ...]:
        """Each remark with its count of lines or rows."""
        return tuple(f"{what}: {n:,}" for what, n in self._noted.items())

    @property
    def any(self) -> bool:
        """Whether there are faults."""
        return bool(self._faults)

    @property
    def full(self) -> bool:
        """Whether one message can hold no more faults, so that the search for them may end."""
        return len(self._faults) >= MOST

    def check(self) -> None:
        """Raise a DatasetError that lists all faults, if there are any."""
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
        """One message for each key, with the number of further faults with this key."""
        return tuple(
            message + (f" ({n - 1} more like it)" if n > 1 else "")
            for message, n in self._faults.values()
        )


class Skipped(Problems):
    """Problems of a file whose faulty records are skipped instead of raising errors."""

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Store a fault under the line of its record, without the remedy."""
        self.rows.setdefault(line, []).append(fault.removesuffix("."))
