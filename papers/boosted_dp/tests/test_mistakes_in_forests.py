"""Test that the contract check finds a mistake in forests on tables of realistic size."""

from mistakes_any import replacement_of

from privcurve.audit.contract import Case, check_at_size
from privcurve.audit.replay_fits import SEALED
from privcurve.papers.boosted_dp.learners._leaves import shrunk_votes
from privcurve.papers.boosted_dp.learners.dp_forest.classifier import DPForestClassifier


@replacement_of(DPForestClassifier, "_vote")
def votes_shrunk_by_exact_sizes(original, self, weights, margins, call, curator):
    noisy = curator.numbers(call, margins)
    return shrunk_votes(noisy, call.scale, weights.sum(axis=0))


def test_votes_that_exact_sizes_shrink_are_seen(monkeypatch):
    votes_shrunk_by_exact_sizes(monkeypatch)
    breach = check_at_size(Case("dp_forest", {"votes": "shrunk"})).breach
    assert breach.point == SEALED
