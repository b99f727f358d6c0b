"""Private selection: its theorems on mechanisms with known probabilities, and its attack.

The tests compute the probability of each result from the distributions of K and of a run, in
another way than the bounds do.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from privcurve.audit.attacks.tuned import CLAIMS, MAJORITY, one_sided, tail_probability
from privcurve.audit.claim import DENSITY
from privcurve.audit.fits import fits
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import STANDS, VIOLATED, run
from privcurve.learners import tuned
from privcurve.learners.entry import Facts
from privcurve.learners.shared import tuning
from privcurve.learners.shared.tuning import candidates_of, terms
from privcurve.learners.tuned import TunedClassifier
from privcurve.privacy.accountants.compose import compose, gaussian_delta
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, PURE_KIND, Cost, zcdp_delta
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import selection_statement
from privcurve.privacy.selection import UNITS, epsilon_that_spends, runs, runs_of, selection_budget

SHAPES = [(1.0, 5.0), (0.0, 15.0), (-0.5, 4.0), (2.0, 3.0), (1.0, 1.0), (0.0, 1.5)]
shapes = pytest.mark.parametrize(("eta", "expected"), SHAPES)
DRAWS = 20_000


def kept_probabilities(each, law):
    """Return the probability that each output is kept as the best of K runs.

    `each` has the probabilities of the outputs of one run, from the worst output to the best. The
    result is computed from f, the probability generating function of K.
    """
    below = np.concatenate([[0.0], np.cumsum(each)])
    gap = 1 - law.gamma
    w = 1 - gap * below / below[-1]
    if law.gamma == 1:
        f = below / below[-1]
    elif law.eta == 0:
        f = np.log(w) / math.log(law.gamma)
    else:
        f = np.expm1(-law.eta * np.log(w)) / math.expm1(-law.eta * math.log(law.gamma))
    return np.diff(f)


@pytest.mark.parametrize(("eta", "expected"), [(1.0, 5.0), (0.0, 6.0), (-0.5, 4.0), (1.0, 1.0)])
def test_the_best_of_k_runs_is_kept(eta, expected):
    law, each = runs(eta, expected), np.array([0.1, 0.2, 0.05, 0.65])
    below = np.concatenate([[0.0], np.cumsum(each)])
    sums = np.power.outer(below, np.arange(1, 4_001)) @ np.array(law.chances(4_000))
    assert kept_probabilities(each, law) == pytest.approx(np.diff(sums), abs=1e-6)


@shapes
def test_the_number_of_runs_has_the_mean_that_was_asked_for(eta, expected):
    law = runs(eta, expected)
    chances = np.array(law.chances(60_000))
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    assert chances @ np.arange(1, len(chances) + 1) == pytest.approx(expected, rel=1e-6)
    assert law.mean == pytest.approx(expected, rel=1e-12)
    assert runs_of(law.name) == law


def test_the_two_known_distributions():
    geometric, logarithmic = runs(1.0, 4.0), runs(0.0, 4.0)
    k = np.arange(1, 30)
    assert geometric.chances(29) == pytest.approx(0.25 * 0.75 ** (k - 1))
    gap = 1 - logarithmic.gamma
    assert logarithmic.chances(29) == pytest.approx(-(gap**k) / (k * math.log(1 - gap)))


@shapes
def test_the_number_of_runs_is_drawn_with_its_chances(eta, expected):
    """False alarm: 1e-6 each."""
    law, rng = runs(eta, expected), np.random.default_rng(4)
    drawn = np.array([law.draw(rng) for _ in range(DRAWS)])
    chances = law.chances(8)
    seen = [int((drawn == k).sum()) for k in range(1, 9)]
    seen.append(DRAWS - sum(seen))
    wanted = DRAWS * np.array([*chances, max(0.0, 1 - sum(chances))])
    likely = wanted > 1e-6
    assert sum(np.array(seen)[~likely]) == 0
    statistic = ((np.array(seen)[likely] - wanted[likely]) ** 2 / wanted[likely]).sum()
    assert statistic <= chi2.isf(1e-6, max(1, likely.sum() - 1))


@pytest.mark.parametrize("bad", [(-1, 5), (math.inf, 5), (1, 0.5), (1, math.nan), (1, math.inf)])
def test_numbers_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match=r"eta|expected_runs"):
        runs(*map(float, bad))


@pytest.mark.parametrize(("eta", "expected"), [(-0.999, 5.0), (-0.99, 1000.0)])
def test_an_eta_that_leaves_no_number_is_refused(eta, expected):
    with pytest.raises(
        ValueError, match=f"eta must be larger for expected_runs = .* got {eta}, too close"
    ):
        runs(eta, expected)
    assert runs(-0.9, 1000.0).mean == pytest.approx(1000)


@shapes
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_stated_cost_of_pure_selection_is_attained(eta, expected, epsilon):
    law = runs(eta, expected)
    bound = law.epsilon(epsilon)
    rng = np.random.default_rng(1)
    for _ in range(40):
        # Two random distributions with a ratio within e^ε, in any order of their outputs.
        ratio = np.exp(epsilon * rng.uniform(-0.5, 0.5, 6))
        left = rng.dirichlet(np.full(6, 0.5)) + 1e-9
        right = left * ratio
        loss = np.abs(np.log(kept_probabilities(left, law) / kept_probabilities(right, law))).max()
        assert loss <= bound * (1 + 1e-6) + 1e-9
    # The worst case: an unlikely output between the two answers of randomised response.
    p, tiny = 1 / (1 + math.exp(epsilon)), 1e-7
    sides = np.array([[1 - p, tiny, p], [p, tiny * math.exp(-epsilon), 1 - p]])
    loss = np.log(kept_probabilities(sides[0], law)[1] / kept_probabilities(sides[1], law)[1])
    assert loss == pytest.approx(bound, rel=1e-5)
    assert bound <= (2 + eta) * epsilon + 1e-9


def gaussians(mu, points=300):
    """Return the probabilities of N(0, 1) and N(μ, 1) in cells of the line.

    Cells are post-processing, so that the two distributions are μ²/2-zCDP.
    """
    edges = np.linspace(-9, 9 + mu, points)
    edges[0], edges[-1] = -np.inf, np.inf
    return np.diff(norm.cdf(edges)), np.diff(norm.cdf(edges - mu))


def hockey_stick(left, right, epsilon):
    return float(np.maximum(left - math.exp(epsilon) * right, 0).sum())


@pytest.mark.parametrize(("eta", "expected"), SHAPES[:3])
@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.3), (0.5, 1.5), (1.0, 4.0)])
def test_selection_among_gaussians_costs_at_most_the_stated_epsilon(eta, expected, mu, epsilon):
    law = runs(eta, expected)
    left, right = gaussians(mu)
    worst = 0.0
    for sides, step in itertools.product(((left, right), (right, left)), (1, -1)):
        kept_sides = [kept_probabilities(side[::step], law) for side in sides]
        worst = max(worst, hockey_stick(*kept_sides, epsilon))
    bound = law.delta(mu**2 / 2, epsilon)
    assert 0 < worst <= bound
    # The exact profile of Gaussian noise gives a smaller loss.
    slope = law.profile_slope(lambda each: gaussian_delta(mu, each), epsilon)
    near = law.mean * gaussian_delta(mu, epsilon - slope)
    assert worst <= near <= bound
    # The best of several runs costs more than one run.
    assert worst > gaussian_delta(mu, epsilon)
    # Two bounds of the same cost; the bound from the profile is smaller here.
    sharp = law.profile_slope(lambda each: zcdp_delta(mu**2 / 2, each), epsilon)
    assert sharp <= law.rho_slope(mu**2 / 2)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_budget_that_forgets_the_cost_is_too_much(delta):
    """If each run spends all of ε, the best of several breaks the claim."""
    law = runs(1.0, 5.0)
    if delta == 0:
        p, tiny = 1 / (1 + math.e), 1e-7
        sides = np.array([[1 - p, tiny, p], [p, tiny / math.e, 1 - p]])
        assert (
            np.log(kept_probabilities(sides[0], law)[1] / kept_probabilities(sides[1], law)[1]) > 2
        )
        return
    mu = mu_of(1.0, delta)
    left, right = gaussians(mu, 2_000)
    assert hockey_stick(left, right, 1.0) <= delta
    assert (
        hockey_stick(kept_probabilities(right, law), kept_probabilities(left, law), 1.0) > 4 * delta
    )
    paid = math.sqrt(2 * selection_budget(1.0, delta, 1.0, 5.0, 0.05).training)
    left, right = gaussians(paid, 2_000)
    assert hockey_stick(kept_probabilities(right, law), kept_probabilities(left, law), 1.0) <= delta


def mu_of(epsilon, delta):
    """Return μ of Gaussian noise that spends a budget, exactly."""
    low, high = 1e-6, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) < delta else (low, middle)
    return low


@shapes
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
def test_training_and_score_add_up_to_the_budget(eta, expected, delta, epsilon):
    budget = selection_budget(epsilon, delta, eta, expected, 0.1)
    statement = selection_statement(budget, "lazybb", 3)
    assert statement.epsilon_spent == pytest.approx(epsilon, rel=1e-9)
    assert statement.epsilon_spent <= epsilon * (1 + 1e-12)
    score = (UNITS / budget.score_scale) ** (1 if delta == 0 else 2) / (1 if delta == 0 else 2)
    assert score / (score + budget.training) == pytest.approx(0.1, rel=1e-3)
    assert score / (score + budget.training) <= 0.1
    cost = budget.training_epsilon
    assert cost < epsilon
    assert (expected == 1) == (cost > 0.9 * epsilon)


def test_the_table_of_docs_tuning_is_what_the_code_gives():
    table = {
        (1e-5, 1.0, 5.0): (0.029, 0.059, 0.31, 0.64, 1.98),
        (1e-5, 0.0, 15.0): (0.026, 0.054, 0.29, 0.59, 1.85),
        (0.0, 1.0, 5.0): (0.020, 0.041, 0.20, 0.41, 1.28),
        (0.0, 0.0, 15.0): (0.024, 0.048, 0.24, 0.48, 1.46),
    }
    for (delta, eta, expected), printed in table.items():
        for epsilon, value in zip((0.05, 0.1, 0.5, 1.0, 3.0), printed, strict=True):
            budget = selection_budget(epsilon, delta, eta, expected, 0.05).training_epsilon
            assert budget == pytest.approx(value, abs=0.006 if value > 0.1 else 0.0006)


def test_for_pure_runs_the_smaller_of_two_bounds_counts():
    name = runs(1.0, 5.0).name
    costs = [Cost(PURE_KIND, 0.3)]
    pure = runs(1.0, 5.0).epsilon(0.3)
    assert compose(name, costs, 0.0) == pure
    assert compose(name, costs, 1e-9) == pure
    assert compose(name, [Cost(PURE_KIND, 0.01, 400)], 1e-2) < runs(1.0, 5.0).epsilon(4.0)
    with pytest.raises(ValueError, match="an accountant must be one of"):
        compose("private selection", costs, 0.0)
    assert compose(name, [Cost(GAUSSIAN_KIND, 0.1)], 1e-5) > 0.4


@pytest.mark.parametrize("power", [0.5, 2.0, 4.0])
def test_the_epsilon_that_spends_rho_is_found_from_below(power):
    largest = epsilon_that_spends(0.02, lambda epsilon: 0.3 * epsilon**power, 1.0)
    assert 0.02 * (1 - 2e-3) <= 0.3 * largest**power <= 0.02
    with pytest.raises(ValueError, match="must have a rho"):
        epsilon_that_spends(0.02, lambda epsilon: math.inf, 1.0)


@pytest.mark.slow
def test_with_delta_every_candidate_spends_the_same_rho():
    """A candidate with pure privacy spends ρ, too: Laplace noise spends ε − 1 + e^−ε."""
    budget = tuning.budget_of(["noisy_majority", "lazybb"], 1.0, 1e-5, 1.0, 5.0, 0.05)
    assert not budget.pure
    candidates = candidates_of("lazybb", [{"learner": "noisy_majority"}, {"n_rounds": 3}])
    result = terms(candidates, budget, Facts([3, 3], (True, True)), 200)
    pure, other = (one.epsilon for one in result)
    spent = pure - 1 + math.exp(-pure)
    assert budget.training * (1 - 2e-3) <= spent <= budget.training * (1 + 1e-9)
    assert other > pure
    alone = tuning.budget_of(["noisy_majority"], 1.0, 1e-5, 1.0, 5.0, 0.05)
    assert alone.pure


# The attack ------------------------------------------------------------------------------

TARGET = Target("drawn", records([[0], [1], [1]], [1, -1, 1], [2]))
DENSITIES = [c for c in CLAIMS if c.method == DENSITY]


def test_the_exact_audit_finds_much_of_the_budget_and_no_violation():
    rows = run(DENSITIES, TARGET, 0, 1)
    assert set(rows["verdict"]) == {STANDS}
    # At the default share the score has a small budget, and only the score can change a sure
    # choice.
    assert rows["found_epsilon"].tolist() == pytest.approx([0.90, 0.76, 0.46, 0.96], abs=0.01)


def forget(patch, part):
    """Let every run spend the whole budget: on trainings, on scores, or on both."""
    budget_of = tuned.budget_of

    def all_of_it(*given):
        budget, share = budget_of(*given), given[5]
        training, score = (1 - share) * budget.epsilon, math.ceil(UNITS / (share * budget.epsilon))
        return replace(
            budget,
            training=budget.training if part == "score" else training,
            score_scale=budget.score_scale if part == "training" else score,
        )

    patch.setattr(tuned, "budget_of", all_of_it)
    # A fit would end with an error if it spent more than its statement says.
    patch.setattr(PrivacyStatement, "epsilon_spent", property(lambda stated: stated.epsilon))


@pytest.mark.parametrize(("part", "flagged"), [("both", 4), ("score", 3), ("training", 2)])
def test_a_selection_that_forgets_its_cost_is_flagged(monkeypatch, part, flagged):
    forget(monkeypatch, part)
    rows = run(DENSITIES, TARGET, 0, 1)
    assert (rows["verdict"] == VIOLATED).sum() == flagged


def test_the_densities_of_the_attack_match_fits():
    """Compare the noise of margins and scores in real fits; false alarm 1e-6."""
    c = replace(DENSITIES[0], setting={**MAJORITY, "score_share": 0.5, "expected_runs": 2.0})
    side = one_sided(c, TARGET)[1].left
    learner, n = c.estimator(side.n_bins), 600
    models = list(fits(learner, side, n, np.random.default_rng(3)))
    budget = learner._budget()
    plus, minus = (int(side.counts[side.labels == s].sum()) for s in (1, -1))
    p = np.exp(-budget.training / 2 * abs(plus - minus)) / 2
    positive = 1 - p if plus > minus else p
    for at in (-4, 2, 5, 9, 16):
        units = np.array([at * UNITS + 1])
        above = [
            tail_probability(units - UNITS * number, budget.score_scale)[0]
            for number in (plus, minus)
        ]
        worse = 1 - (positive * above[0] + (1 - positive) * above[1])
        wanted = sum(q * worse**k for k, q in enumerate(budget.runs.chances(400), 1))
        seen = sum(round(model.score_ * side.n * UNITS) <= at * UNITS for model in models)
        assert binom.ppf(1e-7, n, wanted) <= seen <= binom.isf(1e-7, n, wanted)
    labels = sum(model.best_.margin_ > 0 for model in models)
    # The better label is kept more often than by one training: eight standard errors.
    assert labels / n > positive - 4 / math.sqrt(n)
    assert isinstance(models[0], TunedClassifier)
