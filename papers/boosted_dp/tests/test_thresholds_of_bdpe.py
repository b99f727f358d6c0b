"""The loop of BDPEα decides with the announced noise."""

import pytest
from deciding import check_is_seen, deciding_by, half
from mistakes_any import TWO_TREES

from privcurve.audit.contract import Case
from privcurve.papers.boosted_dp.learners.bdpe import classifier as bdpe

LOOP = bdpe, "grow_released"


@pytest.mark.parametrize(
    ("change", "case", "why"),
    deciding_by(half, lambda given: given[10], "half_the_noise", *LOOP, Case("bdpe", TWO_TREES)),
)
def test_a_mistake_is_seen(monkeypatch, change, case, why):
    check_is_seen(monkeypatch, change, case, why)
