"""The budget ledger: what was released of a dataset's records, what it cost, and what is left.

Costs add up by basic composition, the sum of the epsilons and that of the deltas. It holds where
the next release is chosen after a look at the earlier ones, as long as the budget is fixed (Rogers,
Roth, Ullman and Vadhan, 2016: a privacy filter). Before they are added up, costs are converted to
the neighbours that the sum is for: a guarantee for ``add-remove`` neighbours counts twice its ε for
``replace-one`` ones, since to replace a record is to leave one out and to add one. The other way
round nothing is guaranteed: a release for ``replace-one`` neighbours may show the number of
records, by which two ``add-remove`` neighbours differ.

The ledger is an append-only file of JSON lines. A release first writes what it will spend, under a
lock and onto the disk, and trains afterwards: two releases at the same time cannot both have what
is left for one, and what was killed in between counts as spent. A finished model is charged the δ
of its statement, which may be smaller than the one reserved. Comparisons of the records are noted
too. They are not private (ε = ∞), and as long as none of their numbers leave they spend nothing:
cards say that they were made.

The ledger is for the data owner. It names checksums of their files.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from privcurve import datasets
from privcurve.datasets.description import Unit
from privcurve.datasets.load import checksums
from privcurve.datasets.reading import fetch
from privcurve.files import append, lock_folder, open_private, sync, write_errors
from privcurve.privacy import budget as words
from privcurve.releases.errors import BudgetError, LedgerError

# The folder of all ledgers, from the working folder; kept out of git.
RELEASES = Path("releases")
LEDGER = "ledger.jsonl"

RESERVED = "reserved"
DONE = "done"
FAILED = "failed"

# Sums of decimal numbers: 0.1 + 0.2 is not more than 0.3.
TOLERANCE = 1e-9


# Prices ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """The price of a release, for neighbours of one relation (a word of ``privacy.budget``).

    `unit` is the column that names persons, where neighbours differ in all records of one person;
    empty where they differ in one record. `public` are the names of the columns that
    private-columns neighbours share, and of the label where they do, sorted; None: not known.
    """

    epsilon: float
    delta: float
    neighbours: str
    unit: str = ""
    public: tuple[str, ...] | None = ()

    def convert(self, relation: str) -> Price | None:
        """Return the price for another relation; None if the guarantee says nothing for it."""
        if words.implies(self.neighbours, relation):
            return Price(self.epsilon, self.delta, relation, self.unit)
        if self.neighbours == words.ADD_REMOVE and words.implies(words.REPLACE_ONE, relation):
            guarantee = words.replace_one_guarantee(self.epsilon, self.delta)
            return Price(*guarantee, relation, self.unit)
        return None

    @property
    def neighbours_text(self) -> str:
        """The neighbours in words, persons among them."""
        differ = f" that differ in {protection(self.unit)}" if self.unit else ""
        return f"{self.neighbours} neighbours{differ}"

    def __str__(self) -> str:
        delta = f", delta = {self.delta:.6g}" if self.delta else ""
        return f"epsilon = {self.epsilon:.6g}{delta}"

    @property
    def claim(self) -> str:
        """What releases guarantee together, in words."""
        vacuous = math.isinf(self.epsilon) or self.delta >= 1
        return f"{self}: nothing is guaranteed" if vacuous else str(self)

    @property
    def content(self) -> dict[str, Any]:
        """Its form in JSON."""
        epsilon = "inf" if math.isinf(self.epsilon) else self.epsilon
        unit: dict[str, Any] = {"unit": self.unit} if self.unit else {}
        if self.neighbours == words.PRIVATE_COLUMNS and self.public is not None:
            unit["public"] = list(self.public)
        return {"epsilon": epsilon, "delta": self.delta, "neighbours": self.neighbours, **unit}


@dataclass(frozen=True)
class Budget(Price):
    """The most that all releases of a dataset may cost together; infinite without a limit."""

    epsilon: float = math.inf
    delta: float = 1.0
    neighbours: str = words.REPLACE_ONE

    @classmethod
    def from_description(cls, content: Mapping[str, Any], unit: Unit | None = None) -> Budget:
        """Return the budget of a description, by its content and unit; empty for none."""
        column = "" if unit is None else unit.column
        if not content:
            return cls(unit=column)
        neighbours = content.get("neighbours", words.REPLACE_ONE)
        return cls(float(content["epsilon"]), float(content.get("delta", 0.0)), neighbours, column)

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.epsilon)

    def subtract(self, prices: Iterable[Price]) -> Price | None:
        """Return what is left after these are spent; None if there is no limit.

        Nothing is left if one of them has no price for the neighbours of the budget.
        """
        if not self.is_limited:
            return None
        spent = total(list(prices), self.neighbours)
        epsilon, delta = self.epsilon - spent.epsilon, self.delta - spent.delta
        # Rounding: nothing is left of 0.3 after 0.1 and 0.2.
        return Price(
            epsilon if epsilon > TOLERANCE * self.epsilon else 0.0,
            delta if delta > TOLERANCE * self.delta else 0.0,
            self.neighbours,
            self.unit,
        )

    def admits(self, price: Price) -> bool:
        """Return whether a total is within the budget."""
        slack = 1 + TOLERANCE
        return price.epsilon <= self.epsilon * slack and price.delta <= self.delta * slack


def total(prices: Sequence[Price], neighbours: str) -> Price:
    """Add up what releases cost together for one relation; ε is infinite if one says nothing.

    All of them have the same unit: a ledger refuses others.
    """
    unit = next((price.unit for price in prices), "")
    converted = [price.convert(neighbours) for price in prices]
    stated = [price for price in converted if price is not None]
    if len(stated) < len(converted):
        return Price(math.inf, 0.0, neighbours, unit)
    # Everything is (0, 1)-DP.
    delta = min(1.0, math.fsum(price.delta for price in stated))
    return Price(math.fsum(price.epsilon for price in stated), delta, neighbours, unit)


def totals(prices: Sequence[Price], budget: Budget) -> list[Price]:
    """Add up what releases cost together, for each relation that one of them or the budget is for.

    Card, terminal and ledger all state these totals. Without a limit the budget is for
    ``replace-one`` neighbours. The order is that of ``privacy.budget.NEIGHBOURS``.
    """
    names = {budget.neighbours, *(price.neighbours for price in prices)}
    return [total(prices, relation.name) for relation in words.NEIGHBOURS if relation.name in names]


def protection(unit: str) -> str:
    """Say what a guarantee protects together: by the column of persons, if there is one."""
    return f"all records of one {unit}" if unit else "single records"


# The ledger ------------------------------------------------------------------------


@dataclass(frozen=True)
class Release:
    """One release, as the ledger has it."""

    number: int  # from 1
    price: Price
    # `reserved`: it was begun; `done`; or `failed`. All of them are spent.
    state: str
    facts: Mapping[str, Any]  # what else was written when it was begun, and when it ended
    n_comparisons: int = 0  # how many comparisons were noted before it


@dataclass
class _Content:
    """The content of a ledger; `heads` are the digests of what is before each line, and of all."""

    releases: dict[int, Release] = field(default_factory=dict)
    comparisons: list[Mapping[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Add the entry of a line."""
        if "comparison" in entry:
            self.comparisons.append(entry)
            return
        number, state = entry.pop("release"), entry.pop("state")
        if state == RESERVED:
            if number != len(self.releases) + 1:
                raise ValueError(f"release {number} comes after {len(self.releases)}")
            epsilon, delta = float(entry.pop("epsilon")), float(entry.pop("delta"))
            relation = entry.pop("neighbours")
            names = entry.pop("public", None if relation == words.PRIVATE_COLUMNS else ())
            public = None if names is None else tuple(names)
            price = Price(epsilon, delta, relation, entry.pop("unit", ""), public)
            self.releases[number] = Release(number, price, state, entry, len(self.comparisons))
        else:
            release = self.releases[number]
            # The requested δ was reserved; the used one is charged.
            delta = min(release.price.delta, float(entry.pop("delta", release.price.delta)))
            price = replace(release.price, delta=delta)
            # A release that was resumed has no error any more.
            facts = {key: fact for key, fact in release.facts.items() if key != "error"} | entry
            self.releases[number] = replace(release, price=price, state=state, facts=facts)


