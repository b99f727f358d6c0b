"""PrivGAM beside its proofs: smoothing, the rule, the model, its neighbours, its words."""

from dataclasses import replace

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.kernels.privgam import _along, _apart, smooth
from privcurve.learners import registry
from privcurve.learners.additive import rule
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.privgam import PrivGAMClassifier, plan_of
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.learners.entry import Facts
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.privacy.calibration.privgam import (
    ASSUMED_ESTIMATE,
    ASSUMED_RULE,
    ASSUMED_SETTINGS,
    SET_ON,
    gaussian_budget,
    grid_bits,
    mixed_budget,
)
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import ASSUMED_N

SIZES, LENGTHS = np.array(rule.SIZES), np.array(rule.LENGTHS)


def values(n_bins, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n_bins), rng.uniform(0.1, 1, n_bins)


def posterior(z, noise, prior):
    """Mean, variance and log likelihood by dense algebra."""
    total = prior + np.diag(noise)
    solved = np.linalg.solve(total, z)
    left = prior - prior @ np.linalg.solve(total, prior)
    return prior @ solved, np.diag(left), -0.5 * (np.linalg.slogdet(total)[1] + z @ solved)


def process(n_bins, size, step, line):
    bins = np.arange(n_bins)
    v = np.sqrt(12) * ((bins + 0.5) / n_bins - 0.5)
    return size * step ** np.abs(bins[:, None] - bins) + line * np.outer(v, v)


