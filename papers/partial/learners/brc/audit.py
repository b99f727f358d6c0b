"""Define the cases of the contract check and the attacks of the audit for BRC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from privcurve.audit.attacks.any_learner import DELTA, claim_by_fits, claim_private_columns, recipe
from privcurve.audit.attacks.pairs import flipped_label
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import NUMBERS, POINTS
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

NAME = "brc"
THREE: Mapping[str, Any] = {"n_rounds": 3}
PARTIAL = {"public_columns": (1,)}

# Kinds of noisy answers that BRC releases; a test checks this on the cases below.
RELEASED = {NUMBERS, POINTS}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call of BRC."""
    return [
        Case(NAME, THREE),
        Case(NAME, {"n_rounds": 3, "calibration": "published", "epsilon": 20.0}),
        Case(NAME, {"n_rounds": 3, "delta": DELTA, "intercept": "threshold"}),
        Case(NAME, {"n_rounds": 3, "intercept": "em"}),
        Case(NAME, {"n_rounds": 3, "intercept": "em", "estimate": "edge", "delta": DELTA}),
        Case(NAME, {"n_rounds": 4, "intercept": "em", "epsilon": 40.0}, neighbours=PRIVATE_COLUMNS),
        Case(NAME, {"n_rounds": 4, "calibration": "published"}, neighbours=PRIVATE_COLUMNS),
        Case(NAME, {"n_rounds": 4, "epsilon": 40.0, "delta": DELTA}, neighbours=PRIVATE_COLUMNS),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about BRC that the statistical audit attacks."""
    yield from recipe(NAME, [THREE], [THREE], canary=False, coins=())
    # This attack shows the limit of the claim: it changes a label, which is public here, so the
    # private-columns statement does not cover it.
    beyond = claim_by_fits(NAME, PROVED, {**THREE, **PARTIAL}, 400, flipped_label)
    yield replace(beyond, stated=PRIVATE_COLUMNS)
    for calibration in (PROVED, PUBLISHED):
        yield claim_private_columns(NAME, {**THREE, **PARTIAL}, by=calibration)
