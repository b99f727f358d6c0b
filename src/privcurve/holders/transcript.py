"""What was sent: by whom, in which round, of which kind, how many bits. No records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.holders.sums import Release, Sums

# In place of a holder's number: the sum that a secure sum shows.
THE_SUM = -1


@dataclass(frozen=True)
class Message:
    """One message to the coordinator.

    Attributes
    ----------
    round, level : int
        When it was sent, and the level of the tree (or the batch of trees) that it is about.
    holder : int
        Its number, or `THE_SUM`.
    kind : str
        ``vote``, ``counts``, ``weight``, ``labels``, ``best`` or ``leaves``.
    numbers : ndarray
        What it says.
    bits : int
        Its length: of the numbers alone, without framing or the exchange of keys.
    """

    round: int
    level: int
    holder: int
    kind: str
    numbers: NDArray[Any]
    bits: int


@dataclass
class Transcript:
    """Totals of messages, and the messages themselves where they are kept.

    Attributes
    ----------
    n_holders : int
    keep : bool
        Whether messages are kept: for audits.
    sent : list of list of int
        Bits that each holder sent to the coordinator, by round.
    received : int
        Bits that the coordinator sent to each holder: all get the same.
    n_messages : int
        Both ways.
    messages : list of Message
        In the order they were sent; under a secure sum the sum alone, as no more is seen.
    """

    n_holders: int
    keep: bool = False
    sent: list[list[int]] = field(default_factory=list)
    received: int = 0
    n_messages: int = 0
    messages: list[Message] = field(default_factory=list)

    def begin_round(self) -> None:
        """Begin a round: what is sent from here on does not wait for the answer to another."""
        self.sent.append([0] * self.n_holders)

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(self.sent)

    def send(self, level: int, holder: int, kind: str, numbers: NDArray[Any], seen: bool) -> None:
        """Record a message of a holder.

        Parameters
        ----------
        level, holder : int
        kind : str
        numbers : ndarray
            As it is sent; its type says how many bits a number has.
        seen : bool
            Whether the coordinator sees it: not under a secure sum.
        """
        bits = 8 * numbers.nbytes
        self.sent[-1][holder] += bits
        self.n_messages += 1
        if self.keep and seen:
            self.messages.append(Message(self.rounds, level, holder, kind, numbers, bits))

    def show_sum(self, level: int, kind: str, numbers: NDArray[Any]) -> None:
        """Record what a secure sum shows."""
        if self.keep:
            self.messages.append(Message(self.rounds, level, THE_SUM, kind, numbers, 0))

    def collect(
        self, level: int, kind: str, messages: Iterable[NDArray[Any]], sums: Sums, release: Release
    ) -> Floats:
        """Record a message of each holder, as it comes, and return their sum.

        Parameters
        ----------
        level : int
        kind : str
        messages : iterable of ndarray
            One a holder, in their order.
        sums : Sums
        release : Release
            How the messages were made.

        Returns
        -------
        ndarray
            What the coordinator gets.
        """
        sent = []
        for holder, message in enumerate(messages):
            self.send(level, holder, kind, message, sums.shows_messages)
            sent.append(message)
        total = sums.add_up(sent, release)
        if not sums.shows_messages:
            self.show_sum(level, kind, total)
        return total

    def tell(self, n_numbers: int, bits: int = 16) -> None:
        """Record what the coordinator tells every holder."""
        self.received += n_numbers * bits
        self.n_messages += self.n_holders

    @property
    def bits_sent(self) -> Ints:
        """Bits that each holder sent, of all rounds."""
        table = np.array(self.sent, dtype=np.int64).reshape(-1, self.n_holders)
        total: Ints = table.sum(axis=0)
        return total

    def measures(self) -> dict[str, float]:
        """Return rounds, messages, and bytes: up of the busiest holder, down of each, all."""
        up = self.bits_sent // 8
        down = self.received // 8
        return {
            "rounds": self.rounds,
            "messages": self.n_messages,
            "bytes_per_holder": int(up.max()),
            "bytes_down_per_holder": down,
            "bytes_total": int(up.sum()) + self.n_holders * down,
        }
