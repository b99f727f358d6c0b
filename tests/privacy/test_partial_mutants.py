"""Mistakes that the learners with public columns were built to avoid are found by their audit."""

from dataclasses import replace

import pytest
from audit_less_noise import box_with, brc_with

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.hidden import hidden_few
from privcurve.audit.claim import DENSITY, SAMPLED
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import STANDS, VIOLATED, run
from privcurve.learners import noisy_bayes, pate
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

TARGET = Target("none", records([[0]], [1], [2]))


def claims(learner, method, calibration="certified"):
    return [
        c
        for c in ATTACKS[learner].claims
        if (c.method, c.calibration) == (method, calibration)
        and c.delta == 0
        and c.stated == c.neighbours
    ]


def verdicts(some):
    return set(run(some, TARGET, 7, COMPARISONS)["verdict"])


def test_half_the_noise_of_brc(monkeypatch):
    some = [c for c in claims("brc", DENSITY) if c.setting["n_rounds"] < 3]
    assert verdicts(some) == {STANDS}
    brc_with(monkeypatch, 1 / 2)
    assert verdicts(some) == {VIOLATED}


@pytest.mark.parametrize("n_rounds", [1, 2, 3])
def test_certified_brc_uses_all_of_its_budget(n_rounds):
    some = [c for c in claims("brc", DENSITY) if c.setting["n_rounds"] == n_rounds]
    rows = run(some, TARGET, 0, COMPARISONS)
    assert set(rows["neighbours"]) == {PRIVATE_COLUMNS, REPLACE_ONE}
    assert ((rows["found_epsilon"] > 0.99) & (rows["verdict"] == STANDS)).all()


def test_published_brc_leaves_a_third_or_half_of_its_budget():
    rows = run(claims("brc", DENSITY, "published"), TARGET, 0, COMPARISONS)
    assert rows["found_epsilon"].between(0.5, 0.7).all()
    assert set(rows["verdict"]) == {STANDS}


def test_a_flipped_label_is_found_and_not_claimed():
    (claim,) = [c for c in ATTACKS["brc"].claims if c.stated != c.neighbours]
    row = run([claim], TARGET, 7, COMPARISONS).iloc[0]
    assert (row["neighbours"], row["stated_neighbours"]) == (REPLACE_ONE, PRIVATE_COLUMNS)
    assert row["verdict"] == VIOLATED


def test_counts_with_noise_for_one_cell_of_two(monkeypatch):
    some = claims("noisy_bayes", DENSITY)
    assert verdicts(some) == {STANDS}
    calibrate = noisy_bayes.noisy_bayes

    def halved(**setting):
        known = calibrate(**setting)
        return replace(known, scale=known.scale / 2)

    monkeypatch.setattr(noisy_bayes, "noisy_bayes", halved)
    assert verdicts(some) == {VIOLATED}


def test_box_noise_for_one_gradient_of_two(monkeypatch):
    some = [c for c in claims("dp_logistic_regression", DENSITY) if c.pairs is hidden_few]
    assert verdicts(some) == {STANDS}
    box_with(monkeypatch, 1 / 2)
    assert verdicts(some) == {VIOLATED}


def test_answers_of_published_pate_are_refuted_and_it_says_so():
    row = run(claims("pate", SAMPLED, "published"), TARGET, 7, COMPARISONS).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["not_covered"].startswith("refuted: ")


@pytest.mark.slow
def test_noise_of_answers_that_is_shared_by_codes(monkeypatch):
    """Equal records have equal answers: two answers that differ show that codes do."""
    some = claims("pate", SAMPLED)
    assert VIOLATED not in verdicts(some)
    margins = pate._margins

    def fitted(self, codes, signs, counts, rng):
        shared = rng.laplace(size=2)
        monkeypatch.setattr(
            pate,
            "_margins",
            lambda rows, teachers: (
                margins(rows, teachers) + self_scale(self, counts) * shared[(rows[:, 0] > 0) * 1]
            ),
        )
        return fit(self, codes, signs, counts, rng)

    def self_scale(self, counts):
        return pate_noise(
            n_answers=2 * int(counts.sum()), n_teachers=5, epsilon=1.0,
            calibration="certified", public=(),
        ).scale  # fmt: skip

    def silent(**setting):
        return replace(pate_noise(**setting), scale=0.0)

    fit, pate_noise = pate.PATEClassifier._fit_one, pate.pate_noise
    monkeypatch.setattr(pate.PATEClassifier, "_fit_one", fitted)
    monkeypatch.setattr(pate, "pate_noise", silent)
    assert verdicts(some) == {VIOLATED}
