"""Define the cases of the contract check and the attacks of the audit for the DP forest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.audit.attacks.any_learner import claim_by_canaries, recipe
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, NUMBERS
from privcurve.privacy.budget import PROVED

NAME = "dp_forest"
TWO: Mapping[str, Any] = {"n_trees": 2, "depth": 2}

# Kinds of noisy answers that the forest releases; a test checks this on the cases below.
RELEASED = {CHOICES, NUMBERS}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call."""
    return [
        Case(NAME, TWO),
        Case(NAME, {**TWO, "votes": "shrunk"}),
        Case(NAME, {**TWO, "leaves": "exponential"}),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about the DP forest that the statistical audit attacks."""
    leaves = [{**TWO, "leaves": "laplace"}, {**TWO, "leaves": "exponential"}]
    yield from recipe(NAME, [*leaves, {**TWO, "votes": "shrunk"}], leaves, coins=())
    yield claim_by_canaries(NAME, PROVED, {"n_trees": 2, "depth": 8})
