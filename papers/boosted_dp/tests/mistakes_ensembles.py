"""Mistakes in ensembles of trees and of teachers, and in private selection."""

from dataclasses import replace

import numpy as np
from mistakes_any import GRADIENT, RUNS, SIGNS, TWO, VOTES, breaks, constant, mistake

from privcurve.audit.contract import CHARGE, NOISE, POST_PROCESSING, SEALED, SENSITIVITY, Case
from privcurve.kernels.m_alpha import link_of_leaves
from privcurve.learners import base, bdpe, tuned
from privcurve.learners.bdpe import BDPEClassifier
from privcurve.learners.boosting import dpboost
from privcurve.learners.dp_bagging import DPBaggingClassifier
from privcurve.learners.dp_forest import DPForestClassifier
from privcurve.learners.tuned import count_right
from privcurve.privacy import noise
from privcurve.privacy.curator import EXACT, Curator
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import Noise, kernel, open_values
from privcurve.privacy.selection import UNITS

LINK = {**TWO, "votes": "link"}
TEACHERS = {"n_teachers": 3, "n_partitions": 2, "n_queries": 3}
BAGGING = Case("dp_bagging", TEACHERS, sizes=(1, 30))
BOOSTED = Case("dpboost", GRADIENT)
RUNS_OF_THREE = Case("tuned", {**RUNS.parameters, "learner": "privgam"}, n_classes=3)


@mistake(DPForestClassifier, "_vote", SEALED, VOTES)
def votes_exactly(own, self, weights, margins, *others):
    return margins


@mistake(DPForestClassifier, "_vote", SEALED, VOTES)
def draws_noise_of_its_own(own, self, weights, margins, call, curator):
    """Right noise, but from the public coins, beside the curator."""
    return np.sign(margins + curator.coins.laplace(scale=call.scale, size=margins.shape))


@breaks(SENSITIVITY, VOTES, BAGGING, SIGNS)
def noise_for_one_count(patch):
    """Any learner of announced margins: it takes a record to change one of them by 1."""
    # What is patched is not to be remembered, nor what was remembered to be used.
    patch.setattr(base, "noise_of", noise.noise_of.__wrapped__)
    bound = Announced.bound
    patch.setattr(Announced, "bound", lambda self, pure: bound(self, pure) / 2)


@mistake(DPBaggingClassifier, "_poll", SENSITIVITY, BAGGING)
def votes_not_divided(own, self, *given):
    """The votes of all partitions are added up, and not divided by their number."""
    return int(self.n_partitions) * own(self, *given)


constant("gradients_not_filtered", dpboost, "GRADIENT_BOUND", 10.0, SENSITIVITY, BOOSTED)


@mistake(dpboost, "leaf_bounds", SENSITIVITY, Case("dpboost", {**GRADIENT, "learning_rate": 0.9}))
def leaves_not_clipped(own, n_trees, rate):
    return np.full(n_trees, 10.0)


@breaks(SENSITIVITY, BOOSTED)
def each_tree_has_all_records(patch):
    """The trees of an ensemble do not divide its records, but are charged as if."""
    patch.setattr(dpboost, "chunk_ends", lambda n, *_: np.array([n, 2 * n]))

    shuffle = mistake(Curator, "shuffle")
    shuffle(lambda own, self, places: kernel(lambda p: np.tile(p, 2), rows=0)(own(self, places)))(
        patch
    )


@mistake(Curator, "noise", CHARGE, BOOSTED, Case("bdpe", TWO))
def the_same_noise_in_each_tree(own, self, calls, shape):
    """Noise of splits is drawn once and used again and again."""
    if "kept" not in vars(self):
        self.kept = open_values(own(self, calls, shape))
    return Noise(self.kept, self.sealed_for)


constant("the_best_questions", bdpe, "NOISY", bdpe.BEST, POST_PROCESSING, Case("bdpe", TWO))


@mistake(bdpe, "grow_released", SENSITIVITY, Case("bdpe", {**TWO, "tree_share": 0.0}))
def questions_for_nothing(own, *given):
    """Splits that have no part of the budget look at the records all the same."""
    return own(*given[:8], np.ones_like(given[8]), *given[9:])


@mistake(BDPEClassifier, "_vote", SEALED, Case("bdpe", {**LINK, "n_trees": 1}))
def exact_leverages(own, self, t, positive, negative, *others):
    votes, _ = own(self, t, positive, negative, *others)
    return votes, self._leverage(votes, positive - negative, self.n_records_, float(self.clamp))


@mistake(BDPEClassifier, "_vote", SENSITIVITY, Case("bdpe", LINK))
def noise_before_the_clamp(own, self, t, positive, negative, weight_bound, curator):
    """Leaves are links with noise for a range of 2M, clamped afterwards."""
    links = kernel(link_of_leaves)(positive, negative, float(self.boost_alpha))
    # The scale of weights, whose sensitivity is 2.
    call = curator.call(bdpe.OF_LEAVES.format(t + 1, self._leaf_words())).rescale(self.clamp)
    return np.clip(curator.numbers(call, links), -self.clamp, self.clamp), 1.0


@mistake(BDPEClassifier, "_sensitivity", SENSITIVITY, Case("bdpe", {**TWO, "alpha": 1.0}))
def sensitivity_of_another_alpha(own, self, n, alpha):
    return own(self, n, 0.0)


@breaks(SENSITIVITY, Case("bdpe", {**TWO, "step": 9.0}))
def a_weight_bound_of_a_half(patch):
    """Noise is for weights of ½ in all rounds."""
    for name in ("_grow", "_vote"):
        halved = mistake(BDPEClassifier, name)
        halved(lambda own, self, *given: own(self, *given[:-2], 0.5, given[-1]))(patch)


# Private selection -----------------------------------------------------------------------------


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
