"""Boosted ensembles: what is published is refuted, likely mistakes of a certified one are found."""

from dataclasses import replace

import numpy as np
import pytest

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.ensembles import (
    ensemble_densities,
    loaded_leaves,
    sample_leverages,
)
from privcurve.audit.attacks.pairs import several, torn_columns, two_columns
from privcurve.audit.claim import DENSITY, EXACT, SAMPLED
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import FOUND_NOTHING, STANDS, VIOLATED, run
from privcurve.audit.search import search_densities
from privcurve.learners import bdpe
from privcurve.learners.bdpe import BDPEClassifier
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (60, 2)), RNG.choice([-1, 1], 60), [3, 3]))
SEED = 7


def claims(method, calibration="certified", learner="bdpe", **setting):
    return [
        c
        for c in ATTACKS[learner].claims
        if (c.method, c.calibration) == (method, calibration)
        and all(c.setting.get(key) == value for key, value in setting.items())
    ]


def verdicts(some, n_trainings=800):
    fewer = [
        replace(c, n_trainings=min(c.n_trainings, n_trainings)) if c.method == SAMPLED else c
        for c in some
    ]
    return set(run(fewer, TARGET, SEED, COMPARISONS)["verdict"])


# What is true ------------------------------------------------------------------------------


@pytest.mark.parametrize("n_trainings", [600, pytest.param(2_000, marks=pytest.mark.slow)])
def test_published_leverages_are_refuted(n_trainings):
    """Of a label that was flipped, whether it was is seen in every fit."""
    some = [c for c in claims(SAMPLED, "published") if c.sample is sample_leverages]
    some = [replace(c, n_trainings=n_trainings) for c in some]
    rows = run(some, TARGET, SEED, COMPARISONS)
    assert len(rows) == 3
    assert set(rows["verdict"]) == {VIOLATED}
    assert (rows["found_epsilon"] >= 4).all()
    assert rows["not_covered"].str.startswith("refuted: the leveraging coefficients").all()


def test_published_leaves_are_refuted_even_if_the_leverage_is_public():
    (c,) = claims(EXACT, "published")
    row = run([c], TARGET, SEED, COMPARISONS).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] > 4
    assert "before they are clamped" in row["not_covered"]


@pytest.mark.parametrize("learner", ["bdpe", "dp_forest", "noisy_majority"])
def test_certified_ones_stand(learner):
    """Small pairs of a boosted ensemble are enumerated in test_bdpe_transcripts.py."""
    some = claims(DENSITY, learner=learner) + claims(EXACT, learner=learner)
    some = [c for c in some if learner != "bdpe" or c.pairs is not two_columns]
    rows = run(some, TARGET, SEED, COMPARISONS)
    assert set(rows["verdict"]) == {STANDS}
    assert rows["found_epsilon"].max() == pytest.approx(1.0, abs=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["bdpe", "dp_forest", "noisy_majority"])
def test_sampled_certified_ones_stand(learner):
    """A sound learner is called violated with a chance of 1e-4 over all rows of a run."""
    rows = run(claims(SAMPLED, learner=learner), TARGET, SEED, COMPARISONS)
    assert set(rows["verdict"]) <= {STANDS, FOUND_NOTHING}


# Six mistakes ------------------------------------------------------------------------------


def exact_leverages(patch):
    """Certified, but β is of the exact weights."""
    vote = BDPEClassifier._vote

    def voted(self, positive, negative, *others):
        votes, _ = vote(self, positive, negative, *others)
        return votes, self._leverage(votes, positive, negative, self.n_records_)

    patch.setattr(BDPEClassifier, "_vote", voted)


def noise_before_the_clamp(patch):
    """Certified, but leaves are links with noise for a range of 2M, clamped afterwards."""

    def voted(self, positive, negative, noise, weight_bound, rng):
        links = bdpe.link_of_leaves(positive, negative, float(self.boost_alpha))
        # The rate of weights, whose sensitivity is 2.
        scale = 2 * self.clamp / (2 * noise.leaf_rate)
        links += MECHANISMS[LAPLACE].draw(rng, links.shape, scale)
        return np.clip(links, -self.clamp, self.clamp), float(self.step)

    patch.setattr(BDPEClassifier, "_vote", voted)


def noise_for_half_a_replacement(patch):
    """Lap(w̄/ε) on the sums of leaves."""
    calibrated = BDPEClassifier._noise

    def less(self, n):
        known = calibrated(self, n)
        return replace(known, leaf_rate=2 * known.leaf_rate)

    patch.setattr(BDPEClassifier, "_noise", less)


def sensitivity_of_another_alpha(patch):
    """Splits at α = 1 with the sensitivity of α = 0."""
    calibrated = BDPEClassifier._noise

    def less(self, n):
        return replace(calibrated(self, n), slope=0.0)

    patch.setattr(BDPEClassifier, "_noise", less)


def exact_calibration(patch):
    """α by the exact error, while the ledger has it with noise."""
    calibrated = BDPEClassifier._noise

    def less(self, n):
        return replace(calibrated(self, n), error_rate=np.inf)

    patch.setattr(BDPEClassifier, "_noise", less)


DRAWN = {"splits": "random"}
MUTANTS = [
    (exact_leverages, SAMPLED, {"votes": "link", "n_trees": 2}, several),
    (noise_before_the_clamp, SAMPLED, {"votes": "link", "n_trees": 2}, several),
    (noise_for_half_a_replacement, DENSITY, {"votes": "link"}, two_columns),
    (noise_for_half_a_replacement, DENSITY, DRAWN, two_columns),
    (sensitivity_of_another_alpha, DENSITY, {"alpha": 1.0}, torn_columns),
    (exact_calibration, SAMPLED, {"calibrate_alpha": "released"}, several),
]


@pytest.mark.parametrize(
    ("mistake", "method", "setting", "pairs"),
    MUTANTS,
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_mistake_is_found(monkeypatch, mistake, method, setting, pairs):
    some = [c for c in claims(method, **setting) if c.pairs is pairs and c.delta == 0]
    assert len(some) == 1
    mistake(monkeypatch)
    assert verdicts(some) == {VIOLATED}


@pytest.mark.parametrize(
    ("setting", "least"), [({"n_trees": 4}, 1.5), ({"votes": "link", "n_trees": 2}, 1.03)]
)
def test_a_weight_bound_of_a_half_in_all_rounds_is_found(monkeypatch, setting, least):
    (c,) = [c for c in claims(DENSITY, **setting) if c.pairs is loaded_leaves]
    (pair,) = c.pairs(c, TARGET)
    learner = c.estimator(pair.left.n_bins)

    def found():
        return search_densities([pair], lambda pair: ensemble_densities(learner, pair), 1.0)

    assert 0.95 < found().epsilon <= 1 + 1e-9
    monkeypatch.setattr(BDPEClassifier, "_weight_bound", lambda self, reach: 0.5)
    assert found().violated
    assert found().epsilon > least
    # And the learner notices it, as it fits.
    with pytest.raises(AssertionError, match=r"more than 0\.5"):
        c.statement(pair.left)
