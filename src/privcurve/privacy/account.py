"""Accounts: compare the mechanism calls that a fit makes with the calls that it announced."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.privacy.budget import ADD_REMOVE, PROVED, REPLACE_ONE
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import (
    LAPLACE,
    LOGISTIC,
    NOISY_LABEL,
    NUMBERS,
    SELECTIONS,
    TWO_LAPLACE,
)
from privcurve.privacy.refused import end_fit
from privcurve.privacy.spent import rho_of_ledger
from privcurve.privacy.sums import ALL, Sum, is_open

# Relative tolerance for rounding, where a cost is compared with the budget that pays for it.
ROUNDING = 1e-9


# Pairs of mechanisms with the same cost, so that a ledger may name either. `LOGISTIC` and
# `NOISY_LABEL` draw labels with the same probabilities. `TWO_LAPLACE` releases the difference of
# two numbers with Laplace noise, which is post-processing of these numbers.
SAME_COST = ({LOGISTIC, NOISY_LABEL}, {LAPLACE, TWO_LAPLACE})


class DoorError(RuntimeError):
    """The mechanism calls of a learner are not the announced ones.

    Some of these errors depend on exact values (such as a number that is not finite), so each of
    them ends the fit, even if the learner catches it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        end_fit(self)


@dataclass(frozen=True)
class Call:
    """One announced mechanism call."""

    mechanism: str  # mechanism whose noise is drawn: a name of `mechanisms.MECHANISMS`
    # Noise scale: b (Laplace), σ (Gaussian), 1/η (choice). 0 without noise; ∞ if the answer does
    # not depend on exact values.
    scale: float
    # The ledger entry that pays for the call; None if the scale is 0 or ∞, or for a party.
    entry: LedgerEntry | None = None
    what: str = ""  # for a call of a party: `what` of the entry in the protocol's ledger that pays

    def rescale(self, factor: float) -> Call:
        """Return the call that releases `factor` times the numbers; the factor is public."""
        return Call(self.mechanism, self.scale * factor, self.entry, self.what)

    @property
    def private(self) -> bool:
        """Whether noise is added to the answer."""
        return self.scale > 0

    @property
    def loss(self) -> float:
        """Sensitivity divided by the noise scale; infinite for a party, which has no ledger."""
        return self.entry.noise_rate * self.entry.sensitivity if self.entry else math.inf

    @property
    def loss_of_one(self) -> float:
        """A lower bound on one record's largest contribution to the answer, in noise scales.

        It is half of `loss` for a call on a sampled batch, as the sensitivity of such a call may
        count a replaced record as two records.
        """
        return self.loss / 2 if self.entry and self.entry.sampled < 1 else self.loss


@lru_cache(maxsize=2**14)
def call_of(entry: LedgerEntry | None, mechanism: str | None = None) -> Call:
    """Return the call that a ledger entry announces; for None, a call without noise.

    `mechanism` names the noise to draw if the ledger names another mechanism with the same cost.
    """
    if entry is None:
        return Call(mechanism or "", 0.0)
    return Call(mechanism or entry.mechanism, 1 / entry.noise_rate, entry)


def _calls_of(statement: PrivacyStatement) -> Mapping[str, Call]:
    """Return the calls of a statement's ledger by name; similar fits share the cached result."""
    calls: Mapping[str, Call] | None = vars(statement).get("_calls")
    if calls is None:
        calls = vars(statement)["_calls"] = {
            entry.what: call_of(entry) for entry in statement.ledger
        }
    return calls


# The proofs of the rules that derive sensitivities.
RULES = "docs/proofs.md, 'Derived sensitivities'"


@dataclass(frozen=True, slots=True, eq=False)
class Pending(LedgerEntry):
    """An announced call whose sensitivity follows from the :class:`~.rows.Sum` that it releases.

    Before :func:`settled_call`, `noise_rate` is the rate for a sensitivity of 1 or, for a choice,
    for scores whose changes have a range of 1.
    """


@lru_cache(maxsize=2**14)
def settled_call(entry: Pending, bound: float) -> Call:
    """Return the final call; `bound` is the derived sensitivity, or the range of scores."""
    sensitivity = bound / 2 if entry.mechanism in SELECTIONS else bound
    values = {name: getattr(entry, name) for name in LedgerEntry.__slots__}
    rate = entry.noise_rate / bound
    return call_of(LedgerEntry(**{**values, "noise_rate": rate, "sensitivity": sensitivity}))


