"""What a fit announces to its curator, what it calls, and the check that both are the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, rho_of_ledger
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE, LOGISTIC, NOISY_LABEL, TWO_LAPLACE

# By this share a sum of costs may exceed its charge.
ROUNDING = 1e-9


# Pairs of laws with the same cost, either of which a ledger may name: two names of a label; a
# difference, and its two numbers.
SAME_COST = ({LOGISTIC, NOISY_LABEL}, {LAPLACE, TWO_LAPLACE})


class DoorError(RuntimeError):
    """A learner called a mechanism that it did not announce, or did not call one that it did."""


@dataclass(frozen=True)
class Call:
    """One announced mechanism call, ready to be made."""

    mechanism: str  # whose noise is drawn: a name of `mechanisms.MECHANISMS`
    # Of the noise: b, σ, or 1/η of a choice; 0 where there is no noise (ε = ∞), infinite where
    # there is nothing else.
    scale: float
    # The entry that the call is charged to; None where there is no noise, or nothing but noise.
    entry: LedgerEntry | None = None
    what: str = ""  # the same in the entry's words, where a data holder does not have the ledger

    def rescale(self, factor: float) -> Call:
        """Return the call for numbers that are `factor` times as large: a public factor."""
        return Call(self.mechanism, self.scale * factor, self.entry, self.what)

    @property
    def private(self) -> bool:
        """Whether there is any noise."""
        return self.scale > 0


@lru_cache(maxsize=2**14)
def call_of(entry: LedgerEntry | None, mechanism: str | None = None) -> Call:
    """Return the call that a ledger's entry announces; of None one without noise, of no privacy.

    `mechanism` is whose noise is drawn, where the ledger has another name for what it costs.
    """
    if entry is None:
        return Call(mechanism or "", 0.0)
    return Call(mechanism or entry.mechanism, 1 / entry.noise_rate, entry)


# One call for all numbers, or one for each place along the first axes.
Calls = Call | Sequence[Any] | NDArray[Any]

# The call of a fit without noise.
EXACT = call_of(None)


class Account:
    """The calls of a fit, held against its ledger: what of a curator draws nothing.

    `party` and `watch` are those of :class:`~privcurve.privacy.curator.Curator`.
    """

    def __init__(self, party: bool, watch: Callable[[float], None] | None) -> None:
        self._watch, self._party = watch, party
        self._announced: dict[str, Call] | None = None
        self._n_announced = 0
        self.parties: list[Any] = []
        self.inners: list[Any] = []
        self._away = False
        self.sealed_for = ""
        # The messages of a holder, by what they are charged to, and the most parts of their noise.
        self._charged: dict[str, _Messages] = {}
        self._most_parts = 1
        self._made: list[LedgerEntry] = []
        self._spent = 0.0
        self.statement: PrivacyStatement | None = None
        self.paid: LedgerEntry | None = None
        # Columns that were opened as public, and whether labels were.
        self._opened: set[int] = set()
        self._opened_label = False

    def announce(self, statement: PrivacyStatement) -> None:
        """Take the ledger whose calls are then made by their names.

        Of a fit that is not private there is none, and all answers are exact.
        """
        private = statement.private
        calls = {entry.what: call_of(entry) for entry in statement.ledger}
        self._announced = calls if private else {}
        self._n_announced = len(statement.ledger)
        self._exact = not private

    def call(self, what: str) -> Call:
        """Return an announced call by what it releases.

        Raises
        ------
        DoorError
            If there is none of that name.
        """
        if self._announced is None:
            raise DoorError(f"nothing is announced: {what}")
        if self._exact:
            return EXACT
        if what not in self._announced:
            names = ", ".join(list(self._announced)[:5])
            raise DoorError(f"called, but not announced: {what!r}. Announced are: {names}")
        return self._announced[what]

    def spend(self, what: str, share: float) -> None:
        """Take a share of a budget: of a fit whose calls depend on answers.

        Raises DoorError if all of them are more than the budget.
        """
        self._spent += share
        if self._spent > 1 + ROUNDING:
            raise DoorError(f"{what}: more than the budget, {self._spent:.6g} of it")

    def report(self, share: float) -> None:
        """Say how much of a fit is done, by public facts and the answers of calls alone.

        Runs of a private selection tell nothing: how many there are is not released.
        """
        if self._watch is not None:
            self._watch(min(share, 1.0))

    # What was called ---------------------------------------------------------------------

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """What was called so far, in that order: of a fit whose calls depend on answers."""
        return tuple(self._made)

    def _charge_all(self, calls: Calls, shape: tuple[int, ...]) -> NDArray[Any]:
        # The call of each place along the first axes of the shape.
        spread = np.asarray(calls, dtype=object)
        if spread.size and spread.shape != shape[: spread.ndim]:
            raise ValueError(f"{spread.shape} calls do not fit noise of the shape {shape}")
        # Few of thousands of calls differ, and equal ones are one object.
        each = spread.ravel().tolist()
        for call in dict(zip(map(id, each), each, strict=True)).values():
            self._charge(call)
        return spread

    def _charge(self, call: Call | str) -> Call:
        if isinstance(call, str):
            call = self.call(call)
        if call.entry is None:
            if self.sealed_for and not call.private:
                raise DoorError(f"answered without noise, of a private fit: {call.what or call}")
            if not call.scale >= 0:
                raise DoorError(f"{call.mechanism} noise of the scale {call.scale}")
            if self._party and call.private:
                self._charged.setdefault(call.what, _Messages()).add(call)
            elif 0 < call.scale < math.inf:
                raise DoorError(f"{call.mechanism} noise that no ledger's entry announces")
            return call
        if call.mechanism != call.entry.mechanism:
            _check_law(call.mechanism, call.entry)
        if not call.scale > 0:
            raise DoorError(f"charged, but answered without noise: {call.entry.what}")
        if self._n_announced:
            self.report(len(self._made) / self._n_announced)
        self._made.append(call.entry)
        return call

    def check(self, statement: PrivacyStatement, by_package: bool = False) -> None:
        """Check that what was called is what was announced.

        Parameters
        ----------
        statement : PrivacyStatement
        by_package : bool
            Whether the noise is drawn by a package of others (a peer), which calls nothing here.

        Raises
        ------
        DoorError
            If it is not.
        """
        self.statement = statement
        self._check_parties(statement)
        named = self._opened <= {*statement.public_columns}
        if statement.private and not (named and self._opened_label <= statement.public_label):
            raise DoorError("opened as public, and not said to be: columns or labels")
        if not self.inners and self.ledger == statement.ledger:
            # In most fits the calls are the ledger, in its order; counting them takes as long as a
            # small fit.
            return
        announced, made = Counter(statement.ledger), Counter(self._made)
        # The ledger of a private selection is that of one run.
        runs = max(1, len(self.inners))
        for entry, times in made.items():
            charged = announced[entry]
            if not charged:
                raise DoorError(f"called, but not announced in the ledger: {entry.what}")
            # Calls that are parallel, such as one a leaf, are announced with their number.
            most = charged * (entry.calls if entry.parallel else 1)
            if times > runs * most:
                raise DoorError(f"called more often than it is charged: {entry.what}")
        if not by_package:
            for entry, times in announced.items():
                # Holders were checked above; what a tree asks of them depends on their answers.
                of_holders = self.parties and not made[entry]
                if made[entry] < runs * times and not of_holders:
                    raise DoorError(f"announced in the ledger, but not called: {entry.what}")
        for inner in self.inners:
            inner._check_paid()

    def _check_parties(self, statement: PrivacyStatement) -> None:
        """Check that holders made announced calls alone, and all of them the same.

        Published protocols do not name what their messages are charged to.
        """
        whats = {entry.what: entry for entry in statement.ledger}
        named = statement.calibration == CERTIFIED
        present = [party for party in self.parties if not party._away]
        everything = {what for party in present for what in party._charged}
        for party in self.parties:
            party.statement = statement
        for what in everything:
            if what not in whats and (what or named):
                raise DoorError(f"a party's message that the ledger lacks: {what or 'unnamed'}")
        if present and whats and not everything:
            raise DoorError(f"announced in the ledger, but not called: {min(whats)}")
        for party in present:
            if party._most_parts > len(self.parties):
                raise DoorError(f"a party adds one part in {party._most_parts} of the noise")
            for what, messages in party._charged.items():
                if what:
                    messages.check(whats[what])
            if named and (missing := everything - set(party._charged)):
                raise DoorError(f"a party's message without noise: {min(missing)}")

    def _check_paid(self) -> None:
        """Check that a run spent no more than the selection is charged for it."""
        if self.paid is None:
            return
        run, paid = self.statement, self.paid
        if run is None or not run.private:
            raise DoorError(f"a run that spends nothing: {paid.what}")
        pure = paid.rho is None
        spent = run.epsilon if pure else rho_of_ledger(run.ledger)
        charged = paid.epsilon if pure else paid.rho
        assert charged is not None
        if spent > charged * (1 + ROUNDING) or (pure and run.delta > 0):
            name = "epsilon" if pure else "rho"
            raise DoorError(f"a run spends {name} = {spent}, and is charged {charged}: {paid.what}")


@dataclass
class _Messages:
    """What a party says that is charged to one entry of the ledger."""

    mechanism: str = ""
    least: float = math.inf  # scale of the noise
    n: int = 0

    def add(self, call: Call) -> None:
        self.mechanism, self.n = call.mechanism, self.n + 1
        self.least = min(self.least, call.scale)

    def check(self, entry: LedgerEntry) -> None:
        _check_law(self.mechanism, entry)
        if self.n > entry.calls:
            raise DoorError(f"a party's messages are more than {entry.calls}: {entry.what}")
        # The noise of a choice, a vote, is that of the party's own number of records.
        scale = call_of(entry).scale
        if self.mechanism in (LAPLACE, GAUSSIAN) and self.least < scale * (1 - ROUNDING):
            raise DoorError(
                f"a party's noise has the scale {self.least}, not {scale}: {entry.what}"
            )


def _check_law(mechanism: str, entry: LedgerEntry) -> None:
    """Refuse noise of another law than its entry announces, whose cost is another."""
    if mechanism != entry.mechanism and {mechanism, entry.mechanism} not in SAME_COST:
        why = f"{mechanism} noise, where {entry.mechanism} is announced"
        raise DoorError(f"{why}: {entry.what}")
