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


def recipe(learner):
    """The claims that the recipe gives a learner: whole states."""
    some = ATTACKS[learner]
    return [c for c in some if c.pairs is several and c.sample is sample_states]


def tried(c, n_trainings, seed=SEED):
    fewer = replace(c, n_trainings=n_trainings)
    return run([fewer], TARGET, seed, COMPARISONS).iloc[0]["verdict"]


@pytest.mark.slow
def test_the_recipe_catches_one_number_for_all(monkeypatch):
    broken.one_number_for_all(monkeypatch)
    certified = [c for c in recipe("dpboost") if c.calibration == "certified"]
    assert any(tried(c, 1_000) == VIOLATED for c in certified)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ATTACKS)
def test_a_sound_learner_is_not_flagged(learner):
    """Over all rows of a run the chance is 1e-4. Few trainings are as honest."""
    for c in recipe(learner):
        assert tried(c, 20, seed=0) != VIOLATED, c.name
