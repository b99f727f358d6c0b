"""Mistakes in linear learners and in naive Bayes."""

from dataclasses import replace

from mistakes_any import (
    DP_LOGISTIC_REGRESSION,
    NOISY_BAYES,
    NOISY_BAYES_ONE_COLUMN,
    replace_constant,
    replacement_of,
)

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


@replacement_of(Curator, "_tilt", NOISE, PEOPLE, BOX, DP_LOGISTIC_REGRESSION)
def half_a_term(original, self, *given):
    """The linear term has half of its noise."""
    return original(self, *given) / 2


@replacement_of(log_odds, "minimise_kernel", POST_PROCESSING, PEOPLE, BOX)
def classifier_without_noise(original, *posed, tilt, **more):
    """The linear term is drawn and left out."""
    return original(*posed)


@replacement_of(objective, "perturb_objective", SENSITIVITY, BOX)
def noise_for_one_gradient(original, *given, **bounds):
    """The removed record counts, the added record does not."""
    perturbed = original(*given, **bounds)
    return replace(perturbed, sensitivity=perturbed.sensitivity / 2)


# ε is spent only on noise, and the penalty is 1/C.
replace_constant("no_penalty_for_the_jacobian", objective, "CURVATURE", 1e-9, SENSITIVITY, BOX)


@replacement_of(
    Perturbation, "extra_penalty", SENSITIVITY, Case("dp_logistic_regression", {"C": 100.0})
)
def no_extra_penalty(original, self, epsilon):
    """The penalty that Algorithm 2 adds for a small ε is left out."""
    return 0.0


@replacement_of(linear.DPLogisticRegressionClassifier, "_rows", SENSITIVITY, DP_LOGISTIC_REGRESSION)
def rows_that_are_not_scaled(original, self, codes, value=1.0):
    """The noise is for rows of norm 1, the rows have norm √d."""
    return original(self, codes)


# Naive Bayes -----------------------------------------------------------------------------------


@replacement_of(noisy_bayes, "one_cell", SENSITIVITY, NOISY_BAYES)
def noise_for_one_cell_of_two(original, shape):
    """The sensitivity counts the cell that a record leaves, not the cell that it enters."""
    bounds = original(shape)
    return bounds._replace(change=bounds.size)


@replacement_of(noisy_bayes, "_choose", SEALED, NOISY_BAYES_ONE_COLUMN)
def columns_by_exact_scores(original, tables, m, curator):
    """Sorting scores reads exact values."""
    return sorted(tables, key=lambda j: -noisy_bayes.column_score(tables[j]))[:m]


@replacement_of(NoisyBayesClassifier, "_release", SEALED, NOISY_BAYES_ONE_COLUMN)
def prior_of_exact_counts(original, self, records, curator):
    original(self, records, curator)
    self.prior_ = float(records.counts @ records.labels)
