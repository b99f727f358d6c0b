"""Define the cases of the contract check and the attacks of the audit for DP bagging."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import DELTA, recipe
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES

NAME = "dp_bagging"
TEACHERS = {"n_teachers": 3, "n_partitions": 2, "n_queries": 3}

# Kinds of noisy answers that DP bagging releases; a test checks this on the cases below.
RELEASED = {CHOICES}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call."""
    return [
        Case(NAME, TEACHERS, sizes=(1, 30)),
        Case(NAME, {**TEACHERS, "delta": DELTA}, sizes=(1, 30)),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about DP bagging that the statistical audit attacks."""
    teachers = {"n_teachers": 2, "n_partitions": 2, "n_queries": 2}
    yield from recipe(NAME, [teachers], coins=())
