"""The ledger of a dataset's budget: what was released of its records, and what is left.

An append-only file of JSON lines. A release first writes what it will spend, under a lock and onto
the disk, and trains afterwards: two releases at the same time cannot both have what is left for
one, and what was killed in between counts as spent. Costs add up by basic composition, the sum of
the epsilons and that of the deltas. It holds where the next release is chosen after a look at the
earlier ones, as long as the budget is fixed (Rogers, Roth, Ullman and Vadhan, 2016: a privacy
filter).

The ledger is for the holder of the records. It names checksums of their files.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from privcurve.files import append, cannot_write, sync
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE, implies, of_replacing
from privcurve.releases.errors import ReleaseError

LEDGER = "ledger.jsonl"
# Beside the folders of all ledgers.
LOCK = ".lock"

RESERVED = "reserved"
DONE = "done"
FAILED = "failed"

# Sums of decimal numbers: 0.1 + 0.2 is not more than 0.3.
TOLERANCE = 1e-9


class BookError(ReleaseError):
    """A release that the ledger refuses, or a ledger that can't be used; one message."""


@dataclass(frozen=True)
class Price:
    """What a release costs.

    Attributes
    ----------
    epsilon, delta : float
    neighbours : str
        A word of ``privacy.budget``.
    """

    epsilon: float
    delta: float
    neighbours: str

    def for_neighbours(self, wanted: str) -> Price:
        """Give the price for another relation of neighbours.

        Raises
        ------
        BookError
            If the guarantee says nothing for it.
        """
        if implies(self.neighbours, wanted):
            return Price(self.epsilon, self.delta, wanted)
        if (self.neighbours, wanted) == (ADD_REMOVE, REPLACE_ONE):
            return Price(*of_replacing(self.epsilon, self.delta), wanted)
        raise BookError(
            f"a guarantee for neighbours = {self.neighbours!r} says nothing for {wanted!r}, which "
            "the budget is for. Choose another learner, or a budget: neighbours that it offers."
        )


@dataclass(frozen=True)
class Budget:
    """What all releases of a dataset may cost together; infinite where there is no limit."""

    epsilon: float = math.inf
    delta: float = 1.0
    neighbours: str = REPLACE_ONE

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Budget:
        """Give the budget that a description says; empty for none."""
        if not said:
            return cls()
        return cls(
            float(said["epsilon"]),
            float(said.get("delta", 0.0)),
            said.get("neighbours", REPLACE_ONE),
        )

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.epsilon)

    def total(self, prices: Sequence[Price]) -> Price:
        """Add prices up, for the neighbours of the budget.

        Raises
        ------
        BookError
            If a price is for other neighbours, and says nothing for those of the budget.
        """
        same = [price.for_neighbours(self.neighbours) for price in prices]
        return Price(
            math.fsum(price.epsilon for price in same),
            math.fsum(price.delta for price in same),
            self.neighbours,
        )

    def admits(self, total: Price) -> bool:
        """Whether a total is within the budget."""
        slack = 1 + TOLERANCE
        return total.epsilon <= self.epsilon * slack and total.delta <= self.delta * slack


@dataclass(frozen=True)
class Release:
    """One release, as the ledger has it.

    Attributes
    ----------
    number : int
        From 1.
    price : Price
    state : str
        ``reserved``: it was begun; ``done``; or ``failed``. All of them are spent.
    facts : mapping
        What else was written when it was begun.
    """

    number: int
    price: Price
    state: str
    facts: Mapping[str, Any]


