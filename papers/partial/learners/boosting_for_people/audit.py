"""Define the cases of the contract check and the attacks of the audit for Boosting for People."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.audit.attacks.any_learner import claim_private_columns, recipe
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import MINIMA, NUMBERS
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

NAME = "boosting_for_people"
TWO: Mapping[str, Any] = {"n_rounds": 2}

# Kinds of noisy answers that the learner releases; a test checks this on the cases below.
RELEASED = {MINIMA, NUMBERS}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call."""
    return [
        Case(NAME, TWO),
        Case(NAME, {"n_rounds": 3, "calibration": "published", "epsilon": 20.0}),
        Case(NAME, {"n_rounds": 2, "largest": 1.1}, neighbours=PRIVATE_COLUMNS),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about this learner that the statistical audit attacks."""
    yield from recipe(NAME, [TWO], [TWO], answers=False, canary=False, coins=())
    for calibration in (PROVED, PUBLISHED):
        yield claim_private_columns(NAME, {**TWO, "public_columns": (1,)}, by=calibration)
