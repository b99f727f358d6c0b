"""Sampled batches in the contract: a batch serves its own call, and nothing else follows from it.

A fit is repeated with the same answers, and one batch drawn again. Then the exact values of that
call may differ, and nothing else: no other call, and no part of the model, follows from which
records are in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from privcurve.audit.replay_fits import CHARGE, POST_PROCESSING, BreachError, Replay

# A batch is drawn again on one pair of tables of so many.
EVERY = 4


def try_other_batch(
    turn: int,
    seed: Sequence[int],
    first: Replay,
    refit: Callable[[Replay], Any],
    differences: Callable[[Any], Sequence[str]],
) -> None:
    """Train again with another batch of one call, if a fit has batches.

    Parameters
    ----------
    turn : int
        The number of the pair of tables; it says which call has another batch, if one has.
    seed : sequence of int
        The seed of the first fit.
    first : Replay
        The first fit, whose answers are repeated.
    refit : callable
        Trains on the same table by a curator.
    differences : callable
        Returns the names of what differs between the first model and another.

    Raises
    ------
    BreachError
        If another call, or the model, follows from the batch.
    """
    names = [entry.what for entry in first.ledger if entry.sampled < 1]
    if not names or turn % EVERY:
        return
    name = names[turn // EVERY % len(names)]
    again = Replay(seed, first, redrawn=name)
    model = refit(again)
    for event, other in zip(first.events, again.events, strict=True):
        whats = {call.entry.what if call.entry else call.what for call in event.calls.ravel()}
        if whats != {name} and (event.exact != other.exact).any():
            why = f"it follows from the batch of {name!r}, which serves that call alone"
            raise BreachError(CHARGE, f"{', '.join(sorted(whats - {name}))}: {why}")
    if apart := differences(model):
        why = f"{', '.join(apart)} follow from which records are in the batch of {name!r}"
        raise BreachError(POST_PROCESSING, why)
