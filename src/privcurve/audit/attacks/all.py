"""Collect the claims that the audit attacks, from this folder's modules and from the papers."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping

from privcurve.audit import attacks
from privcurve.audit.claim import Claim
from privcurve.audit.run import n_comparisons
from privcurve.learners.entries.of_papers import PACKAGES


def gather(claims: Iterable[Claim]) -> dict[str, tuple[Claim, ...]]:
    """Return the claims of each learner, by the learner's name.

    Raises
    ------
    ValueError
        If two claims are equal: they would use the same random numbers.
    """
    by_learner: dict[str, tuple[Claim, ...]] = {}
    names = set()
    for claim in claims:
        if claim.name in names:
            raise ValueError(f"an attack of {claim.learner} has the same claim twice")
        names.add(claim.name)
        by_learner[claim.learner] = (*by_learner.get(claim.learner, ()), claim)
    return by_learner


def find_claims() -> Iterator[Claim]:
    """Yield all claims to attack, from the modules in this folder and from the papers.

    A module has its claims in ``CLAIMS``; a paper returns them from ``claims()`` of its module
    ``audit``.
    """
    for module in pkgutil.iter_modules(attacks.__path__):
        if f"{attacks.__name__}.{module.name}" != __name__:
            attack = importlib.import_module(f"{attacks.__name__}.{module.name}")
            yield from getattr(attack, "CLAIMS", ())
    for package in PACKAGES.values():
        yield from importlib.import_module(f"{package}.audit").claims()


ATTACKS: Mapping[str, tuple[Claim, ...]] = gather(find_claims())

# Number of random comparisons in an audit of all learners; they share the error `VERDICT_ERROR`.
COMPARISONS = n_comparisons(claim for claims in ATTACKS.values() for claim in claims)
