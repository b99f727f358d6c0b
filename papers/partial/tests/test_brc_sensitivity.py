"""Test the sensitivity of BRC's error estimates against the largest actual change by one record."""

import itertools
import math

import half_spaces_reference as reference
import pytest

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import VIOLATED, run
from privcurve.papers.partial.learners import _half_spaces_noise as sensitivity
from privcurve.papers.partial.learners._half_spaces_noise import EDGE, BRCNoise
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

SMALLEST, LARGEST = 0.5**0.5, 2**0.5


def noise_of(n, rounds, calibration="proved", **other):
    values = {"smallest": SMALLEST, "largest": LARGEST, "epsilon": 1.0, "delta": 0.0, **other}
    return BRCNoise("brc", n, rounds, calibration=calibration, **values)


def reached(n, rounds, alphas, c1, c2):
    """Return the largest change of the last round's error if one record is replaced.

    A record matters only by the set of rounds that misclassify it, so all combinations of such sets
    are tried. `c1` and `c2` give the caps 1/c1 and c2 of weights.
    """
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
    bound = sensitivity.brc_delta(n, c1, c2, alphas)
    assert reached(n, len(alphas) + 1, alphas, c1, c2) <= bound * (1 + 1e-9)


def test_sensitivity_is_attained_after_two_rounds():
    # With these α, one record can get the largest weight and all others the smallest weight, which
    # is the worst case (papers/partial/proofs.md, 'BRC').
    alphas = (math.log(1.4), -math.log(1.4))
    c = 1.4 * (1 + 1e-9)
    bound = sensitivity.brc_delta(4, c, c, alphas)
    assert reached(4, 3, alphas, c, c) == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("other", [{"estimate": EDGE}, {"choice_share": 0.5}])
def test_published_noise_is_only_for_what_the_paper_prints(other):
    with pytest.raises(ValueError, match="calibration must be 'proved' unless"):
        noise_of(10, 2, "published", **other)


@pytest.mark.slow
def test_the_audit_finds_a_flipped_label_which_the_partial_learner_does_not_claim():
    (claim,) = [c for c in ATTACKS["brc"] if c.stated != c.neighbours]
    row = run([claim], Target("none", records([[0]], [1], [2])), 7, COMPARISONS).iloc[0]
    assert (row["neighbours"], row["stated_neighbours"]) == (REPLACE_ONE, PRIVATE_COLUMNS)
    assert row["verdict"] == VIOLATED


def test_caps_on_the_wrong_side_of_one_are_refused():
    with pytest.raises(ValueError, match=r"c1 and c2 must be at least 1, .*; got 0\.5 and 2"):
        sensitivity.brc_delta_published(5, 0.5, 2.0)