@pytest.mark.parametrize("n_bins", [1, 2, 9])
@pytest.mark.parametrize(("size", "step", "line"), [(0.7, 0.6, 0.4), (2.0, 0.9, 0.0)])
def test_the_filter_is_the_posterior(n_bins, size, step, line):
    z, noise = values(n_bins)
    mean, variance = np.empty(n_bins), np.empty(n_bins)
    smoothed = _along(z, noise, size, step, line, mean, variance)
    expected = posterior(z, noise, process(n_bins, size, step, line))
    for one, other in zip((mean, variance, smoothed), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_smoothing_averages_by_marginal_likelihood(ordered):
    n_bins = 6
    z, noise = values(n_bins, 3)
    priors, chances = [], []
    for tau in rule.SIZES:
        for length in rule.LENGTHS if ordered else (None,):
            if length is None:
                priors.append(tau**2 * np.eye(n_bins))
            else:
                step = np.exp(-1 / (n_bins * (length or max(rule.LENGTHS))))
                half = 0.5 if length == 0 else 1.0
                priors.append(process(n_bins, half * tau**2, step, (1 - half) * tau**2))
            chances.append(tau == 0)
    posteriors = [posterior(z, noise, prior) for prior in priors]
    weights = np.exp([log for _, _, log in posteriors])
    weights /= weights.sum()
    mean, variance = np.empty(n_bins), np.empty(n_bins)
    one = [each[None] for each in (z, noise, mean, variance)]
    nothing = smooth(*one[:2], ordered, SIZES, LENGTHS, *one[2:])
    expected = sum(w * m for w, (m, _, _) in zip(weights, posteriors, strict=True))
    square = sum(w * (v + m**2) for w, (m, v, _) in zip(weights, posteriors, strict=True))
    assert mean == pytest.approx(expected)
    assert variance == pytest.approx(square - expected**2)
    assert nothing == pytest.approx(weights[np.array(chances)].sum())


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_how_a_line_is_shrunk_is_no_release(monkeypatch, delta):
    """What is asked, with which noise, is the same whatever sizes its prior may have.

    But for the names of the columns, which were chosen by what was released before.
    """
    X, y = problem()
    models = []
    for wide_from in (0.0, 1e9):
        monkeypatch.setattr(rule, "LINE_WIDE_FROM", {True: wide_from, False: wide_from})
        made = learner(ordered=True, linear="yes", delta=delta, method="greedy", n_steps=3)
        models.append(made.fit(X, y))
    said = [
        replace(one.privacy_, ledger=tuple(replace(e, what="") for e in one.privacy_.ledger))
        for one in models
    ]
    assert said[0] == said[1]
    assert models[0].model_.intercept != models[1].model_.intercept


def test_a_lone_value_shrinks_to_nothing():
    mean, variance = np.empty(1), np.empty(1)
    _apart(np.array([3.0]), np.array([1e6]), 1.0, mean, variance)
    assert abs(mean[0]) < 1e-5


def test_the_rule_reads_public_facts_alone():
    # Adult, δ = 1e-5: stumps at ε = 0.05, in turn from 0.1 on; Mushroom: chosen columns at 0.1.
    assert not rule.is_cyclic(32_561, 0.0167, 14)
    assert rule.is_cyclic(32_561, 0.0325, 14)
    assert not rule.is_cyclic(6_500, 0.0325, 22)
    assert rule.merges(32_561, 0.0325, pure=False)
    assert not rule.merges(32_561, 0.5, pure=True)
    assert (rule.steps(100, 0.01, pure=True), rule.steps(100, 0.01, pure=False)) == (3, 4)
    assert rule.steps(10**12, 1e6, pure=True) == rule.MOST_STEPS
    assert rule.has_line([True, True], 10_000, 0.1, pure=True)
    assert not rule.has_line([True, True], 9_999, 0.1, pure=True)
    assert not rule.has_line([True], 10_000, 0.1, pure=True)
    assert not rule.has_line([True, False], 10_000, 0.1, pure=True)
    for method, pure in ((rule.CYCLIC, False), (rule.GREEDY, True), (rule.GREEDY, False)):
        for linear in (True, False):
            assert 0 < rule.least_share(method, 10, 5, pure, linear) < 0.03
    # Cod-RNA: one wide prior, with δ at all ε of the studies; Yeast at ε = 1: many sizes.
    assert rule.line_sizes(47_628, 0.0165, 8, pure=False) == (40.0,)
    assert rule.line_sizes(1_187, 0.265, 8, pure=False) == rule.LINE_SIZES
    assert rule.line_sizes(1_187, 3.0, 8, pure=True) == rule.LINE_SIZES
    # Adult: from ε = 0.5 on.
    assert rule.has_pairs(32_561, 0.135, 14)
    assert not rule.has_pairs(32_561, 0.0325, 14)
    assert not rule.has_pairs(10**9, 1.0, 1)
    assert rule.least_share(rule.CYCLIC, 1, 2, False, False, pairs=True) < 0.2 * 0.4 / 5


@pytest.mark.parametrize("pure", [True, False])
def test_the_rule_ends_at_a_noisy_majority(pure):
    """With few records all goes to the intercept, with many the usual share."""
    usual = (rule.FIRST_SHARE, rule.LAST_SHARE)
    shares = [rule.intercept_shares(n, 0.1, pure) for n in (10, 100, 1_000, 2_500, 100_000)]
    assert shares[0] == (1.0, 0.0)
    assert shares[-1] == usual
    assert all(first > usual[0] for first, _ in shares if (first, _) != usual)
    assert sorted((first for first, _ in shares), reverse=True) == [first for first, _ in shares]
    X, _ = problem(60)
    model = learner(epsilon=0.1, delta=0.0 if pure else 1e-5).fit(X, np.ones(60))
    assert model.n_features_used_ == 0
    said = model.privacy_
    assert (len(said.ledger), said.delta) == (1, 0.0)
    assert said.epsilon_spent == pytest.approx(0.1, rel=1e-9)
    # Half of noisy_majority's margin, with half of its noise.
    other = (
        NoisyMajorityClassifier(epsilon=0.1, n_bins=(20, 4, 3), classes=(-1, 1))
        .fit(X, np.ones(60))
        .privacy_
    )
    (ours,), (its,) = said.ledger, other.ledger
    assert ours.mechanism == its.mechanism == "laplace"
    assert ours.noise_rate / 2 == pytest.approx(its.noise_rate)


def test_alone_it_decides_as_often_right_as_a_noisy_majority():
    """Of 400 fits; a margin of 20 and ε = 0.1 give the wrong label with a chance of e^-1/2."""
    X, _ = problem(60)
    y = np.where(np.arange(60) < 40, 1, -1)
    fits = [learner(epsilon=0.1, delta=1e-5, random_state=k).fit(X, y) for k in range(400)]
    wrong = np.mean([fit.predict(X[:1])[0] < 0 for fit in fits])
    # More than four standard errors: false alarm 2·10⁻⁵.
    assert wrong == pytest.approx(np.exp(-1) / 2, abs=0.1)
    # The curvature is public, n/4: a step is 10/15, shrunk by what noise and records leave open.
    greedy = {"epsilon": 1.0, "method": "greedy"}
    steps = [learner(**greedy, random_state=k).fit(X, y).model_.intercept for k in range(400)]
    shrink = 9 / (9 + 2 / 15**2 + 1 / 15)
    # Five standard errors: false alarm 6·10⁻⁷.
    assert np.mean(steps) == pytest.approx(shrink * 10 / 15, abs=5 * np.sqrt(2 / 400) / 15)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n_rounds", [1, 2, 10])
def test_shares_of_rounds_add_up(n_rounds, linear, pairs):
    total = rule.of_columns(pairs) * (rule.GRAM_SHARE + rule.LINE_SHARE) * linear
    total += rule.PAIR_SHARE * pairs
    for t in range(1, n_rounds + 1):
        each = rule.cyclic_unit(t, n_rounds, 7, linear, pairs)
        total += each * (7 + linear + rule.INTERCEPT_WEIGHT * (1 + (t == n_rounds)))
    assert total == pytest.approx(1)


def test_neighbouring_bins_are_merged_by_code_alone():
    maps = bin_maps(np.array([40, 40, 16]), (True, False, True), merged=True)
    assert [int(one.max()) + 1 for one in maps] == [16, 40, 16]
    assert (np.diff(maps[0].astype(int)) >= 0).all()
    assert np.bincount(maps[0]).min() >= 2


def test_noise_without_room_is_refused():
    assert grid_bits(mixed_budget(1.0, 0.0, "replace-one"), 1e-4) == 30
    assert grid_bits(mixed_budget(1e-5, 0.0, "replace-one"), 1e-3) < 30
    with pytest.raises(ValueError, match="epsilon = 1e-12 is so small"):
        grid_bits(mixed_budget(1e-12, 0.0, "replace-one"), 1e-3)
    with pytest.raises(ValueError, match="epsilon = 1 is so small"):
        mixed_budget(1.0, 0.0, "replace-one").on_grid(1e-6)


def test_sums_and_scores_can_not_overflow():
    """Fewer than 2^31 records, and shape functions within ±64: no sum leaves 64 bits."""
    one = np.zeros((1, 1), dtype=np.uint8)
    maps = bin_maps(np.array([2]), (True,), merged=False)
    sign = np.ones(1, dtype=np.int8)
    most = Residuals(Records(one, sign, np.array([2**31 - 1]), np.array([2])), maps, 30)
    assert most.sums(0).sum() == (2**31 - 1) * 2**29
    most.set_shape(0, np.array([1e9, -1e9]))
    assert most.shapes[0].tolist() == [64 * 2**24, -64 * 2**24]
    with pytest.raises(ValueError, match="without overflow"):
        PrivGAMClassifier(n_bins=2, classes=(-1, 1)).fit(one, sign, [2**31])


@pytest.mark.parametrize("rate", [3.0, 0.7, 1e-3, 7e8])
def test_noise_on_the_grid_is_rounded_up(rate):
    """A scale s on a grid of 2^-bits has the rate 2^bits/s: no more than was asked for."""
    budget = mixed_budget(1.0, 0.0, "replace-one")
    for bits in (None, 20):
        steps = 2 ** (30 if bits is None else bits)
        scale = budget.on_grid(rate, bits)
        assert steps / scale <= rate
        assert scale == 1 or steps / (scale - 1) > rate


def problem(n=2000, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, (20, 4, 3), (n, 3)).astype(np.uint8)
    score = 0.4 * (X[:, 0].astype(float) - 10) + (X[:, 1] == 2)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1, -1)


