"""Boosted ensembles: what is published is refuted; attacks on what is certified find nothing.

That certified ones keep the contract, and that mistakes break it, is in test_contract.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.ensembles import sample_leverages
from privcurve.audit.claim import EXACT, SAMPLED
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import FOUND_NOTHING, STANDS, VIOLATED, run

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (60, 2)), RNG.choice([-1, 1], 60), [3, 3]))
SEED = 7


def claims(method, calibration="certified", learner="bdpe", **setting):
    return [
        c
        for c in ATTACKS[learner].claims
        if (c.method, c.calibration) == (method, calibration)
        and all(c.setting.get(key) == value for key, value in setting.items())
    ]


@pytest.mark.parametrize("n_trainings", [600, pytest.param(2_000, marks=pytest.mark.slow)])
def test_published_leverages_are_refuted(n_trainings):
    """Of a label that was flipped, whether it was is seen in every fit."""
    some = [c for c in claims(SAMPLED, "published") if c.sample is sample_leverages]
    some = [replace(c, n_trainings=n_trainings) for c in some]
    rows = run(some, TARGET, SEED, COMPARISONS)
    assert len(rows) == 3
    assert set(rows["verdict"]) == {VIOLATED}
    assert (rows["found_epsilon"] >= 4).all()
    assert rows["not_covered"].str.startswith("refuted: the leveraging coefficients").all()


def test_published_leaves_are_refuted_even_if_the_leverage_is_public():
    (c,) = claims(EXACT, "published")
    row = run([c], TARGET, SEED, COMPARISONS).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] > 4
    assert "before they are clamped" in row["not_covered"]


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["bdpe", "dp_forest", "noisy_majority"])
def test_sampled_certified_ones_stand(learner):
    """A sound learner is called violated with a chance of 1e-4 over all rows of a run."""
    rows = run(claims(SAMPLED, learner=learner), TARGET, SEED, COMPARISONS)
    assert set(rows["verdict"]) <= {STANDS, FOUND_NOTHING}
