"""What each entry of a ledger says: a sensitivity that is proved, and a cost that follows from it.

Sensitivities are written out here by hand, from PRIVACY.md and docs, for 300 records of 4 columns.
"""

import math

import pytest
from made_learners import make, problem

from privcurve.privacy.mechanisms import MECHANISMS

N, COLUMNS = 300, 4
KAPPA = 0.5


def m_alpha(alpha):
    """F₁ of a split under the Mα-loss (§0, L2)."""
    return 2 * alpha * math.sqrt(N - 1) + 2 * (1 - alpha)


# Of a Gini split in LazyBB, half of its range (§c): F(ζ, nζ) = 4nζ/(n + 1), with ζ = 1/n.
TREE_SPLIT = 4 / (N + 1)
BOOSTED = {"n_rounds": 2, "density": KAPPA, "learning_rate": 1.0}
TREES = {**BOOSTED, "weak_learner": "topdown", "depth": 2}
# ζ of the second round: the smaller of 1/(κn) and R/(R + n − 1), R = e² (§a).
ZETA_2 = min(1 / (KAPPA * N), math.e**2 / (math.e**2 + N - 1))
BDPE = {"n_trees": 2, "depth": 1, "alpha": 0.3}
DPBOOST = {"n_trees": 2, "trees_per_ensemble": 1, "max_depth": 1, "learning_rate": 0.5}
GAM = {"method": "greedy", "n_steps": 2, "linear": "no"}
LINE = {**GAM, "linear": "yes", "ordered": True}

# Learner, parameters, δ; sensitivities of its mechanisms, in the order of their first use.
PROVED = [
    ("one_rule", {}, 0.0, {"permute_and_flip": [1 / N]}),
    ("one_rule", {}, 1e-5, {"exponential": [1 / N]}),
    ("lazybb", BOOSTED, 0.0, {"permute_and_flip": [1 / N, ZETA_2]}),
    (
        "lazybb",
        {**BOOSTED, "start": "public", "public_columns": (0,)},
        1e-5,
        {"exponential": [1 / (KAPPA * N)]},
    ),
    ("topdown", {"depth": 2}, 0.0, {"permute_and_flip": [TREE_SPLIT], "laplace": [2 / N]}),
    ("topdown", {"depth": 2}, 1e-5, {"exponential": [TREE_SPLIT], "noisy_label": [2 / N]}),
    (
        "topdown",
        {"depth": 2, "leaves": "rules"},
        0.0,
        {"permute_and_flip": [TREE_SPLIT, 1 / N]},
    ),
    (
        "lazybb",
        TREES,
        0.0,
        {
            "permute_and_flip": [TREE_SPLIT, TREE_SPLIT * N * ZETA_2],
            "laplace": [2 / N, 2 * ZETA_2],
        },
    ),
    (
        "lazybb",
        {**TREES, "start": "public", "public_columns": (0,)},
        0.0,
        {"permute_and_flip": [TREE_SPLIT / KAPPA], "laplace": [2 / (KAPPA * N)]},
    ),
    # ΔV of the leaves: min{g*/(1 + λ), 2g*(1 − η)^(t−1)} of a record more or less, twice that.
    (
        "dpboost",
        {**DPBOOST, "regularisation": 0.25},
        0.0,
        {"permute_and_flip": [4.0], "laplace": [2 / 1.25]},
    ),
    (
        "dpboost",
        {**DPBOOST, "learning_rate": 0.75, "regularisation": 0.25},
        1e-5,
        {"permute_and_flip": [4.0], "laplace": [2 / 1.25, 2 * 2 * 0.25]},
    ),
    ("bdpe", BDPE, 0.0, {"permute_and_flip": [m_alpha(0.3)], "laplace": [2.0]}),
    ("bdpe", {**BDPE, "votes": "link"}, 0.0, {"permute_and_flip": [m_alpha(0.3)], "laplace": [2]}),
    ("bdpe", BDPE, 1e-5, {"exponential": [m_alpha(0.3)], "gaussian": [2.0]}),
    (
        "bdpe",
        {**BDPE, "votes": "link"},
        1e-5,
        {"exponential": [m_alpha(0.3)], "gaussian": [math.sqrt(2)]},
    ),
    (
        "bdpe",
        {**BDPE, "votes": "sign"},
        1e-5,
        {"exponential": [m_alpha(0.3)], "noisy_label": [2.0]},
    ),
    (
        "bdpe",
        {**BDPE, "votes": "link", "calibrate_alpha": "released"},
        1e-5,
        {"gaussian": [1.0, math.sqrt(2)], "exponential": [1.0]},
    ),
    ("dp_forest", {}, 0.0, {"laplace": [2.0]}),
    ("dp_forest", {"leaves": "exponential"}, 0.0, {"noisy_label": [2.0]}),
    ("noisy_majority", {}, 0.0, {"laplace": [2.0]}),
    ("dp_bagging", {}, 0.0, {"laplace": [2.0]}),
    ("dp_bagging", {}, 1e-5, {"noisy_label": [2.0]}),
    ("noisy_bayes", {}, 0.0, {"laplace": [2 * COLUMNS]}),
    ("noisy_bayes", {}, 1e-5, {"gaussian": [math.sqrt(2 * COLUMNS)]}),
    ("noisy_bayes", {"n_columns": 3}, 0.0, {"permute_and_flip": [1.0], "laplace": [6.0]}),
    ("noisy_bayes", {"n_columns": 3}, 1e-5, {"exponential": [1.0], "gaussian": [math.sqrt(6)]}),
    ("brc", {"n_rounds": 1}, 0.0, {"laplace": [1 / N]}),
    ("brc", {"n_rounds": 1, "estimate": "edge"}, 1e-5, {"gaussian": [1 / N]}),
    ("brc", {"n_rounds": 1, "intercept": "em"}, 0.0, {"exponential": [1 / N], "laplace": [1 / N]}),
    (
        "boosting_for_people",
        {"n_rounds": 1, "largest": 1.5},
        0.0,
        {"objective_perturbation": [2 * 1.5 * math.sqrt(COLUMNS + 1)], "laplace": [1 / N]},
    ),
    # Rows have the norm 1, or a largest entry of 1.
    ("dp_logistic_regression", {}, 0.0, {"objective_perturbation": [2.0]}),
    ("dp_logistic_regression", {"noise": "box"}, 0.0, {"box_perturbation": [2.0]}),
    ("pate", {"n_teachers": 7, "n_answers": 400}, 0.0, {"laplace": [2 * (400 - 1 + 7)]}),
    # Residuals of two classes: clipped at a half, with their sizes; a batch of two trees.
    ("random_trees", {"n_trees": 4, "batch": 2}, 1e-5, {"gaussian": [math.sqrt(2)]}),
    ("distributed_topdown", {"depth": 1}, 0.0, {"laplace": [2 * COLUMNS]}),
    ("distributed_topdown", {"depth": 1}, 1e-5, {"gaussian": [math.sqrt(2 * COLUMNS)]}),
    # Votes of one holder of all records; of the last level by the zero-one error, 2.
    (
        "distributed_topdown",
        {"depth": 2, "protocol": "local_rnm", "trust": "central"},
        0.0,
        {"exponential": [4 * (N - 1) / N, 2.0], "laplace": [2.0]},
    ),
    (
        "distributed_topdown",
        {"depth": 2, "protocol": "local_rnm", "trust": "central"},
        1e-5,
        {"exponential": [4 * (N - 1) / N, 2.0], "gaussian": [math.sqrt(2)]},
    ),
    # Residuals are clipped at a half: 2c in L1, √2·c in L2; a choice moves by 2c.
    ("privgam", GAM, 0.0, {"laplace": [1.0], "permute_and_flip": [1.0]}),
    ("privgam", GAM, 1e-5, {"gaussian": [math.sqrt(0.5)], "exponential": [1.0]}),
    ("privgam", {**GAM, "neighbours": "add-remove", "n_estimate": N}, 0.0,
     {"laplace": [0.5], "permute_and_flip": [0.5]}),
    # m = 5 with the intercept: products m(m + 1)/8 and √2·m/4, slopes cm and c√m.
    ("privgam", LINE, 0.0, {"laplace": [1.0, 3.75, 2.5], "permute_and_flip": [1.0]}),
    # Every sixth step is one along all columns.
    (
        "privgam",
        {**LINE, "n_steps": 12},
        0.0,
        {"laplace": [1.0, 3.75, 2.5], "permute_and_flip": [1.0]},
    ),
    (
        "privgam",
        LINE,
        1e-5,
        {
            "gaussian": [math.sqrt(0.5), math.sqrt(2) * 5 / 4, 0.5 * math.sqrt(5)],
            "exponential": [1.0],
        },
    ),
]  # fmt: skip


