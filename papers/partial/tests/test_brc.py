"""Test BRC: its kernel against plain Python, its options, and the data that it must not read."""

import math

import half_spaces_reference as reference
import numpy as np
import pytest

from privcurve.papers.partial.learners._half_spaces import PrivateWeights
from privcurve.papers.partial.learners._half_spaces_noise import BRCNoise
from privcurve.papers.partial.learners._kernel import BLOCK, positive_rows, project_rows
from privcurve.papers.partial.learners.brc.classifier import BRCClassifier
from privcurve.privacy.mechanisms import draw_piece

N_BINS = [4, 3, 5, 2]


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, (n, 4)).astype(np.uint8)
    y = np.where((X[:, 2] > 2) ^ (rng.random(n) < 0.2), 1, -1)
    return X, y


def fit(X, y, counts=None, **parameters):
    options = {"n_bins": N_BINS, "classes": (-1, 1), **parameters}
    options["random_state"] = np.random.default_rng(options.get("random_state", 7))
    return BRCClassifier(**options).fit(X, y, counts)


@pytest.mark.parametrize("seed", range(5))
def test_weights_match_plain_python_with_counts_as_records(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 5, 30)
    n = int(counts.sum())
    noise = BRCNoise("brc", n, 9, 0.5**0.5, 2**0.5, math.inf, 0.0, "proved")
    plain = reference.Weights(n, 0.5**0.5, 2**0.5)
    kernel = PrivateWeights(counts, noise)
    for alpha in rng.uniform(-0.5, 0.5, 9):
        wrong = rng.random(30) < 0.4
        assert kernel.estimate(wrong) == plain.error(np.repeat(wrong, counts))
        kernel.follow(alpha, wrong)
        plain.follow(alpha, np.repeat(wrong, counts))
    assert np.repeat(kernel.each, counts).tolist() == [w / plain.unit for w in plain.each]


@pytest.mark.parametrize("n_rows", [1, BLOCK - 1, BLOCK + 1, 3 * BLOCK])
def test_sides_are_the_signs_of_projections(n_rows):
    rng = np.random.default_rng(n_rows)
    points = rng.choice(np.linspace(-1, 1, 5), (3, n_rows))
    slopes, intercepts = rng.choice([-0.5, 0.25, 0.5], (4, 3)), rng.choice([0.0, 0.25], 4)
    sums = project_rows(points, slopes)
    assert sums == pytest.approx(slopes @ points)
    sides = positive_rows(points, slopes, intercepts)
    assert np.array_equal(sides, sums + intercepts[:, None] > 0)


def test_a_product_beyond_a_cap_leaves_the_weight():
    noise = BRCNoise("brc", 2, 9, 0.9, 1.1, math.inf, 0.0, "proved")
    weights = PrivateWeights(np.array([1, 1]), noise)
    wrong = np.array([True, False])
    weights.follow(math.log(1.08), wrong)
    weights.follow(math.log(1.05), wrong)
    assert weights.each == pytest.approx([1.08, 1.0])
    weights.follow(math.inf, wrong)
    weights.follow(-math.inf, wrong)
    assert weights.each == pytest.approx([1.08, 1.0])


@pytest.mark.parametrize("public", [None, (1, 3), ()])
@pytest.mark.parametrize("epsilon", [0.3, math.inf])
def test_counts_are_records_bit_for_bit(public, epsilon):
    X, y = data()
    rows, counts = np.unique(np.c_[X, y], axis=0, return_counts=True)
    for options in ({}, {"estimate": "edge"}, {"intercept": "zero"}):
        options |= {"public_columns": public, "epsilon": epsilon}
        by_count = fit(rows[:, :-1].astype(np.uint8), rows[:, -1], counts, **options)
        assert by_count.votes_ == fit(X, y, **options).votes_


def test_a_good_classifier_gets_a_positive_alpha_and_zero_is_negative():
    X = np.array([[0], [1], [2]] * 20, dtype=np.uint8)
    y = np.where(X[:, 0] > 1, 1, -1)
    model = fit(X, y, n_bins=[3], intercept="zero", epsilon=math.inf, n_rounds=15)
    for vote in model.votes_:
        # The middle bin is scaled to 0. With intercept 0 its score is 0, which counts as negative.
        right = 1.0 if vote.coefficients[0] > 0 else 1 / 3
        assert (vote.alpha > 0) == (right > 0.5)
    assert (model.predict(X) == y).all()


