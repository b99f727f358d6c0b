"""Define the errors of datasets, and collect faults to report them in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from privcurve.errors import UNDECIDED, ExpectedError

# Maximum number of faults in one message: enough to repair several at once, few enough to read.
MOST = 20


class DatasetError(ExpectedError, RuntimeError):
    """Error about a dataset, its description or its file.

    The message names the culprit (dataset, file, line, column) and the remedy; `faults` is a tuple
    with a message for each fault.
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)


class UndecidedError(DatasetError):
    """Error about a description with blank keys (:mod:`privcurve.datasets.blanks`)."""

    exit_code = UNDECIDED


class Problems:
    """Collects the faults of a dataset's description or files, to report them in one error.

    `dataset` is the name of the dataset; if `is_file`, it is the name of a file or frame. The
    error begins with this name. With `is_file`, an error with only one message omits the name,
    because the message contains the name of the file already.
    """

    def __init__(self, dataset: str, *, is_file: bool = False) -> None:
        self.dataset = dataset
        self.is_file = is_file
        # Maps the key of similar faults (see `add`) to their first message and their number.
        self._faults: dict[Hashable, tuple[str, int]] = {}
        self.n_unread = 0  # number of records that can't be read and so are left out
        # Faults of each skipped record (:class:`Skipped`), by line.
        self.rows: dict[int, list[str]] = {}
        # Number of lines or rows that each remark concerns. Remarks are not faults.
        self._noted: Counter[str] = Counter()

    def add(self, message: str, key: Hashable = None) -> None:
        """Add a fault.

        Of faults with the same key, only the first message is reported, with the number of the
        other faults. By default, the key is the message.
        """
        key = message if key is None else key
        if key in self._faults or not self.full:
            first, n = self._faults.get(key, (message, 0))
            self._faults[key] = (first, n + 1)

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Add a fault of the record at `line`; the message consists of `fault` and `remedy`."""
        self.add(f"{fault} {remedy}", key)

    def note(self, what: str, n: int = 1) -> None:
        """Add `n` to the number of lines or rows that the remark `what` concerns."""
        if n:
            self._noted[what] += n

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks; each ends with the number of lines or rows that it concerns."""
        return tuple(f"{what}: {n:,}" for what, n in self._noted.items())

    @property
    def any(self) -> bool:
        """Whether there are faults."""
        return bool(self._faults)

    @property
    def full(self) -> bool:
        """Whether the maximum number of faults is reached, so that the search may end."""
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
        """The first message of each key, with the number of further faults with the same key."""
        return tuple(
            message + (f" ({n - 1} more like it)" if n > 1 else "")
            for message, n in self._faults.values()
        )


class Skipped(Problems):
    """Problems of a file whose faulty records are skipped: such a fault raises no error."""

    def refuse(self, line: int, fault: str, remedy: str, key: Hashable = None) -> None:
        """Store the fault of a skipped record under its line; the remedy is not needed."""
        self.rows.setdefault(line, []).append(fault.removesuffix("."))
