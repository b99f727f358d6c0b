"""A curator whose answers follow a script: the same fit again, and what its records changed.

Two neighbours are trained with the same answers. Whatever differs between them but the exact
values of their calls is a leak, and by how much those differ is the privacy loss of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.mechanisms import BOX_PERTURBATION, MECHANISMS, OBJECTIVES, SELECTIONS
from privcurve.privacy.seeds import Start

# How far the script's answers to a compiled loop are from 0 and from each other: no score outweighs
# it, and what the loop adds can still be read off to eight digits.
FAR = 2.0**22

# The script's numbers are exact ones of the first side and noise of so many scales.
SPREADS = (0.0, 0.3, 1.0, 10.0)

# Sizes of the script's minima, a number each: where losses are flat, and where they are not.
MINIMA = (0.3, 1.0, 10.0)

# How far a solver may end from the minimum that the script says, as a share of it.
SOLVED = 1e-4

# The kind of an event that has a Jacobian.
OBJECTIVE = "objective"

# Points of an interval at which the scores of its pieces are compared.
POINTS = 500


@dataclass
class Event:
    """One call of a fit.

    Attributes
    ----------
    kind : str
        The method of the curator.
    calls : ndarray of Call
        One, or one for each place along the first axes.
    exact : ndarray
        What noise is added to, in units of the noise's scale; written when the fit has ended where
        a compiled loop adds to the noise.
    answer : ndarray
        What the script answered.
    log_jacobian : float
        Of an objective: the log-determinant of how its gradient changes, at the answer.
    """

    kind: str
    calls: NDArray[Any]
    exact: Floats
    answer: NDArray[Any]
    log_jacobian: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the exact values."""
        return self.exact.shape

    def losses(self, other: Event) -> dict[LedgerEntry | str, Floats]:
        """Return by entry how far the two sides of its calls are apart, in units of the noise.

        Returns
        -------
        dict of LedgerEntry, or the word of one, to ndarray
            Numbers and labels: the difference of each. Choices: the range of the differences of a
            call's scores. Objectives: the mechanism's norm of the difference of gradients.
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
    """Return the norm by which an objective's noise falls off, of each row."""
    order = np.inf if mechanism == BOX_PERTURBATION else 2
    return np.asarray(np.linalg.norm(vectors, order, axis=1))


class OtherCallsError(RuntimeError):
    """The second side made another call than the first, where all answers were the same."""


class OtherMinimumError(RuntimeError):
    """A fit did not minimise the objective whose gradient it gave."""