class Book:
    """The ledger of one dataset.

    Parameters
    ----------
    folder : Path
        Where the file is, or will be.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    def releases(self) -> list[Release]:
        """Give all releases, in order.

        Raises
        ------
        BookError
            If the file is damaged.
        """
        if not self.path.exists():
            return []
        return self._read(self.path.read_bytes())

    def check(self, budget: Budget, price: Price) -> None:
        """Refuse a release that the budget does not allow; see :meth:`reserve`."""
        self._check(self.releases(), budget, price)

    def reserve(self, budget: Budget, price: Price, facts: Mapping[str, Any]) -> Release:
        """Write down that a release begins, or refuse it: nothing may be trained before.

        Parameters
        ----------
        budget : Budget
            Of all releases.
        price : Price
            Of this one.
        facts : mapping
            What else is to be known of it; plain JSON.

        Returns
        -------
        Release
            On the disk when this returns.

        Raises
        ------
        BookError
            If the budget does not allow it, or the file is damaged.
        OSError
            If it can't be written; then nothing is spent.
        """
        with _locked(self.path) as file:
            before = self._read(file.read())
            self._check(before, budget, price)
            release = Release(len(before) + 1, price, RESERVED, dict(facts))
            self._append(
                file,
                {
                    "release": release.number,
                    "state": RESERVED,
                    "at": _now(),
                    "epsilon": "inf" if math.isinf(price.epsilon) else price.epsilon,
                    "delta": price.delta,
                    "neighbours": price.neighbours,
                    **facts,
                },
            )
        return release

    def close(self, release: Release, state: str, facts: Mapping[str, Any]) -> None:
        """Write down how a release ended: ``done`` or ``failed``. It is spent in any case."""
        with _locked(self.path) as file:
            self._read(file.read())
            line = {"release": release.number, "state": state, "at": _now(), **facts}
            self._append(file, line)

    def _check(self, before: Sequence[Release], budget: Budget, price: Price) -> None:
        if not budget.limited:
            return
        spent = budget.total([one.price for one in before])
        total = budget.total([*(one.price for one in before), price])
        if not budget.admits(total):
            own = price.for_neighbours(budget.neighbours)
            doubled = ""
            if own.epsilon != price.epsilon:
                doubled = f" for {budget.neighbours} neighbours (of {price.neighbours} ones, half)"
            raise BookError(
                f"this release would cost {level(own)}{doubled}, but {level(spent)} of the budget, "
                f"{level(Price(budget.epsilon, budget.delta, budget.neighbours))}, is spent by "
                f"{len(before)} release{'' if len(before) == 1 else 's'} ({self.path}). "
                "Nothing was trained. Release less, or decide in the description on a larger "
                "budget: a decision about the people in the records, not about the model."
            )

    def _append(self, file: IO[bytes], line: Mapping[str, Any]) -> None:
        """Add a line, chained to what is before it, and wait for the disk."""
        file.seek(0)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        text = json.dumps({**line, "after": _digest(whole)}, ensure_ascii=False, allow_nan=False)
        try:
            # What is torn was never begun: its process was killed while it wrote.
            file.truncate(len(whole))
            file.seek(len(whole))
            append(file.fileno(), text.encode() + b"\n")
            os.fsync(file.fileno())
            sync(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def _read(self, content: bytes) -> list[Release]:
        found: dict[int, Release] = {}
        place = 0
        for k, line in enumerate(content.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                if entry.pop("after") != _digest(content[:place]):
                    raise ValueError("the lines before it are not those that it was written after")
                self._take(found, entry)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BookError(
                    f"{self.path}, line {k}: the ledger was damaged or changed ({error}). Nothing "
                    "is released until it is restored from a backup: what is spent can't be known."
                ) from None
            place += len(line)
        return list(found.values())

    @staticmethod
    def _take(found: dict[int, Release], entry: dict[str, Any]) -> None:
        number, state = entry.pop("release"), entry.pop("state")
        if state == RESERVED:
            if number != len(found) + 1:
                raise ValueError(f"release {number} comes after {len(found)}")
            price = Price(
                float(entry.pop("epsilon")), float(entry.pop("delta")), entry.pop("neighbours")
            )
            found[number] = Release(number, price, state, entry)
        else:
            begun = found[number]
            found[number] = Release(number, begun.price, state, {**begun.facts, **entry})


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let no other release begin meanwhile, whatever ledger of a folder it is written in.

    Parameters
    ----------
    folder : Path
        Of the ledgers' folders.

    Raises
    ------
    WriteError
        If there can be no lock.
    """
    with _locked(folder / LOCK):
        yield


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Without a buffer, which would be written once more when the file is closed.
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise cannot_write(path, error) from error
    with file:
        yield file


def spent(prices: Sequence[Price]) -> list[Price]:
    """Add prices up, those for each relation of neighbours by themselves."""
    relations = dict.fromkeys(price.neighbours for price in prices)
    return [
        Budget(neighbours=one).total([price for price in prices if price.neighbours == one])
        for one in relations
    ]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def level(price: Price) -> str:
    """Write a price in words."""
    return f"epsilon = {price.epsilon:.6g}" + (
        f", delta = {price.delta:.6g}" if price.delta else ""
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
