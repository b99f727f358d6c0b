"""Mistakes in private selection."""

from dataclasses import replace

from mistakes_any import (
    RUNS,
    breaks,
    mistake,
)

from privcurve.audit.contract import CHARGE, NOISE, SENSITIVITY, Case
from privcurve.learners import tuned
from privcurve.learners.tuned import count_right
from privcurve.privacy.curator import EXACT, Curator
from privcurve.privacy.selection import UNITS

RUNS_OF_THREE = Case("tuned", {**RUNS.parameters, "learner": "privgam"}, n_classes=3)


@mistake(tuned.TunedClassifier, "_count_right", CHARGE, RUNS)
def exact_scores(own, self, model, records, curator, call):
    return own(self, model, records, curator, EXACT)


@mistake(tuned.TunedClassifier, "_count_right", CHARGE, RUNS)
def scores_whose_noise_is_not_used(own, self, model, records, curator, call):
    own(self, model, records, curator, call)
    return own(self, model, records, curator, EXACT)


@mistake(tuned.TunedClassifier, "_count_right", SENSITIVITY, RUNS_OF_THREE)
def scores_that_count_a_record_for_each_class(own, self, model, records, curator, call):
    wrong = 3 * count_right(*records[:3], model.decision_function)
    return int(curator.whole_numbers(call, UNITS * wrong)[0])


@breaks(CHARGE, RUNS)
def runs_that_spend_all(patch):
    @mistake(tuned, "terms")
    def more(own, candidates, budget, *given):
        return [replace(one, epsilon=budget.epsilon) for one in own(candidates, budget, *given)]

    more(patch)


@mistake(Curator, "_inner", NOISE, RUNS)
def runs_of_one_seed(own, self, start):
    return own(self, [1])
