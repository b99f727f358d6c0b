"""Test that the audit finds loops of DPBoost and DP bagging that decide with wrong noise.

Each mistake changes the noise, or the scores to which it is added, within a compiled loop. The
mechanism call still has the correct noise scale, so only a replay of the loop's decisions can find
the mistake.
"""

import numpy as np
import pytest
from deciding import THRESHOLD, assert_replay_finds, half_of_noise, loops_with_other_noise
from mistakes_any import DP_BAGGING, DPBOOST

from privcurve.audit.contract import check
from privcurve.papers.thesis.learners.dp_bagging import classifier as dp_bagging
from privcurve.papers.thesis.learners.dpboost import classifier as dpboost
from privcurve.privacy.sealed import mechanism


def answering(called, answer, why=THRESHOLD):
    def put_in(patch):
        patch.setattr(dp_bagging, "answer_by_sign", mechanism(answer))

    return pytest.param(put_in, DP_BAGGING, why, id=called)


def votes_counted_twice(noise, scores):
    noise += scores
    return noise + scores > 0


def votes_rounded(noise, scores):
    decided = noise + np.rint(scores) > 0
    noise += scores
    return decided


def negative_votes_left_out(noise, scores):
    decided = noise + np.maximum(scores, 0) > 0
    noise += scores
    return decided


def a_margin_of_half_a_vote(noise, scores):
    noise += scores
    return noise > 0.5


def noise_scaled_in_place(noise, scores):
    noise *= 0.5
    noise += scores
    return noise > 0


LOOP = dpboost, "grow_on_chunk"
MUTANTS = [
    *loops_with_other_noise(
        half_of_noise, lambda given: given[7], "half_the_noise", *LOOP, DPBOOST, released=False
    ),
    *(
        answering(answer.__name__, answer)
        for answer in (
            votes_counted_twice,
            votes_rounded,
            negative_votes_left_out,
            a_margin_of_half_a_vote,
        )
    ),
    answering("noise_scaled_in_place", noise_scaled_in_place, "or scales the noise"),
]


@pytest.mark.parametrize(("change", "case", "why"), MUTANTS)
def test_a_mistake_is_seen(monkeypatch, change, case, why):
    assert_replay_finds(monkeypatch, change, case, why)


def test_neighbours_do_not_show_votes_that_count_twice(monkeypatch):
    """Comparing neighbours does not find that votes count twice; threshold replay does.

    The comparison sees only the scores that the mechanism call records, and these are correct.
    """
    monkeypatch.setattr(dp_bagging, "answer_by_sign", mechanism(votes_counted_twice))
    assert check(DP_BAGGING, n_random=6).breach is None