class BudgetLedger:
    """The budget ledger of one dataset; whatever reads it raises LedgerError if it is damaged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    def releases(self) -> list[Release]:
        """Return all releases, in order."""
        return list(self._content().releases.values())

    def comparisons(self) -> list[Mapping[str, Any]]:
        """Return the comparisons that were noted, in order, as they stand in the file."""
        return self._content().comparisons

    def heads(self) -> list[str]:
        """Return the digest of the ledger up to each line; the last is that of all lines."""
        return self._content().heads[1:]

    def continues(self, head: str) -> bool:
        """Return whether the ledger once ended in a head (:meth:`heads`), or ends in it now."""
        return head in self._content().heads

    def check(self, budget: Budget, price: Price, large_delta: bool = False) -> None:
        """Refuse a release that the budget does not allow; see :meth:`reserve`."""
        self._check(self.releases(), budget, price, large_delta)

    def reserve(
        self, budget: Budget, price: Price, facts: Mapping[str, Any], large_delta: bool = False
    ) -> Release:
        """Write down that a release begins, or refuse it: nothing may be trained before."""
        with _open(self.path) as file:
            content = self._read(file.read())
            earlier = list(content.releases.values())
            self._check(earlier, budget, price, large_delta)
            prices = [*(past.price for past in earlier), price]
            facts = {"at": _now(), **facts}
            release = Release(len(prices), price, RESERVED, facts, len(content.comparisons))
            line = {
                "release": release.number,
                "state": RESERVED,
                **price.content,
                "together": [together.content for together in totals(prices, budget)],
                **facts,
            }
            self._append(file, line)
        return release

    def note_comparison(self, facts: Mapping[str, Any]) -> None:
        """Write down that learners are compared on the records, which is not private."""
        with _open(self.path) as file:
            number = len(self._read(file.read()).comparisons) + 1
            line = {"comparison": number, "at": _now(), "epsilon": "inf", "private": False}
            self._append(file, {**line, **facts})

    def close(self, release: Release, state: str, facts: Mapping[str, Any]) -> None:
        """Write down how a release ended: ``done`` or ``failed``. It is spent in any case.

        `facts` may have the δ that was used, if that is less than was reserved.
        """
        with _open(self.path) as file:
            self._read(file.read())
            line = {"release": release.number, "state": state, "at": _now(), **facts}
            self._append(file, line)

    def _check(
        self, earlier: Sequence[Release], budget: Budget, price: Price, large_delta: bool
    ) -> None:
        prices = [*(release.price for release in earlier), price]
        units = [*([budget.unit] if budget.is_limited else []), *(past.unit for past in prices)]
        if others := [unit for unit in units if unit != price.unit]:
            raise LedgerError(
                f"this release would protect {protection(price.unit)}, but the budget or earlier "
                f"releases of these records ({self.path}) protect {protection(others[0])}, "
                "and such guarantees can't be added up. Nothing was trained. Keep the unit of all "
                "of them (unit: column, in the description that the records are of)."
            )
        shared = [past.public for past in prices if past.neighbours == words.PRIVATE_COLUMNS]
        if price.neighbours == words.PRIVATE_COLUMNS and set(shared) != {price.public}:
            other = next(names for names in shared if names != price.public)
            raise LedgerError(
                f"this release would take {_join(price.public)} for public, but an earlier one "
                f"of these records ({self.path}) {_join(other)}: what one shows exactly, the other "
                "protects, and such guarantees can't be added up. Nothing was trained. Keep the "
                "public columns of the description, or choose a learner for replace-one neighbours."
            )
        if price.delta and total(prices, price.neighbours).delta >= 1 and not large_delta:
            raise BudgetError(
                f"with this release (delta = {price.delta:g}) the deltas of all {len(prices)} "
                f"releases ({self.path}) add up to 1 or more, so that together they guarantee "
                "nothing. Nothing was trained. Give a smaller delta; or, if that is meant, "
                "--allow-large-delta."
            )
        if not budget.is_limited:
            return
        converted = price.convert(budget.neighbours)
        if converted is None:
            raise BudgetError(
                f"a guarantee for neighbours = {price.neighbours!r} says nothing for "
                f"{budget.neighbours!r}, which the budget is for. Choose another learner, or a "
                "budget: neighbours that it offers."
            )
        if not budget.admits(total(prices, budget.neighbours)):
            spent = total(prices[:-1], budget.neighbours)
            doubled = ""
            if converted.epsilon != price.epsilon:
                doubled = f" for {budget.neighbours} neighbours (of {price.neighbours} ones, half)"
            needs_delta = converted.delta > 0 == budget.delta
            no_delta = "The budget allows no delta. " if needs_delta else ""
            raise BudgetError(
                f"this release would cost {converted}{doubled}, but {spent} "
                f"of the budget, {budget}, is spent by "
                f"{len(earlier)} release{'' if len(earlier) == 1 else 's'} ({self.path}). "
                f"{no_delta}Nothing was trained. Release less, or decide in the description on a "
                "larger budget: a decision about the people in the records, not about the model."
            )

    def _append(self, file: IO[bytes], line: Mapping[str, Any]) -> None:
        """Add a line with the digest of those before it, and wait for the disk."""
        file.seek(0)
        content = file.read()
        lines = content[: content.rfind(b"\n") + 1]
        text = json.dumps({**line, "after": _digest(lines)}, ensure_ascii=False, allow_nan=False)
        with write_errors(self.path):
            # Half a line is of a release that never began: its process was killed.
            file.truncate(len(lines))
            file.seek(len(lines))
            append(file.fileno(), text.encode() + b"\n")
            os.fsync(file.fileno())
            sync(self.path.parent)

    def _content(self) -> _Content:
        try:
            return self._read(self.path.read_bytes() if self.path.exists() else b"")
        except OSError as error:
            raise LedgerError(
                f"{self.path} can't be read ({error.strerror}): nothing is released without the "
                "ledger. Restore it from a backup."
            ) from None

    def _read(self, content: bytes) -> _Content:
        result = _Content()
        place = 0
        for k, line in enumerate(content.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                result.heads.append(_digest(content[:place]))
                if entry.pop("after") != result.heads[-1]:
                    raise ValueError("the lines before it are not those that it was written after")
                result.add(entry)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                why = str(error) if type(error) is ValueError else "it is no line of a ledger"
                raise LedgerError(
                    f"{self.path}, line {k}: the ledger was damaged or changed ({why}). Nothing "
                    "is released until it is restored from a backup: what is spent can't be known."
                ) from None
            place += len(line)
        result.heads.append(_digest(content[:place]))
        return result


def budget_of(records: str) -> Budget:
    """Return the budget of a dataset whose records they are."""
    description = datasets.describe(records)
    return Budget.from_description(description.budget, description.unit)


def note_comparison(dataset: str, epsilons: Sequence[float], delta: float) -> None:
    """Write into the ledger of a dataset that learners are compared on its records.

    Call it before comparing: a comparison that is stopped has looked at the records, too. Of a
    public benchmark, whose records may be looked at, nothing is written.

    Raises DatasetError if its files can't be had. Raises LedgerError if the ledger is damaged.
    Raises WriteError if it can't be written.
    """
    description = datasets.describe(dataset)
    if description.public_benchmark:
        return
    facts = {
        "dataset": dataset,
        "sources": checksums(fetch(description)),
        "models": {"epsilons": list(epsilons), "delta": delta},
    }
    BudgetLedger(RELEASES / description.records_name).note_comparison(facts)


@contextmanager
def lock_releases(folder: Path) -> Iterator[None]:
    """Lock a folder of ledgers: no other release begins in any of them meanwhile."""
    _make_folder(folder)
    with lock_folder(folder):
        yield


def _make_folder(folder: Path) -> None:
    with write_errors(folder):
        # The folder and its parent are private; those above them may be shared.
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for private in (folder.parent, folder):
            private.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    _make_folder(path.parent)
    with lock_folder(path.parent):
        with write_errors(path):
            file = open_private(path, "a+b")
        with file:
            file.seek(0)
            yield file


def _join(names: Sequence[str] | None) -> str:
    return "columns that it does not name" if names is None else ", ".join(names) or "no column"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
