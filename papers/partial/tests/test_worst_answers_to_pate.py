"""The worst answers to PATE."""

from worst import audit_rows

from privcurve.audit.attacks.pairs import (
    own_answer,
)
from privcurve.audit.run import VIOLATED


def test_answers_about_own_records_match_all_teachers():
    """In PATE the replaced record flips the answer about itself."""
    row = audit_rows("pate", pairs=own_answer).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] > 3
