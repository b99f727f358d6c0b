"""Who adds which noise to a sum over parties, and what the server sees of it."""

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
# numbers use so many of the bits; floating-point numbers are exact to 53.
RINGS = {32: 30, 64: 50}

# Each share of noise is rounded by itself. The sum stays as private as without rounding if a unit
# is at most scale/(this · √shares): docs/proofs.md, 'Trust'.
FINEST = 4.0

# A sum leaves the ring's range with noise of more than this many scales: never.
FAR = 64.0


class MessageNoise(NamedTuple):
    """How a party makes a message of exact numbers."""

    mechanism: str  # `laplace` or `gaussian`
    scale: float  # b or σ of the noise that the guarantee needs; 0: none
    parts: int = 1  # how many shares make up that noise: a party adds one
    # What numbers are whole multiples of, a power of two; 0: they may have any fraction.
    unit: float = 0.0
    bits: int = 0  # of a number of the ring, in which a 1 stands for a unit; 0: floats are sent
    what: str = ""  # what the message is charged to, in the words of the ledger

    def message(self, exact: NDArray[Any], curator: Curator) -> NDArray[Any]:
        """Add a share of noise to exact numbers, and write them as they are sent."""
        return self.messages([exact], curator)[0]

    def messages(self, exact: ArrayLike, curator: Curator) -> NDArray[Any]:
        """Make a message for each place along the first axis."""
        call = Call(self.mechanism, self.scale, what=self.what)
        noisy = curator.share(call, exact, self.parts, self.unit)
        if self.bits == 0:
            return noisy
        return np.rint(noisy / self.unit).astype(np.int64).astype(f"u{self.bits // 8}")


@dataclass(frozen=True)
class Sums:
    """How the messages of parties are added up.

    Each party adds all of the noise, so that its messages are private by themselves (with one party
    this is a trusted curator). Or the sum is `secure`: the server sees nothing else, and parties
    share the noise.
    """

    n_holders: int
    secure: bool = False
    # At most this many parties reveal their shares of the noise to the server. The shares of the
    # others make up the noise that the guarantee needs.
    n_colluding: int = 0

    @property
    def parts(self) -> int:
        """How many shares make up the noise."""
        return self.n_holders - self.n_colluding if self.secure else 1

    @property
    def excess(self) -> float:
        """The variance of a sum's noise over the variance that the guarantee needs."""
        return self.n_holders / self.parts

    def release(
        self, mechanism: str, scale: float, largest: float, step: float, what: str = ""
    ) -> MessageNoise:
        """Return how messages are made: of a secure sum, in the first ring that is fine enough.

        Rounding then costs no privacy. `scale` is that of the noise that the guarantee needs, or 0;
        `largest` bounds a sum of exact numbers, which are whole multiples of `step`, a power of
        two, and of any smaller one.

        Raises ValueError if no ring is fine enough: rounding would cost privacy. Without a ring, if
        the noise is so large that the exact samplers have no room for it.
        """
        if not self.secure:
            unit = min(step, unit_of(scale))
            if scale > unit * LARGEST_SCALE / 4:
                raise ValueError(
                    f"epsilon must be larger: {mechanism} noise of scale {scale:g} has no room in "
                    "64 bits"
                )
            return MessageNoise(mechanism, scale, unit=unit, what=what)
        coarsest = scale / (FINEST * math.sqrt(self.parts))
        for bits in RINGS:
            unit = ring_unit(largest + FAR * self.excess * scale, bits)
            if scale == 0 or unit <= min(step, coarsest):
                return MessageNoise(mechanism, scale, self.parts, unit, bits, what)
        raise ValueError(
            f"a secure sum of numbers up to {largest:g}, with noise of scale {scale:g} from "
            f"{self.parts} parties, has no room in {bits} bits: their shares of the noise would be "
            "rounded away. Give a smaller epsilon, or another trust."
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
    """Return the least unit, a power of two, with which numbers up to `largest` fit into a ring."""
    share, top = math.frexp(max(largest, 1.0))
    return 2.0 ** (top - (share == 0.5) - RINGS[bits])


def sums_of(trust: str, n_holders: int, n_colluding: int = 0) -> Sums:
    """Return the sums of a trust model: ``central`` (one curator), ``local`` or ``secure_sum``.

    Raises ValueError if all parties collude: then none adds noise that stays hidden.
    """
    if trust == SECURE_SUM:
        if n_colluding >= n_holders:
            raise ValueError(
                f"n_colluding = {n_colluding} must be less than n_holders = {n_holders}: noise "
                "that the server knows hides nothing"
            )
        return Sums(n_holders, True, n_colluding)
    return Sums(1 if trust == CENTRAL else n_holders)
