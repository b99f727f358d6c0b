"""Noise of a sum over parties: who adds it, and what the server sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Floats
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.grid import unit_of
from privcurve.privacy.mechanisms import LARGEST_SCALE

CENTRAL = "central"
LOCAL = "local"
SECURE_SUM = "secure_sum"

# A secure sum is of integers modulo 2**bits, in the first of these rings that is fine enough. Its
# numbers use this many of the bits; floating-point numbers are exact to 53.
RINGS = {32: 30, 64: 50}

# Each share of noise is rounded separately. The sum is as private as without rounding if a unit is
# at most scale/(this · √shares): docs/proofs.md, 'Trust'.
FINEST = 4.0

# The probability that a sum leaves the ring's range, by noise of more than this many scales, is
# negligible.
FAR = 64.0


class MessageNoise(NamedTuple):
    """How a party makes a message from exact numbers."""

    mechanism: str  # `laplace` or `gaussian`
    scale: float  # b or σ of the noise for the guarantee; 0 without noise
    parts: int = 1  # number of shares of that noise: a party adds one
    # Numbers are integer multiples of this power of two; 0: they may have any fraction.
    unit: float = 0.0
    bits: int = 0  # bits of a number of the ring, where 1 represents a unit; 0: floats are sent
    what: str = ""  # the ledger entry that pays for the message

    def message(self, exact: NDArray[Any], curator: Curator) -> NDArray[Any]:
        """Return exact numbers with a share of noise, in the format of a message."""
        return self.messages([exact], curator)[0]

    def messages(self, exact: ArrayLike, curator: Curator) -> NDArray[Any]:
        """Return a message for each position along the first axis."""
        call = Call(self.mechanism, self.scale, what=self.what)
        noisy = curator.share(call, exact, self.parts, self.unit)
        if self.bits == 0:
            return noisy
        return np.rint(noisy / self.unit).astype(np.int64).astype(f"u{self.bits // 8}")


@dataclass(frozen=True)
class Sums:
    """How the messages of parties are added up.

    Either each party adds all of the noise, so that its messages are private by themselves (with
    one party this is a trusted curator). Or the sum is `secure`: the server sees only the sum, and
    parties share the noise.
    """

    n_holders: int
    secure: bool = False
    # Maximum number of parties that reveal their shares of the noise to the server. The other
    # parties' shares add up to the noise for the guarantee.
    n_colluding: int = 0

    @property
    def parts(self) -> int:
        """Number of shares that add up to the noise."""
        return self.n_holders - self.n_colluding if self.secure else 1

    @property
    def excess(self) -> float:
        """The variance of a sum's noise, divided by the variance for the guarantee."""
        return self.n_holders / self.parts

    def release(
        self, mechanism: str, scale: float, largest: float, step: float, what: str = ""
    ) -> MessageNoise:
        """Return the format of messages: for a secure sum, in the first ring that is fine enough.

        Rounding then costs no privacy. `scale` is the scale of the noise for the guarantee, or 0;
        `largest` bounds a sum of exact numbers, which are integer multiples of `step`, a power of
        two, and of any smaller power.

        Raises ValueError if no ring is fine enough, so that rounding would cost privacy; or without
        a ring, if the noise does not fit in 64 bits.
        """
        if not self.secure:
            unit = min(step, unit_of(scale))
            if scale > unit * LARGEST_SCALE / 4:
                raise ValueError(
                    f"epsilon must be larger: {mechanism} noise of scale {scale:g} does not fit "
                    "in 64 bits"
                )
            return MessageNoise(mechanism, scale, unit=unit, what=what)
        coarsest = scale / (FINEST * math.sqrt(self.parts))
        for bits in RINGS:
            unit = ring_unit(largest + FAR * self.excess * scale, bits)
            if scale == 0 or unit <= min(step, coarsest):
                return MessageNoise(mechanism, scale, self.parts, unit, bits, what)
        raise ValueError(
            f"a secure sum of numbers up to {largest:g}, with noise of scale {scale:g} from "
            f"{self.parts} parties, does not fit in {bits} bits: rounding would remove their "
            "shares of the noise. Give a smaller epsilon, or another trust."
        )

    def add_up(self, messages: Sequence[NDArray[Any]], release: MessageNoise) -> Floats:
        """Add up messages in the order of the parties; modulo 2**bits the order does not matter."""
        total = np.zeros_like(messages[0])
        for message in messages:
            total += message
        if not self.secure:
            return total
        return total.astype(f"i{release.bits // 8}").astype(np.float64) * release.unit


def ring_unit(largest: float, bits: int = 32) -> float:
    """Return the smallest power of two as unit, so that numbers up to `largest` fit into a ring."""
    share, top = math.frexp(max(largest, 1.0))
    return 2.0 ** (top - (share == 0.5) - RINGS[bits])


def sums_of(trust: str, n_holders: int, n_colluding: int = 0) -> Sums:
    """Return the sums of a trust model: ``central`` (one curator), ``local`` or ``secure_sum``.

    Raises ValueError if all parties collude: then the server knows all of the noise.
    """
    if trust == SECURE_SUM:
        if n_colluding >= n_holders:
            raise ValueError(
                f"n_colluding must be less than n_holders, {n_holders}; got {n_colluding}: "
                "noise that the server knows hides nothing"
            )
        return Sums(n_holders, True, n_colluding)
    return Sums(1 if trust == CENTRAL else n_holders)
