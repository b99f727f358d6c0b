"""The documented recipe catches learners that an implementation may break; sound ones stand.

The recipe (docs/audit.md): all that real fits leave on the model, on several pairs of tiny
neighbours. One seed is fixed here.
"""

from dataclasses import replace

import mistakes_any as broken
import pytest

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.pairs import several
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import VIOLATED, run
from privcurve.audit.states import sample_states

TARGET = Target("not used", records([[0]], [1], [2]))
SEED = 7

# What is broken, whose claims try it, and how many trainings are enough here.
CASES = [
    (broken.one_number_for_all, "dpboost", 1_000),
    (broken.noise_of_single_precision, "dpboost", 1_000),
]


def recipe(learner):
    """The claims that the recipe gives a learner: whole states."""
    some = ATTACKS[learner]
    return [c for c in some if c.pairs is several and c.sample is sample_states]


def tried(c, n_trainings, seed=SEED):
    fewer = replace(c, n_trainings=n_trainings)
    return run([fewer], TARGET, seed, COMPARISONS).iloc[0]["verdict"]


def ids(case):
    return case if isinstance(case, str) else getattr(case, "__name__", None)


@pytest.mark.slow
@pytest.mark.parametrize(("mistake", "learner", "n_trainings"), CASES, ids=ids)
def test_the_recipe_catches(monkeypatch, mistake, learner, n_trainings):
    """By a certified claim: published noise is twice too much for 1-rules."""
    mistake(monkeypatch)
    certified = [c for c in recipe(learner) if c.calibration == "certified"]
    assert any(tried(c, n_trainings) == VIOLATED for c in certified)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ATTACKS)
def test_a_sound_learner_is_not_flagged(learner):
    """Over all rows of a run the chance is 1e-4. Few trainings are as honest."""
    n = 20 if learner in ("dp_logistic_regression", "brc") else 100
    for c in recipe(learner):
        assert tried(c, n, seed=0) != VIOLATED, c.name
