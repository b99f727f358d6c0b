"""Mistakes in learners that fit all columns jointly."""

from dataclasses import replace

from mistakes_any import replacement_of

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


@replacement_of(joint, "_add_clipped", SENSITIVITY, STEPS, ROUNDS)
def slopes_without_a_clip(original, rows, residuals, counts, part=1.0):
    return joint.weighted_sum(rows, counts * residuals)


@replacement_of(sums.Sum, "moves", SENSITIVITY, STEPS, ROUNDS)
def gram_for_an_added_record(original, self, neighbours):
    return original(self, ADD_REMOVE)


@replacement_of(mst, "histogram_l1", SENSITIVITY, SYNTHETIC)
def distances_for_an_added_record(original, neighbours):
    return original(ADD_REMOVE)


@replacement_of(mst, "feature_histograms_l2", SENSITIVITY, SYNTHETIC)
def counts_of_one_column_alone(original, n_columns, neighbours):
    return original(1, neighbours)


@replacement_of(aim, "histogram_l1", SENSITIVITY, MODEL, MODEL_ADDED)
def distances_that_weigh_one(original, neighbours, weight):
    return original(neighbours)


@replacement_of(aim, "histogram_l2", SENSITIVITY, MODEL)
def tables_for_an_added_record(original, neighbours):
    return original(ADD_REMOVE)


@replacement_of(aim, "_call", SENSITIVITY, MODEL, MODEL_ADDED)
def half_of_the_noise(original, announced, share, budget, curator):
    return original(announced, share, budget, curator).rescale(0.5)


@replacement_of(Rounds, "_round", CHARGE, MODEL, MODEL_ADDED)
def rounds_that_cost_twice_of_what_is_left(original, self, k, most_cells):
    self.share *= 2
    return original(self, k, most_cells)


@replacement_of(SyntheticClassifier, "_total", SEALED, ADDED, MODEL_ADDED)
def exact_number_of_records(original, self, records, noisy):
    return float(records.n)