def learner(**parameters):
    defaults = {"n_bins": (20, 4, 3), "classes": (-1, 1), "ordered": (True, False, False)}
    return PrivGAMClassifier(**{**defaults, "random_state": 0, **parameters})


def test_chances_are_calibrated():
    X, y = problem(20_000)
    model = learner(epsilon=1.0, delta=1e-5).fit(X, y)
    chance = model.predict_proba(X)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        some = (chance > low) & (chance < low + 0.2)
        assert (y[some] > 0).mean() == pytest.approx(chance[some].mean(), abs=0.04)
    assert model.decision_function(X) == pytest.approx(np.log(chance / (1 - chance)))
    assert np.array_equal(model.decision_function(X) > 0, model.model_.scores(X) > 0)


def test_standard_errors_are_about_right():
    """Of the spread of fits on fresh records, with fresh noise."""
    curves, errors = [], []
    for k in range(30):
        X, y = problem(20_000, seed=k)
        model = learner(epsilon=0.3, delta=1e-5, ordered=None, random_state=k).fit(X, y).model_
        curves.append(model.shapes[0][5:15])
        errors.append(model.errors[0][5:15])
    ratio = np.std(curves, axis=0) / np.mean(errors, axis=0)
    assert ((ratio > 0.4) & (ratio < 2.2)).all()


