"""Test the audit's attack "worst answers" on PATE, which finds the largest privacy loss."""

from worst import audit_rows

from privcurve.audit.attacks.pairs import (
    own_answer,
)
from privcurve.audit.run import VIOLATED


def test_answers_about_own_records_match_all_teachers():
    """If PATE labels a training record, replacing this record can flip all teachers' votes."""
    row = audit_rows("pate", pairs=own_answer).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] > 3