# One call for all numbers of an answer, or one for each position along its first axes.
Calls = Call | Sequence[Any] | NDArray[Any]

# The call of every answer of a fit without privacy.
EXACT = call_of(None)


class Account:
    """Records the calls of a fit and compares them with its ledger; the base class of a curator.

    `party` and `watch` are the parameters of :class:`~privcurve.privacy.curator.Curator`.
    """

    def __init__(self, party: bool, watch: Callable[[float], None] | None) -> None:
        self._watch, self._party = watch, party
        self._announced: Mapping[str, Call] | None = None
        self._n_announced = 0
        self.parties: list[Any] = []
        self.inners: list[Any] = []
        self._away = False
        # Texts of `ledger.FLOATS` that the statement must contain: they exclude the effects of the
        # floating-point noise in the answers so far.
        self._left: set[str] = set()
        self.sealed_for = ""
        # For the account of a party. `_charged` has a call for each message of the party, by the
        # name of the ledger entry that pays. `_most_parts` is the largest number of shares that add
        # up to the noise of one call.
        self._charged: dict[str, list[Call]] = {}
        self._most_parts = 1
        self._made: list[LedgerEntry] = []
        self._spent = 0.0
        self.statement: PrivacyStatement | None = None
        self.paid: LedgerEntry | None = None
        # In a private selection: the name of the distribution of the number of runs, and the drawn
        # number of runs.
        self._law, self._n_runs = "", 1
        # The privacy statement that the fit announced, and whether the fit has ended with it.
        self._stated: PrivacyStatement | None = None
        self._is_stated = False
        # `_settled` maps each entry that was announced without a sensitivity to the same entry with
        # the derived sensitivity. `_derived` is the set of all entries with derived sensitivities,
        # and `_n_sums` the number of answers that these entries pay for.
        self._settled: dict[LedgerEntry, LedgerEntry] = {}
        self._derived: set[LedgerEntry] = set()
        self._n_sums = 0
        # `has_theorems`: whether the learner may announce a sensitivity below the derived one, by a
        # theorem of this project. `_is_sharper`: whether the learner did so.
        self.has_theorems = self._is_sharper = False
        # Columns that were opened as public, and whether labels were opened, too.
        self._opened: set[int] = set()
        self._opened_label = False
        # Names of the mechanism calls whose Poisson batch has been drawn already.
        self._drawn: set[str] = set()

    def announce(self, statement: PrivacyStatement) -> None:
        """Announce the ledger of the fit; from then on, :meth:`call` returns its calls by name.

        A fit without privacy has no ledger: each of its calls is `EXACT`.
        """
        self._announced, self._stated = _calls_of(statement), statement
        self._n_announced = len(statement.ledger)
        self._exact = not statement.private

    def call(self, what: str) -> Call:
        """Return the announced call that releases `what`; `EXACT` in a fit without privacy.

        Raises
        ------
        DoorError
            If no call has that name.
        """
        if self._announced is None:
            raise DoorError(f"a call needs an announced ledger; none is announced: {what}")
        if self._exact:
            return EXACT
        if what not in self._announced:
            names = ", ".join(list(self._announced)[:5])
            raise DoorError(f"a call must be announced; {what!r} is not. Announced are: {names}")
        return self._announced[what]

    def price(self, call: Call | str, exact: Any) -> Call:
        """Return a call with its sensitivity: announced, or derived from the sum that it releases.

        An announced sensitivity must not be smaller than the derived one, unless a theorem of this
        project proves it. A call that does not release a :class:`~.rows.Sum` must announce its
        sensitivity.

        Parameters
        ----------
        call : Call or str
            A string is the `what` of an announced call.
        exact : Sum or other
            The exact values to release; for a choice, the scores of all candidates.

        Raises
        ------
        DoorError
            If the announced sensitivity is too small, or if none is announced or derived.
        """
        call = self.call(call) if isinstance(call, str) else call
        entry, stated = call.entry, self._stated
        if entry is None or stated is None:
            return call
        is_choice = call.mechanism in SELECTIONS
        if not isinstance(exact, Sum):
            if isinstance(entry, Pending) or entry in self._derived:
                raise DoorError(
                    f"{entry.what}: no sensitivity is announced, and none is derived, as what is "
                    "released is no sum of rows (curator.rows); make it one, or announce "
                    + ("score_range" if is_choice else "l1 and l2")
                )
            return call
        if not is_open(exact):
            self._check_batches(entry, exact)
        moves = exact.moves(stated.neighbours)
        if entry.sampled < 1 and stated.neighbours != ADD_REMOVE:
            # A replaced record counts as two added records: docs/proofs.md, 'Poisson batches'.
            moves = exact.moves(ADD_REMOVE).times(2.0)
        bound = float(moves.l1 if call.mechanism == LAPLACE else moves.l2)
        if is_choice:
            bound = exact.score_range(stated.neighbours)
        if isinstance(entry, Pending):
            if not bound:
                raise DoorError(
                    f"{entry.what}: no record can change it, so it is public and needs no noise"
                )
            call = settled_call(entry, bound)
            assert call.entry is not None
            self._settled[entry] = call.entry
            self._derived.add(call.entry)
        else:
            announced = entry.sensitivity * (1 + is_choice) * call.scale * entry.noise_rate
            is_smaller = not announced >= bound * (1 - ROUNDING)
            self._is_sharper |= is_smaller
            if is_smaller and not (self.has_theorems and "proofs.md, '" in entry.source):
                raise DoorError(
                    f"{entry.what}: a sensitivity of {announced:g} is announced, and {bound:g} "
                    "follows from how the sum is made: announce none"
                )
        return call

    def _begin_batch(self, call: str, rate: float) -> None:
        """Record that a call draws its batch; refuse a second draw, or an unannounced rate."""
        entry = self.call(call).entry
        if entry is not None and entry.sampled != rate:
            raise DoorError(
                f"{call}: a batch is drawn at a rate of {rate:g}, and sampled = {entry.sampled:g} "
                "is announced: give the same rate"
            )
        if call in self._drawn:
            raise DoorError(f"{call}: a call must draw its batch once; it draws it again")
        self._drawn.add(call)

    def _check_batches(self, entry: LedgerEntry, exact: Sum) -> None:
        """Refuse a sum over records for which the entry does not pay.

        An entry with a sampling rate below 1 pays for the batch of its own call; any other entry
        pays for all records.
        """
        wanted = ALL if entry.sampled == 1 else frozenset({entry.what})
        if exact.batches == wanted:
            return
        if entry.sampled == 1:
            (name, *_) = exact.batches - ALL
            raise DoorError(
                f"{entry.what}: the sum is over the batch of {name!r}, and only that call may use "
                f"its batch: announce {entry.what!r} with sampled=, too, and draw another batch"
            )
        of = " and ".join(sorted(repr(one) if one else "all records" for one in exact.batches))
        raise DoorError(
            f"{entry.what}: announced for its own batch, drawn at a rate of {entry.sampled:g}, and "
            f"the sum is of {of}: take the sum over curator.batch({entry.what!r}, …)"
        )

    @property
    def derived(self) -> bool:
        """Whether the sensitivity of each call of the fit is derived from a sum."""
        alone = not (self.parties or self.inners or self._away or self._is_sharper)
        return alone and self._is_stated and 0 < len(self._made) == self._n_sums

    def spend(self, what: str, share: float) -> None:
        """Record a call's share of the budget, in a fit whose calls depend on earlier answers.

        Raises DoorError if the sum of all shares exceeds the budget.
        """
        self._spent += share
        if self._spent > 1 + ROUNDING:
            raise DoorError(
                f"{what}: shares must add up to at most the budget; they are "
                f"{self._spent:.6g} of it"
            )

    def report(self, share: float) -> None:
        """Report to `watch` the share of the fit that is finished.

        The share may depend only on public facts and answers. The runs of a private selection
        report no progress, as the number of runs is secret.
        """
        if self._watch is not None:
            self._watch(min(share, 1.0))

    # Calls so far -------------------------------------------------------------------------

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """The entries of the calls so far, in order."""
        return tuple(self._made)

    def _charge_all(self, calls: Calls, shape: tuple[int, ...]) -> NDArray[Any]:
        """Charge calls; return the call for each position along the first axes of `shape`."""
        table = np.asarray(calls, dtype=object)
        if table.size and table.shape != shape[: table.ndim]:
            raise ValueError(
                f"calls must have a shape that matches the noise, {shape}; got {table.shape}"
            )
        # A loop has thousands of positions, but few distinct calls: each is charged once.
        for call in {id(call): call for call in table.ravel().tolist()}.values():
            self._charge(call)
        return table

    def _charge(self, call: Call | str, laws: Sequence[str] = (), is_derived: bool = False) -> Call:
        """Charge a call to its ledger entry, and return it.

        `laws` are the mechanisms that the call may have (empty: any mechanism). `is_derived` says
        whether the sensitivity is derived from a sum.
        """
        if isinstance(call, str):
            call = self.call(call)
        if laws and call.private and call.mechanism not in laws:
            what = call.entry.what if call.entry else call.what
            raise DoorError(f"{call.mechanism} noise does not pay for such an answer: {what}")
        if call.entry is None:
            if self.sealed_for and not call.private:
                raise DoorError(
                    f"an answer of a private fit must have noise; it has none: {call.what or call}"
                )
            if not call.scale >= 0:
                raise DoorError(f"noise scale must be ≥ 0; got {call.scale} ({call.mechanism})")
            if self._party and call.private:
                self._charged.setdefault(call.what, []).append(call)
            elif 0 < call.scale < math.inf:
                raise DoorError(
                    f"{call.mechanism} noise must be announced by a ledger entry; it is not"
                )
            return call
        if call.mechanism != call.entry.mechanism:
            _check_law(call.mechanism, call.entry)
        if isinstance(call.entry, Pending):
            raise DoorError(
                f"{call.entry.what}: no sensitivity is announced, and none is derived for such an "
                "answer: announce it (l1, l2, score_range or margins)"
            )
        if not call.scale > 0:
            raise DoorError(f"{call.entry.what}: a charged answer must have noise; it has none")
        if self._n_announced:
            self.report(len(self._made) / self._n_announced)
        self._made.append(call.entry)
        # If an entry charges several answers as one, nothing but the learner's claim justifies the
        # charge. So such a call does not count as derived.
        self._n_sums += is_derived and call.entry.calls == 1
        return call

    def check(self, statement: PrivacyStatement, by_package: bool = False) -> PrivacyStatement:
        """Check that the fit made the calls of the statement's ledger, within the stated budget.

        Return the statement with the derived sensitivities.

        Parameters
        ----------
        statement : PrivacyStatement
        by_package : bool
            Whether another library draws the noise: then the curator sees no calls.

        Raises
        ------
        DoorError
            If the check fails.
        """
        self._is_stated = statement is self._stated
        statement = self.statement = self._settle(statement)
        spent = statement.epsilon_spent
        if not spent <= statement.epsilon * (1 + ROUNDING):
            raise DoorError(
                f"the calls must add up to epsilon = {statement.epsilon}; they add up to {spent}"
            )
        self._check_parties(statement)
        columns_are_public = self._opened <= {*statement.public_columns}
        label_is_public = not self._opened_label or statement.public_label
        if statement.private and not (columns_are_public and label_is_public):
            raise DoorError("columns or labels opened as public must be public in the statement")
        if self.inners or self._law:
            self._check_runs(statement)
        elif self.ledger == statement.ledger:
            # Most fits make their calls in the order of the ledger. Then the calls need not be
            # counted below, which would take as long as a small fit.
            return statement
        announced, made = Counter(statement.ledger), Counter(self._made)
        # In a private selection, the ledger lists the calls of one run, so each may occur once per
        # run.
        runs = self._n_runs
        for entry, times in made.items():
            charged = announced[entry]
            if not charged:
                raise DoorError(f"called, but not announced in the ledger: {entry.what}")
            # An entry for parallel calls (such as one call per leaf) announces their maximum
            # number.
            most = charged * (entry.calls if entry.parallel else 1)
            if times > runs * most:
                raise DoorError(f"called more often than it is charged: {entry.what}")
        if not by_package:
            for entry, times in announced.items():
                # `_check_parties` has checked the calls of parties. An entry for parties may have
                # no calls: earlier answers decide which nodes a tree has, and there may be none to
                # ask about.
                of_holders = self.parties and not made[entry]
                if made[entry] < runs * times and not of_holders:
                    raise DoorError(f"announced in the ledger, but not called: {entry.what}")
        for inner in self.inners:
            inner._check_paid()
        return statement

    def _settle(self, statement: PrivacyStatement) -> PrivacyStatement:
        """Return the statement with the derived sensitivities; equal fits share the result."""
        if not self._settled:
            return statement
        ledger = tuple(self._settled.get(entry, entry) for entry in statement.ledger)
        last: PrivacyStatement | None = vars(statement).get("_settled")
        if last is None or last.ledger != ledger:
            last = vars(statement)["_settled"] = replace(statement, ledger=ledger)
        return last

    def _check_parties(self, statement: PrivacyStatement) -> None:
        """Check that all parties made the same calls, and only announced ones.

        Less is checked for published protocols: a message may name no ledger entry, and parties may
        make different calls.
        """
        whats = {entry.what: entry for entry in statement.ledger}
        named = statement.calibration == PROVED
        present = [party for party in self.parties if not party._away]
        everything = {what for party in present for what in party._charged}
        for party in self.parties:
            party.statement = statement
        for what in everything:
            if what not in whats and (what or named):
                raise DoorError(
                    f"each message of a party must be in the ledger; missing is {what or 'unnamed'}"
                )
        if present and whats and not everything:
            raise DoorError(f"announced in the ledger, but not called: {min(whats)}")
        for party in present:
            if party._most_parts > len(self.parties):
                raise DoorError(
                    "a party must add its share of the noise; it adds one part in "
                    f"{party._most_parts}"
                )
            for what, messages in party._charged.items():
                if what:
                    _check_messages(messages, whats[what])
            if named and (missing := everything - set(party._charged)):
                raise DoorError(f"each message of a party must have noise; {min(missing)} has none")

    def _check_runs(self, statement: PrivacyStatement) -> None:
        """Check the number of runs, and that the statement composes them by its distribution."""
        if not statement.private:
            return
        if statement.composition != self._law:
            law = self._law or "no law"
            raise DoorError(
                f"the number of runs is drawn by {law}, but composed by {statement.composition}"
            )
        if len(self.inners) != self._n_runs:
            raise DoorError(
                f"there must be {self._n_runs} runs, as drawn; there are {len(self.inners)}"
            )

    def _check_paid(self) -> None:
        """Check that this run of a private selection spent at most its share of the budget."""
        if self.paid is None:
            return
        run, paid = self.statement, self.paid
        if run is None or not run.private:
            raise DoorError(f"a run must spend privacy; it spends none: {paid.what}")
        if run.neighbours != REPLACE_ONE:
            raise DoorError(
                f"neighbours must be {REPLACE_ONE} for a run of a private selection; got "
                f"{run.neighbours}: {paid.what}"
            )
        pure = paid.rho is None
        spent = run.epsilon if pure else rho_of_ledger(run.ledger)
        charged = paid.epsilon if pure else paid.rho
        assert charged is not None
        if spent > charged * (1 + ROUNDING) or (pure and run.delta > 0):
            name = "epsilon" if pure else "rho"
            raise DoorError(f"a run must spend {name} ≤ {charged}; it spends {spent}: {paid.what}")


def _check_messages(calls: Sequence[Call], entry: LedgerEntry) -> None:
    """Check the messages of a party that are charged to one entry of the ledger."""
    if len(calls) > entry.calls:
        raise DoorError(
            f"a party must send at most {entry.calls} messages; it sends more: {entry.what}"
        )
    for call in calls:
        _check_law(call.mechanism, entry)
        # Check the noise scale of numbers only: the noise scale of a choice (a vote) may depend on
        # the number of records of this party.
        scale = call_of(entry).scale
        if call.mechanism in NUMBERS and call.scale < scale * (1 - ROUNDING):
            raise DoorError(
                f"a party's noise scale must be {scale}; got {call.scale}: {entry.what}"
            )


def _check_law(mechanism: str, entry: LedgerEntry) -> None:
    """Refuse noise of a mechanism that is not announced, unless both mechanisms cost the same."""
    if mechanism != entry.mechanism and {mechanism, entry.mechanism} not in SAME_COST:
        why = f"{mechanism} noise, where {entry.mechanism} is announced"
        raise DoorError(f"{why}: {entry.what}")
