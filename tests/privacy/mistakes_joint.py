"""Mistakes in learners of all columns at once."""

from dataclasses import replace

from mistakes_any import mistake

from privcurve.audit.contract import CONTROL, SENSITIVITY, Case
from privcurve.learners.boosting import mst
from privcurve.learners.boosting.mst import MSTClassifier
from privcurve.learners.linear import joint
from privcurve.privacy.budget import ADD_REMOVE

STEPS = Case("dp_newton", {"n_steps": 2, "delta": 1e-2})
ROUNDS = Case("boosted_adassp", {"n_rounds": 2, "delta": 1e-2})
SYNTHETIC = Case("mst", {"n_rounds": 2, "delta": 1e-2})
ADDED = replace(
    SYNTHETIC,
    parameters={**SYNTHETIC.parameters, "neighbours": ADD_REMOVE},
    neighbours=ADD_REMOVE,
)


@mistake(joint, "residual_norm", SENSITIVITY, STEPS, ROUNDS)
def slopes_without_a_clip(own, n_classes):
    return 2 * own(n_classes)


@mistake(joint, "one_hot_gram_l2", SENSITIVITY, STEPS, ROUNDS)
def gram_for_an_added_record(own, n_ones, neighbours):
    return own(n_ones, ADD_REMOVE)


@mistake(mst, "histogram_l1", SENSITIVITY, SYNTHETIC)
def distances_for_an_added_record(own, neighbours):
    return own(ADD_REMOVE)


@mistake(mst, "feature_histograms_l2", SENSITIVITY, SYNTHETIC)
def counts_of_one_column_alone(own, n_columns, neighbours):
    return own(1, neighbours)


@mistake(MSTClassifier, "_total", CONTROL, ADDED)
def exact_number_of_records(own, self, n, noisy):
    return max(float(n), 1.0)
