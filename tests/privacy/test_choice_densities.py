"""A choice between two learners: the exact density of what is kept, on tiny records.

A run draws the noisy majority or a 1-rule, each as likely. Of both all is known: the density of the
margin, the chance of each literal, and how many records each outcome decides right. The density of
what is kept is Q(y)·f′(u) (docs/tuning.md, 1), computed here from these chances alone.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privcurve.audit.attacks.one_rules import one_rule_distribution
from privcurve.audit.attacks.tuned import beyond
from privcurve.audit.fits import fits
from privcurve.audit.pairs import records
from privcurve.learners import TunedClassifier, tuning
from privcurve.learners.entry import Facts
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.learners.tuning import candidates_of, terms
from privcurve.privacy.selection import UNITS, selection_budget

SETTINGS = [{"learner": "noisy_majority"}, {"learner": "one_rule", "mechanism": "exponential"}]
EPSILON = 1.0


def side(negative_first):
    """Return 40 records of one column, nearly all of which a literal decides; one label differs."""
    counts = [18, 2, 2, 18] if not negative_first else [17, 3, 2, 18]
    return records([[0], [0], [1], [1]], [1, -1, 1, -1], [2], counts)


LEFT, RIGHT = side(False), side(True)


def literal_votes(row, n_bins):
    """Return the vote, −1 or +1, of each literal on a row."""
    # The constant +1 is the literal of a bin that every row is in.
    inside = np.zeros(int(n_bins.sum()) + 1, dtype=np.int64)
    inside[np.cumsum(n_bins) - n_bins + row.astype(np.int64)] = 1
    inside[-1] = 1
    votes = 2 * inside - 1
    return np.stack([votes, -votes], axis=1).ravel()


def outcomes(of, each, margins):
    """Return (log density or chance, records decided right) of what a training may give.

    And the chances of decisions, as the score of a run sees them: (chance, right).
    """
    plus, minus = (int(of.counts[of.labels == sign].sum()) for sign in (1, -1))
    rate = each[0] / 2
    p = math.exp(-rate * abs(plus - minus)) / 2
    positive = 1 - p if plus > minus else p
    found = [
        (math.log(rate / 2) - rate * abs(m - (plus - minus)), plus if m > 0 else minus)
        for m in margins
    ]
    decided = [(positive / 2, plus), ((1 - positive) / 2, minus)]
    rule = OneRuleClassifier(epsilon=each[1], mechanism="exponential", n_bins=[2], classes=(-1, 1))
    chances = one_rule_distribution(rule, of)
    votes = np.array([literal_votes(row, of.n_bins) for row in of.codes])
    rights = ((votes == of.labels[:, None]) * of.counts[:, None]).sum(axis=0)
    for chance, right in zip(chances, rights, strict=True):
        found.append((math.log(chance), int(right)))
        decided.append((chance / 2, int(right)))
    return found, decided


def loss(budget, each):
    """Return the largest log ratio of densities of what is kept, over both orders."""
    units = (np.linspace(-30, 70, 500) * UNITS).astype(np.int64)
    logs = []
    for of in (LEFT, RIGHT):
        found, decided = outcomes(of, each, (-60.0, 60.0))
        assert sum(chance for chance, _ in decided) == pytest.approx(1)
        above = sum(q * beyond(units - UNITS * right, budget.score_scale) for q, right in decided)
        gamma = budget.runs.gamma
        slope = -(1 + budget.runs.eta) * np.log(gamma + (1 - gamma) * above)
        logs.append(
            [
                log - np.abs(units - UNITS * right) / budget.score_scale + slope
                for log, right in found
            ]
        )
    return float(np.abs(np.array(logs[0]) - np.array(logs[1])).max())


def of_shape(eta, expected, share):
    budget = selection_budget(EPSILON, 0.0, eta, expected, share)
    told = terms(candidates_of("", SETTINGS), budget, Facts([2]), LEFT.n)
    return budget, [one.epsilon for one in told]


@pytest.mark.parametrize("shape", [(1.0, 5.0, 0.05), (0.0, 15.0, 0.3), (-0.5, 3.0, 0.9)])
def test_the_mixture_keeps_within_epsilon_and_a_mutant_that_forgets_the_cost_does_not(shape):
    budget, each = of_shape(*shape)
    assert 0.3 * EPSILON < loss(budget, each) <= EPSILON
    # The mutant: every run has all of ε.
    share = shape[2]
    scale = math.ceil(UNITS / (share * EPSILON))
    whole = replace(budget, training=(1 - share) * EPSILON, score_scale=scale)
    assert loss(whole, [whole.training] * 2) > EPSILON


def test_a_candidate_that_spends_more_than_the_others_is_flagged():
    """Each of a mixture has to keep within a run's budget: it is enough that one does not."""
    budget, each = of_shape(1.0, 5.0, 0.05)
    for k in (0, 1):
        more = [3 * one if j == k else one for j, one in enumerate(each)]
        assert loss(budget, more) > EPSILON


