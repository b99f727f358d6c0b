"""BRC's noise, exactly: how far two neighbours' transcripts can be told apart."""

import itertools
import math
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import brc as reference

from privcurve.learners.brc import BRCClassifier
from privcurve.privacy.calibration.brc import EDGE, BRCNoise
from privcurve.privacy.sensitivity import brc as sensitivity

SMALLEST, LARGEST = 0.5**0.5, 2**0.5

# Released errors: beyond both ends and between; that is where the ratio is extreme.
CELLS = (-2.0, 0.2, 0.5, 0.8, 3.0)


def noise_of(n, rounds, calibration="certified", **other):
    values = {"smallest": SMALLEST, "largest": LARGEST, "epsilon": 1.0, "delta": 0.0, **other}
    return BRCNoise("brc", n, rounds, calibration=calibration, **values)


def largest_ratio(n, noise, change=1.0):
    """Largest |log ratio|: all ways in which one record's answers change, others all right."""
    rounds = noise.n_rounds
    worst = 0.0
    others = [[False] * (n - 1)] * rounds
    for mine in itertools.product((False, True), repeat=rounds):
        for his in itertools.product((False, True), repeat=rounds):
            left = [[a, *rest] for a, rest in zip(mine, others, strict=True)]
            right = [[a, *rest] for a, rest in zip(his, others, strict=True)]
            for errors in itertools.product(CELLS, repeat=rounds):
                ratio = reference.log_density(left, errors, noise) - reference.log_density(
                    right, errors, noise
                )
                worst = max(worst, abs(ratio))
    return worst


@pytest.mark.parametrize(("n", "rounds"), [(3, 1), (3, 2), (3, 3), (5, 1), (5, 2), (20, 2)])
def test_certified_noise_is_tight(n, rounds):
    found = largest_ratio(n, noise_of(n, rounds))
    assert 0.99 <= found <= 1 + 1e-9


@pytest.mark.parametrize("n", [3, 5, 20])
def test_published_noise_stands_with_slack(n):
    found = largest_ratio(n, noise_of(n, 2, "published"))
    assert 0.49 <= found <= 0.75


def test_half_the_noise_is_found():
    class Half(BRCNoise):
        def scale(self, alphas):
            return super().scale(alphas) / 2

    values = {"smallest": SMALLEST, "largest": LARGEST, "epsilon": 1.0, "delta": 0.0}
    noise = Half("brc", 5, 2, calibration="certified", **values)
    assert largest_ratio(5, noise) > 1.9


def reached(n, rounds, alphas, c1, c2):
    """Largest change of the last round's error over all records' answers (real dynamics)."""
    worst = 0.0
    patterns = list(itertools.product((False, True), repeat=rounds))
    for others in itertools.combinations_with_replacement(patterns, n - 1):
        for mine, his in itertools.product(patterns, repeat=2):
            errors = []
            for one in (mine, his):
                weights = reference.Weights(n, 1 / c1, c2)
                for t in range(rounds):
                    wrong = [one[t], *(other[t] for other in others)]
                    if t == rounds - 1:
                        errors.append(weights.error(wrong))
                    else:
                        weights.follow(alphas[t], wrong)
            worst = max(worst, abs(errors[0] - errors[1]))
    return worst


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("alphas", [(), (0.3,), (-0.3,), (0.2, -0.4), (0.5, -0.5)])
def test_sensitivity_bounds_the_real_dynamics(n, alphas):
    c1 = c2 = 2**0.5
    bound = sensitivity.brc_delta_rounds(n, c1, c2, alphas)[-1]
    assert reached(n, len(alphas) + 1, alphas, c1, c2) <= bound * (1 + 1e-9)


def test_sensitivity_is_attained_after_two_rounds():
    # One record reaches the upper cap, all others the lower one (PRIVACY.md §d).
    alphas = (math.log(1.4), -math.log(1.4))
    c = 1.4 * (1 + 1e-9)
    bound = sensitivity.brc_delta_rounds(4, c, c, alphas)[-1]
    assert reached(4, 3, alphas, c, c) == pytest.approx(bound, rel=1e-6)


def test_edge_sensitivity_by_enumeration():
    """Mean of w(½ − wrong) moves by at most w̄_t/n, whatever a record's weight and answer."""
    for alphas in ((), (0.2,), (0.2, 0.3)):
        top = min(LARGEST, math.exp(sum(a for a in alphas if a > 0)))
        values = [w * s / 2 for w in (SMALLEST, 1.0, top) for s in (-1, 1)]
        spread = max(values) - min(values)
        assert sensitivity.brc_edge_rounds(10, LARGEST, alphas)[-1] == pytest.approx(spread / 10)


def test_the_noise_drawn_is_that_of_the_ledger():
    """What a fit releases, less the exact errors replayed by plain Python, is Lap(Δ_tT/ε)."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (12, 2)).astype(np.uint8)
    y = rng.choice([-1, 1], 12)
    standard = []
    for seed in range(400):
        model = BRCClassifier(
            n_rounds=3, n_bins=4, classes=(-1, 1), epsilon=5.0, random_state=seed
        ).fit(X, y)
        weights = reference.Weights(12, SMALLEST, LARGEST)
        points = -1 + 2 * X / 3
        for vote, released, entry in zip(
            model.votes_, model.estimates_, model.privacy_.ledger, strict=True
        ):
            side = np.where(points @ vote.coefficients + vote.intercept > 0, 1, -1)
            standard.append((released - weights.error(side != y)) * entry.noise_rate)
            weights.follow(vote.alpha, side != y)
    standard = np.array(standard)
    # Standard Laplace noise: E|x| = 1, half of it positive.
    assert np.abs(standard).mean() == pytest.approx(1.0, abs=0.1)
    assert (standard > 0).mean() == pytest.approx(0.5, abs=0.05)


def test_gaussian_noise_is_in_proportion_to_the_sensitivity():
    noise = noise_of(1000, 25, epsilon=0.16, delta=1e-5)
    ratio = noise_of(1000, 25, epsilon=0.16).scale([]) * math.sqrt(2) / noise.scale([])
    assert ratio == pytest.approx(2.2, abs=0.05)
    alphas = [0.1, -0.2]
    same = noise.scale(alphas) / noise.sensitivity(alphas)
    assert same == pytest.approx(noise.scale([]) / noise.sensitivity([]))


@pytest.mark.parametrize("other", [{"estimate": EDGE}, {"choice_share": 0.5}])
def test_published_is_what_the_paper_prints_alone(other):
    with pytest.raises(ValueError, match="published noise"):
        noise_of(10, 2, "published", **other)
