"""Errors of datasets, and lists of faults that are reported in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from privcurve.errors import UNDECIDED, ExpectedError

# Maximum number of faults in one message: enough to repair several at once, few enough to read.
MOST = 20


class DatasetError(ExpectedError, RuntimeError):
    """Error about a dataset, its description or its file.

    The message names the culprit (dataset, file, line, column) and the remedy; `faults` has each
    fault separately.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)


class UndecidedError(DatasetError):
    """A description with undecided keys."""

    exit_code = UNDECIDED


class Problems:
    """Faults of a dataset's description or files.

    With `is_file`, `dataset` is the name of a file or frame, which each message contains already.
    """

    def __init__(self, dataset: str, *, is_file: bool = False) -> None:
        self.dataset = dataset
        self.is_file = is_file
        # Messages, each with the number of its faults.
        self._faults: dict[Hashable, tuple[str, int]] = {}
        self.n_unread = 0  # number of unreadable records, which count as records
        # The faults of each skipped record, by its line (:class:`Skipped`).
        self.rows: dict[int, list[str]] = {}
        # Remarks, which are not faults, with their numbers of lines or rows.
        self._noted: Counter[str] = Counter()

    def add(self, message: str, key: Hashable = None) -> None:
        """Add a fault.

        Faults with equal keys are counted, and only the first is reported. By default the key is
        the message.
        """
        key = message if key is None else key
        if key in self._faults or not self.full:
            first, n = self._faults.get(key, (message, 0))
            self._faults[key] = (first, n + 1)

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Add a fault of the record at a line, with its remedy."""
        self.add(f"{fault} {remedy}", key)

    def note(self, what: str, n: int = 1) -> None:
        """Add `n` lines or rows to a remark, which is not a fault."""
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
        """Whether the faults fill a message, so that looking for more is useless."""
        return len(self._faults) >= MOST

    def check(self) -> None:
        """Raise an error with all problems, if there are any."""
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
    """Problems of a file whose faulty records are skipped instead of raising errors."""

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Add a fault of the record at a line, without counting it with others."""
        self.rows.setdefault(line, []).append(fault.removesuffix("."))
