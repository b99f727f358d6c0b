"""PrivGAM: its public rule, its records, its model, and its texts."""

import math

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.learners.additive import decoder, rule
from privcurve.learners.additive.class_model import ClassModel
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import BinSums, bin_maps, round_scores
from privcurve.privacy.calibration.privgam import (
    ASSUMED_ESTIMATE,
    ASSUMED_RULE,
    SET_ON,
    grid_bits,
    grid_scale,
)
from privcurve.privacy.calibration.shares import gaussian_budget
from privcurve.privacy.ledger import ASSUMED_N
from privcurve.privacy.sealed import open_values

N_BINS = (20, 4, 3)


def problem(n=2000, seed=1, n_classes=2):
    """Return records whose columns 0 and 1 decide the class (its position)."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, 3)).astype(np.uint8)
    scores = np.zeros((n, n_classes))
    scores[:, 1] = 0.4 * (X[:, 0].astype(float) - 10) + (X[:, 1] == 2)
    scores[:, 2:] = 1.5 * (X[:, 1, None] == 1)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return X, (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)


def learner(n_classes=2, **parameters):
    defaults = {"n_bins": N_BINS, "classes": range(n_classes), "ordered": (True, False, False)}
    return PrivGAMClassifier(**{**defaults, "random_state": 0, **parameters})


def facts(n=1000, d=5, n_classes=2, epsilon=1.0, delta=1e-6, neighbours="replace-one"):
    return rule.FitFacts(n, (True,) * d, n_classes, epsilon, delta, neighbours)


# The public rule ----------------------------------------------------------------------------------


def scale_of(plan, some):
    """Return m = n·μ/d, on which the rule depends, from the first release of a plan."""
    first = plan.releases[0][0]
    share = first.share if plan.laplace else math.sqrt(first.share)
    return some.n * plan.scale / (first.deviation * share * math.sqrt(2 * len(some.ordered)))


def questions(plan):
    return [question for release in plan.releases for question in release]


def test_the_rule_goes_by_the_noise_of_a_column():
    """m = n·μ/d, where μ belongs to Gaussian noise of the same standard deviation."""
    mu = gaussian_budget(1.0, 1e-6, "replace-one").amount
    for some, m in (
        (facts(), 1000 * mu / 5),
        (facts(n_classes=7), 1000 * mu / 5),
        # An added record changes half as many cells as a replaced one.
        (facts(neighbours="add-remove"), math.sqrt(2) * 1000 * mu / 5),
        # Laplace noise of scale d/ε; Gaussian noise with the same deviation, √2·d, has μ = 1/(2√d).
        (facts(delta=0.0), 1000 / (2 * math.sqrt(5)) / 5),
    ):
        plan = rule.plan(some)
        assert (scale_of(plan, some), plan.m) == pytest.approx((m, m))
        assert plan.most_bins == max(8, min(64, math.floor(3 * math.sqrt(m))))
        assert sum(question.share for question in questions(plan)) == pytest.approx(1)
        assert plan.laplace == (some.delta == 0)
    bins = [rule.plan(facts(n)).most_bins for n in (10, 1_000, 10_000, 10**7)]
    assert bins == sorted(bins)
    assert (bins[0], bins[-1]) == (8, 64)


@pytest.mark.parametrize(
    ("m", "n", "bins"),
    [(0.01, 3, 8), (99, 3, 29), (101, 6, 30), (599, 6, 64), (601, 12, 64), (10**6, 12, 64)],
)
def test_larger_budgets_buy_more_releases_and_bins(m, n, bins):
    mu = gaussian_budget(1.0, 1e-6, "replace-one").amount
    plan = rule.plan(facts(round(30 * m / mu), 30))
    assert (len(plan.releases), len(plan.ledger), plan.most_bins) == (n, 2 * n, bins)
    # After the network's last stage all releases are equal.
    alike = len(decoder.load().stages) - 1
    later = {tuple(q.share for q in release) for release in plan.releases[alike:]}
    assert len(later) == (n > alike)


@pytest.mark.parametrize("n", [200, 10**5])
def test_noise_of_later_releases_fits_their_sums(n):
    for n_classes, delta, times in (
        (2, 1e-6, 1), (4, 1e-6, math.sqrt(2)), (2, 0.0, 1), (4, 0.0, 2)
    ):  # fmt: skip
        plan = rule.plan(facts(n, n_classes=n_classes, delta=delta))
        each = [
            q.deviation * (q.share if delta == 0 else math.sqrt(q.share)) for q in questions(plan)
        ]
        first, of_totals, *others = each
        assert of_totals == pytest.approx(first / (5 if delta == 0 else math.sqrt(5)))
        later = [times * first, times * of_totals] * (len(plan.releases) - 1)
        assert others == pytest.approx(later)
        # The network reads the noise of the ledger; Laplace scale b is the deviation divided by √2.
        of_ledger = [1 / entry.noise_rate for entry in plan.ledger]
        read = np.array([q.deviation for q in questions(plan)])
        read /= math.sqrt(2) if delta == 0 else 1
        assert of_ledger == pytest.approx(read)


def test_beyond_its_training_range_the_network_reads_the_ends():
    """Beyond the range of m and the number of records, the network reads the nearest end."""
    free = rule.plan(facts(epsilon=math.inf, delta=0.0))
    assert (free.ledger, free.laplace, free.most_bins) == ((), False, 64)
    assert scale_of(free, facts()) == pytest.approx(decoder.MOST_SCALE)
    much = rule.plan(facts(10**6, epsilon=20.0))
    assert scale_of(much, facts(10**6)) == pytest.approx(decoder.MOST_SCALE)
    # The noise in the ledger is smaller.
    assert 1 / much.ledger[0].noise_rate < 0.9 * much.releases[0][0].deviation
    # At the lower end shares are constant, and the network reads the exact noise.
    low, lower = (rule.plan(facts(n, epsilon=0.01)) for n in (5, 1))
    of_low, of_lower = ([q.share for q in questions(plan)] for plan in (low, lower))
    assert of_low == of_lower
    assert min(of_low) >= decoder.LEAST_SHARE**2
    read = [question.deviation for question in questions(low)]
    assert read == pytest.approx([1 / entry.noise_rate for entry in low.ledger])
    # Sums and noise of more records are scaled down.
    many, seen = rule.plan(facts(10 * decoder.MOST_RECORDS)), rule.plan(facts(decoder.MOST_RECORDS))
    assert many.scale == 0.1
    assert seen.scale == 1.0


def test_noise_without_room_is_refused():
    assert grid_bits(rule.plan(facts(delta=0.0)).ledger, 1.0) == 30
    small = facts(delta=0.0, epsilon=1e-5)
    bits = grid_bits(rule.plan(small).ledger, small.epsilon)
    assert bits < 30
    assert all(grid_scale(e.noise_rate, bits) <= 2**46 for e in rule.plan(small).ledger)
    X, y = problem(50)
    with pytest.raises(ValueError, match="epsilon must be larger; got 1e-12"):
        learner(epsilon=1e-12).fit(X, y)


@pytest.mark.parametrize("rate", [3.0, 0.7, 1e-3, 7e8])
def test_noise_on_the_grid_is_rounded_up(rate):
    """On a grid of 2^-bits, the noise rate is 2^bits/s, at most the requested rate."""
    for bits in (30, 20):
        scale = grid_scale(rate, bits)
        assert 2**bits / scale <= rate
        assert scale == 1 or 2**bits / (scale - 1) > rate


def test_neighbouring_bins_are_merged_only_by_code():
    maps = bin_maps(np.array([40, 40, 16]), (True, False, True), 16)
    assert [int(one.max()) + 1 for one in maps] == [16, 40, 16]
    assert (np.diff(maps[0].astype(int)) >= 0).all()
    assert np.bincount(maps[0]).min() >= 2


# Records ------------------------------------------------------------------------------------------


def test_sums_and_scores_can_not_overflow():
    """Fewer than 2^31 records and scores within ±64: every sum fits in 64 bits."""
    one, maps = np.zeros((1, 1), dtype=np.uint8), bin_maps(np.array([2]), (True,), 2)
    label = np.ones(1, dtype=np.int64)
    most = Records(one, label, np.array([2**31 - 1]), np.array([2]))
    sums = BinSums(most, (0,), maps, 2, 30, 1)
    assert open_values(sums.counts()[0]).sum() == (2**31 - 1) * 2**29
    far = round_scores(np.array([[-1e9, 1e9]]))
    assert far.tolist() == [[-64 * 2**24, 64 * 2**24]]
    by_bin, _ = sums.sums(far, np.zeros(1, dtype=np.int64))
    assert open_values(by_bin).sum() == (2**31 - 1) * 2**29
    with pytest.raises(ValueError, match="without overflow"):
        PrivGAMClassifier(n_bins=2, classes=(-1, 1)).fit(one, label, [2**31])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_residuals_are_taken_at_the_probabilities_of_the_model(n_classes):
    """Compare the residual of a single record, at the scores of a model with merged bins."""
    X, y = problem(1000, n_classes=n_classes)
    made = learner(n_classes, epsilon=0.2, delta=1e-6).fit(X, y)
    model = made.model_
    shapes = model.class_shapes if n_classes > 2 else [one[None] for one in model.shapes]
    intercepts = model.intercepts if n_classes > 2 else np.array([model.intercept])
    assert len(np.unique(shapes[0], axis=1).T) < 20
    scores = round_scores(np.concatenate(shapes, axis=1)), round_scores(intercepts)
    maps = bin_maps(np.array(N_BINS), (True,) * 3, 64)
    for i in range(20):
        rows = Records(X[i : i + 1], y[i : i + 1], np.ones(1, dtype=np.int64), np.array(N_BINS))
        own, others = open_values(BinSums(rows, range(3), maps, n_classes, 30, 1).sums(*scores)[0])
        # With two classes the residuals of both labels are equal.
        residual = own.sum() + others.sum() if n_classes == 2 else own.sum()
        chance = made.predict_proba(X[i : i + 1])[0, y[i]]
        assert residual / 3 / 2**30 == pytest.approx(min(1 - chance, 0.5), abs=2e-3)


# Fits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (3.0, 0.0)])
def test_it_learns_with_noise(n_classes, epsilon, delta):
    X, y = problem(6000, n_classes=n_classes)
    model = learner(n_classes, epsilon=epsilon, delta=delta).fit(X, y)
    best = learner(n_classes, epsilon=np.inf).fit(X, y).score(X, y)
    assert model.score(X, y) > best - 0.03 > np.bincount(y).max() / len(y) + 0.1
    assert model.privacy_.epsilon_spent == pytest.approx(epsilon, rel=1e-9)
    names = [question.words for question in questions(model._plan(len(y)))]
    assert [entry.what for entry in model.privacy_.ledger] == names
    assert names[:3] == [
        "release 1: half of the counts by class and bin of all columns",
        "release 1: half of the counts by class",
        "release 2: residuals by class and bin of all columns",
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chances_are_calibrated(n_classes):
    X, y = problem(20_000, n_classes=n_classes)
    model = learner(n_classes, epsilon=1.0, delta=1e-6).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.sum(axis=1) == pytest.approx(1)
    for k in range(n_classes):
        for low in (0.1, 0.3, 0.5, 0.7):
            some = (chances[:, k] > low) & (chances[:, k] < low + 0.2)
            if some.sum() < 500:
                continue
            assert (y[some] == k).mean() == pytest.approx(chances[some, k].mean(), abs=0.08)


def test_the_score_is_the_log_odds():
    X, y = problem()
    model = learner(epsilon=1.0).fit(X, y)
    chance = model.predict_proba(X)[:, 1]
    scores = model.model_.intercept + sum(
        shape[X[:, j]] for j, shape in enumerate(model.model_.shapes)
    )
    assert model.decision_function(X) == pytest.approx(scores)
    assert np.log(chance / (1 - chance)) == pytest.approx(scores)


def test_chances_of_classes_are_in_proportion_to_the_logistic_function_of_scores():
    rng = np.random.default_rng(3)
    scores = 9 * rng.normal(size=(4, 200))
    model = ClassModel.from_scores(np.zeros(4), [scores])
    made = learner(4, n_bins=200)
    made.model_, made.n_bins_, made.classes_ = model, np.array([200]), np.arange(4)
    made._fitted_parameters, made.n_features_in_ = {}, 1
    sigmoids = 1 / (1 + np.exp(-scores.T))
    expected = sigmoids / sigmoids.sum(axis=1, keepdims=True)
    codes = np.arange(200, dtype=np.uint8)[:, None]
    assert made.predict_proba(codes) == pytest.approx(expected)
    assert np.array_equal(made.predict(codes), scores.argmax(axis=0))


@pytest.mark.parametrize(
    "parameters",
    [
        {"neighbours": "add-remove", "n_estimate": 1_000},
        {"neighbours": "add-remove", "n_estimate": 1, "epsilon": np.inf},
        {"delta": 1e-5, "ordered": True},
        {"n_bins": 1},
        {"epsilon": np.inf},
        {"epsilon": 1e-3, "delta": 1e-9},
    ],
    ids=str,
)
def test_hardly_any_records(parameters):
    """No record if their number is secret, else one; columns of one bin have no effect."""
    n = 0 if "neighbours" in parameters else 1
    X, y = np.zeros((n, 3), dtype=np.uint8), np.ones(n, dtype=int)
    fit = learner(**{"epsilon": 1.0, **parameters}).fit(X, y)
    assert np.isfinite(fit.decision_function(np.zeros((2, 3), dtype=np.uint8))).all()
    if parameters.get("n_bins") == 1:
        assert fit.n_features_used_ == 0


def test_a_table_of_very_many_records_gives_the_model_of_fewer():
    """Each row 10,000 times, so that noise hardly matters."""
    X, y = problem(3000)
    few, many = (
        learner(epsilon=50.0, delta=1e-6).fit(X, y, np.full(3000, times)) for times in (500, 10_000)
    )
    assert decoder.MOST_RECORDS < 3000 * 10_000
    assert many.decision_function(X) == pytest.approx(few.decision_function(X), abs=0.05)


# Texts --------------------------------------------------------------------------------------------


def test_the_model_prints_itself():
    X, y = problem()
    model = learner(epsilon=np.inf).fit(X, y).model_
    lines = str(model).splitlines()
    assert lines[0].startswith("The score is ")
    assert lines[1].startswith("  column 0: from -")
    assert "code 19" in lines[1]
    names = [[f"{c} is {k}" for k in range(n)] for c, n in zip("abc", N_BINS, strict=True)]
    assert "where a is 19" in model.in_words("abc", names)
    zero = tuple(0 * values for values in model.shapes)
    none = type(model)(0.0, 0.0, zero, zero)
    assert "Without effect: column 0, column 1, column 2." in str(none)
    assert none.n_used == 0
    assert "(± " in lines[0]
    assert "±" not in str(none)


def test_a_model_of_classes_names_the_classes_of_its_ends():
    X, y = problem(n_classes=3)
    fit = learner(3, epsilon=np.inf).fit(X, y)
    text = fit.describe()
    assert "they begin with class 0 " in text
    assert "  column 0: from " in text
    named = fit.model_.in_words(class_names=["low", "mid", "high"])
    assert "they begin with low " in named
    assert "class " not in named.partition(":")[2]


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_add_remove(delta):
    X, y = problem()
    added = {"neighbours": "add-remove", "n_estimate": 2000}
    model = learner(**added, delta=delta).fit(X, y)
    statement = model.privacy_
    assert statement.neighbours == "add-remove"
    assert ASSUMED_N not in statement.assumptions
    assert ASSUMED_ESTIMATE in statement.assumptions
    assert not hasattr(model, "n_records_")
    # The noise covers the cells of one record, not of two.
    sensitivities = [
        made.privacy_.ledger[1].sensitivity for made in (learner(delta=delta).fit(X, y), model)
    ]
    assert sensitivities[0] / sensitivities[1] == pytest.approx(2 if delta == 0 else np.sqrt(2))


def test_add_remove_needs_an_estimate_and_no_other_takes_one():
    X, y = problem(50)
    for wrong in ({"neighbours": "add-remove"}, {"n_estimate": 50}):
        with pytest.raises(ValueError, match="n_estimate must be given for"):
            learner(**wrong).fit(X, y)


def test_the_statement_says_what_trained_the_network():
    X, y = problem(200)
    assert ASSUMED_RULE in learner().fit(X, y).privacy_.assumptions
    assert "fixed before and apart from these records, unless they are of" in ASSUMED_RULE
    assert all(name in ASSUMED_RULE for name in SET_ON)


def test_impossible_values_are_refused():
    X, y = problem(50)
    with pytest.raises(ValueError, match="ordered must be True or False for each of 3 columns"):
        learner(ordered=(True, False)).fit(X, y)
    with pytest.raises(TypeError, match="method"):
        learner(method="cyclic")


# The network --------------------------------------------------------------------------------------


def test_other_weights_than_the_stated_ones_are_refused(monkeypatch, tmp_path):
    """A file with other content in the same form, and a file that is cut off."""
    network = decoder.load()
    arrays = decoder.pack(network)
    copy = decoder.unpack(arrays)
    for ours, expected in zip(copy.stages, network.stages, strict=True):
        for one, other in zip(ours, expected, strict=True):
            assert np.array_equal(one, other)
    changed = tmp_path / "decoder.npz"
    np.savez(changed, **arrays)
    monkeypatch.setattr(decoder, "FILE", changed)
    decoder.load.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"must have the SHA-256 [0-9a-f]{64}, as published"):
            decoder.load()
    finally:
        decoder.load.cache_clear()


def test_its_file_is_small_and_in_half_precision():
    assert decoder.FILE.stat().st_size <= 10**6
    with np.load(decoder.FILE) as arrays:
        assert {arrays[name].dtype for name in arrays} == {np.dtype(np.float16)}
