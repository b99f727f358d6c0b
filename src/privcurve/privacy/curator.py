"""The one door between records and a model: each answer about records goes through a curator.

A learner announces its mechanism calls (its ledger), and then asks a :class:`Curator` to add noise
to numbers, to choose among candidates, or for noise that a compiled loop adds to its own scores.
Nothing else draws noise, and at the end of a fit what was called must be what was announced. The
contract (``privcurve.audit.contract``) puts another curator in its place, whose answers follow a
script, and so sees of any learner all that its records can change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Bools, Floats, Ints, Records
from privcurve.privacy import seeds
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, rho_of_ledger
from privcurve.privacy.mechanisms import (
    GAUSSIAN,
    LAPLACE,
    LOGISTIC,
    MECHANISMS,
    NOISY_LABEL,
    PERMUTE_AND_FLIP,
    TWO_LAPLACE,
    Source,
    draw_piece,
    draw_share,
)
from privcurve.privacy.sealed import Noise, opened, public_rows, seal
from privcurve.privacy.seeds import Start

Answer = TypeVar("Answer")

# Numbers of the seed of a stream that another one begins.
SEED = 4

# What a sum of costs may exceed what is charged by, as a share of it.
ROUNDING = 1e-9


# Laws that a ledger may name for each other: a label by two names, a difference by its two numbers.
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
    # What the call is charged to; None where nothing is charged: without noise, or where all is
    # noise.
    entry: LedgerEntry | None = None
    what: str = ""  # the same in the entry's words, where a data holder does not have the ledger

    def scaled(self, factor: float) -> Call:
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

# What a call is of, when there is no noise to be charged.
EXACT = call_of(None)


class Curator:
    """Answers questions about records, with the noise that their ledger announces.

    Parameters
    ----------
    source : numpy.random.Generator
        What noise is drawn from, and what public coins begin with.
    party : bool
        Whether it is one data holder's, who is told what a call is charged to, and has no ledger.
    watch : callable, optional
        Is told what :meth:`done` is.

    Attributes
    ----------
    sealed_for : str
        The learner whose fit sees sealed values alone: the noise that it is handed is sealed too.
    inners : list of Curator
        Those of the runs of a private selection.
    paid : LedgerEntry or None
        Of a run: what the selection is charged for it.
    parties : list of Curator
        Those of data holders in this process: a record is behind one of their doors.
    statement : PrivacyStatement or None
        What the calls were held to, when the fit has ended.
    """

    def __init__(
        self,
        source: np.random.Generator,
        party: bool = False,
        watch: Callable[[float], None] | None = None,
    ) -> None:
        self._source, self._watch = source, watch
        self.sealed_for = ""
        # Columns that were opened, as public ones; and whether labels were.
        self._opened: set[int] = set()
        self._opened_label = False
        self._n_announced = 0
        self._party = party
        self.parties: list[Curator] = []
        self._away = False
        # The law of the noise of what a holder said, by what it is charged to.
        self._charged: dict[str, str] = {}
        self._made: list[LedgerEntry] = []
        self._spent = 0.0
        self.inners: list[Curator] = []
        self.statement: PrivacyStatement | None = None
        self.paid: LedgerEntry | None = None
        self._announced: dict[str, Call] | None = None

    @cached_property
    def coins(self) -> np.random.Generator:
        """Public coins, which may end up in a model: another stream than that of noise."""
        (start,) = seeds.starts(self._source, 1, SEED)
        return seeds.stream(start)

    @property
    def not_covered(self) -> str:
        """What a statement says of the generator."""
        return seeds.not_covered(self._source)

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

    def done(self, share: float) -> None:
        """Say how much of a fit is done, by public facts and the answers of calls alone.

        Runs of a private selection tell nothing: how many there are is not released.
        """
        if self._watch is not None:
            self._watch(min(share, 1.0))

    # Answers -------------------------------------------------------------------------

    def numbers(self, call: Call | str, exact: ArrayLike) -> Floats:
        """Return numbers with noise.

        Parameters
        ----------
        call : Call or str
            Or what it releases, of an announced ledger.
        exact : array-like

        Returns
        -------
        ndarray of the shape of `exact`
        """
        values = _values(exact)
        call = self._charge(call)
        return self._numbers(call, values) if call.private else values.copy()

    def number(self, call: Call | str, exact: Any) -> float:
        """Return one number with noise."""
        return float(self.numbers(call, [exact])[0])

    def signs(self, call: Call | str, margins: Floats, records: Ints | None = None) -> Bools:
        """Return for each margin whether the label drawn for it is +; exact: if it is above 0.

        The chance of + is that of ``margin + noise > 0``: nothing but the labels is released.

        Parameters
        ----------
        call : Call or str
        margins : ndarray
        records : ndarray of the shape of `margins`, optional
            Whose label each is, where they come in an order that follows from the records: the
            noise of each has the same law, so a replay gives a record the same label wherever
            it comes.
        """
        values, call = _values(margins), self._charge(call)
        return self._signs(call, values, opened(records)) if call.private else values > 0

    def choose(self, call: Call | str, scores: ArrayLike) -> int:
        """Return the place of the chosen candidate; without noise, of the first of the best.

        Parameters
        ----------
        call : Call
            By the exponential mechanism or permute-and-flip.
        scores : array-like of shape (n_candidates,)
            Higher is better.
        """
        values = _values(scores)
        call = self._charge(call)
        return self._choose(call, values) if call.private else int(np.argmax(values))

    def threshold(self, call: Call | str, ends: Floats, scores: Floats) -> float:
        """Return a point of an interval, chosen by a score that is constant on pieces of it.

        Parameters
        ----------
        call : Call
            By the exponential mechanism.
        ends, scores
            See :func:`~privcurve.privacy.mechanisms.draw_piece`.
        """
        call = self._charge(call)
        return self._threshold(call, opened(ends), opened(scores))

    def noise(self, calls: Calls, shape: tuple[int, ...]) -> Floats:
        """Return standard noise, for a compiled loop to add its scores to.

        The loop writes ``noise + score/scale`` in place and takes the largest of a row (a
        choice), or the sign (a label): a replay reads there what the scores were.

        Parameters
        ----------
        calls : Call, or (nested) sequence or array of Call
            Of one mechanism: one for all, or one for each place along the first axes.
        shape : tuple of int
            Of a choice the last axis is that of its candidates.

        Returns
        -------
        ndarray of `shape`
            Sealed where records are.
        """
        return self._as_noise(self._noise(self._charge_all(calls, shape), shape))

    def _as_noise(self, noise: Floats) -> Floats:
        return cast(Floats, Noise(noise, self.sealed_for)) if self.sealed_for else noise

    def uniform(self, calls: Call | Sequence[Any], shape: tuple[int, ...]) -> Floats:
        """Return uniform numbers, by each of which a compiled loop draws one of the candidates.

        Parameters
        ----------
        calls, shape
            As of :meth:`noise`; of a choice there is one number.
        """
        self._charge_all(calls, shape)
        return self._as_noise(self._source.random(shape))

    def whole_numbers(self, call: Call, exact: Ints, again: bool = False) -> Ints:
        """Return whole numbers with exact whole noise (``privacy.discrete``).

        Gaussian noise is that of the real Gaussian, rounded down: its mean is −1/2.

        Parameters
        ----------
        call : Call
            Its scale is a whole number, from 1 up to `mechanisms.LARGEST_SCALE`.
        exact : ndarray of int64
        again : bool
            Whether these are further numbers of a vector whose first ones were released, with
            noise of another scale: they are charged together.
        """
        values: Ints = public_rows(exact)
        self._charge(call, again)
        return self._whole_numbers(call, values) if call.private else values.copy()

    def choose_exactly(self, call: Call, scores: Ints) -> int:
        """Return the place of the chosen candidate, with exact chances (``privacy.discrete``).

        Parameters
        ----------
        call : Call
            Its scale is a whole number.
        scores : ndarray of int64, shape (n_candidates,)
        """
        values: Ints = public_rows(scores)
        self._charge(call)
        return self._choose_exactly(call, values) if call.private else int(np.argmax(values))

    def draw_runs(self, n_candidates: int, draw: Callable[[np.random.Generator], int]) -> list[int]:
        """Draw how many runs a private selection has, and the candidate of each: not released."""
        return self._source.integers(n_candidates, size=draw(self._source)).tolist()

    def inner(self, call: Call, n: int) -> list[Curator]:
        """Return the curators of so many runs of a private selection: doors in a door.

        `call` is what a run is charged to.
        """
        made = []
        for start in seeds.starts(self._source, n, 2 * SEED):
            self._charge(call)
            made.append(self._inner(start))
            made[-1].paid = call.entry
        self.inners += made
        return made

    def share(self, call: Call, exact: ArrayLike, parts: int) -> Floats:
        """Return numbers with a share of the noise, `parts` of which make up the call's.

        Parameters
        ----------
        call : Call
            Laplace or Gaussian; its scale is that of all of the noise.
        exact : array-like
        parts : int
        """
        values = _values(exact)
        call = self._charge(call)
        return self._share(call, values, parts) if call.private else values.copy()

    def party(self, n: int) -> list[Curator]:
        """Return the curators of so many data holders: each with a stream of its own."""
        made = [self._holder(start) for start in seeds.starts(self._source, n, SEED)]
        for each in made:
            each.sealed_for = self.sealed_for
        self.parties += made
        return made

    def leave(self) -> None:
        """Say that a holder answers in a process of its own: what it calls is not seen here."""
        self._away = True

    def generator(self, calls: Sequence[Call]) -> np.random.Generator:
        """Return the stream of noise, for a compiled loop that draws choices by rejection.

        No script can say what such a loop chooses: it is for published noise alone.
        """
        self._charge_all(calls, (len(calls),))
        return self._source

    def objective(
        self,
        call: Call | str,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        *,
        old: bool = False,
    ) -> Floats:
        """Return the minimum of an objective with a random linear term b·θ.

        Parameters
        ----------
        call : Call or str
            By objective or box perturbation.
        dimension : int
            Of the model θ; public.
        gradient : callable
            Of the objective without b·θ: a function of θ that is one to one.
        minimise : callable
            Return the θ whose gradient is −b, given b.
        old : bool
            Whether b is drawn by NumPy's old samplers, as diffprivlib does; under a public seed
            also by its old generator, which this one seeds.

        Returns
        -------
        ndarray of shape (dimension,)
        """
        call = self._charge(call)
        if not call.private:
            return minimise(np.zeros(dimension))
        return self._objective(
            call,
            dimension,
            lambda model: opened(gradient(model)),
            lambda tilt: opened(minimise(self._as_noise(tilt))),
            old,
        )

    def shuffled(self, records: Ints) -> Ints:
        """Return numbers of records in a random order: a public coin.

        Its law is the same in whatever order they come in, so a replay deals out neighbours'
        records alike even where they come in an order that follows from the records.
        """
        drawn = self._shuffled(opened(records))
        return cast(Ints, seal(drawn, self.sealed_for, 0)) if self.sealed_for else drawn

    def public(
        self, columns: Sequence[int], gather: Callable[..., Answer], records: Records
    ) -> Answer:
        """Return what `gather` makes of public columns, labels, counts and these columns' bins.

        At the end of the fit its statement must say that they are public.
        """
        self._opened.update(columns)
        self._opened_label = True
        codes, labels, counts, n_bins = opened(tuple(records))
        return gather(codes[:, list(columns)], labels, counts, n_bins[list(columns)])

    # How they are drawn ----------------------------------------------------------------

    def _numbers(self, call: Call, exact: Floats) -> Floats:
        return exact + MECHANISMS[call.mechanism].draw(self._source, exact.shape, call.scale)

    def _signs(self, call: Call, margins: Floats, records: Ints | None) -> Bools:
        return self._numbers(call, margins) > 0

    def _choose(self, call: Call, scores: Floats) -> int:
        drawn = MECHANISMS[call.mechanism].draw(self._source, scores.shape)
        return int(np.argmax(scores / call.scale + drawn))

    def _threshold(self, call: Call, ends: Floats, scores: Floats) -> float:
        rate = 1 / call.scale if call.private else math.inf
        return draw_piece(ends, scores, rate, self._source)

    def _objective(
        self,
        call: Call,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        old: bool,
    ) -> Floats:
        return minimise(self._tilt(call, dimension, old))

    def _shuffled(self, records: Ints) -> Ints:
        return self.coins.permutation(records)

    def _tilt(self, call: Call, dimension: int, old: bool) -> Floats:
        """Draw b."""
        source: Source = self._source
        if old and seeds.is_chacha(self._source):
            source = np.random.RandomState(self._source.bit_generator)
        elif old:
            seed = self._source.integers(2**32, size=4, dtype=np.uint32).tolist()
            source = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
        return MECHANISMS[call.mechanism].draw(source, dimension, call.scale)

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> Floats:
        return (
            MECHANISMS[calls.flat[0].mechanism].draw(self._source, shape)
            if calls.size
            else np.zeros(shape)
        )

    def _whole_numbers(self, call: Call, exact: Ints) -> Ints:
        from privcurve.privacy.discrete import discrete_laplace, rounded_gaussian

        draw = rounded_gaussian if call.mechanism == GAUSSIAN else discrete_laplace
        drawn: Ints = draw(self._source, int(call.scale), exact.size)
        return exact + drawn.reshape(exact.shape)

    def _choose_exactly(self, call: Call, scores: Ints) -> int:
        from privcurve.privacy.discrete import choose

        flip = call.mechanism == PERMUTE_AND_FLIP
        return int(choose(self._source, scores, int(call.scale), flip))

    def _inner(self, start: Start) -> Curator:
        return Curator(seeds.stream(start))

    def _share(self, call: Call, exact: Floats, parts: int) -> Floats:
        return exact + draw_share(call.mechanism, self._source, exact.shape, call.scale, parts)

    def _holder(self, start: Start) -> Curator:
        return party_of(start)

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
        # Of thousands of calls few differ, and equal ones are one object.
        each = spread.ravel().tolist()
        for call in dict(zip(map(id, each), each, strict=True)).values():
            self._charge(call)
        return spread

    def _charge(self, call: Call | str, again: bool = False) -> Call:
        if isinstance(call, str):
            call = self.call(call)
        if call.entry is None:
            if self._party and call.private:
                self._charged[call.what] = call.mechanism
            elif 0 < call.scale < math.inf:
                raise DoorError(f"{call.mechanism} noise that no ledger's entry announces")
            return call
        if call.mechanism != call.entry.mechanism:
            _check_law(call.mechanism, call.entry)
        if not call.scale > 0:
            raise DoorError(f"charged, but answered without noise: {call.entry.what}")
        if again and call.entry not in self._made:
            raise DoorError(f"further numbers of what was never released: {call.entry.what}")
        if not again:
            if self._n_announced:
                self.done(len(self._made) / self._n_announced)
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
        if not self._opened <= {*statement.public_columns} or (
            self._opened_label and not statement.public_label
        ):
            raise DoorError("opened as public, and not said to be: columns or labels")
        if not self.inners and self.ledger == statement.ledger:
            # Call by call, as in most fits: to count hundreds takes as long as a small one.
            return
        announced, made = Counter(statement.ledger), Counter(self._made)
        # Of a private selection the ledger is that of one run.
        runs = max(1, len(self.inners))
        for entry, times in made.items():
            charged = announced[entry]
            if not charged:
                raise DoorError(f"called, but not announced in the ledger: {entry.what}")
            if times > runs * charged and not entry.parallel:
                raise DoorError(f"called more often than it is charged: {entry.what}")
        if not by_package:
            for entry, times in announced.items():
                # Holders have been checked, and what a tree asks them depends on their answers.
                of_holders = self.parties and not made[entry]
                if made[entry] < runs * times and not of_holders:
                    raise DoorError(f"announced in the ledger, but not called: {entry.what}")
        for inner in self.inners:
            inner._check_paid()

    def _check_parties(self, statement: PrivacyStatement) -> None:
        """Check that holders called what is announced alone, and each of them what others did.

        Published protocols do not name what their messages are charged to.
        """
        whats = {entry.what: entry for entry in statement.ledger}
        named = statement.calibration == CERTIFIED
        here = [party for party in self.parties if not party._away]
        everything = {what for party in here for what in party._charged}
        for party in self.parties:
            party.statement = statement
        for what in everything:
            if what not in whats and (what or named):
                raise DoorError(f"a party's message that the ledger lacks: {what or 'unnamed'}")
        if here and whats and not everything:
            raise DoorError(f"announced in the ledger, but not called: {min(whats)}")
        for party in here:
            for what, mechanism in party._charged.items():
                if what:
                    _check_law(mechanism, whats[what])
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


def _values(exact: Any) -> Floats:
    return np.asarray(public_rows(exact), dtype=np.float64)


def _check_law(mechanism: str, entry: LedgerEntry) -> None:
    """Refuse noise of another law than its entry announces, whose cost is another."""
    if mechanism != entry.mechanism and {mechanism, entry.mechanism} not in SAME_COST:
        why = f"{mechanism} noise, where {entry.mechanism} is announced"
        raise DoorError(f"{why}: {entry.what}")


def party_of(start: Start) -> Curator:
    """Return the curator of one data holder, wherever it runs.

    Its stream starts with bytes or whole numbers that it alone knows. 32 bytes of entropy are a key
    of ChaCha20.
    """
    return Curator(seeds.stream(start), party=True)
