"""Plant deliberate mistakes in boosted half-spaces and in PATE, which the audit must find."""

from dataclasses import replace

import numpy as np
from mistakes_any import BRC, PATE, breaks, replace_constant, replacement_of

from privcurve.audit.contract import (
    CHARGE,
    CONTROL,
    POST_PROCESSING,
    SEALED,
    SENSITIVITY,
    Case,
)
from privcurve.papers.partial.learners import _half_spaces as half_spaces
from privcurve.papers.partial.learners._half_spaces import HalfSpaceVoteClassifier, PrivateWeights
from privcurve.papers.partial.learners._half_spaces_noise import BRCNoise
from privcurve.papers.partial.learners.pate import classifier as answers
from privcurve.papers.partial.learners.pate.classifier import PATEClassifier
from privcurve.privacy.budget import PRIVATE_COLUMNS
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import open_values

# With several teachers, the answer about the replaced record can change more than other answers.
# All teachers may change their votes about this record, but only one teacher may change its votes
# about other records.
OWN = replace(PATE, parameters={"n_teachers": 4, "n_answers": 10}, sizes=(10,) * 6)
EM = {"n_rounds": 3, "intercept": "em"}
HIDDEN = replace(BRC, neighbours=PRIVATE_COLUMNS)
# The noise is small enough that the public classifier wins some rounds, and the private classifier
# wins other rounds.
BOX = Case("dp_logistic_regression", {"noise": "box"})
PEOPLE = Case("boosting_for_people", {"n_rounds": 2})

# Half-spaces -----------------------------------------------------------------------------------


@replacement_of(BRCNoise, "sensitivity", SENSITIVITY, BRC)
def noise_for_half_an_error(original, self, alphas):
    return original(self, alphas) / 2


@breaks(SENSITIVITY, BRC)
def weights_without_caps(patch):
    """Let weights grow beyond the caps that the noise assumes."""
    caps = property(lambda self: (1, 1000 * self._unit), lambda self, caps: None)
    patch.setattr(PrivateWeights, "_caps", caps, raising=False)


@replacement_of(PrivateWeights, "utility", SENSITIVITY, Case("brc", {**EM, "estimate": "edge"}))
def errors_of_chosen_thresholds(original, self, sums, positive, reach):
    """Choose thresholds by the error, with noise for the edge (as an old version of BRC did)."""
    return half_spaces._compute_utility(self._each, self._counts, sums, positive, reach, False, 1)


@replacement_of(Curator, "threshold", POST_PROCESSING, Case("brc", EM))
def the_best_threshold(original, self, call, ends, scores):
    """Call the exponential mechanism, but return the best threshold instead of its result."""
    original(self, call, ends, scores)
    ends, scores = open_values((ends, scores))
    k = int(np.argmax(np.where(np.diff(ends) > 0, scores, -1)))
    return (ends[k] + ends[k + 1]) / 2


@replacement_of(HalfSpaceVoteClassifier, "_points", SEALED, BRC)
def columns_scaled_by_their_extremes(original, self, codes, public):
    """Scale columns by their smallest and largest value in the records."""
    given = original(self, codes, public)
    low, high = given.min(axis=1, keepdims=True), given.max(axis=1, keepdims=True)
    return np.ascontiguousarray(2 * (given - low) / np.maximum(high - low, 1e-9) - 1)


@replacement_of(Curator, "threshold", CONTROL, Case("brc", EM))
def reach_of_the_records(original, self, call, ends, scores):
    """Choose thresholds between the smallest and the largest projection of a record."""
    ends = open_values(ends)
    return original(self, call, np.clip(ends, ends[1], ends[-2]), scores)


@breaks(SEALED, HIDDEN)
def exact_errors_in_public_rounds(patch):
    """Keep in the model the exact error of each round that the public classifier wins."""
    exact = []

    @replacement_of(PrivateWeights, "estimate")
    def kept(original, self, wrong):
        exact.append(original(self, wrong))
        return exact[-1]

    @replacement_of(HalfSpaceVoteClassifier, "_boost")
    def boosted(original, self, *given):
        exact.clear()
        rounds = original(self, *given)
        errors = zip(self.votes_, exact, strict=True)
        self.errors_ = [error for vote, error in errors if vote.public]
        return rounds

    kept(patch)
    boosted(patch)


@replacement_of(Curator, "public", CHARGE, HIDDEN)
def a_private_column_for_the_public_classifier(original, self, columns, gather, records):
    return original(self, (1,), lambda codes, *given: gather(np.minimum(codes, 1), *given), records)


# PATE ------------------------------------------------------------------------------------------


@replacement_of(answers, "answers_l1", SENSITIVITY, PATE)
def noise_for_half_of_the_answers(original, *given):
    return original(*given) / 2


@replacement_of(answers, "answers_l1", SENSITIVITY, OWN)
def noise_without_own_answers(original, n_answers, n_teachers):
    """Scale the noise only for changes of the answers about records that are not replaced."""
    return 2.0 * (n_answers - 2)


@replacement_of(Curator, "signs", CONTROL, PATE)
def noise_of_answers_by_codes(original, self, call, margins, records=None):
    """Draw the same noise for equal margins: two different answers then show different bins."""
    values, which = np.unique(margins, return_inverse=True)
    return original(self, call, values)[which]


@replacement_of(Curator, "signs", POST_PROCESSING, PATE)
def student_of_exact_answers(original, self, call, margins, records=None):
    original(self, call, margins, records)
    return margins > 0


# The teachers, which are not private, are released with the model.
replace_constant(
    "teachers_that_are_released", PATEClassifier, "_held", ("_own_rows",), POST_PROCESSING, PATE
)
