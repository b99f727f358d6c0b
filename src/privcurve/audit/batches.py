"""Check sampled batches: a batch may affect only the mechanism call for which it was drawn.

The check repeats a fit with the same answers, but draws the batch of one call again. Then only the
exact values of this call may differ: no other call, and no part of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from privcurve.audit.replay_fits import CHARGE, POST_PROCESSING, BreachError, Replay

# The check runs on every fourth pair of tables, as it needs an additional fit.
EVERY = 4


def try_other_batch(
    turn: int,
    seed: Sequence[int],
    first: Replay,
    refit: Callable[[Replay], Any],
    differences: Callable[[Any], Sequence[str]],
) -> None:
    """Repeat a fit with another batch for one of its calls; do nothing if no call has a batch.

    Parameters
    ----------
    turn : int
        The index of the pair of tables; it decides whether the check runs, and on which call.
    seed : sequence of int
        The seed of the first fit.
    first : Replay
        The first fit, whose answers are repeated.
    refit : callable
        Trains on the same table by a curator.
    differences : callable
        Returns the names of the attributes that differ between the first model and another.

    Raises
    ------
    BreachError
        If another call, or the model, depends on the batch.
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
