"""Plant deliberate mistakes in boosted ensembles and forests, which the audit must find."""

import numpy as np
from mistakes_any import DP_FOREST, TWO_TREES, breaks, replace_constant, replacement_of

from privcurve.audit.contract import POST_PROCESSING, SEALED, SENSITIVITY, Case
from privcurve.papers.boosted_dp.learners._m_alpha import link_of_leaves
from privcurve.papers.boosted_dp.learners.bdpe import classifier as bdpe
from privcurve.papers.boosted_dp.learners.bdpe.classifier import BDPEClassifier
from privcurve.papers.boosted_dp.learners.dp_forest.classifier import DPForestClassifier
from privcurve.privacy.sealed import kernel

LINK = {**TWO_TREES, "votes": "link"}


@replacement_of(DPForestClassifier, "_vote", SEALED, DP_FOREST)
def votes_exactly(original, self, weights, margins, *others):
    return margins


@replacement_of(DPForestClassifier, "_vote", SEALED, DP_FOREST)
def draws_noise_of_its_own(original, self, weights, margins, call, curator):
    """Add correct noise, but draw it from the public random stream instead of the curator."""
    return np.sign(margins + curator.coins.laplace(scale=call.scale, size=margins.shape))


replace_constant(
    "the_best_questions", bdpe, "NOISY", bdpe.BEST, POST_PROCESSING, Case("bdpe", TWO_TREES)
)


@replacement_of(bdpe, "grow_released", SENSITIVITY, Case("bdpe", {**TWO_TREES, "tree_share": 0.0}))
def questions_for_nothing(original, *given):
    """Choose splits by the records although splits have no share of the budget."""
    return original(*given[:8], np.ones_like(given[8]), *given[9:])


@replacement_of(BDPEClassifier, "_vote", SEALED, Case("bdpe", {**LINK, "n_trees": 1}))
def exact_leverages(original, self, t, positive, negative, *others):
    votes, _ = original(self, t, positive, negative, *others)
    return votes, self._leverage(votes, positive - negative, self.n_records_, float(self.clamp))


@replacement_of(BDPEClassifier, "_vote", SENSITIVITY, Case("bdpe", LINK))
def noise_before_the_clamp(original, self, t, positive, negative, weight_bound, curator):
    """Scale the noise for values in [−M, M], but clamp the leaf values only after adding it."""
    links = kernel(link_of_leaves)(positive, negative, float(self.boost_alpha))
    # The announced scale is for weights, whose sensitivity is 2; values in [−M, M] have the
    # sensitivity 2M.
    call = curator.call(bdpe.OF_LEAVES.format(t + 1, self._leaf_words())).rescale(self.clamp)
    return np.clip(curator.numbers(call, links), -self.clamp, self.clamp), 1.0


@replacement_of(
    BDPEClassifier, "_sensitivity", SENSITIVITY, Case("bdpe", {**TWO_TREES, "alpha": 1.0})
)
def sensitivity_of_another_alpha(original, self, n, alpha):
    return original(self, n, 0.0)


@breaks(SENSITIVITY, Case("bdpe", {**TWO_TREES, "step": 9.0}))
def a_weight_bound_of_a_half(patch):
    """Scale the noise for weights of at most ½ in all rounds; later weights can be larger."""
    for name in ("_grow", "_vote"):
        halved = replacement_of(BDPEClassifier, name)
        halved(lambda original, self, *given: original(self, *given[:-2], 0.5, given[-1]))(patch)
