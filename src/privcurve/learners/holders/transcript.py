"""Record the messages of a protocol: rounds, senders and numbers of bits, but no contents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.learners.holders.sums import MessageNoise, Sums


@dataclass
class Transcript:
    """Totals of all messages; bits are of the sent numbers alone, without framing or keys."""

    n_holders: int
    # For each round, a list of the number of bits that each party sent to the server.
    sent: list[list[int]] = field(default_factory=list)
    received: int = 0  # number of bits that the server sent to each party; all parties get the same
    n_messages: int = 0  # number of messages in both directions

    def begin_round(self) -> None:
        """Begin a round, within which no message of a party depends on other messages."""
        self.sent.append([0] * self.n_holders)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.sent)

    def send(self, holder: int, numbers: NDArray[Any], n_messages: int = 1) -> None:
        """Record `n_messages` messages of party `holder`; `numbers` are their contents.

        Only the size of the array is stored.
        """
        self.sent[-1][holder] += 8 * numbers.nbytes
        self.n_messages += n_messages

    def collect(
        self,
        messages: Iterable[NDArray[Any]],
        sums: Sums,
        release: MessageNoise,
        n_messages: int = 1,
    ) -> Floats:
        """Record the answer of each party, and return the sum of all answers.

        `messages` has one array for each party; each array counts as `n_messages` messages.
        """
        answers = []
        for holder, message in enumerate(messages):
            self.send(holder, message, n_messages)
            answers.append(message)
        return sums.add_up(answers, release)

    def tell(self, n_numbers: int, bits: int = 16) -> None:
        """Record a message from the server to each party: `n_numbers` numbers of `bits` bits."""
        self.received += n_numbers * bits
        self.n_messages += self.n_holders

    @property
    def bits_sent(self) -> Ints:
        """Number of bits that each party sent in all rounds, of shape (n_holders,)."""
        table = np.array(self.sent, dtype=np.int64).reshape(-1, self.n_holders)
        return table.sum(axis=0)

    def measures(self) -> dict[str, float]:
        """Return the totals as a mapping from measure to number.

        `bytes_per_holder` are the bytes of the party that sent most, and `bytes_down_per_holder`
        the bytes that the server sent to each party.
        """
        up = self.bits_sent // 8
        down = self.received // 8
        return {
            "rounds": self.rounds,
            "messages": self.n_messages,
            "bytes_per_holder": int(up.max()),
            "bytes_down_per_holder": down,
            "bytes_total": int(up.sum()) + self.n_holders * down,
        }
