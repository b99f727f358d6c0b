"""Test that the audit notices if BDPEα chooses splits with other noise than it announces."""

import pytest
from deciding import assert_replay_finds, half_of_noise, loops_with_other_noise
from mistakes_any import TWO_TREES

from privcurve.audit.contract import Case
from privcurve.papers.boosted_dp.learners.bdpe import classifier as bdpe

LOOP = bdpe, "grow_released"


@pytest.mark.parametrize(
    ("change", "case", "why"),
    loops_with_other_noise(
        half_of_noise, lambda given: given[10], "half_the_noise", *LOOP, Case("bdpe", TWO_TREES)
    ),
)
def test_a_mistake_is_seen(monkeypatch, change, case, why):
    assert_replay_finds(monkeypatch, change, case, why)
