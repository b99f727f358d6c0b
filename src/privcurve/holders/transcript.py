"""What was sent: by whom, in which round, how many bits. No records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.holders.sums import MessageNoise, Sums


@dataclass
class Transcript:
    """Totals of messages; their bits are those of the numbers, without framing or keys."""

    n_holders: int
    # Bits that each party sent to the server, by round.
    sent: list[list[int]] = field(default_factory=list)
    received: int = 0  # bits that the server sent to each party: all get the same
    n_messages: int = 0  # both ways

    def begin_round(self) -> None:
        """Begin a round: what is sent from here on does not wait for the answer to another."""
        self.sent.append([0] * self.n_holders)

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(self.sent)

    def send(self, holder: int, numbers: NDArray[Any], n_messages: int = 1) -> None:
        """Record messages of a party; the type of its numbers says how many bits each has."""
        self.sent[-1][holder] += 8 * numbers.nbytes
        self.n_messages += n_messages

    def collect(
        self,
        messages: Iterable[NDArray[Any]],
        sums: Sums,
        release: MessageNoise,
        n_messages: int = 1,
    ) -> Floats:
        """Record the answer of each party, in `n_messages`; return the sum of the answers."""
        answers = []
        for holder, message in enumerate(messages):
            self.send(holder, message, n_messages)
            answers.append(message)
        return sums.add_up(answers, release)

    def tell(self, n_numbers: int, bits: int = 16) -> None:
        """Record what the server tells every party."""
        self.received += n_numbers * bits
        self.n_messages += self.n_holders

    @property
    def bits_sent(self) -> Ints:
        """Bits that each party sent, of all rounds."""
        table = np.array(self.sent, dtype=np.int64).reshape(-1, self.n_holders)
        return table.sum(axis=0)

    def measures(self) -> dict[str, float]:
        """Return rounds, messages, and bytes: sent by the busiest party, sent to each, and all."""
        up = self.bits_sent // 8
        down = self.received // 8
        return {
            "rounds": self.rounds,
            "messages": self.n_messages,
            "bytes_per_holder": int(up.max()),
            "bytes_down_per_holder": down,
            "bytes_total": int(up.sum()) + self.n_holders * down,
        }