def test_the_model_says_itself():
    X, y = problem()
    model = learner(epsilon=np.inf).fit(X, y).model_
    lines = str(model).splitlines()
    assert lines[0].startswith("The score is ")
    assert lines[1].startswith("  column 0: from -")
    assert "code 19" in lines[1]
    names = [[f"{c} is {k}" for k in range(n)] for c, n in zip("abc", (20, 4, 3), strict=True)]
    assert "where a is 19" in model.in_words("abc", names)
    none = type(model)(0.0, 1.0, tuple(0 * s for s in model.shapes), model.errors)
    assert "Without effect: column 0, column 1, column 2." in str(none)
    assert none.n_used == 0


@pytest.mark.parametrize(("delta", "method"), [(0.0, "greedy"), (1e-5, "cyclic")])
def test_add_remove(delta, method):
    X, y = problem()
    added = {"neighbours": "add-remove", "n_estimate": 2000}
    model = learner(**added, delta=delta, method=method).fit(X, y)
    said = model.privacy_
    assert (model.method_, said.neighbours) == (method, "add-remove")
    assert ASSUMED_N not in said.assumptions
    assert ASSUMED_ESTIMATE in said.assumptions
    assert not hasattr(model, "n_records_")
    # Noise of one record's cell, not of two.
    rates = [e.noise_rate for e in said.ledger if e.mechanism in ("laplace", "gaussian")]
    other = learner(delta=delta, method=method).fit(X, y).privacy_
    two = [e.noise_rate for e in other.ledger if e.mechanism in ("laplace", "gaussian")]
    assert rates[0] / two[0] == pytest.approx(2 if delta == 0 else np.sqrt(2))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_slopes_have_less_noise_than_totals_where_a_record_is_added(neighbours):
    """Of a column of 250 bins and no records: all that is released is noise."""
    budget, width = gaussian_budget(1.0, 1e-5, neighbours), 250
    maps = bin_maps(np.array([width]), (True,), merged=False)
    none = np.zeros(0, np.int8), np.zeros(0, np.int64), np.array([width])
    nothing = Residuals(Records(np.zeros((0, 1), np.uint8), *none), maps, 30)
    fit = Fit(nothing, [True], budget, Curator(np.random.default_rng(1)))
    released = [fit._noisy_labels(fit.records.sums(0), 0.1, f"{k}") for k in range(9)]
    slopes = np.concatenate([sums[1] - sums[0] for sums, _ in released])
    totals = np.concatenate([sums.sum(axis=0) for sums, _ in released])
    unit = budget.sensitivity() / (np.sqrt(0.1) * budget.amount)
    parts = (0.7, 0.3) if neighbours == "add-remove" else (0.5, 0.5)
    # Of 2,250 numbers, four standard errors each: false alarm 6·10⁻⁵.
    assert slopes.std() == pytest.approx(unit / np.sqrt(parts[0]), rel=0.06)
    assert totals.std() == pytest.approx(unit / np.sqrt(parts[1]), rel=0.06)
    assert released[0][1] == pytest.approx(unit**2 / parts[0] / 2)


