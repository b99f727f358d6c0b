"""Texts of a guarantee, and the check of ε and δ."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.registry import entry
from privcurve.privacy.budget import NEIGHBOURS, check_budget, relation
from privcurve.privacy.sensitivity.counts import touched_cells

NOT_EPSILON = r"^a_learner: epsilon must be a number > 0 \(inf: not private\); got "
NOT_DELTA = r"^delta must be a number in \[0, 1\); got "
TOO_SMALL = r"^delta must be 0 or at least 1e-300; got .*too small"


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        *[
            ((epsilon, 0.0, "a_learner"), NOT_EPSILON)
            for epsilon in (True, np.True_, math.nan, 0, -1.0, "1", None, 1j, [1.0], np.ones(1))
        ],
        *[((1.0, delta), NOT_DELTA) for delta in (False, math.nan, -1e-9, 1.0, math.inf, "0")],
        # Arithmetic would lose these.
        *[((1.0, delta), TOO_SMALL) for delta in (1e-320, 9e-301, 5e-324)],
    ],
    ids=str,
)
def test_invalid_budgets(budget, message):
    with pytest.raises(ValueError, match=message):
        check_budget(*budget)


@pytest.mark.parametrize("epsilon", [1, 1e-300, math.inf, np.float32(0.5), np.int64(3)])
@pytest.mark.parametrize("delta", [0, 1e-300, 1e-9, np.float64(0.5)])
def test_valid_budgets(epsilon, delta):
    check_budget(epsilon, delta)


@pytest.mark.parametrize(
    "number", [10**400, 10**5000, Fraction(10**400)], ids=["large", "too long to print", "fraction"]
)
def test_a_number_beyond_floats_is_no_budget(number):
    for budget in ({"epsilon": number, "delta": 0.0}, {"epsilon": 1.0, "delta": number}):
        with pytest.raises(ValueError, match=r"a_learner: \w+ must be at most the largest float"):
            check_budget(**budget, who="a_learner")
    with pytest.raises(ValueError, match=r"lazybb: epsilon must be at most the largest float"):
        LazyBBClassifier(epsilon=number, n_bins=2).fit([[0], [1]], [0, 1])


def test_a_number_beyond_floats_is_no_hyperparameter():
    message = r"lazybb: learning_rate must be a number in \(0, 1\]; got 10{400}"
    with pytest.raises(ValueError, match=message):
        entry("lazybb").check_parameters({"learning_rate": 10**400})


def test_relations():
    assert [one.name for one in NEIGHBOURS] == ["replace-one", "private-columns", "add-remove"]
    assert [touched_cells(one.name) for one in NEIGHBOURS] == [2.0, 2.0, 1.0]
    assert all(relation(one.name) is one and one.description for one in NEIGHBOURS)
    with pytest.raises(ValueError, match=r"^neighbours must be one of .*; got 'twins'"):
        relation("twins")
