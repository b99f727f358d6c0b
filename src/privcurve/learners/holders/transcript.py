"""Transcript of messages: sender, round and number of bits, without any records."""

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
    """Totals of all messages; bits count the numbers alone, without framing or keys."""

    n_holders: int
    # Bits that each party sent to the server, by round.
    sent: list[list[int]] = field(default_factory=list)
    received: int = 0  # bits that the server sent to each party, equal for all
    n_messages: int = 0  # number of messages in both directions

    def begin_round(self) -> None:
        """Begin a round: the messages of parties in one round do not wait for each other."""
        self.sent.append([0] * self.n_holders)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.sent)

    def send(self, holder: int, numbers: NDArray[Any], n_messages: int = 1) -> None:
        """Record messages of a party; their bits follow from the data type of `numbers`."""
        self.sent[-1][holder] += 8 * numbers.nbytes
        self.n_messages += n_messages

    def collect(
        self,
        messages: Iterable[NDArray[Any]],
        sums: Sums,
        release: MessageNoise,
        n_messages: int = 1,
    ) -> Floats:
        """Record the answer of each party, sent in `n_messages`; return the sum of all answers."""
        answers = []
        for holder, message in enumerate(messages):
            self.send(holder, message, n_messages)
            answers.append(message)
        return sums.add_up(answers, release)

    def tell(self, n_numbers: int, bits: int = 16) -> None:
        """Record a message of the server to every party: `n_numbers` numbers of `bits` bits."""
        self.received += n_numbers * bits
        self.n_messages += self.n_holders

    @property
    def bits_sent(self) -> Ints:
        """Number of bits that each party sent in all rounds: (n_holders,)."""
        table = np.array(self.sent, dtype=np.int64).reshape(-1, self.n_holders)
        return table.sum(axis=0)

    def measures(self) -> dict[str, float]:
        """Return the totals by name.

        `bytes_per_holder` counts the bytes from the party that sent most, `bytes_down_per_holder`
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