def test_add_remove_needs_an_estimate_and_no_other_takes_one():
    X, y = problem(50)
    for wrong in ({"neighbours": "add-remove"}, {"n_estimate": 50}):
        with pytest.raises(ValueError, match="n_estimate= is a public estimate"):
            learner(**wrong).fit(X, y)
    with pytest.raises(
        ValueError,
        match="privgam offers neighbours = 'replace-one' or 'add-remove', not 'private-columns'",
    ):
        learner(neighbours="private-columns").fit(X, y)


def test_a_study_with_add_remove_tells_the_learner():
    made = registry.make(
        "privgam", Facts([2, 3], ordered=(True, False)), {"n_estimate": 9}, "add-remove"
    )
    assert (made.neighbours, made.ordered) == ("add-remove", (True, False))
    assert registry.make("privgam", Facts([2, 3])).neighbours == "replace-one"


def test_statement_says_by_whom_settings_were_chosen():
    X, y = problem(200)
    assert ASSUMED_RULE in learner().fit(X, y).privacy_.assumptions
    assert "fixed before and apart from these records, unless they are of" in ASSUMED_RULE
    assert all(name in ASSUMED_RULE for name in SET_ON)
    for setting in ({"n_steps": 5}, {"bins": "all"}, {"method": "greedy"}, {"pairs": "no"}):
        assert ASSUMED_SETTINGS in learner(**setting).fit(X, y).privacy_.assumptions


def test_what_cannot_be_is_refused():
    X, y = problem(50)
    with pytest.raises(ValueError, match="'cyclic' has Gaussian noise, so it needs delta > 0"):
        learner(method="cyclic").fit(X, y)
    with pytest.raises(ValueError, match="pairs = 'yes' come after rounds of all columns"):
        learner(pairs="yes", method="greedy").fit(X, y)
    # Without delta the rule is greedy, whatever the records.
    with pytest.raises(ValueError, match="pairs = 'yes' come after rounds of all columns"):
        learner(pairs="yes", epsilon=1.0, delta=0.0).fit(X, y)
    with pytest.raises(ValueError, match="linear = 'yes' needs all columns to be ordered"):
        learner(linear="yes").fit(X, y)
    with pytest.raises(ValueError, match="ordered must be True or False for each of 3 columns"):
        learner(ordered=(True, False)).fit(X, y)


def test_without_noise_it_is_an_additive_model():
    X, y = problem(20_000)
    model = learner(epsilon=np.inf, n_rounds=50).fit(X, y)
    exact = 0.4 * (X[:, 0].astype(float) - 10) + (X[:, 1] == 2)
    chance = 1 / (1 + np.exp(-exact))
    assert np.abs(model.predict_proba(X)[:, 1] - chance).mean() < 0.02


