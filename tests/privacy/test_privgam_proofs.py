"""PrivGAM's proofs: what one record moves, that budgets add up, and what a transcript tells."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.pairs import in_crowds
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import STANDS, run
from privcurve.audit.scores import sample_canary_scores
from privcurve.coding import Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import PLACE_BITS, Residuals, bin_maps, residual_table
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.calibration import privgam as bounds
from privcurve.privacy.calibration.privgam import CLIP, gaussian_budget
from privcurve.privacy.curator import Curator

TARGET = Target("none", records([[0]], [1], [2]))
BITS = 20
N_BINS = np.array([3, 2])
RECORDS = list(itertools.product(range(3), range(2), (-1, 1)))


def residuals(some, shapes=((0.3, -0.8, 0.1), (0.0, 0.5))):
    """Records with given scores."""
    whole = np.array(some, dtype=np.int64).reshape(-1, 3)
    made = Residuals(
        whole[:, :2].astype(np.uint8),
        whole[:, 2].astype(np.int8),
        np.ones(len(whole), dtype=np.int64),
        bin_maps(N_BINS, (True, True), merged=False),
        BITS,
    )
    for j, shape in enumerate(shapes):
        made.set_shape(j, np.array(shape))
    return made


def moved(left, right, shapes):
    """How far all that is released of two sets of records lies apart: L1 and L2, and products."""
    a, b = residuals(left, shapes), residuals(right, shapes)
    unit = 2.0**-BITS
    sums = [(a.sums(j) - b.sums(j)).ravel() * unit for j in range(3)]
    places = LinearPart(a.n_bins).places
    slopes = (a.slopes(places) - b.slopes(places)) * unit
    products = (a.gram(places) - b.gram(places)) * 2.0 ** (-2 * PLACE_BITS)
    edges = (a.edges() - b.edges()) * unit
    return sums, slopes, products, edges


SHAPES = (((0.0, 0.0, 0.0), (0.0, 0.0)), ((0.3, -0.8, 0.1), (0.0, 0.5)))


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("shapes", SHAPES)
def test_sensitivities_hold_and_are_reached(neighbours, shapes):
    others = [(0, 1, 1), (2, 0, -1), (0, 0, -1)]
    replaced = itertools.combinations([[one] for one in RECORDS], 2)
    pairs = replaced if neighbours == REPLACE_ONE else (([one], []) for one in RECORDS)
    largest = dict.fromkeys(
        ("l1", "l2", "margin", "edge", "range", "slopes1", "slopes2", "p1", "p2"), 0.0
    )
    for left, right in pairs:
        sums, slopes, products, edges = moved(others + left, others + right, shapes)
        upper = products[np.triu_indices(3)]
        found = {
            "l1": max(np.abs(s).sum() for s in sums),
            "l2": max(np.linalg.norm(s) for s in sums),
            "margin": abs(sums[2][1] - sums[2][0]),
            "edge": np.abs(edges).max(),
            "range": edges.max() - edges.min(),
            "slopes1": np.abs(slopes).sum(),
            "slopes2": np.linalg.norm(slopes),
            "p1": np.abs(upper).sum(),
            "p2": np.linalg.norm(products),
        }
        largest = {key: max(largest[key], found[key]) for key in largest}
    stated = {
        "l1": bounds.cells_l1(CLIP, neighbours),
        "l2": bounds.cells_l2(CLIP, neighbours),
        "margin": bounds.cells_l1(CLIP, neighbours),
        "edge": bounds.cells_l1(CLIP, neighbours),
        "range": bounds.edge_range(CLIP, neighbours),
        "slopes1": bounds.slopes_l1(CLIP, 3, neighbours),
        "slopes2": bounds.slopes_l2(CLIP, 3, neighbours),
        "p1": bounds.products_l1(3),
        "p2": bounds.products_l2(3, neighbours),
    }
    for key, bound in stated.items():
        assert largest[key] <= bound * (1 + 1e-12), key
    if shapes is SHAPES[0]:
        for key in ("l1", "l2", "margin", "edge"):
            assert largest[key] == pytest.approx(stated[key], rel=1e-5), key


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
def test_the_linear_parts_sensitivities_are_reached_at_the_ends_of_many_bins(neighbours):
    """m = 4: records at the ends of three columns, and the intercept, whose place is a half."""
    bins, m = np.array([250] * 3), 4
    maps = bin_maps(bins, (True,) * 3, merged=False)

    def released(codes, sign):
        signs, ones = np.array([sign], dtype=np.int8), np.ones(1, dtype=np.int64)
        made = Residuals(np.array([codes], dtype=np.uint8), signs, ones, maps, BITS)
        places = LinearPart(made.n_bins).places
        return made.slopes(places) / 2.0**BITS, made.gram(places) / 4.0**PLACE_BITS

    # Of opposite labels at one place; and at right angles, for the products.
    one, other = released((249, 249, 249), 1), released((249, 249, 249), -1)
    across = released((249, 0, 0), 1)
    if neighbours == ADD_REMOVE:
        slopes, products = one
    else:
        slopes, products = one[0] - other[0], one[1] - across[1]
    reached = {"rel": 0.01}
    assert np.abs(slopes).sum() == pytest.approx(bounds.slopes_l1(CLIP, m, neighbours), **reached)
    assert np.linalg.norm(slopes) == pytest.approx(bounds.slopes_l2(CLIP, m, neighbours), **reached)
    norm = np.linalg.norm(products)
    assert norm == pytest.approx(bounds.products_l2(m, neighbours), **reached)
    # Of a record that is added; or of one that comes in place of a record in the middle.
    middle = released((124, 124, 124), 1)[1] if neighbours == REPLACE_ONE else 0.0
    products = (one[1] - middle)[np.triu_indices(m)]
    # The intercept is in its own middle for no record: one product fewer.
    short = 0.25 if neighbours == REPLACE_ONE else 0.0
    total = np.abs(products).sum() + short
    assert total == pytest.approx(bounds.products_l1(m), **reached)


def test_no_two_records_move_the_products_further():
    """m(m + 1)/8 bounds the upper triangle of the difference, at random places and at the ends."""
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 7):
        u, v = rng.uniform(-0.5, 0.5, (2, 4000, m))
        u[::2], v[::3] = np.sign(u[::2]) / 2, 0.0
        apart = u[:, :, None] * u[:, None, :] - v[:, :, None] * v[:, None, :]
        upper = np.abs(np.triu(apart)).sum(axis=(1, 2))
        assert 0.99 * bounds.products_l1(m) < upper.max() <= bounds.products_l1(m) * (1 + 1e-12)


def test_residuals_are_clipped_and_fall_with_the_margin():
    table = residual_table(BITS)
    assert table[0] == CLIP * 2**BITS
    assert (np.diff(table) <= 0).all()
    some = residuals([(0, 0, 1), (1, 1, 1), (1, 1, -1)])
    margins = np.array([0.3, -0.3, 0.3])
    exact = np.minimum(1 / (1 + np.exp(margins)), CLIP)
    assert some.each() / 2**BITS == pytest.approx(exact, abs=1e-3)


def test_a_residual_depends_on_its_own_record_alone():
    """Bit for bit: whoever stands beside it, in whatever order."""
    alone = residuals([(1, 1, -1)], SHAPES[1]).each()[0]
    for others in itertools.permutations(RECORDS[:4]):
        assert residuals([(1, 1, -1), *others], SHAPES[1]).each()[0] == alone


def data(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    n_bins = np.array([12, 3, 30, 2, 8])
    X = rng.integers(0, n_bins, (n, 5)).astype(np.uint8)
    score = 0.3 * (X[:, 0] - 6) + 1.5 * (X[:, 1] == 2) - 0.1 * (X[:, 2] - 15)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1, -1).astype(np.int8), n_bins


def learner(n_bins, **parameters):
    return PrivGAMClassifier(n_bins=n_bins, classes=(-1, 1), **parameters)


def fitted(X, y, n_bins, rng, **parameters):
    made = learner(n_bins, **parameters)
    made.n_bins_ = n_bins
    coded = Records(X, y, np.ones(len(y), dtype=np.int64), n_bins)
    return made._fitted(coded, Curator(rng))


@pytest.mark.parametrize("neighbours", [REPLACE_ONE, ADD_REMOVE])
@pytest.mark.parametrize("linear", ["no", "yes"])
@pytest.mark.parametrize(
    ("method", "delta", "pairs"),
    [
        ("cyclic", 1e-5, "no"),
        ("cyclic", 1e-5, "yes"),
        ("greedy", 1e-5, "rule"),
        ("greedy", 0.0, "rule"),
    ],
)
def test_the_ledger_adds_up(method, delta, pairs, linear, neighbours):
    X, y, n_bins = data(400)
    estimate = 500 if neighbours == ADD_REMOVE else None
    for epsilon in (0.05, 1.0, 3.0):
        model = learner(
            n_bins, epsilon=epsilon, delta=delta, method=method, linear=linear, ordered=True,
            neighbours=neighbours, n_estimate=estimate, random_state=0, pairs=pairs,
        ).fit(X, y)  # fmt: skip
        said = model.privacy_
        assert said.neighbours == neighbours
        assert said.epsilon_spent == pytest.approx(epsilon, rel=1e-9)


def test_dropped_columns_leave_their_budget_to_the_others(monkeypatch):
    monkeypatch.setattr(rule, "DROP_WEIGHT", 0.1)
    X, y, n_bins = data(20_000)
    fit, _ = fitted(
        X, y, n_bins, np.random.default_rng(0), epsilon=0.3, delta=1e-5, method="cyclic"
    )
    assert not fit.records.shapes[4].any()
    rounds = []
    for t in (rule.DROP_ROUND, rule.DROP_ROUND + 1):
        entries = [e for e in fit.curator.ledger if e.what.startswith(f"round {t}:")]
        rounds.append([e.noise_rate for e in entries if "column" in e.what])
    assert len(rounds[1]) == len(rounds[0]) - 1
    share = (rule.DROP_ROUND + 1) ** rule.ROUND_POWER / rule.DROP_ROUND**rule.ROUND_POWER
    grown = (rounds[1][0] / rounds[0][0]) ** 2 / share
    assert grown == pytest.approx((5 + rule.INTERCEPT_WEIGHT) / (4 + rule.INTERCEPT_WEIGHT))


def quarter(budget):
    """A share and a sensitivity whose noise has the rate 1/4."""
    return 0.5, 4 * budget.of_release(0.5)


def test_noise_is_that_of_the_ledger():
    X, y, n_bins = data(200)
    for delta, spread in ((1e-5, 1.0), (0.0, math.sqrt(2))):
        fit, _ = fitted(X, y, n_bins, np.random.default_rng(3), delta=delta)
        exact = np.arange(4000)
        entry = fit.budget.release("it", *quarter(fit.budget))
        assert entry.noise_rate == pytest.approx(0.25)
        values, variance = fit._with_noise(exact, entry)
        noise = values - exact * 2.0**-fit.budget.bits
        assert noise.std() == pytest.approx(4 * spread, rel=0.06)
        assert variance == pytest.approx((4 * spread) ** 2, rel=1e-6)


def found(some):
    return run(some, TARGET, 0, COMPARISONS)


def crowded():
    """The claim that is tried by the score of a canary among crowds, without pairs."""
    return next(c for c in ATTACKS["privgam"].claims if c.pairs is in_crowds)


def test_the_score_of_a_model_tells_nearly_all_that_was_released():
    """The distance of its means, in deviations, is nearly μ: 3,000 fits, so ± .04."""
    claim = crowded()
    (pair,) = claim.pairs(claim, TARGET)
    rng = np.random.default_rng(0)
    left, right = (
        sample_canary_scores(claim.estimator(side.n_bins), pair, side, 1_500, rng)
        for side in (pair.left, pair.right)
    )
    mu = gaussian_budget(claim.epsilon, claim.delta, REPLACE_ONE).amount
    ranks = np.concatenate([left, right]).argsort().argsort()[: len(left)]
    above = (ranks.sum() - len(left) * (len(left) - 1) / 2) / len(left) ** 2
    assert 0.8 * mu < math.sqrt(2) * norm.ppf(above) < 1.1 * mu


@pytest.mark.slow
def test_the_attack_on_the_model_alone_finds_half_of_the_claim():
    row = found([crowded()]).iloc[0]
    assert row["verdict"] == STANDS
    assert row["found_epsilon"] > 0.5 * row["epsilon"]


def test_the_curvature_has_noise_of_its_own():
    """The sum of a bin's two cells is released too: each cell has noise, not their difference."""
    X, y, n_bins = data(200)
    fit, _ = fitted(X, y, n_bins, np.random.default_rng(4), delta=1e-5)
    entry = fit.budget.release("it", *quarter(fit.budget))
    values, *_ = fit._with_noise(np.zeros((2, 4000), dtype=np.int64), entry)
    for released in (values[0] + values[1], values[1] - values[0]):
        assert released.std() == pytest.approx(4 * math.sqrt(2), rel=0.06)
