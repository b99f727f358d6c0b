"""PrivGAM beside its proofs: smoothing, the rule, the model, its neighbours, its words."""

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.kernels.privgam import _smooth_bins, _smooth_process, smooth
from privcurve.learners.additive import rule
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.privacy.calibration.privgam import (
    ASSUMED_ESTIMATE,
    ASSUMED_RULE,
    ASSUMED_SETTINGS,
    SET_ON,
    grid_bits,
    mixed_budget,
)
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
    smoothed = _smooth_process(z, noise, size, step, line, mean, variance)
    expected = posterior(z, noise, process(n_bins, size, step, line))
    for one, other in zip((mean, variance, smoothed), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_smoothing_averages_by_marginal_likelihood(ordered):
    n_bins = 6
    z, noise = values(n_bins, 3)
    priors = []
    for tau in rule.SIZES:
        for length in rule.LENGTHS if ordered else (None,):
            if length is None:
                priors.append(tau**2 * np.eye(n_bins))
            else:
                step = np.exp(-1 / (n_bins * (length or max(rule.LENGTHS))))
                half = 0.5 if length == 0 else 1.0
                priors.append(process(n_bins, half * tau**2, step, (1 - half) * tau**2))
    posteriors = [posterior(z, noise, prior) for prior in priors]
    weights = np.exp([log for _, _, log in posteriors])
    weights /= weights.sum()
    mean, variance = np.empty(n_bins), np.empty(n_bins)
    one = [each[None] for each in (z, noise, mean, variance)]
    smooth(*one[:2], ordered, SIZES, LENGTHS, *one[2:])
    expected = sum(w * m for w, (m, _, _) in zip(weights, posteriors, strict=True))
    square = sum(w * (v + m**2) for w, (m, v, _) in zip(weights, posteriors, strict=True))
    assert mean == pytest.approx(expected)
    assert variance == pytest.approx(square - expected**2)


def test_a_lone_value_shrinks_to_nothing():
    mean, variance = np.empty(1), np.empty(1)
    _smooth_bins(np.array([3.0]), np.array([1e6]), 1.0, mean, variance)
    assert abs(mean[0]) < 1e-5


def facts(n, epsilon=0.1, delta=1e-5, ordered=(True,) * 14, n_classes=2):
    return rule.Facts(n, tuple(ordered), n_classes, epsilon, delta, "replace-one")


def test_the_rule_reads_public_facts_alone():
    # Adult, δ = 1e-5: stumps at ε = 0.01, rounds at 0.1; of more classes sooner.
    adult = facts(32_561)
    assert adult.column_scale == pytest.approx(32_561 * 0.0325 / 14, rel=0.01)
    assert rule.method_of(adult) == rule.CYCLIC
    less = adult._replace(n=30_000)
    assert rule.method_of(less) == rule.STUMPS
    assert rule.method_of(less._replace(n_classes=3)) == rule.CYCLIC
    # Without δ there are no rounds, whatever the budget.
    assert rule.method_of(facts(10**9, 10.0, 0.0)) == rule.STUMPS
    assert rule.method_of(facts(100, np.inf, 0.0)) == rule.CYCLIC
    assert rule.method_of(facts(100, n_classes=3)) == rule.ONCE
    along = facts(32_561, 0.5, ordered=(True,) * 4)
    for ordered, linear in (((True,) * 4, True), ((True, False) * 2, False), ((True,), False)):
        extras = rule.extras_of(rule.CYCLIC, along._replace(ordered=ordered))
        assert (extras.linear, extras.pairs) == (linear, len(ordered) > 1)
    # Bins are ever more, and all without noise.
    bins = [rule.extras_of(rule.CYCLIC, facts(n)).most_bins for n in (10, 10**5, 10**6)]
    assert bins == [4, 162, 1_626]
    assert rule.extras_of(rule.CYCLIC, facts(10, np.inf)).most_bins == 2**16


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_with_few_records_it_is_a_noisy_majority(delta):
    X, _ = problem(60)
    model = learner(epsilon=0.1, delta=delta).fit(X, np.ones(60))
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


@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_where_delta_is_not_used_a_fit_is_that_without_it(delta):
    """In everything: coins, ledger, statement, model."""
    X, y = problem(1_500)
    for epsilon in (0.001, 0.1):
        pure, other = (learner(epsilon=epsilon, delta=d).fit(X, y) for d in (0.0, delta))
        assert pure.method_ == other.method_ == "stumps"
        assert pure.privacy_ == other.privacy_
        assert other.privacy_.delta == 0.0
        assert np.array_equal(pure.decision_function(X), other.decision_function(X))
    assert learner(epsilon=9.0, delta=delta).fit(X, y).privacy_.delta == delta


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("once", [0.0, 0.3])
@pytest.mark.parametrize("n_rounds", [1, 2, 10])
def test_shares_of_rounds_add_up(n_rounds, linear, pairs, once):
    extras = rule.Extras(n_rounds, 16, linear, pairs, once)
    total = rule.EXTRA_SHARE * (1.5 * linear + pairs) + once
    least = extras.least_share(rule.CYCLIC, 7)
    for t in range(1, n_rounds + 1):
        each = extras.round_share(t, 7)
        total += each * (7 + linear + rule.INTERCEPT_WEIGHT * (1 + (t == n_rounds)))
        assert 0 < least <= rule.INTERCEPT_WEIGHT * each
    assert total == pytest.approx(1)


def test_neighbouring_bins_are_merged_by_code_alone():
    maps = bin_maps(np.array([40, 40, 16]), (True, False, True), 16)
    assert [int(one.max()) + 1 for one in maps] == [16, 40, 16]
    assert (np.diff(maps[0].astype(int)) >= 0).all()
    assert np.bincount(maps[0]).min() >= 2


def test_noise_without_room_is_refused():
    assert grid_bits(mixed_budget(1.0, 0.0, "replace-one"), 1e-4, 9) == 30
    assert grid_bits(mixed_budget(1e-5, 0.0, "replace-one"), 1e-3, 9) < 30
    with pytest.raises(ValueError, match="epsilon = 1e-12 is so small"):
        grid_bits(mixed_budget(1e-12, 0.0, "replace-one"), 1e-3, 9)
    with pytest.raises(ValueError, match="epsilon = 1 is so small"):
        mixed_budget(1.0, 0.0, "replace-one").grid_scale(1e-6)


def test_sums_and_scores_can_not_overflow():
    """Fewer than 2^31 records, and shape functions within ±64: no sum leaves 64 bits."""
    one = np.zeros((1, 1), dtype=np.uint8)
    maps = bin_maps(np.array([2]), (True,), 2)
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
        scale = budget.grid_scale(rate, bits)
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


@pytest.mark.parametrize(("delta", "method"), [(0.0, "stumps"), (1e-5, "cyclic")])
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
    rates = [e.noise_rate for e in said.ledger]
    other = learner(delta=delta, method=method).fit(X, y).privacy_
    two = [e.noise_rate for e in other.ledger]
    assert rates[0] / two[0] == pytest.approx(2 if delta == 0 else np.sqrt(2))


def test_add_remove_needs_an_estimate_and_no_other_takes_one():
    X, y = problem(50)
    for wrong in ({"neighbours": "add-remove"}, {"n_estimate": 50}):
        with pytest.raises(ValueError, match="n_estimate= is a public estimate"):
            learner(**wrong).fit(X, y)


def test_statement_says_by_whom_settings_were_chosen():
    X, y = problem(200)
    assert ASSUMED_RULE in learner().fit(X, y).privacy_.assumptions
    assert "fixed before and apart from these records, unless they are of" in ASSUMED_RULE
    assert all(name in ASSUMED_RULE for name in SET_ON)
    for setting in ({"n_steps": 5}, {"method": "stumps"}, {"pairs": "no"}):
        assert ASSUMED_SETTINGS in learner(**setting).fit(X, y).privacy_.assumptions


def test_what_cannot_be_is_refused():
    X, y = problem(50)
    with pytest.raises(ValueError, match="'cyclic' has Gaussian noise, so it needs delta > 0"):
        learner(method="cyclic").fit(X, y)
    for wrong in ({"pairs": "yes"}, {"linear": "yes", "ordered": True}):
        for pure in ({"delta": 0.0}, {"delta": 1e-5, "method": "stumps"}):
            with pytest.raises(ValueError, match="= 'yes' is for rounds of all columns"):
                learner(**wrong, **pure).fit(X, y)
    with pytest.raises(ValueError, match="linear = 'yes' needs all columns to be ordered"):
        learner(linear="yes", delta=1e-5).fit(X, y)
    with pytest.raises(ValueError, match="ordered must be True or False for each of 3 columns"):
        learner(ordered=(True, False)).fit(X, y)


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


def test_the_number_of_stumps_is_odd_and_grows_with_the_root_of_the_budget():
    counts = [rule.n_stumps(facts(n, 0.1, 0.0)) for n in (199, 200, 3_239, 3_240, 99_999, 10**12)]
    assert counts == [0, 1, 1, 3, 15, 299]
    assert rule.n_stumps(facts(1, np.inf)) == 299


def test_where_delta_pays_stumps_are_more_and_each_has_more():
    of_adult = [facts(32_561, epsilon) for epsilon in (0.001, 0.01, 0.02, 0.1)]
    counts = [rule.n_stumps(each) for each in of_adult]
    without = [rule.n_stumps(each._replace(delta=0.0)) for each in of_adult]
    assert (counts, without) == ([1, 3, 5, 13], [1, 3, 3, 9])
    for each, count, few in zip(of_adult, counts, without, strict=True):
        budget = rule.stump_budget(count, each)
        assert budget.pure == (count == few)
        amount = budget.choice_cost(rule.stump_share(count, budget))
        assert amount > 0.999 * each.epsilon / count
    # It does not where it is tiny, or where columns are few.
    for other in (facts(32_561, 0.02, 1e-30), facts(32_561, 0.02, ordered=(True,) * 7)):
        assert rule.n_stumps(other) == 3
        assert rule.stump_budget(3, other).pure


@pytest.mark.parametrize(("n_steps", "delta"), [(3, 0.0), (13, 1e-5)])
def test_stumps_follow_the_labels(n_steps, delta):
    X, y = problem(1_500)
    fit = learner(epsilon=1.0, delta=1e-5, n_steps=n_steps, method="stumps").fit(X, y)
    said = fit.privacy_
    assert (fit.method_, said.delta) == ("stumps", delta)
    assert said.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    choices = said.ledger[-n_steps:]
    assert {e.mechanism for e in choices} == {"exponential" if delta else "permute_and_flip"}
    assert sum(e.noise_rate for e in choices) > 0.499
    # Where δ pays, labels by bin of all columns come first.
    assert [e.mechanism for e in said.ledger[:-n_steps]] == ["gaussian"] * (delta > 0)
    assert (fit.predict(X) == y).mean() > 0.75
    size = rule.STUMP_SIZE / np.sqrt(n_steps)
    for shape in (*fit.model_.shapes, np.array([fit.model_.intercept])):
        steps = shape / size
        assert (steps == pytest.approx(np.rint(steps), abs=1e-6)) == (delta == 0 or len(shape) == 1)
    # They are chosen, and not estimated: no error is said.
    assert "±" not in str(fit.model_)
    assert "±" in str(learner(epsilon=9.0, delta=1e-5).fit(X, y).model_)


def test_what_ranks_records_decides_none(monkeypatch):
    """Values of all columns, asked at once, add up to less than one stump."""
    X, y = problem(3_000)
    made = {"epsilon": 1.0, "delta": 1e-5, "method": "stumps", "n_steps": 13}
    scores = learner(**made).fit(X, y).model_.scores(X)
    monkeypatch.setattr(Fit, "rank_within", lambda *_: None)
    stumps = learner(**made).fit(X, y).model_.scores(X)
    added = scores - stumps
    assert 0.1 < np.abs(added).max() < np.abs(stumps).min()
    assert added[y > 0].mean() > added[y < 0].mean() + 0.05


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


def test_a_method_of_other_numbers_of_classes_is_refused():
    X, y = problem(50)
    with pytest.raises(ValueError, match="'stumps' is for two classes, and there are 3"):
        learner(method="stumps", classes=(0, 1, 2)).fit(X, np.arange(50) % 3)
    with pytest.raises(ValueError, match="'once' is for more than two classes, and there are 2"):
        learner(method="once").fit(X, y)
    # Where it is taken, the rule has no say.
    for method, taken in (("rule", "cyclic"), ("once", "once")):
        model = learner(method=method, classes=(0, 1, 2), epsilon=99.0, delta=1e-5)
        assert model.fit(X, np.arange(50) % 3).method_ == taken


TABLES = {
    "along": ((20, 12, 9), True),
    "apart": ((5, 4, 3), False),
    "mixed": ((20, 4, 3), (True, False, False)),
}
# Where methods meet, and how often a table has its columns: of a few, stumps do not use δ.
MEETINGS = {
    "rounds": (lambda facts: rule.method_of(facts) == rule.STUMPS, 1),
    "δ": (lambda facts: rule.stump_budget(rule.n_stumps(facts), facts).pure, 3),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("meeting", MEETINGS)
def test_more_budget_is_not_worse_where_methods_meet(kind, meeting):
    """Within two standard errors of 24 fits on each side: seeds are fixed, so no false alarm."""
    is_below, times = MEETINGS[meeting]
    n_bins, ordered = np.tile(TABLES[kind][0], times), TABLES[kind][1]
    ordered = ordered if isinstance(ordered, bool) else ordered * times
    rng = np.random.default_rng(3)
    X = rng.integers(0, n_bins, (7_000, 3 * times)).astype(np.uint8)
    columns = zip(X[:, ::3].T, X[:, 1::3].T, strict=True)
    parts = [3.0 * (one / n_bins[0] - 0.5) + 1.5 * (other == 2) - 0.4 for one, other in columns]
    score = np.average(parts, axis=0, weights=range(times, 0, -1)) * times**0.5
    y = np.where(rng.random(7_000) < 1 / (1 + np.exp(-score)), 1, -1)
    facts_of = rule.Facts(2_000, (True,) * 3 * times, 2, 1.0, 1e-5, "replace-one")
    low, high = 0.01, 4.0
    for _ in range(40):
        middle = (low + high) / 2
        below = is_below(facts_of._replace(epsilon=middle))
        low, high = (middle, high) if below else (low, middle)
    scores = {}
    for side, epsilon in (("below", 0.98 * low), ("above", 1.02 * high)):
        made = {"n_bins": tuple(n_bins), "ordered": ordered, "epsilon": epsilon, "delta": 1e-5}
        fits = [learner(**made, random_state=k).fit(X[:2_000], y[:2_000]) for k in range(24)]
        right = [fit.predict(X[2_000:]) == y[2_000:] for fit in fits]
        scores[side] = np.array([np.mean(one) for one in right])
    error = np.sqrt(sum(one.var(ddof=1) / 24 for one in scores.values()))
    assert scores["above"].mean() > scores["below"].mean() - 2 * error
