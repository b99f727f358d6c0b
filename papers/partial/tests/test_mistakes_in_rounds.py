"""The contract at real size finds a mistake in rounds of half-spaces."""

from mistakes_any import mistake

from privcurve.audit.contract import Case, check_at_size
from privcurve.audit.replay_fits import SEALED
from privcurve.papers.partial.learners._half_spaces import PrivateWeights


@mistake(PrivateWeights, "estimate")
def rounds_that_end_without_an_error(own, self, wrong):
    error = own(self, wrong)
    if error == 0:
        raise StopIteration
    return error


def test_rounds_that_end_without_an_error_are_seen(monkeypatch):
    rounds_that_end_without_an_error(monkeypatch)
    assert check_at_size(Case("brc", {})).breach.point == SEALED
