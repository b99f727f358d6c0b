"""Mistakes in 1-rules, trees and LazyBB: each breaks a named point of the contract."""

import audit_broken as broken
import pytest
from audit_less_noise import curator_with

from privcurve.audit.contract import CHARGE, NOISE, POST_PROCESSING, SENSITIVITY, Case, check

RULES = Case("lazybb", {"n_rounds": 3, "density": 0.5})
ONE = Case("one_rule", {})
TREE = Case("topdown", {"depth": 2})
BOOSTED = Case("lazybb", {"weak_learner": "topdown", "depth": 1, "n_rounds": 2, "density": 0.5})


def a_tenth_of_the_noise(patch):
    """Whatever is drawn, times 0.1."""
    curator_with(patch, 0.1)


@pytest.mark.parametrize(
    ("mistake", "case", "point"),
    [
        (broken.same_numbers_in_all_rounds, RULES, CHARGE),
        (a_tenth_of_the_noise, ONE, NOISE),
        (a_tenth_of_the_noise, RULES, NOISE),
        (a_tenth_of_the_noise, TREE, NOISE),
        (broken.stops_when_all_are_right, RULES, POST_PROCESSING),
        (broken.counts_distinct_rows, ONE, SENSITIVITY),
        (broken.counts_distinct_rows, RULES, SENSITIVITY),
        (broken.empty_leaves_say_nothing, TREE, POST_PROCESSING),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_mistake_breaks_a_point(monkeypatch, mistake, case, point):
    mistake(monkeypatch)
    (found,) = check(case, n_random=20 if point == NOISE else 60).broken
    assert found.point == point


@pytest.mark.parametrize("case", [RULES, ONE, TREE, BOOSTED], ids=str)
def test_sound_learners_keep_all_points(case):
    assert not check(case).broken
