"""Mistakes in learners of all columns at once."""

from mistakes_any import mistake

from privcurve.audit.contract import SENSITIVITY, Case
from privcurve.learners.linear import joint
from privcurve.privacy.budget import ADD_REMOVE

STEPS = Case("dp_newton", {"n_steps": 2, "delta": 1e-2})
ROUNDS = Case("boosted_adassp", {"n_rounds": 2, "delta": 1e-2})


@mistake(joint, "residual_norm", SENSITIVITY, STEPS, ROUNDS)
def slopes_without_a_clip(own, n_classes):
    return 2 * own(n_classes)


@mistake(joint, "one_hot_gram_l2", SENSITIVITY, STEPS, ROUNDS)
def gram_for_an_added_record(own, n_ones, neighbours):
    return own(n_ones, ADD_REMOVE)
