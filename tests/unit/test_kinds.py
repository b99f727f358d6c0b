"""The kind of a curve follows from how its settings were chosen."""

import math

from privcurve.analysis import kinds
from privcurve.experiments.study import from_mapping


def arms(spec):
    raw = {
        "title": "t", "datasets": ["adult"], "epsilons": [1], "folds": 5, "repeats": 2,
        "learners": {"a": spec},
    }  # fmt: skip
    return list(from_mapping(raw, "made", "made.yaml").arms.values())


def test_one_setting_is_a_rule():
    assert [kinds.kind(arm) for arm in arms({"learner": "privgam"})] == [kinds.RULE]
    varied = arms({"learner": "lazybb", "vary": {"n_rounds": [1, 9]}})
    assert [kinds.kind(arm) for arm in varied] == [kinds.RULE] * 2


def test_the_best_of_a_grid_is_not_private():
    (arm,) = arms({"learner": "lazybb", "grid": {"n_rounds": [1, 9]}})
    assert kinds.kind(arm) == kinds.UNPAID
    # Where every setting is a result, none is taken for the best.
    assert kinds.kind(arm, selected=False) == kinds.RULE


def test_what_pays_for_its_tuning_is_neither():
    (arm,) = arms({"learner": "lazybb", "tune": {"grid": {"n_rounds": [1, 9]}}})
    assert kinds.kind(arm) == kinds.TUNED


def test_without_an_epsilon_nothing_is_private():
    (arm,) = arms({"learner": "gradient_boosting"})
    assert kinds.kind(arm) == kinds.NOT_PRIVATE
    (arm,) = arms({"learner": "lazybb", "grid": {"n_rounds": [1, 9]}})
    assert kinds.kind(arm, math.inf) == kinds.NOT_PRIVATE


def test_the_note_names_each_kind_that_has_an_epsilon():
    said = " ".join(kinds.NOTES)
    assert all(f"'{one}'" in said for one in kinds.KINDS if one != kinds.NOT_PRIVATE)
