"""Replay of distributed fits: how likely a recorded transcript is for given records.

The learner's own coordinator runs again, among holders that send what was recorded and add up
the logarithms of its density: of a vote its chance, of noisy numbers the density of the noise,
from their own exact counts and from the rates and scales that the coordinator asks for. The
difference between two neighbours is the privacy loss of that transcript, exactly. Transcripts
are drawn from one side, or made as bad as can be (:class:`WorstHolder`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.holders.holder import NONE, Ballot, HolderRows, LocalHolder, named
from privcurve.holders.sums import Release, Sums
from privcurve.holders.transcript import Message, Transcript
from privcurve.kernels.holder_counts import CRITERIA, Questions, family_gains, split_values
from privcurve.kernels.holder_counts import family_counts as three_families
from privcurve.kernels.random_trees import Stumps
from privcurve.privacy.mechanisms import EXPONENTIAL, GAUSSIAN
from privcurve.privacy.sensitivity.impurity import distributed_split_published

# How far beyond the exact numbers a worst message lies, in differences of the two sides.
BEYOND = 4.0

# How far below all gains a worst maximum lies, in scales of its noise.
BELOW = 60.0

NO_NOISE_SEED = (0,)


@dataclass
class Tape:
    """Recorded messages, in the order they were sent, and the log-density of what was read.

    Attributes
    ----------
    messages : sequence of Message
    log_density : float
    place : int
        The next message.
    """

    messages: Sequence[Message]
    log_density: float = 0.0
    place: int = field(default=0)

    def read(self) -> NDArray[Any]:
        """Give the numbers of the next message."""
        self.place += 1
        return self.messages[self.place - 1].numbers

    def weigh(self, log_density: float) -> None:
        """Multiply the density."""
        self.log_density += log_density


class ExactHolder(LocalHolder):
    """A holder whose messages are exact: for the use of an audit alone."""

    def __init__(self, rows: HolderRows, questions: Questions, n_classes: int) -> None:
        super().__init__(rows, questions, n_classes, NO_NOISE_SEED)

    def chances(self, node: int, ballot: Ballot) -> NDArray[np.float64]:
        """Give the log-chance of each question of a certified vote."""
        if ballot.mechanism != EXPONENTIAL:
            raise ValueError("a published vote has no chances in closed form: audit it by fits")
        totals, yes = self._count(node)
        values = split_values(totals - yes, yes, CRITERIA.index(ballot.criterion))
        scores = -ballot.rate * values
        scores -= scores.max()
        return np.asarray(scores - math.log(np.exp(scores).sum()))

    def gains(self, node: int, criterion: str, rate: float) -> tuple[NDArray[np.float64], float]:
        """Give the gains of one machine and the scale of their noise; none below two records."""
        totals, yes = self._count(node)
        size = int(totals.sum())
        if size < 2:
            return np.zeros(0), 0.0
        found = family_gains(three_families(yes, totals), CRITERIA.index(criterion))
        return found, 2 * distributed_split_published(size, criterion) / rate

    def best_density(
        self, node: int, criterion: str, rate: float, found: NDArray[np.float64]
    ) -> float:
        """Give the log-density of a question and its noisy maximum (PRIVACY.md §e1)."""
        gains, scale = self.gains(node, criterion, rate)
        chosen = int(found[0])
        if (chosen == NONE) != (len(gains) == 0):
            return -math.inf
        if chosen == NONE:
            return 0.0
        away = (found[1] - gains) / scale
        below = np.where(away < 0, away - math.log(2), np.log1p(-np.exp(-np.abs(away)) / 2))
        own = -abs(away[chosen]) - math.log(2 * scale)
        return float(own + below.sum() - below[chosen])

    def _say(self, exact: NDArray[Any], release: Release) -> NDArray[Any]:
        return release._replace(scale=0.0, parts=1).message(exact, self.curator)


class ReplayHolder(ExactHolder):
    """A holder that says what was recorded, and weighs it by its own rows.

    Under a secure sum its counts are exact, for :class:`ReplaySums` to weigh their sum.

    Parameters
    ----------
    rows : HolderRows
    questions : Questions
    n_classes : int
    tape : Tape
        Shared by all holders.
    """

    def __init__(self, rows: HolderRows, questions: Questions, n_classes: int, tape: Tape) -> None:
        super().__init__(rows, questions, n_classes)
        self.tape = tape

    def vote(self, node: int, ballot: Ballot) -> NDArray[Any]:
        """Give the recorded vote."""
        found = self.tape.read()
        self.tape.weigh(float(self.chances(node, ballot)[int(found[0])]))
        return found

    def best(self, node: int, criterion: str, rate: float) -> NDArray[np.float64]:
        """Give the recorded question and maximum."""
        found = self.tape.read()
        self.tape.weigh(self.best_density(node, criterion, rate, found))
        return found

    def _say(self, exact: NDArray[Any], release: Release) -> NDArray[Any]:
        if release.unit:
            return np.asarray(exact, dtype=np.float64)
        found = self.tape.read()
        self.tape.weigh(noise_density(found - exact, release, 1))
        return found


class WorstHolder(ExactHolder):
    """A holder whose messages tell its two possible rows apart as well as any could.

    A vote is the one whose chances differ most, and numbers lie beyond the first side's, away
    from the other's: there the densities of Laplace noise differ by all of their L1 distance.

    Parameters
    ----------
    rows, other : HolderRows
        Of either side.
    questions : Questions
    n_classes : int
    """

    def __init__(
        self, rows: HolderRows, other: HolderRows, questions: Questions, n_classes: int
    ) -> None:
        super().__init__(rows, questions, n_classes)
        self.other = ExactHolder(other, questions, n_classes)

    def split(self, node: int, question: int, left: int) -> None:
        """Split a node of both sides."""
        super().split(node, question, left)
        self.other.split(node, question, left)

    def vote(self, node: int, ballot: Ballot) -> NDArray[Any]:
        """Give the vote whose chances differ most."""
        ratio = self.chances(node, ballot) - self.other.chances(node, ballot)
        return named(int(np.argmax(ratio)), self.questions)

    def best(self, node: int, criterion: str, rate: float) -> NDArray[np.float64]:
        """Give a maximum far below all gains, for each question the most telling one."""
        gains, scale = self.gains(node, criterion, rate)
        if len(gains) == 0:
            return np.array([NONE, 0.0])
        low = float(gains.min()) - BELOW * scale
        found = [np.array([q, low]) for q in range(len(gains))]
        ratios = [
            self.best_density(node, criterion, rate, one)
            - self.other.best_density(node, criterion, rate, one)
            for one in found
        ]
        return found[int(np.argmax(ratios))]

    def counts(self, node: int, columns: Sequence[int], release: Release) -> NDArray[Any]:
        """Count beyond."""
        return self._beyond(release, "counts", node, columns)

    def families(self, node: int, asked: Sequence[int], release: Release) -> NDArray[Any]:
        """Count beyond."""
        return self._beyond(release, "families", node, asked)

    def weight(self, node: int, release: Release) -> NDArray[Any]:
        """Count beyond."""
        return self._beyond(release, "weight", node)

    def labels(self, node: int, release: Release) -> NDArray[Any]:
        """Count beyond."""
        return self._beyond(release, "labels", node)

    def leaves(self, trees: Stumps, release: Release) -> NDArray[Any]:
        """Add up beyond."""
        return self._beyond(release, "leaves", trees)

    def move(self, values: NDArray[np.float64]) -> None:
        """Move the scores of both sides."""
        super().move(values)
        self.other.move(values)

    def _beyond(self, release: Release, method: str, *asked: Any) -> NDArray[Any]:
        plain = Release(release.mechanism, 0.0)
        own = np.asarray(getattr(super(), method)(*asked, plain))
        away = own - np.asarray(getattr(self.other, method)(*asked, plain))
        return self._say(own + BEYOND * away, release)


@dataclass(frozen=True)
class ReplaySums:
    """Sums that are what was recorded, and weighed by the noise of the honest holders.

    Attributes
    ----------
    sums : Sums
    tape : Tape
    n_honest : int
        Holders whose shares of the noise the coordinator does not know.
    """

    sums: Sums
    tape: Tape
    n_honest: int

    @property
    def shows_messages(self) -> bool:
        """Whether the coordinator sees single messages."""
        return self.sums.shows_messages

    @property
    def excess(self) -> float:
        """Variance of a sum's noise over that of the noise that the guarantee needs."""
        return self.sums.excess

    def release(
        self, mechanism: str, scale: float, largest: float, step: float, what: str = ""
    ) -> Release:
        """Return how messages are made."""
        return self.sums.release(mechanism, scale, largest, step, what)

    def add_up(self, messages: Sequence[NDArray[Any]], release: Release) -> NDArray[np.float64]:
        """Give the recorded sum; of messages that were seen one by one, their sum."""
        if self.sums.shows_messages:
            return self.sums.add_up(messages, release)
        found = self.tape.read()
        exact = np.sum(messages, axis=0)
        self.tape.weigh(noise_density(found - exact, release, self.n_honest))
        return np.asarray(found)


