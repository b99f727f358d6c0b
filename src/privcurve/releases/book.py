"""The ledger of a dataset's budget: what was released of its records, and what is left.

An append-only file of JSON lines. A release first writes what it will spend, under a lock and onto
the disk, and trains afterwards: two releases at the same time cannot both have what is left for
one, and what was killed in between counts as spent. Costs add up by basic composition, the sum of
the epsilons and that of the deltas. It holds where the next release is chosen after a look at the
earlier ones, as long as the budget is fixed (Rogers, Roth, Ullman and Vadhan, 2016: a privacy
filter).

Comparisons of the records stand there too. They are not private (ε = ∞), and as long as none of
their numbers leave they spend nothing: cards say that they were made.

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from privcurve.files import append, cannot_write, sync
from privcurve.releases.errors import BookError
from privcurve.releases.prices import Budget, Price, level, total, totals

LEDGER = "ledger.jsonl"
# Beside the folders of all ledgers.
LOCK = ".lock"

RESERVED = "reserved"
DONE = "done"
FAILED = "failed"


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
    n_comparisons : int
        How many comparisons were noted before it.
    """

    number: int
    price: Price
    state: str
    facts: Mapping[str, Any]
    n_comparisons: int = 0


@dataclass
class _Content:
    """What the lines of a ledger say; `heads` are the digests of its beginnings, line by line."""

    releases: dict[int, Release] = field(default_factory=dict)
    comparisons: list[Mapping[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)


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
        """Return all releases, in order.

        Raises
        ------
        BookError
            If the file is damaged.
        """
        return list(self._content().releases.values())

    def comparisons(self) -> list[Mapping[str, Any]]:
        """Return what was noted of each comparison, in order.

        Raises
        ------
        BookError
            If the file is damaged.
        """
        return self._content().comparisons

    def head(self) -> str:
        """Return the digest of all lines, by which :meth:`continues` knows them again."""
        return self._content().heads[-1]

    def continues(self, head: str) -> bool:
        """Whether the ledger is the one that had a head (:meth:`head`), or has grown from it."""
        return head in self._content().heads

    def check(self, budget: Budget, price: Price, large_delta: bool = False) -> None:
        """Refuse a release that the budget does not allow; see :meth:`reserve`."""
        self._check(self.releases(), budget, price, large_delta)

    def reserve(
        self,
        budget: Budget,
        price: Price,
        facts: Mapping[str, Any],
        large_delta: bool = False,
    ) -> Release:
        """Write down that a release begins, or refuse it: nothing may be trained before."""
        with _locked(self.path) as file:
            content = self._read(file.read())
            before = list(content.releases.values())
            self._check(before, budget, price, large_delta)
            prices = [*(one.price for one in before), price]
            release = Release(len(prices), price, RESERVED, dict(facts), len(content.comparisons))
            self._append(
                file,
                {
                    "release": release.number,
                    "state": RESERVED,
                    "at": _now(),
                    **_plain(price),
                    "together": [_plain(one) for one in totals(prices, budget)],
                    **facts,
                },
            )
        return release

    def note_comparison(self, facts: Mapping[str, Any]) -> None:
        """Write down that learners are compared on the records, which is not private."""
        with _locked(self.path) as file:
            number = len(self._read(file.read()).comparisons) + 1
            line = {"comparison": number, "at": _now(), "epsilon": "inf", "private": False}
            self._append(file, {**line, **facts})

    def close(self, release: Release, state: str, facts: Mapping[str, Any]) -> None:
        """Write down how a release ended: ``done`` or ``failed``. It is spent in any case."""
        with _locked(self.path) as file:
            self._read(file.read())
            line = {"release": release.number, "state": state, "at": _now(), **facts}
            self._append(file, line)

    def _content(self) -> _Content:
        return self._read(self.path.read_bytes() if self.path.exists() else b"")

    def _check(
        self, before: Sequence[Release], budget: Budget, price: Price, large_delta: bool
    ) -> None:
        prices = [*(one.price for one in before), price]
        if price.delta and total(prices, price.neighbours).delta >= 1 and not large_delta:
            raise BookError(
                f"with this release (delta = {price.delta:g}) the deltas of all {len(prices)} "
                f"releases ({self.path}) add up to 1 or more, so that together they guarantee "
                "nothing. Nothing was trained. Give a smaller delta; or, if that is meant, "
                "--allow-large-delta."
            )
        if not budget.limited:
            return
        spent = budget.total(prices[:-1])
        if not budget.admits(budget.total(prices)):
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

    def _read(self, content: bytes) -> _Content:
        read = _Content()
        place = 0
        for k, line in enumerate(content.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                read.heads.append(_digest(content[:place]))
                if entry.pop("after") != read.heads[-1]:
                    raise ValueError("the lines before it are not those that it was written after")
                self._take(read, entry)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BookError(
                    f"{self.path}, line {k}: the ledger was damaged or changed ({error}). Nothing "
                    "is released until it is restored from a backup: what is spent can't be known."
                ) from None
            place += len(line)
        read.heads.append(_digest(content[:place]))
        return read

    @staticmethod
    def _take(read: _Content, entry: dict[str, Any]) -> None:
        if "comparison" in entry:
            read.comparisons.append(entry)
            return
        releases = read.releases
        number, state = entry.pop("release"), entry.pop("state")
        if state == RESERVED:
            if number != len(releases) + 1:
                raise ValueError(f"release {number} comes after {len(releases)}")
            price = Price(
                float(entry.pop("epsilon")), float(entry.pop("delta")), entry.pop("neighbours")
            )
            releases[number] = Release(number, price, state, entry, len(read.comparisons))
        else:
            begun = releases[number]
            releases[number] = replace(begun, state=state, facts={**begun.facts, **entry})


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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _plain(price: Price) -> dict[str, Any]:
    """Write a price as JSON has it."""
    epsilon = "inf" if math.isinf(price.epsilon) else price.epsilon
    return {"epsilon": epsilon, "delta": price.delta, "neighbours": price.neighbours}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
