"""Test the audit's attack "worst answers" on distributed trees, which finds the largest loss."""

import numpy as np
import pytest
from worst import TARGET, audit_rows, density_claims, worst_epsilon

from privcurve.audit.attacks.pairs import (
    moved_between_leaves,
    torn_columns,
)
from privcurve.audit.pairs import Pair, records
from privcurve.audit.run import run
from privcurve.audit.worst_answers import worst_answers
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.papers.distributed.learners.distributed_topdown import noise
from privcurve.papers.distributed.learners.distributed_topdown.noise import LevelNoise
from privcurve.privacy.budget import PROVED
from privcurve.privacy.ledger import REFUTED


@pytest.mark.slow
def test_published_counts_cost_up_to_twice_their_claim_and_one_machine_anything():
    """The loss of published noise exceeds the claimed ε = 1; on one machine it is infinite.

    If a record moves between two leaves, the counts in leaves have the privacy loss 1, the counts
    of questions at the root 1/2, at the root's children 1/4, and at a grandchild 1/16.
    """
    counts = audit_rows("distributed_topdown", pairs=moved_between_leaves)["found_epsilon"][0]
    assert counts == pytest.approx(1 + 1 / 2 + 1 / 4 + 1 / 16, rel=1e-6)
    (c,) = [
        c for c in density_claims("distributed_topdown") if c.setting.get("protocol") == "single"
    ]
    assert np.isinf(run([c], TARGET, 0, 1)["found_epsilon"][0])


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("trust", ["local", "secure_sum", "central"])
def test_histograms_spend_all_of_epsilon(depth, trust):
    (pair,) = moved_between_leaves(None, None)
    largest = worst_epsilon("distributed_topdown", pair, depth=depth, trust=trust, n_holders=2)
    assert largest == pytest.approx(1, rel=1e-6)


def one_passes_all(n_holders, size):
    """Return neighbouring tables in which replacing one record changes the records of every party.

    Records are dealt to parties in the order of the first column. The replaced record moves from
    the first to the last position, so that each party's first record moves to the previous party.
    Labels and the second column alternate from party to party.
    """
    n = n_holders * size
    sides = []
    for first in (0, n):
        places = np.array([first, *range(1, n)])
        odd = places // size % 2
        sides.append(records(np.c_[places, odd], 2 * odd - 1, (n + 1, 2)))
    return Pair("tiny", "one passes all", *sides)


@pytest.mark.parametrize(
    ("protocol", "n_holders", "loss"),
    [("noisy_counts", k, k) for k in (2, 4, 8)]
    + [("local_rnm", k, loss) for k, loss in ((2, 1.55), (4, 3.15), (8, 6.35))],
)
@pytest.mark.parametrize("placement", ["random", "column"])
def test_a_record_that_moves_between_holders_costs_more_than_is_claimed(
    protocol, n_holders, loss, placement
):
    pair = one_passes_all(n_holders, 9)
    options = {"protocol": protocol, "trust": "local", "depth": 1, "n_holders": n_holders}
    facts = Facts(pair.left.n_bins, ordered=(True, True))
    learner = registry.make("distributed_topdown", facts, {**options, "placement": placement})
    status = learner.fit(pair.left.codes, pair.left.labels).privacy_.status
    if placement == "random":
        assert status == PROVED
        assert worst_answers(learner, pair) <= 1 + 1e-6
    else:
        # Every party's answer changes, so the privacy losses of all parties add up. Without votes,
        # each party loses all of ε through its histograms.
        assert status == REFUTED
        assert worst_answers(learner, pair) == pytest.approx(loss, abs=5e-3)


@pytest.fixture
def _forget_calibrations():
    """Clear the cache of `level_holders` before and after a test that replaces functions in it."""
    noise.level_holders.cache_clear()
    yield
    noise.level_holders.cache_clear()


@pytest.mark.usefixtures("_forget_calibrations")
def test_noise_for_an_added_record_is_found(monkeypatch):
    def less(c, mechanism):
        return noise.feature_histograms_l1(c, "add-remove")

    monkeypatch.setattr(noise, "histograms_sensitivity", less)
    (pair,) = moved_between_leaves(None, None)
    assert worst_epsilon("distributed_topdown", pair, depth=2, n_holders=2) == pytest.approx(2)


@pytest.mark.usefixtures("_forget_calibrations")
def test_votes_at_the_rate_of_an_added_record_are_found(monkeypatch):
    (pair,) = torn_columns(None, None)
    options = {"protocol": "local_rnm", "vote_share": 0.99, "n_holders": 1, "depth": 1}
    sound = LevelNoise.vote_rate
    assert 0.95 < worst_epsilon("distributed_topdown", pair, **options) <= 1 + 1e-6
    monkeypatch.setattr(LevelNoise, "vote_rate", lambda *given: 2 * sound(*given))
    assert worst_epsilon("distributed_topdown", pair, **options) > 1.8
