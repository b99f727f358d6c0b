"""Train on two tables with a curator that gives both fits the same prescribed answers (a *script*).

The two fits may differ only in the exact values that their mechanism calls would add noise to; any
other difference is a leak. The differences of exact values determine the privacy loss of the
answers. The contract check (`contract`) draws answers at random; an attack (`worst_answers`)
searches for the answers with the largest loss.
"""

from __future__ import annotations

import gc
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints, Records
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.mechanisms import BOX_PERTURBATION, MECHANISMS, OBJECTIVES, SELECTIONS
from privcurve.privacy.refused import end_fit
from privcurve.privacy.seeds import Start

# The five conditions of the contract, and SEALED: a fit must not inspect sealed values.
CONTROL = "control"
POST_PROCESSING = "post-processing"
SENSITIVITY = "sensitivity"
NOISE = "noise"
CHARGE = "charge"
SEALED = "sealed"

# Prescribed noise for a compiled loop is ±FAR, or multiples of FAR. Such noise alone decides every
# choice and label, and yet it is so small that the sum of noise and score preserves eight digits of
# the score.
FAR = 2.0**22
# Largest score that a loop may add to its noise, in units of the noise scale. A larger score would
# come close to FAR, so that the score, and not the prescribed noise, might decide a choice.
NEARLY = 2.0**20

# A prescribed number is the exact value of the first side, plus a draw of the announced noise times
# one of these factors.
SPREADS = (0.0, 0.3, 1.0, 10.0)

# A replay prescribes the model at which an objective is minimal: a vector of standard normal
# numbers times one of these factors. The training loss is curved near models of small norm, and
# flat near models of large norm, so both are tried.
MINIMA = (0.3, 1.0, 10.0)

# Relative tolerance for the distance between a prescribed minimum and the solver's result.
SOLVED = 1e-4

# Kinds of events: the curator minimises an objective, or hands noise to a compiled loop. The other
# kinds are names of the curator's methods.
OBJECTIVE = "objective"
HANDED = "noise"

# For a threshold (a point drawn from an interval), the scores of the two sides are compared at
# POINTS points of the interval.
POINTS = 500


# The position of an event: its index among the events of its curator. For the curator of a party,
# the index of the party precedes this index.
Place = tuple[int, ...]


class BreachError(RuntimeError):
    """A fit breaks the contract: the condition, the reason, and tables for which it happens."""

    def __init__(self, point: str, why: str, *tables: Records) -> None:
        super().__init__(point, why)
        self.point, self.why, self.tables = point, why, tables
        end_fit(self)  # ends the fit even if a learner catches the error

    def __str__(self) -> str:
        names = ("\n  one table:   ", "\n  its neighbour: ")
        lines = (name + _rows(side) for name, side in zip(names, self.tables, strict=False))
        return "".join([f"{self.point}: {self.why}", *lines])


def _rows(records: Records) -> str:
    columns = (part.tolist() for part in (records.codes, records.labels, records.counts))
    # Labels are signs or class positions.
    label_format = "+d" if records.labels.dtype == np.int8 else "d"
    return "; ".join(
        f"{codes} labelled {label:{label_format}}" + f" ({n} times)" * (n > 1)
        for codes, label, n in zip(*columns, strict=True)
    )


