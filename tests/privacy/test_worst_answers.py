"""The worst answers to a fit refute published claims exactly, and find mistakes."""

from functools import partial

import pytest
from worst import audit_rows, worst_epsilon

from privcurve.audit.attacks.one_rules import one_rule_distribution
from privcurve.audit.attacks.pairs import (
    misleading_public_column,
)
from privcurve.audit.pairs import cross_columns, flipped_constant
from privcurve.audit.run import VIOLATED
from privcurve.audit.search import search_exact
from privcurve.audit.worst_answers import worst_answers
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.calibration.one_rules import lazybb_one_rule
from privcurve.privacy.sensitivity import lazybb

# Proved claims -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 4, 6])
def test_for_one_choice_the_worst_answer_is_the_exact_loss(n):
    learner = OneRuleClassifier(n_bins=[1], classes=(-1, 1))
    pair = flipped_constant(n)
    exact = search_exact([pair], partial(one_rule_distribution, learner), 1.0, 0.0).epsilon
    assert worst_answers(learner, pair) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
def test_for_several_choices_the_worst_answer_is_a_lower_bound(mechanism):
    learner = LazyBBClassifier(
        n_rounds=3, density=1.0, n_bins=[1], classes=(-1, 1), mechanism=mechanism
    )
    pair = flipped_constant(6)
    exact = search_exact([pair], partial(one_rule_distribution, learner), 1.0, 0.0).epsilon
    assert 0.9 * exact < worst_answers(learner, pair) <= exact * (1 + 1e-6)


def test_mechanisms_without_a_known_loss_are_refused():
    with pytest.raises(ValueError, match="the loss of gaussian"):
        worst_epsilon("noisy_bayes", cross_columns(), delta=1e-2)
    with pytest.raises(ValueError, match="the loss of objective_perturbation"):
        worst_epsilon("dp_logistic_regression", cross_columns())
    with pytest.raises(ValueError, match="tuned: answers in private selection are not released"):
        worst_epsilon("tuned", cross_columns(), learner="noisy_majority")


# Mistakes ------------------------------------------------------------------------------


@pytest.fixture
def _forget_calibrations():
    """Clear the cache, so that it neither hides nor keeps a changed constant."""
    lazybb_one_rule.cache_clear()
    yield
    lazybb_one_rule.cache_clear()


@pytest.mark.usefixtures("_forget_calibrations")
def test_a_public_start_costs_nothing_and_its_refinement_is_refuted(monkeypatch):
    """With a public start a record may have the largest weight in round 1 already."""
    sound = [
        audit_rows("lazybb", calibration=by, pairs=misleading_public_column)
        for by in (PUBLISHED, PROVED)
    ]
    assert [each["found_epsilon"][0] for each in sound] == pytest.approx([0.256, 0.580], abs=1e-3)
    monkeypatch.setattr(lazybb, "lazybb_zeta", lambda n, density: 1 / n)
    lazybb_one_rule.cache_clear()
    row = audit_rows("lazybb", calibration=PROVED, pairs=misleading_public_column).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] == pytest.approx(2.626, abs=1e-3)
