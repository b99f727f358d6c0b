"""The noise that a fit draws: how many numbers, each of its own, and on the scale of its ledger."""

import math
from collections import Counter

import numpy as np
import pytest
from made_learners import make, problem

from privcurve.privacy.mechanisms import MECHANISMS

N, COLUMNS, CODES = 300, 4, 20
# What multiplies a choice's score or a label's margin is the kernel's: there the noise is standard.
STANDARD = None
LITERALS = 2 * CODES + 2

# Learner, parameters, δ; of each mechanism how many numbers, on which scale in units of 1/rate of
# which entry of the ledger.
DRAWN = [
    ("lazybb", {"n_rounds": 2}, 0.0, [("permute_and_flip", 2 * LITERALS, STANDARD, 0)]),
    (
        "topdown",
        {"depth": 2},
        1e-5,
        [("exponential", 3 * CODES, STANDARD, 0), ("logistic", 7, STANDARD, 0)],
    ),
    (
        "topdown",
        {"depth": 2, "leaves": "rules"},
        0.0,
        # A split of the root, and a rule at either node.
        [("permute_and_flip", CODES + 2 * LITERALS, STANDARD, 0)],
    ),
    # Of two classes two numbers a leaf.
    (
        "random_trees",
        {"n_trees": 3, "batch": 2, "depth": 2, "trust": "central"},
        1e-5,
        [("gaussian", 3 * 4 * 2, 1.0, 0)],
    ),
    (
        "random_trees",
        {"n_trees": 1, "depth": 2, "trust": "secure_sum", "n_holders": 4, "n_colluding": 1},
        1e-5,
        # Three shares make up the noise, and each of four holders adds one.
        [("gaussian", 4 * 4 * 2, 1 / math.sqrt(3), 0)],
    ),
    (
        "distributed_topdown",
        {"depth": 1, "trust": "central"},
        1e-5,
        [("gaussian", 2 * CODES, 1.0, 0)],
    ),
]


@pytest.fixture
def drawn():
    """Take note of what mechanisms draw: name, scale, and the numbers."""
    found = []
    own = {name: mechanism.draw for name, mechanism in MECHANISMS.items()}

    def noted(name):
        def draw(rng, size, scale=1.0):
            numbers = own[name](rng, size, scale)
            found.append((name, float(scale), numbers.copy()))
            return numbers

        return draw

    for name, mechanism in MECHANISMS.items():
        object.__setattr__(mechanism, "draw", noted(name))
    yield found
    for name, mechanism in MECHANISMS.items():
        object.__setattr__(mechanism, "draw", own[name])


@pytest.mark.parametrize(("name", "parameters", "delta", "expected"), DRAWN)
def test_the_noise_of_a_fit_is_that_of_its_ledger(drawn, name, parameters, delta, expected):
    X, y, n_bins = problem(N)
    learner = make(name, n_bins=n_bins, delta=delta, random_state=0, **parameters)
    ledger = learner.fit(X, y).privacy_.ledger
    asked = Counter()
    for mechanism, number, scale, entry in expected:
        of_ledger = 1.0 if scale is STANDARD else scale / ledger[entry].noise_rate
        asked[mechanism, float(f"{of_ledger:.9g}")] += number
    had = Counter()
    for mechanism, scale, numbers in drawn:
        had[mechanism, float(f"{scale:.9g}")] += numbers.size
    assert had == asked
    # No number twice.
    everything = np.concatenate([numbers.ravel() for *_, numbers in drawn])
    assert len(np.unique(everything)) == len(everything)
