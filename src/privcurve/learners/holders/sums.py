"""Calibrate the noise of a sum over parties: who adds the noise, and what the server sees."""

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

# Rings of secure sums, which add integers modulo 2^bits. Each key is the number of bits of a ring;
# the value is how many of these bits a number may use. With 64 bits a number may use only 50 bits,
# because a float64 is exact up to 53 bits. The *unit* of a sum is the number that the integer 1 of
# the ring represents. A sum takes the first ring whose unit is so small that rounding costs no
# privacy.
RINGS = {32: 30, 64: 50}

# Each party rounds its share of the noise to multiples of the unit. If the noise is the sum of n
# shares and the unit is at most scale/(FINEST · √n), rounding costs no privacy: docs/proofs.md,
# 'Trust'.
FINEST = 4.0

# A ring has room for noise of up to this number of noise scales, so that a sum overflows only with
# negligible probability.
FAR = 64.0


class MessageNoise(NamedTuple):
    """The noise and the number format with which a party makes a message from exact numbers."""

    mechanism: str  # `laplace` or `gaussian`
    scale: float  # noise scale (b or σ) that the guarantee needs in a sum; 0 at ε = ∞
    parts: int = 1  # number of shares that add up to noise of this scale; each party adds one share
    # A power of two: the numbers of a message are multiples of it. 0 means no rounding.
    unit: float = 0.0
    # Number of bits of the ring, where the integer 1 represents `unit`. 0 means that messages are
    # floats, without a ring.
    bits: int = 0
    what: str = ""  # name of the message's ledger entry

    def message(self, exact: NDArray[Any], curator: Curator) -> NDArray[Any]:
        """Return one message in this format: exact numbers plus a share of the noise."""
        return self.messages([exact], curator)[0]

    def messages(self, exact: ArrayLike, curator: Curator) -> NDArray[Any]:
        """Return one message for each entry along the first axis of `exact`."""
        call = Call(self.mechanism, self.scale, what=self.what)
        noisy = curator.share(call, exact, self.parts, self.unit)
        if self.bits == 0:
            return noisy
        return np.rint(noisy / self.unit).astype(np.int64).astype(f"u{self.bits // 8}")


@dataclass(frozen=True)
class Sums:
    """How the messages of parties are added up.

    If the sum is `secure`, the server sees only the sum, and each party adds a share of the noise.
    Otherwise each party adds all of the noise, so that its messages are private by themselves; with
    one party, this is a trusted curator.
    """

    n_holders: int
    secure: bool = False
    # Maximum number of parties that may reveal their shares of the noise to the server. The shares
    # of the other parties alone add up to the noise that the guarantee needs.
    n_colluding: int = 0

    @property
    def parts(self) -> int:
        """Number of shares that add up to the noise that the guarantee needs."""
        return self.n_holders - self.n_colluding if self.secure else 1

    @property
    def excess(self) -> float:
        """Variance of a sum's noise, divided by the variance that the guarantee needs."""
        return self.n_holders / self.parts

    def release(
        self, mechanism: str, scale: float, largest: float, step: float, what: str = ""
    ) -> MessageNoise:
        """Return noise and number format of messages, such that rounding costs no privacy.

        A secure sum takes the first ring in `RINGS` with a small enough unit.

        Parameters
        ----------
        mechanism : str
            `laplace` or `gaussian`.
        scale : float
            The noise scale that the guarantee needs; 0 at ε = ∞.
        largest : float
            Bound on the absolute value of a sum of exact numbers.
        step : float
            A power of two: exact numbers are integer multiples of it.
        what : str
            The name of the ledger entry that pays for the messages.

        Raises
        ------
        ValueError
            If no ring is fine enough for a secure sum, or, for other sums, if the noise does not
            fit in 64 bits.
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
        """Return the sum of the parties' messages as floats; a secure sum is modulo 2**bits.

        Messages of floats are added in the order of the parties, so that rounding is always the
        same.
        """
        total = np.zeros_like(messages[0])
        for message in messages:
            total += message
        if not self.secure:
            return total
        return total.astype(f"i{release.bits // 8}").astype(np.float64) * release.unit


def ring_unit(largest: float, bits: int = 32) -> float:
    """Return the smallest unit (a power of two) with which numbers up to `largest` fit a ring."""
    share, top = math.frexp(max(largest, 1.0))
    return 2.0 ** (top - (share == 0.5) - RINGS[bits])


def sums_of(trust: str, n_holders: int, n_colluding: int = 0) -> Sums:
    """Return how parties' messages are added up in a trust model.

    `trust` is ``central`` (one curator has all records), ``local`` (each party adds all of the
    noise) or ``secure_sum`` (parties add shares of the noise).

    Raises ValueError if all parties collude, because the server then knows all of the noise.
    """
    if trust == SECURE_SUM:
        if n_colluding >= n_holders:
            raise ValueError(
                f"n_colluding must be less than n_holders, {n_holders}; got {n_colluding}: "
                "noise that the server knows hides nothing"
            )
        return Sums(n_holders, True, n_colluding)
    return Sums(1 if trust == CENTRAL else n_holders)