def test_columns_that_stand_for_a_line_help_each_other():
    rng = np.random.default_rng(2)
    base = rng.integers(0, 30, 4000)
    X = np.column_stack([np.clip(base + rng.integers(-2, 3, 4000), 0, 29) for _ in range(6)])
    score = 0.5 * (X[:, 0] - X[:, 1])
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-score)), 1, -1)
    right = {
        linear: np.mean([
            (learner(n_bins=30, ordered=True, linear=linear, delta=1e-5, epsilon=2.0,
                     random_state=k).fit(X, y).predict(X) == y).mean()
            for k in range(3)
        ])
        for linear in ("no", "yes")
    }  # fmt: skip
    assert right["yes"] > right["no"] + 0.02


# Stumps -------------------------------------------------------------------------------------------


def test_the_rule_takes_stumps_of_two_classes_between_a_majority_and_shapes():
    along, none = (True, False), (False, False)
    answers = [rule.is_stumps(n, 0.1, True, along, 2) for n in (199, 200, 99_999, 100_000)]
    assert answers == [False, True, True, False]
    assert rule.is_stumps(10**6, 0.1, False, along, 2)
    # A stump of nominal bins takes one apart.
    for pure in (True, False):
        assert [rule.is_stumps(n, 0.1, pure, none, 2) for n in (200, 1_499, 1_500)] == [
            True, True, False,
        ]  # fmt: skip
    assert not rule.is_stumps(1_000, 0.1, True, along, 3)
    counts = [rule.stumps(n, 0.1) for n in (1, 200, 3_239, 3_240, 99_999, 10**12)]
    assert counts == [1, 1, 1, 3, 15, 299]
    assert rule.stumps(1, np.inf) == 299
    plans = {
        delta: plan_of(learner(epsilon=0.1, delta=delta), 1_500, (True, False, False))
        for delta in (0.0, 1e-5)
    }
    for plan in plans.values():
        # Pure whatever δ is, of all bins, and with no linear part.
        assert (plan.method, plan.n_steps, plan.budget.delta) == ("stumps", 1, 0.0)
        assert (plan.merged, plan.linear, plan.pairs) == (False, False, False)
        assert plan.budget.amount == 0.1
    forced = learner(epsilon=0.1, ordered=True, linear="yes")
    assert plan_of(forced, 1_500, (True,) * 3).method == "greedy"
    assert plan_of(learner(epsilon=0.1, bins="few", method="stumps"), 1_500, (True,) * 3).merged


def test_stumps_follow_the_labels_and_nothing_else_is_released():
    X, y = problem(1_500)
    fit = learner(epsilon=1.0, delta=1e-5, n_steps=5, method="stumps").fit(X, y)
    said = fit.privacy_
    assert (fit.method_, said.delta) == ("stumps", 0.0)
    assert said.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    assert [(e.mechanism, e.noise_rate) for e in said.ledger] == [
        ("permute_and_flip", pytest.approx(0.2 / 2))
    ] * 5
    assert (fit.predict(X) == y).mean() > 0.75
    size = rule.stump_size(5)
    for shape in (*fit.model_.shapes, np.array([fit.model_.intercept])):
        steps = shape / size
        assert steps == pytest.approx(np.rint(steps), abs=1e-6)
    # They are chosen, and not estimated: no error is said.
    assert "±" not in str(fit.model_)
    assert "±" in str(learner(epsilon=1.0, method="greedy").fit(X, y).model_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"neighbours": "add-remove", "n_estimate": 1_000},
        {"neighbours": "add-remove", "n_estimate": 1, "epsilon": np.inf},
        {"delta": 1e-5, "ordered": True},
        {"n_bins": 1, "n_steps": 3},
        {"epsilon": np.inf},
    ],
    ids=str,
)
def test_stumps_of_hardly_any_records(parameters):
    """None where their number is secret, else one; and columns of one bin have no effect."""
    n = 0 if "neighbours" in parameters else 1
    X, y = np.zeros((n, 3), dtype=np.uint8), np.ones(n, dtype=int)
    fit = learner(**{"epsilon": 1.0, "method": "stumps", **parameters}).fit(X, y)
    assert np.isfinite(fit.decision_function(np.zeros((2, 3), dtype=np.uint8))).all()
    if parameters.get("n_bins") == 1:
        assert fit.n_features_used_ == 0


