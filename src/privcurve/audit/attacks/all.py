"""All attacks, found by themselves: each module of this folder that has `ATTACKS`."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Iterable, Mapping

from privcurve.audit import attacks
from privcurve.audit.claim import Attack
from privcurve.audit.run import n_comparisons


def gather(parts: Iterable[Attack]) -> dict[str, Attack]:
    """Put together what several files say of the same learner."""
    found: dict[str, Attack] = {}
    for part in parts:
        before = found.get(part.learner, Attack(part.learner, ()))
        claims = (*before.claims, *part.claims)
        if len({claim.name for claim in claims}) < len(claims):
            raise ValueError(f"an attack of {part.learner} has the same claim twice")
        found[part.learner] = Attack(part.learner, claims)
    return found


def discovered() -> Iterable[Attack]:
    """Return the attacks of each module of the folder."""
    for module in pkgutil.iter_modules(attacks.__path__):
        if f"{attacks.__name__}.{module.name}" != __name__:
            found = importlib.import_module(f"{attacks.__name__}.{module.name}")
            yield from getattr(found, "ATTACKS", ())


ATTACKS: Mapping[str, Attack] = gather(discovered())

# Sampled pairs of a whole run: a verdict's error is shared out over them.
COMPARISONS = n_comparisons(
    itertools.chain.from_iterable(attack.claims for attack in ATTACKS.values())
)
