"""Define the cases of the contract check and the attacks of the audit for PATE."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import claim_by_answers
from privcurve.audit.attacks.pairs import own_answer
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

NAME = "pate"

# Kinds of noisy answers that PATE releases; a test checks this on the cases below.
RELEASED = {CHOICES}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call of PATE."""
    return [
        # The cases have several teachers. If the private columns of a record change, all teachers
        # may change their votes about this record, but only one teacher its votes about other
        # records.
        Case(NAME, {"n_teachers": 4, "n_answers": 10}, neighbours=PRIVATE_COLUMNS, sizes=(10,) * 6),
        Case(
            NAME, {"n_teachers": 2, "n_answers": 12}, neighbours=PRIVATE_COLUMNS, sizes=(4, 12, 12)
        ),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about PATE that the statistical audit attacks."""
    # The attack reads noisy answers about training records. A fit releases these answers, because
    # the student is trained on them.
    five = {"n_teachers": 5, "public_columns": ()}
    for calibration in (PROVED, PUBLISHED):
        yield claim_by_answers(NAME, calibration, five, own_answer, neighbours=PRIVATE_COLUMNS)