def test_what_stumps_have_not_is_refused():
    X, y = problem(50)
    for name in ("linear", "pairs"):
        with pytest.raises(ValueError, match="'stumps' has no linear part and no pairs"):
            learner(method="stumps", ordered=True, **{name: "yes"}).fit(X, y)
    with pytest.raises(ValueError, match="'stumps' is for two classes, and there are 3"):
        learner(method="stumps", classes=(0, 1, 2)).fit(X, np.arange(50) % 3)


# Mixed bins ---------------------------------------------------------------------------------------


def in_a_few_bins(n=3000):
    """Records in six of 64 mixed bins, and those of a bin for missing values; 16 others."""
    rng = np.random.default_rng(5)
    codes = rng.choice([20, 21, 22, 23, 24, 25, 64], n)
    other = rng.integers(16, size=n)
    signs = np.where((np.isin(codes, [20, 23, 25]) | (other > 12)) ^ (rng.random(n) < 0.1), 1, -1)
    return np.stack([codes, other], axis=1), signs


def of_mixed(**parameters):
    defaults = {"n_bins": (65, 16), "classes": (-1, 1), "ordered": True, "mixed_bins": (64, 0)}
    given = {"epsilon": 3.0, "delta": 1e-6, "random_state": 0, **parameters}
    return PrivGAMClassifier(**{**defaults, **given})


def test_mixed_bins_are_merged_by_what_was_released_of_them():
    X, y = in_a_few_bins()
    shape, other = of_mixed().fit(X, y).model_.shapes
    starts = 1 + np.flatnonzero(np.diff(shape[:64]))
    # Where no records are bins are merged, and where they are each stays: + - - + - +.
    assert len(starts) < rule.MIXED_GROUPS
    assert set(range(21, 26)) - {22} <= set(starts.tolist())
    assert (shape[[20, 23, 25]] > shape[[21, 22, 24]] + 1).all()
    assert len(np.unique(other)) == 16


@pytest.mark.parametrize(
    "parameters",
    [{"bins": "all"}, {"bins": "few"}, {"delta": 0.0}, {"method": "greedy"}, {"epsilon": np.inf}],
    ids=str,
)
def test_other_fits_leave_mixed_bins_to_the_rule_of_all(parameters):
    X, y = in_a_few_bins(1000)
    models = []
    for mixed in ((64, 0), None):
        rng = np.random.default_rng(0)
        models += of_mixed(**parameters, mixed_bins=mixed).fit_many(X, y, [{}], [rng])
    for one, other in zip(*(each.model_.shapes for each in models), strict=True):
        np.testing.assert_array_equal(one, other)


def test_mixed_bins_are_merged_between_much_noise_and_little():
    assert rule.regroups(10_000, 0.34, 2)
    assert not rule.regroups(10_000, 0.36, 2)
    assert not rule.regroups(10_000, 0.12, 2)
    assert not rule.regroups(10_000, 0.34, 3)
    settings = of_mixed(epsilon=1.0)
    for n, mixed in ((4_000, ()), (10_000, (64, 0)), (20_000, ())):
        plan = plan_of(settings, n, (True, True))
        # Groups of about equal weight follow no line along the codes.
        assert (plan.mixed, plan.linear) == (mixed, not mixed)


def test_a_merged_column_has_the_mean_place_of_its_bins():
    line = LinearPart(np.array([4, 2, 1]))
    line.coefficients[0] = 2.0
    line.merge(0, np.array([0, 1, 3]), np.array([1.0, 3.0, 1.0, 1.0]))
    assert (line.shape(0) / 2).tolist() == pytest.approx([-3 / 8, -1 / 16, 3 / 8], abs=2e-3)
    assert len(line.shape(1)) == 2
