"""Loops that get noise decide by it as announced: at the threshold, and by all of the noise."""

import numpy as np
import pytest
from deciding import assert_replay_finds, half_of_noise, loops_with_other_noise
from mistakes_any import LAZYBB, ONE_RULE, TOPDOWN

from privcurve.audit.contract import Case
from privcurve.audit.contract_cases import CASES
from privcurve.audit.thresholds import check_thresholds
from privcurve.learners import one_rule, trees

# Learners with loops that choose by the curator's noise.
WITH_LOOPS = {"one_rule", "lazybb", "topdown", "distributed_topdown", "dp_bagging", "dpboost"}
WITH_LOOPS |= {"bdpe"}


@pytest.mark.parametrize("case", [case for case in CASES if case.learner in WITH_LOOPS], ids=str)
def test_learners_decide_at_the_threshold(case):
    assert str(check_thresholds(case).breach or "") == ""


def test_no_other_learner_has_such_loops():
    # These take seconds, and let the curator choose.
    skipped = {"aim", "mst", "tuned", *WITH_LOOPS}
    others = {case.learner: case for case in CASES if case.learner not in skipped}
    assert not [name for name, case in others.items() if check_thresholds(case).n_pairs]


# Mistakes ----------------------------------------------------------------------------------------

LABELS = Case("topdown", {"depth": 1})


def half_from_the_second_on(noise):
    return noise * np.where(np.arange(len(noise)) == 0, 1.0, 0.5)[:, None]


def first_for_all(noise):
    return np.broadcast_to(noise[:1], noise.shape)


def none(noise):
    return 0 * noise


def clipped(noise):
    """Clip noise to ±20, but not the huge values by which a replay decides."""
    return np.where(np.abs(noise) > 1e3, noise, np.clip(noise, -20, 20))


def splits_of(given):
    return given[11].splits


def labels_of(given):
    return given[11].labels


RULES_LOOP = one_rule, "pick_literals"
MUTANTS = [
    *loops_with_other_noise(
        half_of_noise, lambda given: given[7], "half_the_noise", *RULES_LOOP, ONE_RULE, LAZYBB
    ),
    *loops_with_other_noise(
        half_from_the_second_on,
        lambda given: given[7],
        "half_from_the_second_round_on",
        *RULES_LOOP,
        LAZYBB,
    ),
    *loops_with_other_noise(
        first_for_all,
        lambda given: given[7],
        "the_noise_of_the_first_round_in_all",
        *RULES_LOOP,
        LAZYBB,
    ),
    *loops_with_other_noise(
        clipped, lambda given: given[7], "noise_without_a_tail", *RULES_LOOP, ONE_RULE
    ),
    *loops_with_other_noise(
        half_of_noise, splits_of, "half_the_noise_of_splits", trees, "grow_trees", TOPDOWN
    ),
    *loops_with_other_noise(
        half_of_noise, labels_of, "half_the_noise_of_labels", trees, "grow_trees", LABELS
    ),
    *loops_with_other_noise(
        none, labels_of, "labels_without_noise", trees, "grow_trees", LABELS, why="of only 2 of "
    ),
]


@pytest.mark.parametrize(("change", "case", "why"), MUTANTS)
def test_a_mistake_is_seen(monkeypatch, change, case, why):
    assert_replay_finds(monkeypatch, change, case, why)
