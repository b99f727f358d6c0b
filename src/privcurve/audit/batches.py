"""Sampled batches in the contract: a batch serves its own call, and nothing else shows it.

A fit is repeated with the same answers, and one batch drawn again. Then the exact values of that
call may differ, and nothing else: no other call, and no part of the model, follows from which
records are in a batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from privcurve.audit.replay_fits import CHARGE, POST_PROCESSING, BreachError, Replay

# A batch is drawn again on one pair of tables of so many.
EVERY = 4


def unnumbered(name: str) -> str:
    """Return the name of a call without the number of its step."""
    return re.sub(r"\d+(?!-rule)", "#", name)


def try_other_batch(
    turn: int,
    seed: Sequence[int],
    first: Replay,
    refit: Callable[[Replay], Any],
    differences: Callable[[Any], Sequence[str]],
    follows: dict[str, bool],
) -> None:
    """Train again with another batch of one call, if a fit has sampled batches.

    Parameters
    ----------
    turn : int
        The number of the pair of tables; it says which call has another batch, if one has.
    seed : sequence of int
        That of the first fit.
    first : Replay
        The first fit, whose answers are repeated.
    refit : callable
        Trains on the same table by a curator.
    differences : callable
        Returns the names of what differs between the first model and another.
    follows : dict
        Whether the exact values of a call were seen to follow its batch; updated.

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
    follows.setdefault(unnumbered(name), False)
    for event, other in zip(first.events, again.events, strict=True):
        if not (event.exact != other.exact).any():
            continue
        whats = {call.entry.what if call.entry else call.what for call in event.calls.ravel()}
        if whats != {name}:
            others = ", ".join(sorted(whats - {name}))
            why = f"{others}: it follows from the batch of {name!r}, which is charged for once"
            raise BreachError(CHARGE, why)
        follows[unnumbered(name)] = True
    if apart := differences(model):
        why = f"{', '.join(apart)} follow from which records are in the batch of {name!r}"
        raise BreachError(POST_PROCESSING, why)


def refuse_unfollowed(follows: Mapping[str, bool]) -> None:
    """Refuse calls charged for a batch whose values were the same with every other batch."""
    for name, followed in follows.items():
        if not followed:
            why = "charged for a sampled batch, and the same whatever records are in it"
            raise BreachError(CHARGE, f"{name}: {why}")