def noise_density(noise: NDArray[np.float64], release: Release, n_shares: int) -> float:
    """Give the log-density of the sum of some holders' shares of noise.

    Parameters
    ----------
    noise : ndarray
    release : Release
    n_shares : int
        With Laplace noise as many as make up the whole of it.

    Raises
    ------
    ValueError
        If fewer or more shares of Laplace noise are added up: their density is no simple one.
    """
    if release.mechanism == GAUSSIAN:
        sigma = release.scale * math.sqrt(n_shares / release.parts)
        normal = -0.5 * float(np.sum((noise / sigma) ** 2))
        return normal - noise.size * math.log(sigma * math.sqrt(2 * math.pi))
    if n_shares != release.parts:
        raise ValueError(f"{n_shares} shares of {release.parts} have no Laplace density")
    return -float(np.abs(noise).sum()) / release.scale - noise.size * math.log(2 * release.scale)


@dataclass(frozen=True)
class Stage:
    """A learner's coordinator, ready to be run among any holders.

    Attributes
    ----------
    questions : Questions
    n_classes, n_holders, n_honest : int
        `n_honest`: holders whose shares of the noise stay hidden.
    sums : Sums
    run : callable
        ``run(holders, transcript, sums)``.
    """

    questions: Questions
    n_classes: int
    n_holders: int
    n_honest: int
    sums: Sums
    run: Callable[[Sequence[Any], Transcript, Sums | None], Any]

    def record(self, holders: Sequence[Any]) -> list[Message]:
        """Run the coordinator, and keep all that it sees."""
        transcript = Transcript(self.n_holders, keep=True)
        self.run(holders, transcript, None)
        return transcript.messages

    def draw(self, parts: Sequence[HolderRows], rng: np.random.Generator) -> list[Message]:
        """Draw a transcript.

        The last holders collude: their shares of the noise are known, so they may as well be 0.
        """
        seeds = rng.integers(2**32, size=(len(parts), 4)).tolist()
        holders: list[LocalHolder] = []
        for i, (part, seed) in enumerate(zip(parts, seeds, strict=True)):
            if i < self.n_honest:
                holders.append(LocalHolder(part, self.questions, self.n_classes, seed))
            else:
                holders.append(ExactHolder(part, self.questions, self.n_classes))
        return self.record(holders)

    def worst(self, parts: Sequence[HolderRows], others: Sequence[HolderRows]) -> list[Message]:
        """Make the transcript that speaks most for `parts` and against `others`."""
        return self.record(
            [
                WorstHolder(part, other, self.questions, self.n_classes)
                for part, other in zip(parts, others, strict=True)
            ]
        )

    def log_density(self, messages: Sequence[Message], parts: Sequence[HolderRows]) -> float:
        """Give the logarithm of a transcript's density for the rows of all holders."""
        tape = Tape(messages)
        holders = [ReplayHolder(part, self.questions, self.n_classes, tape) for part in parts]
        sums = ReplaySums(self.sums, tape, self.n_honest)
        self.run(holders, Transcript(self.n_holders), sums)
        return tape.log_density