def test_the_chances_are_those_of_fits():
    """Which learner is kept, over real fits; calls right ones wrong with a chance of 1e-6."""
    setting = {"settings": SETTINGS, "epsilon": EPSILON, "score_share": 0.5, "expected_runs": 2.0}
    learner = TunedClassifier(**setting, n_bins=[2], classes=(-1, 1))
    n = 200
    kept = [model.learner_ for model in fits(learner, LEFT, n, np.random.default_rng(5))]
    budget, each = of_shape(1.0, 2.0, 0.5)
    assert budget == learner._budget()
    _, decided = outcomes(LEFT, each, ())
    # ∫ Q(one of the rules, score)·f′: over cells of the score, by differences.
    units = (np.linspace(-60, 100, 6_000) * UNITS).astype(np.int64)
    tails = [q * beyond(units - UNITS * right, budget.score_scale) for q, right in decided]
    slope = _slope(budget, sum(tails))
    mass = -np.diff(sum(tails[2:]))
    wanted = float((mass * (slope[1:] + slope[:-1]) / 2).sum())
    seen = kept.count("one_rule")
    assert binom.ppf(5e-7, n, wanted) <= seen <= binom.isf(5e-7, n, wanted)
    assert 0.5 < wanted < 0.9


def _slope(budget, above):
    gamma, eta = budget.runs.gamma, budget.runs.eta
    return budget.runs.mean * (gamma / (gamma + (1 - gamma) * above)) ** (1 + eta)


def test_with_delta_every_candidate_spends_the_same_rho():
    """Of one that offers pure privacy alone too: of Laplace noise ε − 1 + e^−ε."""
    budget = tuning.budget_of(["noisy_majority", "lazybb"], 1.0, 1e-5, 1.0, 5.0, 0.05)
    assert not budget.pure
    candidates = candidates_of("lazybb", [{"learner": "noisy_majority"}, {"n_rounds": 3}])
    told = terms(candidates, budget, Facts([3, 3], (True, True)), 200)
    pure, other = (one.epsilon for one in told)
    spent = pure - 1 + math.exp(-pure)
    assert budget.training * (1 - 2e-3) <= spent <= budget.training * (1 + 1e-9)
    assert other > pure
    alone = tuning.budget_of(["noisy_majority"], 1.0, 1e-5, 1.0, 5.0, 0.05)
    assert alone.pure


def test_candidates_are_checked_one_by_one():
    with pytest.raises(ValueError, match="settings of majority_class can't be chosen privately"):
        candidates_of("lazybb", [{}, {"learner": "majority_class"}])
    with pytest.raises(ValueError, match="one_rule has no parameter 'n_rounds'"):
        candidates_of("lazybb", [{"learner": "one_rule", "n_rounds": 3}])
    with pytest.raises(ValueError, match="settings is empty"):
        candidates_of("lazybb", [])
    with pytest.raises(ValueError, match="random_trees needs a delta above 0"):
        tuning.budget_of(["lazybb", "random_trees"], 1.0, 0.0, 1.0, 5.0, 0.05)
