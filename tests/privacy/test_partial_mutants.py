"""Mistakes that the learners with public columns were built to avoid are found by their audit."""

from dataclasses import replace

import numpy as np
import pytest
from audit_less_noise import box_with, brc_with

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.hidden import all_right_but_one, hidden_few, right_beside
from privcurve.audit.claim import DENSITY, SAMPLED
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import STANDS, VIOLATED, run
from privcurve.learners import noisy_bayes, pate
from privcurve.learners.brc_weights import PrivateWeights
from privcurve.learners.half_spaces import Rounds
from privcurve.learners.roles import PublicRows
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.calibration import pate as calibration

# On either side: enough to see what is never so on one of them.
SHARED = 400

TARGET = Target("none", records([[0]], [1], [2]))


def claims(learner, method, calibration="certified"):
    return [
        c
        for c in ATTACKS[learner].claims
        if (c.method, c.calibration) == (method, calibration)
        and c.delta == 0
        and c.stated == c.neighbours
    ]


def partial_brc(n_rounds):
    """Give the exact claims of BRC with public columns."""
    return [
        c
        for c in claims("brc", DENSITY)
        if (c.setting["n_rounds"], c.neighbours) == (n_rounds, PRIVATE_COLUMNS)
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


def test_exact_errors_in_public_rounds(monkeypatch):
    """The error of a round that the public classifier wins is released like any other."""
    some = partial_brc(2)
    exact = []
    estimate, partial = PrivateWeights.estimate, Rounds.partial

    def kept(self, wrong):
        exact.append(estimate(self, wrong))
        return exact[-1]

    def played(self, known, rows):
        exact.clear()
        partial(self, known, rows)
        told = zip(self.votes, exact, self.estimates, strict=True)
        self.estimates = [error if vote.public else noisy for vote, error, noisy in told]

    monkeypatch.setattr(PrivateWeights, "estimate", kept)
    assert verdicts(some) == {STANDS}
    monkeypatch.setattr(Rounds, "partial", played)
    assert verdicts(some) == {VIOLATED}


def test_private_weights_for_the_public_classifier(monkeypatch):
    """Weights that private errors have moved tell of them: three rounds until they are used."""
    some = [replace(c, pairs=lambda c, target: [all_right_but_one(3)]) for c in partial_brc(3)]
    assert verdicts(some) == {STANDS}
    partial = Rounds.partial

    def played(self, known, rows):
        class Fed:
            wrong = known.wrong

            def fit(self, weights):
                total = np.bincount(rows.row_of, private.mass, len(rows.signs))
                return known.fit(weights * total / rows.counts)

        private = self._weights
        partial(self, Fed(), rows)

    monkeypatch.setattr(Rounds, "partial", played)
    assert verdicts(some) == {VIOLATED}


def test_a_private_column_for_the_public_classifier(monkeypatch):
    """A column that is taken for another."""
    some = [c for c in claims("brc", DENSITY) if c.pairs is right_beside]
    assert verdicts(some) == {STANDS}
    gather = PublicRows.of

    def of(codes, signs, counts, public, n_bins):
        return gather(codes, signs, counts, [0], n_bins)

    monkeypatch.setattr(PublicRows, "of", of)
    assert verdicts(some) == {VIOLATED}


def test_answers_without_noise_for_the_records_own(monkeypatch):
    """Lap(2(Q − 1)/ε) is enough for the answers of others, and the own one costs 2K more."""
    some = claims("pate", DENSITY)
    row = run(some, TARGET, 7, COMPARISONS).iloc[0]
    assert row["verdict"] == STANDS
    assert row["found_epsilon"] > 0.75
    monkeypatch.setattr(
        calibration, "margins_l1", lambda n_answers, n_teachers: 2 * (n_answers - 1)
    )
    assert verdicts(some) == {VIOLATED}


def test_noise_of_answers_that_is_shared_by_codes(monkeypatch):
    """Equal records have equal answers: two answers that differ show that codes do."""
    some = [replace(c, n_trainings=SHARED) for c in claims("pate", SAMPLED)]
    assert VIOLATED not in verdicts(some)

    def shared(self, margins, scale, rng):
        codes, which = np.unique(margins, return_inverse=True)
        return margins + rng.laplace(0, scale, len(codes))[which] > 0

    monkeypatch.setattr(pate.PATEClassifier, "_answers", shared)
    assert verdicts(some) == {VIOLATED}