@pytest.mark.usefixtures("given_streams")
def test_stages_and_the_kept_prefix():
    X, y = data()
    model = fit(X, y, public_columns=(1,))
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 25
    assert np.array_equal(stages[-1], model.decision_function(X))
    part = fit(X, y, public_columns=(1,), n_kept=6)
    assert part.votes_ == model.votes_
    assert len(part.privacy_.ledger) == 25
    assert np.array_equal(part.decision_function(X), stages[5])
    with pytest.raises(ValueError, match="n_kept must be at most n_rounds = 25; got 26"):
        fit(X, y, n_kept=26)


def test_private_codes_change_no_bit_of_the_public_part():
    """The public classifier depends only on public columns, labels and released numbers."""
    X, y = data()
    changed = X.copy()
    changed[0, [0, 2]] = (X[0, [0, 2]] + 1) % (4, 5)
    for seed in range(10):
        left, right = (
            fit(Z, y, public_columns=(1, 3), epsilon=50.0, random_state=seed) for Z in (X, changed)
        )
        first = [next((v for v in m.votes_ if v.public), None) for m in (left, right)]
        before = [m.votes_.index(v) if v else 25 for m, v in zip((left, right), first, strict=True)]
        if min(before) == 25:
            continue
        # The first vote of the public classifier is equal in both fits, although two private values
        # of the first record differ.
        assert first[0] == first[1]
        return
    pytest.fail("no round was public")


@pytest.mark.usefixtures("given_streams")
def test_private_runs_alike_whatever_is_public():
    X, y = data()
    plain = fit(X, y)
    ignoring = fit(X, y, public_columns=(1,), algorithm="private")
    assert ignoring.votes_ == plain.votes_
    assert ignoring.privacy_ == plain.privacy_
    assert plain.privacy_.neighbours == "replace-one"


def test_adaboost_of_random_classifiers():
    X, y = data()
    with pytest.raises(ValueError, match="epsilon = inf"):
        fit(X, y, weights="adaboost")
    model = fit(X, y, weights="adaboost", epsilon=math.inf, n_rounds=60)
    points = -1 + 2 * X / (np.array(N_BINS) - 1)
    weights = np.ones(len(X))
    for vote in model.votes_:
        side = np.where(points @ vote.coefficients + vote.intercept > 0, 1, -1)
        error = weights[side != y].sum() / weights.sum()
        assert vote.alpha == pytest.approx(math.log((1 - error) / error))
        weights[side != y] *= math.exp(vote.alpha)
    assert (model.predict(X) == y).mean() > 0.7


def test_thresholds_by_the_exponential_mechanism():
    """Thresholds in [−1, 1] have a density in proportion to e^{ηs} on each interval with score s.

    Without noise (η = ∞) they are in the interval with the best score; the best score of an
    interval of length 0 does not count.
    """
    ends, scores = np.array([-1.0, -0.5, 0.0, 0.0, 1.0]), np.array([0.1, 0.4, 9.0, 0.2])
    drawn = [draw_piece(ends, scores, 5.0, np.random.default_rng(seed)) for seed in range(4000)]
    expected = np.array([0.5, 0.5, 1.0]) * np.exp(5 * np.array([0.1, 0.4, 0.2]))
    shares = np.histogram(drawn, [-1, -0.5, 0, 1])[0] / 4000
    assert shares == pytest.approx(expected / expected.sum(), abs=0.03)
    exact = [draw_piece(ends, scores, math.inf, np.random.default_rng(s)) for s in range(50)]
    assert all(-0.5 <= x <= 0 for x in exact)


def test_thresholds_of_one_column_find_a_line():
    X = np.repeat(np.arange(100), 20)[:, None].astype(np.uint8)
    y = np.where(X[:, 0] >= 50, 1, -1)
    model = fit(
        X, y, n_bins=[100], intercept="threshold", n_rounds=50, largest=2, smallest=0.5, epsilon=3
    )
    assert (model.predict(X) == y).mean() > 0.9
