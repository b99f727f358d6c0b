"""Test that the contract check finds a mistake in rounds of half-spaces on a realistic table."""

from mistakes_any import replacement_of

from privcurve.audit.contract import Case, check_at_size
from privcurve.audit.replay_fits import SEALED
from privcurve.papers.partial.learners._half_spaces import PrivateWeights


@replacement_of(PrivateWeights, "estimate")
def rounds_that_end_without_an_error(original, self, wrong):
    error = original(self, wrong)
    if error == 0:
        raise StopIteration
    return error


def test_rounds_that_end_without_an_error_are_seen(monkeypatch):
    rounds_that_end_without_an_error(monkeypatch)
    assert check_at_size(Case("brc", {})).breach.point == SEALED
