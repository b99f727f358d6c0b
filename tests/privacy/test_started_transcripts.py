"""LazyBB from a public start: exact privacy of all that it may pick."""

import pytest

from privcurve.audit.attacks.all import ATTACKS
from privcurve.audit.attacks.public_start import started_distribution
from privcurve.audit.claim import EXACT
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import STANDS, VIOLATED, run
from privcurve.privacy.calibration.one_rules import lazybb_one_rule
from privcurve.privacy.sensitivity import lazybb as sensitivity

FOUND = {"published": 0.256, "certified": 0.580}
TARGET = Target("none", records([[0]], [1], [2]))


def exact(calibration):
    (found,) = [
        c
        for c in ATTACKS["lazybb"].claims
        if c.distribution is started_distribution and c.calibration == calibration
    ]
    assert found.method == EXACT
    return found


@pytest.mark.parametrize("calibration", ["published", "certified"])
def test_a_public_start_costs_nothing(calibration):
    row = run([exact(calibration)], TARGET, 0, 1).iloc[0]
    assert row["verdict"] == STANDS
    assert row["n_pairs"] == 145
    assert row["found_epsilon"] == pytest.approx(
        {"published": 0.256, "certified": 0.580}[calibration], abs=1e-3
    )


def test_the_refinement_for_early_rounds_is_refuted(monkeypatch):
    """From a start, a record may have in round 1 already all the weight that one may have."""
    claim = exact("certified")
    monkeypatch.setattr(sensitivity, "lazybb_zeta", lambda n, density: 1 / n)
    lazybb_one_rule.cache_clear()
    row = run([claim], TARGET, 0, 1).iloc[0]
    lazybb_one_rule.cache_clear()
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] == pytest.approx(2.626, abs=1e-3)
