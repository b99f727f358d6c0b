"""Mistakes in linear learners and in naive Bayes."""

from dataclasses import replace

from mistakes_any import BALL, COUNTS, ONE_COLUMN, constant, mistake

from privcurve.audit.contract import (
    NOISE,
    POST_PROCESSING,
    SEALED,
    SENSITIVITY,
    Case,
)
from privcurve.learners import noisy_bayes
from privcurve.learners.linear import linear
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.learners.shared import log_odds
from privcurve.privacy.calibration import objective
from privcurve.privacy.calibration.objective import Perturbation
from privcurve.privacy.curator import Curator

BOX = Case("dp_logistic_regression", {"noise": "box"})
PEOPLE = Case("boosting_for_people", {"n_rounds": 2})

# Objectives ------------------------------------------------------------------------------------


@mistake(Curator, "_tilt", NOISE, PEOPLE, BOX, BALL)
def half_a_term(own, self, *given):
    """The linear term is half of what it must be."""
    return own(self, *given) / 2


@mistake(log_odds, "minimise_kernel", POST_PROCESSING, PEOPLE, BOX)
def classifier_without_noise(own, *posed, tilt, **more):
    """The linear term is drawn and left out."""
    return own(*posed)


@mistake(objective, "perturb_objective", SENSITIVITY, BOX)
def noise_for_one_gradient(own, *given, **bounds):
    """The record that is left out counts, the one put in does not."""
    perturbed = own(*given, **bounds)
    return replace(perturbed, sensitivity=perturbed.sensitivity / 2)


# ε is spent on noise alone, and the penalty is 1/C.
constant("no_penalty_for_the_jacobian", objective, "CURVATURE", 1e-9, SENSITIVITY, BOX)


@mistake(Perturbation, "extra_penalty", SENSITIVITY, Case("dp_logistic_regression", {"C": 100.0}))
def no_extra_penalty(own, self, epsilon):
    """The penalty that Algorithm 2 adds for a small ε is left out."""
    return 0.0


@mistake(linear.DPLogisticRegressionClassifier, "_rows", SENSITIVITY, BALL)
def rows_that_are_not_scaled(own, self, codes, value=1.0):
    """Noise is for rows of norm 1, of rows whose norm is √d."""
    return own(self, codes)


# Naive Bayes -----------------------------------------------------------------------------------


@mistake(noisy_bayes, "one_cell", SENSITIVITY, COUNTS)
def noise_for_one_cell_of_two(own, shape):
    """A record leaves a cell, and is not thought to enter another."""
    bounds = own(shape)
    return bounds._replace(change=bounds.size)


@mistake(noisy_bayes, "_choose", SEALED, ONE_COLUMN)
def columns_by_exact_scores(own, tables, m, curator):
    """To sort scores is to look at them."""
    return sorted(tables, key=lambda j: -noisy_bayes.column_score(tables[j]))[:m]


@mistake(NoisyBayesClassifier, "_release", SEALED, ONE_COLUMN)
def prior_of_exact_counts(own, self, records, curator):
    own(self, records, curator)
    self.prior_ = float(records.counts @ records.labels)
