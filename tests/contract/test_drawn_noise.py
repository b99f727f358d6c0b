"""The noise that a fit draws: how many numbers, each of its own, and on the scale of its ledger."""

import math
from collections import Counter

import numpy as np
import pytest
from made_learners import make, problem

from privcurve.learners import tuned
from privcurve.learners.additive import fitting
from privcurve.privacy.mechanisms import MECHANISMS

N, COLUMNS, CODES = 300, 4, 20
# What multiplies a choice's score or a label's margin is the kernel's: there the noise is standard.
STANDARD = None
FOREST = {"n_trees": 2, "depth": 2}
BDPE = {"n_trees": 1, "depth": 2}
LITERALS = 2 * CODES + 2

# Learner, parameters, δ; of each mechanism how many numbers, on which scale in units of 1/rate of
# which entry of the ledger.
DRAWN = [
    ("noisy_majority", {}, 0.0, [("laplace", 1, 1.0, 0)]),
    ("dp_forest", FOREST, 0.0, [("laplace", 4, 1.0, 0), ("laplace", 4, 1.0, 1)]),
    ("dp_forest", {**FOREST, "leaves": "exponential"}, 0.0, [("noisy_label", 8, 1.0, 0)]),
    ("dp_bagging", {"n_queries": 9}, 0.0, [("laplace", 9, 1.0, 0)]),
    ("dp_bagging", {"n_queries": 9}, 1e-5, [("noisy_label", 9, 1.0, 0)]),
    # Two ensembles of a tree, whose leaves have noise of their own scale.
    (
        "dpboost",
        {"n_trees": 2, "trees_per_ensemble": 1, "max_depth": 2, "learning_rate": 0.75},
        0.0,
        [
            ("permute_and_flip", 2 * 3 * CODES, STANDARD, 0),
            ("laplace", 4, 1.0, 2),
            ("laplace", 4, 1.0, 5),
        ],
    ),
    # Weights are ½ in the first round, and no larger then.
    (
        "bdpe",
        BDPE,
        0.0,
        [("permute_and_flip", 3 * CODES, STANDARD, 0), ("laplace", 4, 0.5, -1)],
    ),
    (
        "bdpe",
        {**BDPE, "votes": "link", "calibrate_alpha": "released"},
        1e-5,
        [
            ("exponential", 3 * CODES, STANDARD, 0),
            ("gaussian", 2, 0.5, 0),
            ("gaussian", 8, 0.5, -1),
        ],
    ),
    ("bdpe", {**BDPE, "votes": "sign", "splits": "random"}, 1e-5, [("noisy_label", 4, 0.5, -1)]),
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


SAMPLERS = ("choose", "discrete_laplace", "rounded_gaussian")
OF_MECHANISMS = {
    "permute_and_flip": ("choose", True),
    "exponential": ("choose", False),
    "laplace": ("discrete_laplace",),
    "gaussian": ("rounded_gaussian",),
}


@pytest.fixture
def sampled(monkeypatch):
    """Take note of what is asked of exact samplers: which, at which scale, how many numbers."""
    found = []

    def noted(module, name):
        own = getattr(module, name)

        def draw(rng, *given):
            if name == "choose":
                scores, scale, flip = given
                found.append(((name, bool(flip)), scale, len(scores)))
            else:
                scale, size = given
                found.append(((name,), scale, size))
            return own(rng, *given)

        monkeypatch.setattr(module, name, draw)

    for name in SAMPLERS:
        noted(fitting, name)
    for name in SAMPLERS[1:]:
        noted(tuned, name)
    return found


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_privgam_samples_as_its_ledger_says(sampled, delta):
    """On the grid of 2^-30: scales are 2^30/rate, rounded up; a number for each label and bin."""
    X, y, n_bins = problem(N)
    learner = make("privgam", n_bins=n_bins, delta=delta, method="greedy", n_steps=3, linear="no",
                   random_state=0)  # fmt: skip
    ledger = learner.fit(X, y).privacy_.ledger
    assert len(sampled) == len(ledger) == 2 + 2 * 3
    for (what, scale, size), entry in zip(sampled, ledger, strict=True):
        assert what == OF_MECHANISMS[entry.mechanism]
        assert 2**30 / scale <= entry.noise_rate < 2**30 / (scale - 1)
        if what[0] == "choose":
            # The intercept is a column too.
            assert size == COLUMNS + 1
            chosen_of = entry
        else:
            # Pure, the margin of the labels comes first, as one number.
            first = entry is ledger[0]
            assert size in ({1} if first and delta == 0 else {2 * k for k in (1, *n_bins)})
    assert chosen_of.what.endswith("choice of a column")


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_privgams_linear_part_samples_as_its_ledger_says(sampled, delta):
    """Products: m on the diagonal, m(m − 1)/2 beside it, which with Gaussian noise need half."""
    X, y, n_bins = problem(N)
    learner = make("privgam", n_bins=n_bins, delta=delta, method="greedy", n_steps=1, linear="yes",
                   ordered=True, random_state=0)  # fmt: skip
    ledger = learner.fit(X, y).privacy_.ledger
    m = COLUMNS + 1
    products, beside, *slopes = (sampled[k] for k in range(1, 9))
    assert (products[2], beside[2]) == (m, m * (m - 1) // 2)
    rate = ledger[1].noise_rate
    assert 2**20 / products[1] <= rate < 2**20 / (products[1] - 1)
    # Frobenius' norm counts an element beside the diagonal twice: variance σ²/2.
    apart = rate if delta == 0 else rate * math.sqrt(2)
    assert 2**20 / beside[1] <= apart * (1 + 1e-12)
    assert beside[1] == math.ceil(2**20 / apart)
    for (what, scale, size), entry in zip(slopes, ledger[2:], strict=False):
        assert what == OF_MECHANISMS[entry.mechanism]
        assert size == m
        assert 2**30 / scale <= entry.noise_rate < 2**30 / (scale - 1)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_scores_of_private_selection_have_the_noise_of_its_ledger(sampled, delta):
    """A record counts 2^20; of each run one number, whose rate is that of a record."""
    X, y, n_bins = problem(N)
    learner = make("tuned", learner="one_rule", n_bins=n_bins, delta=delta, random_state=0)
    entry = learner.fit(X, y).privacy_.ledger[1]
    assert sampled
    for what, scale, size in sampled:
        assert what == OF_MECHANISMS[entry.mechanism]
        assert size == 1
        assert entry.noise_rate == 2**20 / scale
    assert entry.sensitivity == 1.0