@dataclass
class Event:
    """One query of a fit to its curator: it makes one or several mechanism calls."""

    kind: str  # the name of the curator's method, OBJECTIVE or HANDED
    calls: NDArray[Any]  # one call, or an array whose axes are the first axes of `exact`
    # The exact values, divided by the noise scale. In a compiled loop, the curator does not see
    # them before the end of the fit: then `Replay.close` sets them.
    exact: Floats
    answer: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    # Only for an objective: the log-determinant of the Jacobian of its gradient, at the answer.
    log_jacobian: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the exact values."""
        return self.exact.shape

    def losses(self, other: Event) -> dict[LedgerEntry | str, Floats]:
        """Return the changes of exact values against `other`, the same event of the second side.

        The keys are ledger entries, or names of calls without an entry; changes are in units of the
        noise scale. For numbers and labels, a change is the absolute difference. For a choice, it
        is the range of the differences of scores. For an objective, it is the norm of the
        difference of gradients.
        """
        apart = self.exact - other.exact
        by_entry: dict[LedgerEntry | str, list[Floats]] = {}
        for place in np.ndindex(*self.calls.shape):
            call: Any = self.calls[place]
            own = apart[place].reshape(-1) if apart[place].ndim == 0 else apart[place]
            if call.mechanism in SELECTIONS:
                rows = own.reshape(-1, own.shape[-1])
                own = rows.max(axis=1) - rows.min(axis=1)
            elif call.mechanism in OBJECTIVES:
                own = norms(call.mechanism, own[None])
            by_entry.setdefault(call.entry or call.what, []).append(np.abs(own).ravel())
        return {entry: np.concatenate(parts) for entry, parts in by_entry.items()}


def norms(mechanism: str, vectors: Floats) -> Floats:
    """Return the norm of each row: L∞ for box perturbation, L2 for other mechanisms."""
    order = np.inf if mechanism == BOX_PERTURBATION else 2
    return np.asarray(np.linalg.norm(vectors, order, axis=1))


class Replay(Curator):
    """A curator that gives prescribed answers, and records its events.

    On the first side, the answer to an event is taken from `script` if it has the event's place;
    otherwise the answer is drawn. On the second side, the replay repeats the answers of `leader`,
    the replay of the first side. Drawn answers and public coins are functions of `seed`. For a
    party's curator, `path` has the index of the party. The call with the name `redrawn` gets
    another batch than in the leader's fit.
    """

    def __init__(
        self,
        seed: Sequence[int],
        leader: Replay | None = None,
        script: Mapping[Place, NDArray[Any]] | None = None,
        path: Place = (),
        redrawn: str = "",
    ) -> None:
        # The shares of progress that the fit has reported.
        self.progress: list[float] = []
        # The texts that the fit has printed, logged or given as warnings.
        self.messages: list[str] = []
        self.stream = ""
        super().__init__(
            np.random.default_rng([*seed, 0]), party=bool(path), watch=self.progress.append
        )
        self._seed, self._leader, self._script, self.path = seed, leader, script or {}, path
        self._redrawn = redrawn
        self._answers = np.random.default_rng([*seed, 1])
        self._handed: list[tuple[Event, Floats]] = []
        self.events: list[Event] = []
        self.dealt = False  # whether the fit shuffled its records, e.g. to deal them to parts
        # Says which answers of the fit the replay can't prescribe; empty if it prescribes all.
        self.unseen = ""

    @property
    def runs(self) -> list[Replay]:
        """The replays of the runs of a private selection."""
        return [run for run in self.inners if isinstance(run, Replay)]

    @property
    def holders(self) -> list[Replay]:
        """The replays of the parties in this process."""
        return [party for party in self.parties if isinstance(party, Replay)]

    @property
    def all_events(self) -> list[Event]:
        """The events of this curator and of the curators of all parties."""
        return [*self.events, *(event for holder in self.holders for event in holder.events)]

    @property
    def all_unseen(self) -> str:
        """The first nonempty `unseen` of this curator, its runs and its parties; else empty."""
        others = (other.all_unseen for other in (*self.runs, *self.holders))
        return self.unseen or next(filter(None, others), "")

    def _event(
        self, kind: str, calls: object, exact: Floats, draw: Callable[[], NDArray[Any]]
    ) -> Event:
        """Record a query as an event, and return it with its answer.

        The answer is the leader's, or the script's, or the result of `draw`. Raises BreachError
        (control) if the leader's event at the same place has another kind, shape or call.
        """
        event = Event(kind, np.asarray(calls, dtype=object), exact)
        place = len(self.events)
        self.events.append(event)
        if self._leader is not None:
            first = _leader_next(self._leader.events, place, f"an extra call: {_describe(event)}")
            same = (first.kind, first.shape) == (kind, event.shape)
            if not (same and np.array_equal(first.calls, event.calls)):
                why = f"one side asks for {_describe(first)}, the other for {_describe(event)}"
                raise BreachError(CONTROL, why)
            event.answer = first.answer
        elif (*self.path, place) in self._script:
            event.answer = self._script[*self.path, place]
        else:
            event.answer = draw()
        return event

    def close(self) -> None:
        """End the fit: compute the exact values in compiled loops, and compare with the leader.

        Raises BreachError if a call, run or party of the leader is missing, if the two fits drew
        different numbers of public coins, or if a loop adds too much to its noise.
        """
        if self._leader is not None:
            if len(self.events) < len(self._leader.events):
                missing = self._leader.events[len(self.events)]
                raise BreachError(CONTROL, f"a missing call: {_describe(missing)}")
            if len(self.inners) < len(self._leader.inners):
                raise BreachError(CONTROL, "a missing run")
            if len(self.parties) < len(self._leader.parties):
                raise BreachError(CONTROL, "a missing party")
            # Do not compare the coins if the replay can't prescribe the answers of a loop: such a
            # loop rejects coins at random, and so uses a random number of them.
            states = (each.coins.bit_generator.state for each in (self, self._leader))
            if not self.unseen and next(states) != next(states):
                raise BreachError(CONTROL, "the sides draw different numbers of public coins")
        for event, noise in self._handed:
            event.exact = noise - event.answer
            if not np.abs(event.exact).max(initial=0.0) <= NEARLY:
                why = "a loop adds to its noise more than a score can be, or scales the noise"
                raise BreachError(NOISE, f"{_describe(event)}: {why}")
        for other in (*self.runs, *self.holders):
            other.close()

    def _numbers(self, call: Call, exact: Floats) -> Floats:
        return self._event(
            "numbers", call, exact / call.scale, lambda: exact + self._draw(call, exact.shape)
        ).answer.copy()

    def _draw(self, call: Call, shape: tuple[int, ...]) -> Floats:
        spread = self._answers.choice(SPREADS)
        return spread * call.scale * MECHANISMS[call.mechanism].draw(self._answers, shape)

    def _signs(self, call: Call, margins: Floats, records: Ints | None) -> Bools:
        order = np.arange(len(margins)) if records is None else np.argsort(records, kind="stable")
        answer = np.empty(margins.shape, dtype=bool)
        answer[order] = self._event(
            "signs", call, margins[order] / call.scale,
            lambda: self._answers.random(margins.shape) < self._answers.random(),
        ).answer  # fmt: skip
        return answer

    def _choose(self, call: Call, scores: Floats) -> int:
        event = self._event(
            "choose", call, scores / call.scale, lambda: self._answers.integers(len(scores), size=1)
        )
        return int(event.answer[0])

    def _whole_numbers(self, call: Call, exact: Ints) -> Ints:
        return self._event(
            "whole numbers", call, exact / call.scale,
            lambda: exact + np.rint(self._draw(call, exact.shape)).astype(np.int64),
        ).answer.copy()  # fmt: skip

    def _choose_exactly(self, call: Call, scores: Ints) -> int:
        return self._choose(call, scores)  # type: ignore[arg-type]

    def _share(self, call: Call, exact: Floats, parts: int, unit: float) -> Floats:
        return np.concatenate([self._numbers(call, one) for one in np.split(exact, len(exact))])

    def _holder(self, start: Start) -> Curator:
        k = len(self.parties)
        leader = self._leader and _leader_next(self._leader.holders, k, "an extra party")
        return Replay([*self._seed, 1000 + k], leader, self._script, (*self.path, k))

    def _inner(self, start: Start) -> Curator:
        k = len(self.inners)
        leader = self._leader and _leader_next(self._leader.runs, k, "an extra run")
        return Replay([*self._seed, k], leader)

    def _threshold(self, call: Call, ends: Floats, scores: Floats) -> float:
        points = np.linspace(ends[0], ends[-1], POINTS + 2)[1:-1]
        piece = np.minimum(np.searchsorted(ends, points, side="right"), len(scores)) - 1
        # The interval is public, so both sides must have the same one. Put it into the event's
        # kind, which is compared between the sides.
        kind = f"threshold between {ends[0]} and {ends[-1]}"
        event = self._event(
            kind, call, scores[piece] / call.scale,
            lambda: self._answers.uniform(ends[0], ends[-1], 1),
        )  # fmt: skip
        return float(event.answer[0])

    def _objective(
        self,
        call: Call,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        old: bool,
    ) -> Floats:
        """Prescribe the minimum θ of the perturbed objective, and check that the solver finds it.

        The random linear term b that leads to θ is −gradient(θ), which differs between the two
        sides. So gradient(θ) is compared in place of an exact value.
        """
        event = self._event(
            OBJECTIVE, call, np.zeros(dimension),
            lambda: self._answers.choice(MINIMA) * self._answers.standard_normal(dimension),
        )  # fmt: skip
        at: Floats = event.answer.copy()
        event.exact = gradient(at) / call.scale
        steps = 1e-5 * np.eye(dimension)
        slopes = [(gradient(at + step) - gradient(at - step)) / 2e-5 for step in steps]
        event.log_jacobian = float(np.linalg.slogdet(np.array(slopes))[1])
        off = float(np.abs(minimise(-gradient(at)) - at).max())
        if not off <= SOLVED * max(1.0, float(np.abs(at).max())):
            why = f"{_describe(event)}: the minimum is {off:.3g} from where the gradient says it is"
            raise BreachError(POST_PROCESSING, why)
        return at

    def uniform(self, calls: Call | Sequence[Any], shape: tuple[int, ...]) -> Floats:
        """Return random numbers with which a loop draws choices; set `unseen`."""
        self.unseen = "a compiled loop draws choices, and the replay does not see their scores"
        return super().uniform(calls, shape)

    def generator(self, calls: Sequence[Call]) -> np.random.Generator:
        """Return a random stream from which a loop draws its noise; set `unseen`."""
        self.unseen = "a compiled loop draws noise, which the replay can't prescribe"
        return super().generator(calls)

    def leave(self) -> None:
        """Set `unseen`, as a party answers in another process."""
        super().leave()
        self.unseen = "a party answers in another process, where the replay can't prescribe answers"

    def _draw_batch(self, call: str, records: Records, rate: float) -> Records:
        # The values of a record seed the coins that decide whether it is in the batch. So the
        # batches of two neighbours differ in at most the record in which the tables differ.
        table = np.column_stack([records.codes, records.labels]).astype(np.int64)
        alike, row_of = np.unique(table, axis=0, return_inverse=True)
        hits = np.zeros(len(alike), dtype=np.int64)
        start = [*self._seed, 2 + (call == self._redrawn), len(self._drawn)]
        for k, n in enumerate(np.bincount(row_of.ravel(), records.counts, len(alike)).astype(int)):
            coins = np.random.default_rng([*start, *(alike[k] + 1)])
            hits[k] = (coins.random(n) < rate).sum()
        taken = alike[hits > 0]
        codes = taken[:, :-1].astype(records.codes.dtype)
        labels = taken[:, -1].astype(records.labels.dtype)
        return Records(codes, labels, hits[hits > 0], records.n_bins)

    def _shuffle(self, records: Ints) -> Ints:
        self.dealt = True
        # Sort first: then both sides get the same random order, even if their `records` are ordered
        # differently.
        return super()._shuffle(np.sort(records))

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> Floats:
        def draw() -> Floats:
            if calls.size and calls.flat[0].mechanism in SELECTIONS:
                # This noise puts the candidates into a random order, and the loop chooses the first
                # candidate that it allows.
                places = np.broadcast_to(np.arange(shape[-1]), shape)
                return -FAR * self._answers.permuted(places, axis=-1)
            return np.where(self._answers.random(shape) < 0.5, -FAR, FAR)

        event = self._event(HANDED, calls, np.zeros(shape), draw)
        noise = event.answer.reshape(shape).copy()
        self._handed.append((event, noise))
        return noise


def _leader_next(leaders: Sequence[object], place: int, more: str) -> Any:
    """Return `leaders[place]`; raise BreachError with the reason `more` if this item is missing."""
    if place >= len(leaders):
        raise BreachError(CONTROL, more)
    return leaders[place]


def _describe(event: Event) -> str:
    calls = event.calls.ravel().tolist()
    whats = dict.fromkeys(call.entry.what if call.entry else call.what for call in calls)
    return f"{event.kind} of the shape {event.shape} for {'; '.join(list(whats)[:3])}"


@contextmanager
def overheard(messages: list[str]) -> Iterator[None]:
    """Append the texts that Python code prints, logs or gives as warnings to `messages`.

    Garbage collection is off in this context: otherwise it might warn of a file that earlier code
    left open.
    """
    collects = gc.isenabled()
    gc.disable()
    out, handler, root = io.StringIO(), _Collector(messages), logging.getLogger()
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(out):
        warnings.simplefilter("always")
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)
            messages += [str(one.message) for one in warned]
            messages += [out.getvalue()] if out.getvalue() else []
            if collects:
                gc.enable()


class _Collector(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self._said = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())
