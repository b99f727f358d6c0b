"""The worst answers to PATE."""

from worst import rows

from privcurve.audit.attacks.pairs import (
    own_answer,
)
from privcurve.audit.run import VIOLATED


def test_answers_about_own_records_are_those_of_all_teachers():
    """Of PATE the record that moves turns its own answer around."""
    row = rows("pate", pairs=own_answer).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] > 3
