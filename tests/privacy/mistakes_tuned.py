"""Mistakes in private selection."""

from dataclasses import replace

from mistakes_any import (
    TUNED,
    breaks,
    replacement_of,
)

from privcurve.audit.contract import CHARGE, NOISE, SENSITIVITY, Case
from privcurve.learners import tuned
from privcurve.learners.tuned import count_right
from privcurve.privacy.curator import EXACT, Curator
from privcurve.privacy.selection import UNITS

RUNS_OF_THREE = Case("tuned", {**TUNED.parameters, "learner": "privgam"}, n_classes=3)


@replacement_of(tuned.TunedClassifier, "_count_right", CHARGE, TUNED)
def exact_scores(original, self, model, records, curator, call):
    return original(self, model, records, curator, EXACT)


@replacement_of(tuned.TunedClassifier, "_count_right", CHARGE, TUNED)
def scores_whose_noise_is_not_used(original, self, model, records, curator, call):
    original(self, model, records, curator, call)
    return original(self, model, records, curator, EXACT)


@replacement_of(tuned.TunedClassifier, "_count_right", SENSITIVITY, RUNS_OF_THREE)
def scores_that_count_a_record_for_each_class(original, self, model, records, curator, call):
    wrong = 3 * count_right(*records[:3], model.decision_function)
    return int(curator.whole_numbers(call, UNITS * wrong)[0])


@breaks(CHARGE, TUNED)
def runs_that_spend_all(patch):
    @replacement_of(tuned, "terms")
    def more(original, candidates, budget, *given):
        return [
            replace(one, epsilon=budget.epsilon) for one in original(candidates, budget, *given)
        ]

    more(patch)


@replacement_of(Curator, "_inner", NOISE, TUNED)
def runs_of_one_seed(original, self, start):
    return original(self, [1])