def fitted(name, parameters, delta, calibration="certified"):
    X, y, n_bins = problem(N)
    learner = make(
        name, n_bins=n_bins, delta=delta, calibration=calibration, random_state=0, **parameters
    )
    return learner.fit(X, y)


@pytest.mark.parametrize(("name", "parameters", "delta", "sensitivities"), PROVED)
def test_sensitivities_are_those_that_are_proved(name, parameters, delta, sensitivities):
    statement, found = fitted(name, parameters, delta).privacy_, {}
    assert statement.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    for entry in statement.ledger:
        of_mechanism = found.setdefault(entry.mechanism, [])
        if not any(math.isclose(entry.sensitivity, known) for known in of_mechanism):
            of_mechanism.append(entry.sensitivity)
        # What it costs follows from that, and from the noise.
        check_cost(entry)
    assert found == {key: pytest.approx(values) for key, values in sensitivities.items()}


def check_cost(entry):
    """A number costs rate · Δ, a choice 2 · rate · Δ; of Gaussian noise there is no ε."""
    spent = entry.noise_rate * entry.sensitivity
    if entry.mechanism == "gaussian":
        assert math.isinf(entry.epsilon)
        return
    if entry.mechanism in ("exponential", "permute_and_flip"):
        spent *= 2
    if entry.mechanism in ("objective_perturbation", "box_perturbation"):
        # A part of ε is for the Jacobian.
        assert 0.3 * entry.epsilon < spent <= entry.epsilon
        return
    assert entry.epsilon == pytest.approx(spent, rel=1e-12)
    assert entry.bounded_range in (None, pytest.approx(spent, rel=1e-12))
    ranged = MECHANISMS[entry.mechanism].bounded_range(1.0) is not None
    assert (entry.bounded_range is not None) == ranged


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("dpboost", {}),
        ("bdpe", {"n_trees": 2, "depth": 2, "clamp": 3.0}),
        ("brc", {"n_rounds": 2}),
        ("boosting_for_people", {"n_rounds": 2}),
        ("pate", {}),
        ("topdown", {"n_splits": 2}),
    ],
)
def test_published_entries_cost_what_they_say(name, parameters):
    for entry in fitted(name, parameters, 0.0, "published").privacy_.ledger:
        check_cost(entry)
