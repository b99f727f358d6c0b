"""Loops that get noise decide by it as announced: at the threshold, and by all of their noise."""

import numpy as np
import pytest
from mistakes_any import GRADIENT, RULE, RULES, TREE, TWO
from mistakes_ensembles import BAGGING

from privcurve.audit.contract import Case, check
from privcurve.audit.contract_cases import CASES, MANY
from privcurve.audit.replay_fits import NOISE
from privcurve.audit.thresholds import check_thresholds
from privcurve.learners import bdpe, dp_bagging, one_rule, trees
from privcurve.learners.boosting import dpboost
from privcurve.privacy.sealed import mechanism

# Learners whose loops choose by the curator's noise.
WITH_LOOPS = {"one_rule", "lazybb", "topdown", "distributed_topdown", "dp_bagging", "dpboost"}
WITH_LOOPS |= {"bdpe"}


@pytest.mark.parametrize("case", [case for case in CASES if case.learner in WITH_LOOPS], ids=str)
def test_learners_decide_at_the_threshold(case):
    assert str(check_thresholds(case).breach or "") == ""


def test_no_other_learner_has_such_loops():
    # These take seconds, and ask the curator itself.
    skipped = {"aim", "mst", "tuned", *WITH_LOOPS}
    others = {case.learner: case for case in CASES if case.learner not in skipped}
    assert not [name for name, case in others.items() if check_thresholds(case).n_pairs]


# Mistakes ----------------------------------------------------------------------------------------

BOOSTED, TREES = Case("dpboost", GRADIENT, sizes=MANY), Case("bdpe", TWO)
LABELS = Case("topdown", {"depth": 1})
MUTANTS = []


def deciding_by(change, noise_of, called, owner, name, *cases, why="from the threshold a loop"):
    """A loop that decides by other noise, and shows the replay what is announced.

    `change` gets the noise and returns what decides; `noise_of` finds the noise of a call.
    """

    def put_in(patch):
        loop = getattr(owner, name).__wrapped__

        def changed(*given):
            noise = noise_of(given)
            kept = noise.copy()
            noise[...] = decides = change(noise)
            decides = decides.copy()
            answer = loop(*given)
            noise[...] = kept + (noise - decides)
            return answer

        released = owner is not dpboost
        patch.setattr(owner, name, mechanism(changed, released=released))

    MUTANTS.extend(pytest.param(put_in, case, why, id=f"{called}-{case}") for case in cases)


def half(noise):
    return noise / 2


def half_from_the_second_on(noise):
    return noise * np.where(np.arange(len(noise)) == 0, 1.0, 0.5)[:, None]


def first_for_all(noise):
    return np.broadcast_to(noise[:1], noise.shape)


def none(noise):
    return 0 * noise


def clipped(noise):
    """It keeps the order of what the script's answers are."""
    return np.where(np.abs(noise) > 1e3, noise, np.clip(noise, -20, 20))


def splits_of(given):
    return given[11].splits


def labels_of(given):
    return given[11].labels


RULES_LOOP = one_rule, "pick_literals"
deciding_by(half, lambda given: given[7], "half_the_noise", *RULES_LOOP, RULE, RULES)
deciding_by(
    half_from_the_second_on, lambda given: given[7], "half_from_the_second_round_on", *RULES_LOOP,
    RULES,
)  # fmt: skip
deciding_by(
    first_for_all, lambda given: given[7], "the_noise_of_the_first_round_in_all", *RULES_LOOP,
    RULES,
)  # fmt: skip
deciding_by(clipped, lambda given: given[7], "noise_without_a_tail", *RULES_LOOP, RULE)
deciding_by(half, splits_of, "half_the_noise_of_splits", trees, "grow_trees", TREE)
deciding_by(half, labels_of, "half_the_noise_of_labels", trees, "grow_trees", LABELS)
deciding_by(none, labels_of, "labels_without_noise", trees, "grow_trees", LABELS, why="of 2 of ")
deciding_by(half, lambda given: given[7], "half_the_noise", dpboost, "grow_on_chunk", BOOSTED)
deciding_by(half, lambda given: given[10], "half_the_noise", bdpe, "grow_released", TREES)


def answering(called, answer, why="from the threshold a loop"):
    def put_in(patch):
        patch.setattr(dp_bagging, "answer_by_sign", mechanism(answer))

    MUTANTS.append(pytest.param(put_in, BAGGING, why, id=called))


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


for _answer in (votes_counted_twice, votes_rounded, negative_votes_left_out):
    answering(_answer.__name__, _answer)
answering("a_margin_of_half_a_vote", a_margin_of_half_a_vote)


def noise_scaled_in_place(noise, scores):
    noise *= 0.5
    noise += scores
    return noise > 0


answering("noise_scaled_in_place", noise_scaled_in_place, "or scales the noise")


@pytest.mark.parametrize(("change", "case", "why"), MUTANTS)
def test_a_mistake_is_seen(monkeypatch, change, case, why):
    change(monkeypatch)
    breach = check_thresholds(case).breach
    assert breach.point == NOISE
    assert why in breach.why, breach.why


def test_neighbours_do_not_show_votes_that_count_twice(monkeypatch):
    """Why there is a threshold replay: the recorded scores are right."""
    monkeypatch.setattr(dp_bagging, "answer_by_sign", mechanism(votes_counted_twice))
    assert check(BAGGING, n_random=6).breach is None
