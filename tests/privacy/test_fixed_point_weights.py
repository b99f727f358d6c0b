"""Weights rounded to multiples of a unit: the addition to ζ, and where rounding is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from privcurve import datasets
from privcurve.experiments import study
from privcurve.kernels.projection import fixed_point_bits, project
from privcurve.learners import LazyBBClassifier
from privcurve.privacy.calibration.one_rules import lazybb_one_rule
from privcurve.privacy.calibration.trees import lazybb_trees
from privcurve.privacy.sensitivity import lazybb as s
from privcurve.workflow.reading import study_files

STUDIES = study_files({}, Path(__file__).parents[2])
SETTING = {"n_rounds": 3, "learning_rate": 0.45, "epsilon": 1.0, "delta": 0.0}
TREE = {
    "learner": "lazybb", "depth": 2, "n_splits": 3, "criterion": "gini", "split_share": None,
    "leaves": "labels",
}  # fmt: skip
TOO_SMALL = "density must be ≥ .* for n = "


def rounded(histogram, density, learning_rate):
    """Return the weights of the levels in units of 2^−b, as in the kernels."""
    levels = len(histogram)
    weights = np.zeros(levels, dtype=np.int64)
    unit = 1 << fixed_point_bits(sum(histogram))
    project(np.array(histogram), levels - 1, density, learning_rate, unit, weights)
    return [int(weight) for weight in weights]


def parts(rest, old, new, density, learning_rate):
    """Return the weight that disappears and appears when a record moves from level `old` to `new`.

    The record is another labelled point before and after, so its weight counts in full; `rest` has
    the numbers of the other records per level. Exact, in integer units.
    """
    weights = [
        rounded([h + (k == level) for k, h in enumerate(rest)], density, learning_rate)
        for level in (old, new)
    ]
    changes = [(b - a) * h for a, b, h in zip(*weights, rest, strict=True)]
    lost = weights[0][old] - sum(change for change in changes if change < 0)
    gained = weights[1][new] + sum(change for change in changes if change > 0)
    unit = 1 << fixed_point_bits(sum(rest) + 1)
    return lost / unit, gained / unit


def largest_weight(n, density, learning_rate, n_votes):
    """Return M_t = κnζ_t, the bound of both parts that the proof in real numbers gives."""
    zeta = s.lazybb_zeta_rounds(n, density, learning_rate, n_votes + 1)[-1]
    return density * n * float(zeta)


@pytest.mark.parametrize("n", [1, 2, 3, 1024, 1025, 32561, 10**6, 2**31 + 1, 10**10])
def test_the_unit_is_the_kernels_unit(n):
    assert s.lazybb_weight_unit(n) == 2.0 ** -fixed_point_bits(n)


@pytest.mark.parametrize("n", [2, 3, 40, 10**4, 10**6, 6 * 10**6, 10**8, 10**10])
@pytest.mark.parametrize("factor", [1, 20])
def test_rounding_adds_a_thousandth_at_most(n, factor):
    """Random neighbours at the smallest allowed density, and above."""
    rng = np.random.default_rng(n)
    density = min(1.0, factor * s.lazybb_smallest_density(n))
    for _ in range(300):
        n_votes = int(rng.integers(0, 7))
        learning_rate = float(rng.uniform(0.05, 1))
        shares = rng.dirichlet(np.full(n_votes + 1, 0.4))
        rest = rng.multinomial(n - 1, shares).tolist()
        old, new = rng.integers(0, n_votes + 1, size=2).tolist()
        allowed = largest_weight(n, density, learning_rate, n_votes)
        assert max(parts(rest, old, new, density, learning_rate)) <= allowed * (
            1 + s.LARGEST_ROUNDING + 1e-9
        )


def test_many_records_need_the_bound():
    """n = 10¹⁰ by counts: the scale crosses a multiple of the unit, and a whole level jumps."""
    n, positive = 10**10, 9_260_581_244
    rest = [n - positive, positive - 1]
    lost, gained = parts(rest, 1, 0, 0.35, 0.45)
    allowed = largest_weight(n, 0.35, 0.45, 1)
    assert max(lost, gained) > 20 * allowed
    slack = (n + 1) * s.lazybb_weight_unit(n)
    assert 0.5 * slack < max(lost, gained) - allowed <= slack
    # At density 1 nothing is rounded, for any number of records.
    assert parts(rest, 1, 0, 1.0, 0.45) == (1.0, 1.0)


def test_a_tiny_density_needs_the_bound():
    """n = 2, κ = 1e-20: the weight κ is rounded up to one unit, 22,204 times as much."""
    lost, gained = parts([1], 0, 0, 1e-20, 0.45)
    assert lost == gained == 2.0**-52
    assert lost / largest_weight(2, 1e-20, 0.45, 0) > 22_000


X, Y = np.zeros((2, 1), dtype=np.uint8), np.array([1, -1])


@pytest.mark.parametrize("weak_learner", ["one_rule", "topdown"])
@pytest.mark.parametrize(
    ("counts", "density", "needed"),
    [([1, 1], 1e-20, "6.67e-13"), ([9_260_581_244, 739_418_756], 0.35, "1")],
)
def test_values_that_the_proof_does_not_cover_are_refused(weak_learner, counts, density, needed):
    options = {"weak_learner": weak_learner, "n_rounds": 2, "n_bins": 1, "random_state": 0}
    model = LazyBBClassifier(density=density, **options)
    with pytest.raises(ValueError, match=TOO_SMALL) as refusal:
        model.fit(X, Y, counts)
    assert f"got {density:g}:" in str(refusal.value)
    assert f"n = {sum(counts)} " in str(refusal.value)
    assert f"density must be ≥ {needed} " in str(refusal.value)
    # The density of the message is accepted, and without privacy any density is.
    for change in ({"density": float(needed)}, {"epsilon": math.inf}):
        model.set_params(**{"density": density, "epsilon": 1.0, **change})
        assert model.fit(X, Y, counts).n_records_ == sum(counts)


@pytest.mark.parametrize("n", [2, 97, 1000, 32561, 10**6, 5 * 10**6])
def test_the_message_names_a_density_that_is_accepted(n):
    smallest = s.lazybb_smallest_density(n)
    with pytest.raises(ValueError, match=TOO_SMALL) as refusal:
        s.check_lazybb_rounding(n, 0.999 * smallest)
    named = float(str(refusal.value).partition("density must be ≥ ")[2].partition(" ")[0])
    assert smallest <= named <= 1.01 * smallest
    s.check_lazybb_rounding(n, named)


def test_published_depends_only_on_the_number_of_records():
    for calibrate, more in ((lazybb_one_rule, {}), (lazybb_trees, TREE)):
        given = {**SETTING, **more, "calibration": "published"}
        assert calibrate(n=2, density=1e-20, **given).statement.private
        assert calibrate(n=2**26, density=0.01, **given).statement.private
        with pytest.raises(ValueError, match=f"{TOO_SMALL}{2**26 + 1} records; got 0.99"):
            calibrate(n=2**26 + 1, density=0.99, **given)
        assert calibrate(n=2**26 + 1, density=1.0, **given).statement.private


def test_published_weights_stay_close():
    """TV of the normalised weights ≤ (1 + nu)/(κn) at the largest n below density 1."""
    n = 2**26
    rng = np.random.default_rng(5)
    for density in (1e-6, 0.01, 0.35, 0.9):
        for _ in range(100):
            n_votes = int(rng.integers(1, 7))
            rest = rng.multinomial(n - 1, rng.dirichlet(np.full(n_votes + 1, 0.4))).tolist()
            old, new = rng.integers(0, n_votes + 1, size=2).tolist()
            learning_rate = float(rng.uniform(0.05, 1))
            shares = []
            for level in (old, new):
                histogram = [h + (k == level) for k, h in enumerate(rest)]
                weights = rounded(histogram, density, learning_rate)
                total = sum(h * w for h, w in zip(histogram, weights, strict=True))
                shares.append([weight / total for weight in weights])
            gained = shares[1][new] + sum(
                max(0.0, b - a) * h for a, b, h in zip(*shares, rest, strict=True)
            )
            # Shares are floats here, with a relative error of 1e-15 of the total weight.
            assert gained <= s.lazybb_zeta(n, density) * (1 + s.LARGEST_ROUNDING) + 1e-15


@pytest.mark.slow
def test_the_shipped_studies_are_far_from_the_bound():
    count = 0
    for path in STUDIES.values():
        read = study.load(path)
        largest = max((datasets.describe(name).n_rows for name in read.datasets), default=0)
        for method in read.methods.values():
            if method.learner != "lazybb":
                continue
            for setting in method.settings:
                density = float(setting.get("density", LazyBBClassifier().density))
                assert density > 100 * s.lazybb_smallest_density(largest)
                s.check_lazybb_rounding(largest, density, method.calibration == "published")
                count += 1
    assert count > 100
    # The benchmark of a million records.
    s.check_lazybb_rounding(10**6, 0.02)
