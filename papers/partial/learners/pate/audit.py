"""Contract cases and attacks for PATE."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import claim_by_answers
from privcurve.audit.attacks.pairs import own_answer
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

NAME = "pate"

# The kinds of answers that a fit asks of the curator.
RELEASED = {CHOICES}


def contract() -> list[Case]:
    """Return settings for the contract check, which together reach all mechanism calls."""
    return [
        # Try several teachers: if a record's private columns change, all teachers may change their
        # votes on this record, so its answer changes more than the answers about other records.
        Case(NAME, {"n_teachers": 4, "n_answers": 10}, neighbours=PRIVATE_COLUMNS, sizes=(10,) * 6),
        Case(
            NAME, {"n_teachers": 2, "n_answers": 12}, neighbours=PRIVATE_COLUMNS, sizes=(4, 12, 12)
        ),
    ]


def claims() -> Iterator[Claim]:
    """Yield the claims that the statistical audit attacks."""
    # The attack uses the answers about training records, which the fit gives.
    five = {"n_teachers": 5, "public_columns": ()}
    for calibration in (PROVED, PUBLISHED):
        yield claim_by_answers(NAME, calibration, five, own_answer, neighbours=PRIVATE_COLUMNS)