class Replay(Curator):
    """A curator whose answers follow a script.

    Parameters
    ----------
    seed : sequence of int
        Of public coins, which are the same on both sides, and of answers.
    leader : Replay, optional
        That of the first side, whose answers are given again.

    Attributes
    ----------
    events : list of Event
        What was called.
    unseen : str
        What of the fit no script can answer; empty if there is nothing.
    """

    def __init__(self, seed: Sequence[int], leader: Any = None, party: bool = False) -> None:
        super().__init__(np.random.default_rng([*seed, 0]), party)
        self._seed = seed
        self._answers = np.random.default_rng([*seed, 1])
        self._leader: Replay | None = leader
        self._handed: list[tuple[Event, Floats]] = []
        self.events: list[Event] = []
        self.unseen = ""

    @property
    def all_events(self) -> list[Event]:
        """Its own calls, and those of all holders."""
        replays = [party for party in self.parties if isinstance(party, Replay)]
        return [*self.events, *(event for replay in replays for event in replay.events)]

    @property
    def all_unseen(self) -> str:
        """Return what of the fit, of its runs and of its holders no script can answer."""
        others = [other for other in (*self.inners, *self.parties) if isinstance(other, Replay)]
        return self.unseen or next(filter(None, (other.all_unseen for other in others)), "")

    @property
    def _followed(self) -> list[Event] | None:
        return None if self._leader is None else self._leader.events

    def _event(self, kind: str, calls: Any, exact: Floats) -> Event:
        """Note a call; its answer is the first side's, or still to be filled in."""
        calls = np.asarray(calls, dtype=object)
        event = Event(kind, calls, exact, np.empty(0))
        place = len(self.events)
        self.events.append(event)
        if self._followed is not None:
            if place >= len(self._followed):
                raise OtherCallsError(f"a call more: {_named(event)}")
            first = self._followed[place]
            same = first.kind == kind and first.shape == event.shape
            same = same and np.array_equal(first.calls, calls)
            if not same:
                raise OtherCallsError(f"{_named(first)}, and on the other side {_named(event)}")
            event.answer = first.answer
        return event

    def close(self) -> None:
        """Fill in what compiled loops added to their noise.

        Raises
        ------
        OtherCallsError
            If there were fewer than on the first side.
        """
        if self._followed is not None and len(self.events) < len(self._followed):
            raise OtherCallsError(f"a call less: {_named(self._followed[len(self.events)])}")
        if self._leader is not None:
            if len(self.inners) < len(self._leader.inners):
                raise OtherCallsError("a run less")
            if len(self.parties) < len(self._leader.parties):
                raise OtherCallsError("a holder less")
            # What is drawn in a loop may be drawn by rejection.
            states = (each.coins.bit_generator.state for each in (self, self._leader))
            if not self.unseen and next(states) != next(states):
                raise OtherCallsError("another number of public coins")
        for event, noise in self._handed:
            event.exact = noise - event.answer
        for inner in (*self.inners, *self.parties):
            assert isinstance(inner, Replay)
            inner.close()

    def _numbers(self, call: Call, exact: Floats) -> Floats:
        event = self._event("numbers", call, exact / call.scale)
        if self._followed is None:
            event.answer = exact + self._drawn(call, exact.shape)
        return event.answer.copy()

    def _drawn(self, call: Call, shape: tuple[int, ...]) -> Floats:
        spread = self._answers.choice(SPREADS)
        return spread * call.scale * MECHANISMS[call.mechanism].draw(self._answers, shape)

    def _signs(self, call: Call, margins: Floats, records: Ints | None) -> Bools:
        order = np.arange(len(margins)) if records is None else np.argsort(records, kind="stable")
        event = self._event("signs", call, margins[order] / call.scale)
        if self._followed is None:
            event.answer = self._answers.random(margins.shape) < self._answers.random()
        drawn = np.empty(margins.shape, dtype=bool)
        drawn[order] = event.answer
        return drawn

    def _choose(self, call: Call, scores: Floats) -> int:
        event = self._event("choose", call, scores / call.scale)
        if self._followed is None:
            event.answer = self._answers.integers(len(scores), size=1)
        return int(event.answer[0])

    def _whole_numbers(self, call: Call, exact: Ints) -> Ints:
        event = self._event("whole numbers", call, exact / call.scale)
        if self._followed is None:
            event.answer = exact + np.rint(self._drawn(call, exact.shape)).astype(np.int64)
        return event.answer.copy()

    def _choose_exactly(self, call: Call, scores: Ints) -> int:
        return self._choose(call, scores)  # type: ignore[arg-type]

    def _share(self, call: Call, exact: Floats, parts: int) -> Floats:
        return self._numbers(call, exact)

    def _holder(self, start: Start) -> Curator:
        leader = self._next("parties", "a holder more")
        return Replay([*self._seed, 1000 + len(self.parties)], leader, party=True)

    def _inner(self, start: Start) -> Curator:
        return Replay([*self._seed, len(self.inners)], self._next("inners", "a run more"))

    def _next(self, name: str, more: str) -> Curator | None:
        """Return whom the next curator of a kind follows."""
        if self._leader is None:
            return None
        leaders: list[Curator] = getattr(self._leader, name)
        place = len(getattr(self, name))
        if place >= len(leaders):
            raise OtherCallsError(more)
        return leaders[place]

    def _threshold(self, call: Call, ends: Floats, scores: Floats) -> float:
        points = np.linspace(ends[0], ends[-1], POINTS + 2)[1:-1]
        piece = np.minimum(np.searchsorted(ends, points, side="right"), len(scores)) - 1
        # The interval is public: on the other side it must be the same.
        kind = f"threshold between {ends[0]} and {ends[-1]}"
        event = self._event(kind, call, scores[piece] / call.scale)
        if self._followed is None:
            event.answer = self._answers.uniform(ends[0], ends[-1], 1)
        return float(event.answer[0])

    def _objective(
        self,
        call: Call,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        old: bool,
    ) -> Floats:
        """Answer with a minimum, which other noise has made on the other side."""
        event = self._event(OBJECTIVE, call, np.zeros(dimension))
        if self._followed is None:
            event.answer = self._answers.choice(MINIMA) * self._answers.standard_normal(dimension)
        at: Floats = event.answer.copy()
        event.exact = gradient(at) / call.scale
        steps = 1e-5 * np.eye(dimension)
        slopes = [(gradient(at + step) - gradient(at - step)) / 2e-5 for step in steps]
        event.log_jacobian = float(np.linalg.slogdet(np.array(slopes))[1])
        off = float(np.abs(minimise(-gradient(at)) - at).max())
        if not off <= SOLVED * max(1.0, float(np.abs(at).max())):
            raise OtherMinimumError(
                f"{_named(event)}: the minimum is {off:.3g} from where the gradient says it is"
            )
        return at

    def uniform(self, calls: Call | Sequence[Any], shape: tuple[int, ...]) -> Floats:
        """Return uniform numbers, and note that what is drawn by them is not seen."""
        self.unseen = "choices are drawn in a compiled loop, whose scores no script sees"
        return super().uniform(calls, shape)

    def generator(self, calls: Sequence[Call]) -> np.random.Generator:
        """Return the stream of noise, and note that what is drawn from it is not seen."""
        self.unseen = "noise is drawn in a compiled loop, to which no script can answer"
        return super().generator(calls)

    def leave(self) -> None:
        """Note that a holder's calls are not seen."""
        super().leave()
        self.unseen = "a holder answers in another process, for which no script can answer"

    def shuffled(self, records: Ints) -> Ints:
        """Return records in an order that is the same in whatever order they come in."""
        return super().shuffled(np.sort(records))

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> Floats:
        event = self._event("noise", calls, np.zeros(shape))
        if self._followed is None and calls.size:
            if calls.flat[0].mechanism in SELECTIONS:
                # An order of the candidates: the first that is allowed will be chosen.
                places = np.broadcast_to(np.arange(shape[-1]), shape)
                event.answer = -FAR * self._answers.permuted(places, axis=-1)
            else:
                event.answer = np.where(self._answers.random(shape) < 0.5, -FAR, FAR)
        noise = event.answer.reshape(shape).copy()
        self._handed.append((event, noise))
        return noise


def _named(event: Event) -> str:
    calls = event.calls.ravel().tolist()
    whats = dict.fromkeys(call.entry.what if call.entry else call.what for call in calls)
    return f"{event.kind} of the shape {event.shape} for {'; '.join(list(whats)[:3])}"
