"""Mistakes in learners of all columns at once."""

from dataclasses import replace

from mistakes_any import mistake

from privcurve.audit.contract import CHARGE, SEALED, SENSITIVITY, Case
from privcurve.learners.boosting import aim, mst
from privcurve.learners.boosting.aim import Rounds
from privcurve.learners.boosting.synthetic import SyntheticClassifier
from privcurve.learners.linear import joint
from privcurve.privacy import sums
from privcurve.privacy.budget import ADD_REMOVE

STEPS = Case("dp_newton", {"n_steps": 2, "delta": 1e-2})
ROUNDS = Case("boosted_adassp", {"n_rounds": 2, "delta": 1e-2})
SYNTHETIC, MODEL = (Case(name, {"n_rounds": 2, "delta": 1e-2}) for name in ("mst", "aim"))
ADDED, MODEL_ADDED = (
    replace(case, parameters={**case.parameters, "neighbours": ADD_REMOVE}, neighbours=ADD_REMOVE)
    for case in (SYNTHETIC, MODEL)
)


@mistake(joint, "_add_clipped", SENSITIVITY, STEPS, ROUNDS)
def slopes_without_a_clip(own, rows, residuals, counts):
    return joint.weighted_sum(rows, counts * residuals)


@mistake(sums.Sum, "moves", SENSITIVITY, STEPS, ROUNDS)
def gram_for_an_added_record(own, self, neighbours):
    return own(self, ADD_REMOVE)


@mistake(mst, "histogram_l1", SENSITIVITY, SYNTHETIC)
def distances_for_an_added_record(own, neighbours):
    return own(ADD_REMOVE)


@mistake(mst, "feature_histograms_l2", SENSITIVITY, SYNTHETIC)
def counts_of_one_column_alone(own, n_columns, neighbours):
    return own(1, neighbours)


@mistake(aim, "histogram_l1", SENSITIVITY, MODEL, MODEL_ADDED)
def distances_that_weigh_one(own, neighbours, weight):
    return own(neighbours)


@mistake(aim, "histogram_l2", SENSITIVITY, MODEL)
def tables_for_an_added_record(own, neighbours):
    return own(ADD_REMOVE)


@mistake(aim, "_call", SENSITIVITY, MODEL, MODEL_ADDED)
def half_of_the_noise(own, announced, share, budget, curator):
    return own(announced, share, budget, curator).rescale(0.5)


@mistake(Rounds, "_round", CHARGE, MODEL, MODEL_ADDED)
def rounds_that_cost_twice_of_what_is_left(own, self, k, most_cells):
    self.share *= 2
    return own(self, k, most_cells)


@mistake(SyntheticClassifier, "_total", SEALED, ADDED, MODEL_ADDED)
def exact_number_of_records(own, self, records, noisy):
    return float(records.n)
