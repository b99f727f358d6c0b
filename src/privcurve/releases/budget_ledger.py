"""The budget ledger: the releases of one dataset, their costs, and the remaining budget.

Costs add up by basic composition: the ledger sums the epsilons and the deltas. Basic composition
also holds if the choice of a release depends on earlier releases, as long as the budget is fixed
(Rogers, Roth, Ullman and Vadhan, 2016: a privacy filter). Before the ledger adds costs, it converts
each cost to one relation of neighbours. A guarantee with ε for ``add-remove`` neighbours implies
one with 2ε for ``replace-one`` neighbours, since replacing a record means removing one and adding
another. A guarantee for ``replace-one`` neighbours implies none for ``add-remove`` neighbours: the
release may show the number of records, and two ``add-remove`` neighbours differ in it.

The ledger is an append-only file of JSON lines. A release first writes its price to the disk, under
a lock, and then trains: two releases at the same time cannot both spend the same remainder, and a
release that was killed counts as spent. The ledger charges a finished model the δ of its statement,
which may be smaller than the reserved δ. The ledger also lists comparisons of learners on the
records. Comparisons are not private (ε = ∞); they spend nothing as long as their numbers stay with
the owner, and cards mention them.

The ledger is for the data owner. It contains checksums of their files.
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
from privcurve.releases.errors import BudgetError, LedgerError, ReleaseError

# Folder of all ledgers, in the working folder; git ignores it.
RELEASES = Path("releases")
LEDGER = "ledger.jsonl"

RESERVED = "reserved"
DONE = "done"
FAILED = "failed"

# Relative tolerance for rounding errors: prices of 0.1 and 0.2 must fit into a budget of 0.3.
TOLERANCE = 1e-9


# Prices ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """The price of a release, for one relation of neighbours (a constant of ``privacy.budget``).

    `unit` is the column that names persons if neighbours differ in all records of one person, and
    empty if neighbours differ in one record. `public` has the sorted names of the columns
    (including the label, if it is public) that private-columns neighbours share; None: not known.
    """

    epsilon: float
    delta: float
    neighbours: str
    unit: str = ""
    public: tuple[str, ...] | None = ()

    def convert(self, relation: str) -> Price | None:
        """Return the price for another relation; None if this price implies no guarantee for it."""
        if words.implies(self.neighbours, relation):
            return Price(self.epsilon, self.delta, relation, self.unit)
        if self.neighbours == words.ADD_REMOVE and words.implies(words.REPLACE_ONE, relation):
            guarantee = words.replace_one_guarantee(self.epsilon, self.delta)
            return Price(*guarantee, relation, self.unit)
        return None

    @property
    def neighbours_text(self) -> str:
        """The relation of neighbours in words, which mention persons if the price protects them."""
        differ = f" that differ in {protection(self.unit)}" if self.unit else ""
        return f"{self.neighbours} neighbours{differ}"

    def __str__(self) -> str:
        delta = f", delta = {self.delta:.6g}" if self.delta else ""
        return f"epsilon = {self.epsilon:.6g}{delta}"

    @property
    def claim(self) -> str:
        """The price as text for readers; if it guarantees nothing, the text says so."""
        vacuous = math.isinf(self.epsilon) or self.delta >= 1
        return f"{self}: nothing is guaranteed" if vacuous else str(self)

    @property
    def content(self) -> dict[str, Any]:
        """The price as a mapping for JSON, with an infinite ε as text."""
        epsilon = "inf" if math.isinf(self.epsilon) else self.epsilon
        unit: dict[str, Any] = {"unit": self.unit} if self.unit else {}
        if self.neighbours == words.PRIVATE_COLUMNS and self.public is not None:
            unit["public"] = list(self.public)
        return {"epsilon": epsilon, "delta": self.delta, "neighbours": self.neighbours, **unit}


@dataclass(frozen=True)
class Budget(Price):
    """The largest total price of all releases of a dataset; infinite without a limit."""

    epsilon: float = math.inf
    delta: float = 1.0
    neighbours: str = words.REPLACE_ONE

    @classmethod
    def from_description(cls, content: Mapping[str, Any], unit: Unit | None = None) -> Budget:
        """Return the budget from the `budget` entry and the unit of a description.

        An empty entry gives a budget without a limit.
        """
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
        """Return the remaining budget after `prices` are spent; None if there is no limit.

        Nothing remains if a price does not convert to the relation of neighbours of the budget.
        """
        if not self.is_limited:
            return None
        spent = total(list(prices), self.neighbours)
        epsilon, delta = self.epsilon - spent.epsilon, self.delta - spent.delta
        # A remainder that is only a rounding error counts as nothing.
        return Price(
            epsilon if epsilon > TOLERANCE * self.epsilon else 0.0,
            delta if delta > TOLERANCE * self.delta else 0.0,
            self.neighbours,
            self.unit,
        )

    def admits(self, price: Price) -> bool:
        """Return whether a total price is within the budget, up to rounding errors."""
        slack = 1 + TOLERANCE
        return price.epsilon <= self.epsilon * slack and price.delta <= self.delta * slack


def total(prices: Sequence[Price], neighbours: str) -> Price:
    """Return the total price of releases for one relation of neighbours.

    ε is infinite if one of the prices does not convert to the relation. All prices have the same
    unit, as the ledger refuses a release with another unit.
    """
    unit = next((price.unit for price in prices), "")
    converted = [price.convert(neighbours) for price in prices]
    stated = [price for price in converted if price is not None]
    if len(stated) < len(converted):
        return Price(math.inf, 0.0, neighbours, unit)
    # Report a δ above 1 as 1: every mechanism is (0, 1)-DP.
    delta = min(1.0, math.fsum(price.delta for price in stated))
    return Price(math.fsum(price.epsilon for price in stated), delta, neighbours, unit)


def totals(prices: Sequence[Price], budget: Budget) -> list[Price]:
    """Return the total price of all releases, once for each relation of the releases or the budget.

    Card, terminal and ledger all state these totals. A budget without a limit has the relation
    ``replace-one``. Relations are in the order of ``privacy.budget.NEIGHBOURS``.
    """
    names = {budget.neighbours, *(price.neighbours for price in prices)}
    return [total(prices, relation.name) for relation in words.NEIGHBOURS if relation.name in names]


def protection(unit: str) -> str:
    """Return the unit of protection in words; `unit` is the column of persons, or empty."""
    return f"all records of one {unit}" if unit else "single records"


# The ledger ------------------------------------------------------------------------


@dataclass(frozen=True)
class Release:
    """One release in the ledger."""

    number: int  # the number of the release in the ledger, from 1
    price: Price
    # `reserved` (the release began), `done` or `failed`. In each state, the price is spent.
    state: str
    facts: Mapping[str, Any]  # other keys of the first and last line of the release
    n_comparisons: int = 0  # number of comparisons of learners before this release


@dataclass
class _Content:
    """The content of a ledger.

    `heads` has the digest of the bytes before each line, and at the end the digest of all bytes.
    """

    releases: dict[int, Release] = field(default_factory=dict)
    comparisons: list[Mapping[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    def add(self, entry: dict[str, Any]) -> None:
        """Add the content of a line of the ledger."""
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
            # The first line reserved the requested δ; the last line has the δ to charge.
            delta = min(release.price.delta, float(entry.pop("delta", release.price.delta)))
            price = replace(release.price, delta=delta)
            # If a failed release was resumed, drop the error of its first attempt.
            facts = {key: fact for key, fact in release.facts.items() if key != "error"} | entry
            self.releases[number] = replace(release, price=price, state=state, facts=facts)


class BudgetLedger:
    """The budget ledger of one dataset. Each method raises LedgerError if the file is damaged."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LEDGER

    def releases(self) -> list[Release]:
        """Return all releases, in order."""
        return list(self._content().releases.values())

    def comparisons(self) -> list[Mapping[str, Any]]:
        """Return the lines of comparisons, in the order of the file."""
        return self._content().comparisons

    def heads(self) -> list[str]:
        """Return for each line, in order, the digest of the ledger up to the end of the line.

        The last of these digests identifies the present state of the ledger.
        """
        return self._content().heads[1:]

    def continues(self, head: str) -> bool:
        """Return whether `head` is the digest of the ledger now, or was at some time."""
        return head in self._content().heads

    def check(self, budget: Budget, price: Price, large_delta: bool = False) -> None:
        """Raise BudgetError or LedgerError if the ledger must refuse a release at `price`.

        Without `large_delta`, a release is refused if the deltas of all releases would reach 1.
        """
        self._check(self.releases(), budget, price, large_delta)

    def reserve(
        self, budget: Budget, price: Price, facts: Mapping[str, object], large_delta: bool = False
    ) -> Release:
        """Write the first line of a release, before its training; errors as in :meth:`check`."""
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

    def find_unfinished(
        self, learner: str, parameters: Mapping[str, object], price: Price
    ) -> Release:
        """Return the last release of a learner at a price that is not done, to resume it.

        If there are several such releases, the last one with these `parameters` is preferred. If
        all have other parameters, :meth:`resume` raises an error later. Raises ReleaseError if all
        releases of the learner at this price are done.
        """
        at_price = [
            past
            for past in reversed(self.releases())
            if (past.price, past.facts.get("learner")) == (price, learner) and past.state != DONE
        ]
        if not at_price:
            raise ReleaseError(
                f"no release of {learner} with {price} has begun and "
                f"not ended ({self.path}): there is nothing to resume"
            )
        same = [past for past in at_price if past.facts.get("parameters") == parameters]
        return (same or at_price)[0]

    def resume(self, release: Release, facts: Mapping[str, object]) -> Release:
        """Return a release to resume.

        Raises ReleaseError if the release began with other records, settings or seed than `facts`.
        """
        for key, value in facts.items():
            if release.facts.get(key) != value:
                raise ReleaseError(
                    f"release {release.number} ({self.path}) began with another {key}, so it can't "
                    "be resumed: this would be another release. Nothing was trained"
                )
        return release

    def has_token(self, token: str) -> bool:
        """Return whether a release in the ledger has this token.

        If the user stops the program while it reserves the price, only the ledger shows whether the
        price is spent.
        """
        return bool(token) and any(past.facts.get("token") == token for past in self.releases())

    def note_comparison(self, facts: Mapping[str, object]) -> None:
        """Append a line about a comparison of learners on the records, which is not private."""
        with _open(self.path) as file:
            number = len(self._read(file.read()).comparisons) + 1
            line = {"comparison": number, "at": _now(), "epsilon": "inf", "private": False}
            self._append(file, {**line, **facts})

    def close(self, release: Release, state: str, facts: Mapping[str, object]) -> None:
        """Append the line that ends a release as ``done`` or ``failed``; its price stays spent.

        `facts` may contain `delta`: the δ to charge, if it is smaller than the reserved δ.
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
                f"neighbours must imply the budget's relation, {budget.neighbours!r}; got "
                f"{price.neighbours!r}, which implies no guarantee for it. Choose another learner, "
                "or budget: neighbours that this learner offers."
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

    def _append(self, file: IO[bytes], line: Mapping[str, object]) -> None:
        """Append a line with the digest of all earlier lines, and wait for the disk."""
        file.seek(0)
        content = file.read()
        lines = content[: content.rfind(b"\n") + 1]
        text = json.dumps({**line, "after": _digest(lines)}, ensure_ascii=False, allow_nan=False)
        with write_errors(self.path):
            # Remove an incomplete last line: the process was killed while it wrote the line, before
            # the release began.
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
                    raise ValueError("the lines before it have changed")
                result.add(entry)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                why = str(error) if type(error) is ValueError else "it is no line of a ledger"
                raise LedgerError(
                    f"{self.path}, line {k}: the ledger was damaged or changed ({why}), so the "
                    "spent budget is unknown. Nothing is released until you restore the ledger "
                    "from a backup."
                ) from None
            place += len(line)
        result.heads.append(_digest(content[:place]))
        return result


def budget_of(records: str) -> Budget:
    """Return the budget of the dataset named `records`."""
    description = datasets.describe(records)
    return Budget.from_description(description.budget, description.unit)


def note_comparison(dataset: str, epsilons: Sequence[float], delta: float) -> None:
    """Write a line about a comparison of learners into the ledger of a dataset.

    Call this function before the comparison: a stopped comparison has used the records, too. For a
    public benchmark, the function writes nothing.

    Raises DatasetError if the files of the dataset can't be read, LedgerError if the ledger is
    damaged, and WriteError if the ledger can't be written.
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
    """Lock a folder of ledgers: while it is locked, no other release begins in this folder."""
    _make_folder(folder)
    with lock_folder(folder):
        yield


def _make_folder(folder: Path) -> None:
    with write_errors(folder):
        # Only the owner may read this folder and its parent; folders above them may be shared.
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
