"""Mistakes in learners with public columns and linear ones, and the point that each breaks."""

from dataclasses import replace

import numpy as np
from mistakes_any import exact_number, half_the_noise

from privcurve.audit.contract import (
    CHARGE,
    CONTROL,
    NOISE,
    POST_PROCESSING,
    SENSITIVITY,
    Case,
)
from privcurve.audit.contract_cases import CASES
from privcurve.learners import half_spaces, linear, noisy_bayes
from privcurve.learners import pate as answers
from privcurve.learners.half_spaces import HalfSpaceVoteClassifier, PrivateWeights, Rounds
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.learners.pate import PATEClassifier
from privcurve.learners.shared import log_odds
from privcurve.learners.shared.roles import PublicRows
from privcurve.privacy.budget import PRIVATE_COLUMNS
from privcurve.privacy.calibration import objective
from privcurve.privacy.calibration.brc import BRCNoise
from privcurve.privacy.calibration.objective import Perturbation
from privcurve.privacy.curator import Curator


def hidden(learner, **parameters):
    return Case(learner, parameters, neighbours=PRIVATE_COLUMNS)


# Mistakes, put in by a patch -------------------------------------------------------------------


def the_same_noise_again(patch):
    """BRC: the errors of all rounds get the noise of the first."""
    numbers, kept = Curator._numbers, {}

    def drawn(self, call, exact):
        if self not in kept:
            kept[self] = (numbers(self, call, exact) - exact) / call.scale
        return exact + call.scale * kept[self]

    patch.setattr(Curator, "_numbers", drawn)


def half_a_term(patch):
    """The linear term of an objective is half of what it must be."""
    tilt = Curator._tilt
    patch.setattr(Curator, "_tilt", lambda self, *given: tilt(self, *given) / 2)


def noise_for_half_an_error(patch):
    """BRC: noise is for half of an error's sensitivity."""
    bound = BRCNoise.sensitivity
    patch.setattr(BRCNoise, "sensitivity", lambda self, alphas: bound(self, alphas) / 2)


def weights_without_caps(patch):
    """BRC: weights grow beyond the caps that the noise is for."""
    patch.setattr(
        PrivateWeights,
        "_caps",
        property(lambda self: (1, 1000 * self._unit), lambda self, caps: None),
        raising=False,
    )


def errors_of_chosen_thresholds(patch):
    """BRC, version 1: thresholds are chosen by the error, with noise for the edge."""
    patch.setattr(
        PrivateWeights, "utility", lambda self, missed: np.abs(0.5 - missed / self.mass.sum())
    )


def the_best_threshold(patch):
    """BRC: the exponential mechanism is called, and the best threshold taken."""
    threshold = Curator.threshold

    def best(self, call, ends, scores):
        threshold(self, call, ends, scores)
        k = int(np.argmax(np.where(np.diff(ends) > 0, scores, -1)))
        return (ends[k] + ends[k + 1]) / 2

    patch.setattr(Curator, "threshold", best)


def columns_scaled_by_their_extremes(patch):
    """BRC: columns run from −1 to 1 between the least and the largest value that occurs."""
    points = HalfSpaceVoteClassifier._points

    def scaled(self, codes, public):
        given = points(self, codes, public)
        low, high = given.min(axis=1, keepdims=True), given.max(axis=1, keepdims=True)
        return np.ascontiguousarray(2 * (given - low) / np.maximum(high - low, 1e-9) - 1)

    patch.setattr(HalfSpaceVoteClassifier, "_points", scaled)


def reach_of_the_records(patch):
    """BRC: thresholds are chosen between the least and the largest projection."""
    threshold = Curator.threshold

    def within(self, call, ends, scores):
        return threshold(self, call, np.clip(ends, ends[1], ends[-2]), scores)

    patch.setattr(Curator, "threshold", within)


def exact_errors_in_public_rounds(patch):
    """The error of a round that the public classifier wins is released like any other."""
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

    patch.setattr(PrivateWeights, "estimate", kept)
    patch.setattr(Rounds, "partial", played)


def private_weights_for_the_public_classifier(patch):
    """Weights that private errors have moved tell of them."""
    partial = Rounds.partial

    def played(self, known, rows):
        class Fed:
            wrong = known.wrong

            def fit(self, weights):
                total = np.bincount(rows.row_of, private.each * private._counts, len(rows.signs))
                return known.fit(weights * total / rows.counts)

        private = self._weights
        partial(self, Fed(), rows)

    patch.setattr(Rounds, "partial", played)


def a_private_column_for_the_public_classifier(patch):
    """A column that is taken for another."""
    gather = PublicRows.of
    patch.setattr(
        half_spaces.PublicRows,
        "of",
        lambda codes, *given: gather(np.minimum(codes[:, [1, 1]], 1), *given),
    )


def classifier_without_noise(patch):
    """Objective perturbation: the linear term is drawn and left out."""
    minimise = log_odds.minimise_logistic
    patch.setattr(log_odds, "minimise_logistic", lambda *posed, tilt, **more: minimise(*posed))


def noise_for_one_gradient(patch):
    """Objective perturbation: the record that is left out counts, the one put in does not."""
    calibrate = objective.perturbed

    def perturbed(*given, **bounds):
        known = calibrate(*given, **bounds)
        return replace(known, sensitivity=known.sensitivity / 2)

    patch.setattr(objective, "perturbed", perturbed)


def no_penalty_for_the_jacobian(patch):
    """Box noise: ε is spent on noise alone, and the penalty is 1/C."""
    patch.setattr(objective, "CURVATURE", 1e-9)


