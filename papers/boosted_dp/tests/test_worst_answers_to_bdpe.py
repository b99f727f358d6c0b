"""Test the audit's attack "worst answers" on BDPEα, which finds the largest privacy loss."""

import pytest
from worst import TARGET, density_claims

from privcurve.audit.run import VIOLATED, run


@pytest.mark.slow
def test_published_leaves_are_refuted_even_if_the_leverage_is_public():
    (c,) = [c for c in density_claims("bdpe") if c.setting.get("leverage") == "constant"]
    row = run([c], TARGET, 0, 1).iloc[0]
    assert row["found_epsilon"] == pytest.approx(4.9992, abs=1e-4)
    assert row["verdict"] == VIOLATED
    assert "before they are clamped" in row["not_covered"]