def no_extra_penalty(patch):
    """Ball noise: the penalty that Algorithm 2 adds for a small ε is left out."""
    patch.setattr(Perturbation, "extra_penalty", lambda self, epsilon: 0.0)


def rows_that_are_not_scaled(patch):
    """Ball noise for rows of norm 1, of rows whose norm is √d."""
    rows = linear.DPLogisticRegressionClassifier._rows
    patch.setattr(
        linear.DPLogisticRegressionClassifier,
        "_rows",
        lambda self, codes, value=1.0: rows(self, codes),
    )


def noise_for_one_cell_of_two(patch):
    """Naive Bayes: a record leaves a cell, and is not thought to enter another."""
    patch.setattr(noisy_bayes, "feature_histograms_l1", lambda m: float(m))


def columns_by_exact_scores(patch):
    """Naive Bayes: columns are chosen by exact scores."""

    def chosen(tables, m, curator):
        scores = {j: noisy_bayes.column_score(table) for j, table in tables.items()}
        return sorted(tables, key=lambda j: -scores[j])[:m]

    patch.setattr(noisy_bayes, "_choose", chosen)


def prior_of_exact_counts(patch):
    """Naive Bayes: the prior counts labels exactly."""
    release = NoisyBayesClassifier._release

    def released(self, records, curator):
        release(self, records, curator)
        self.prior_ = float(records.counts @ records.labels)

    patch.setattr(NoisyBayesClassifier, "_release", released)


def noise_for_half_of_the_answers(patch):
    """PATE: noise is for half of what a record moves."""
    bound = answers.answers_l1
    patch.setattr(answers, "answers_l1", lambda *given: bound(*given) / 2)


def noise_without_own_answers(patch):
    """PATE: noise is for what a record moves in the answers of others, 2(Q − 1)."""
    patch.setattr(answers, "answers_l1", lambda n_answers, n_teachers: 2.0 * (n_answers - 1))


def noise_of_answers_by_codes(patch):
    """PATE: equal margins have equal answers, so two answers that differ show that codes do."""
    signs = Curator.signs

    def shared(self, call, margins, records=None):
        values, which = np.unique(margins, return_inverse=True)
        return signs(self, call, values)[which]

    patch.setattr(Curator, "signs", shared)


def student_of_exact_answers(patch):
    """PATE: answers get noise, and the student learns from the exact ones."""
    signs = Curator.signs

    def exact(self, call, margins, records=None):
        signs(self, call, margins, records)
        return margins > 0

    patch.setattr(Curator, "signs", exact)


def teachers_that_are_released(patch):
    """PATE: teachers, who are not private, are part of the model."""
    patch.setattr(PATEClassifier, "_held", ("_own_rows",))


ROUNDS = {"n_rounds": 3}
EM = {**ROUNDS, "intercept": "em"}
BRC, BOX = Case("brc", ROUNDS), Case("dp_logistic_regression", {"noise": "box"})
BALL = Case("dp_logistic_regression", {})
OWN, PATE = (case for case in CASES if case.learner == "pate")
# With little noise both classifiers win rounds.
SEEN = hidden("brc", n_rounds=5, epsilon=40.0)
ONE_COLUMN = Case("noisy_bayes", {"n_columns": 1})

MISTAKES = [
    (noise_without_own_answers, OWN, SENSITIVITY),
    (exact_number, BRC, CHARGE),
    (the_same_noise_again, BRC, NOISE),
    (half_the_noise, BRC, NOISE),
    (half_the_noise, PATE, NOISE),
    (half_the_noise, ONE_COLUMN, NOISE),
    (noise_for_half_an_error, BRC, SENSITIVITY),
    (weights_without_caps, BRC, SENSITIVITY),
    (errors_of_chosen_thresholds, Case("brc", {**EM, "estimate": "edge"}), SENSITIVITY),
    (the_best_threshold, Case("brc", EM), POST_PROCESSING),
    (columns_scaled_by_their_extremes, BRC, SENSITIVITY),
    (reach_of_the_records, Case("brc", EM), CONTROL),
    (exact_errors_in_public_rounds, hidden("brc", **ROUNDS), POST_PROCESSING),
    (
        private_weights_for_the_public_classifier,
        hidden("brc", n_rounds=5, epsilon=40.0),
        POST_PROCESSING,
    ),
    (a_private_column_for_the_public_classifier, hidden("brc", **ROUNDS), CONTROL),
    (classifier_without_noise, Case("boosting_for_people", {"n_rounds": 2}), POST_PROCESSING),
    (half_a_term, Case("boosting_for_people", {"n_rounds": 2}), NOISE),
    (half_a_term, BOX, NOISE),
    (half_a_term, BALL, NOISE),
    (classifier_without_noise, BOX, POST_PROCESSING),
    (noise_for_one_gradient, BOX, SENSITIVITY),
    (no_penalty_for_the_jacobian, BOX, SENSITIVITY),
    (no_extra_penalty, Case("dp_logistic_regression", {"C": 100.0}), SENSITIVITY),
    (rows_that_are_not_scaled, BALL, SENSITIVITY),
    (noise_for_one_cell_of_two, Case("noisy_bayes", {}), SENSITIVITY),
    (columns_by_exact_scores, ONE_COLUMN, CHARGE),
    (prior_of_exact_counts, ONE_COLUMN, POST_PROCESSING),
    (noise_for_half_of_the_answers, PATE, SENSITIVITY),
    (noise_of_answers_by_codes, PATE, CONTROL),
    (student_of_exact_answers, PATE, POST_PROCESSING),
    (teachers_that_are_released, PATE, POST_PROCESSING),
]
