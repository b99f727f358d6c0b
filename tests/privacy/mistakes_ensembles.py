"""Mistakes in ensembles of trees and of teachers, and which point of the contract each breaks."""

import numpy as np
from mistakes_any import exact_number, half_the_noise, one_number_for_all

from privcurve.audit.contract import (
    CHARGE,
    CONTROL,
    NOISE,
    POST_PROCESSING,
    SENSITIVITY,
    Case,
)
from privcurve.audit.contract_cases import MANY
from privcurve.kernels.m_alpha import link_of_leaves
from privcurve.learners import base, bdpe, dpboost
from privcurve.learners.bdpe import BDPEClassifier
from privcurve.learners.dp_bagging import DPBaggingClassifier
from privcurve.learners.dp_forest import DPForestClassifier
from privcurve.learners.dpboost import DPBoostClassifier
from privcurve.privacy import noise
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced

TWO = {"n_trees": 2, "depth": 2}
LINK = {**TWO, "votes": "link"}
TEACHERS = {"n_teachers": 3, "n_partitions": 2, "n_queries": 3}
# Two ensembles of two trees each.
GRADIENT = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}


# Mistakes, put in by a patch -------------------------------------------------------------------


def votes_exactly(patch):
    """Forests: leaves vote by their exact margins."""
    patch.setattr(
        DPForestClassifier, "_vote", lambda self, positive, negative, *_: positive - negative
    )


def draws_noise_of_its_own(patch):
    """Forests: right noise, but from the public coins, beside the curator."""

    def voted(self, positive, negative, call, curator):
        margins = positive - negative
        return np.sign(margins + curator.coins.laplace(scale=call.scale, size=margins.shape))

    patch.setattr(DPForestClassifier, "_vote", voted)


def noise_for_one_count(patch):
    """Any learner of announced margins: it takes a record to change one of them by 1."""
    # What is patched is not to be remembered, nor what was remembered to be used.
    for module in (base, bdpe):
        patch.setattr(module, "noise_of", noise.noise_of.__wrapped__)
    bound = Announced.bound
    patch.setattr(Announced, "bound", lambda self, pure: bound(self, pure) / 2)


def votes_not_divided(patch):
    """Bagging: the votes of all partitions are added up, and not divided by their number."""
    margins = DPBaggingClassifier._margins
    patch.setattr(
        DPBaggingClassifier,
        "_margins",
        lambda self, *of: int(self.n_partitions) * margins(self, *of),
    )


def pool_of_the_records(patch):
    """Bagging: the student is trained on the records in place of the pool."""
    margins = DPBaggingClassifier._margins

    def taken(self, codes, signs, records, pool, coins):
        pool[:] = codes[records[: len(pool)]]
        return margins(self, codes, signs, records, pool, coins)

    patch.setattr(DPBaggingClassifier, "_margins", taken)


def gradients_not_filtered(patch):
    """DPBoost: records of large gradients take part in a tree."""
    patch.setattr(dpboost, "GRADIENT_BOUND", 10.0)


def leaves_not_clipped(patch):
    """DPBoost: leaf values are not clipped."""
    patch.setattr(dpboost, "leaf_bounds", lambda n_trees, rate: np.full(n_trees, 10.0))


def each_tree_has_all_records(patch):
    """DPBoost: the trees of an ensemble do not divide its records, but are charged as if."""
    patch.setattr(dpboost, "chunk_ends", lambda n, *_: np.array([n, 2 * n]))
    permuted = np.random.Generator.permutation

    class Coins:
        def __init__(self, coins):
            self.coins = coins

        def permutation(self, places):
            return np.tile(permuted(self.coins, places), 2)

    boosted = DPBoostClassifier._boost_privately

    def boost(self, records, calls, curator):
        coins, curator.coins = curator.coins, Coins(curator.coins)
        boosted(self, records, calls, curator)
        curator.coins = coins

    patch.setattr(DPBoostClassifier, "_boost_privately", boost)


def records_sorted_by_label(patch):
    """DPBoost: an ensemble's records are dealt out in the order of their labels."""
    boosted = DPBoostClassifier._boost_privately

    def boost(self, records, calls, curator):
        order = np.argsort(records.labels, kind="stable")
        parts = (part[order] for part in records[:3])
        boosted(self, type(records)(*parts, records.n_bins), calls, curator)

    patch.setattr(DPBoostClassifier, "_boost_privately", boost)


def stops_when_all_are_right(patch):
    """DPBoost: boosting ends at a training error of 0."""
    grow = DPBoostClassifier._grow

    def grown(self, codes, rows, gradients, *others):
        values = grow(self, codes, rows, gradients, *others)
        if len(rows) and (np.abs(gradients) < 1).all():
            raise ValueError("all are right")
        return values

    patch.setattr(DPBoostClassifier, "_grow", grown)


def the_same_noise_in_each_tree(patch):
    """DPBoost and BDPEα: noise of splits is drawn once and used again and again."""
    noise, kept = Curator.noise, {}

    def drawn(self, calls, shape):
        if self not in kept:
            kept[self] = noise(self, calls, shape).copy()
        return kept[self].copy()

    patch.setattr(Curator, "noise", drawn)


def the_best_questions(patch):
    """BDPEα: noise of questions is drawn, but the best ones are taken."""
    patch.setattr(bdpe, "NOISY", bdpe.BEST)


def questions_for_nothing(patch):
    """BDPEα: splits that have no part of the budget look at the records all the same."""
    own = bdpe.grow_tree
    patch.setattr(
        bdpe, "grow_tree", lambda *given: own(*given[:9], np.ones_like(given[9]), *given[10:])
    )


def exact_leverages(patch):
    """BDPEα: β is of the exact weights."""
    vote = BDPEClassifier._vote

    def voted(self, t, positive, negative, *others):
        votes, _ = vote(self, t, positive, negative, *others)
        margins = positive - negative
        return votes, self._leverage(votes, margins, self.n_records_, float(self.clamp))

    patch.setattr(BDPEClassifier, "_vote", voted)


def noise_before_the_clamp(patch):
    """BDPEα: leaves are links with noise for a range of 2M, clamped afterwards."""

    def voted(self, t, positive, negative, weight_bound, curator):
        links = link_of_leaves(positive, negative, float(self.boost_alpha))
        # The scale of weights, whose sensitivity is 2.
        call = curator.call(bdpe.OF_LEAVES.format(t + 1, self._of_leaves())).scaled(self.clamp)
        return np.clip(curator.numbers(call, links), -self.clamp, self.clamp), 1.0

    patch.setattr(BDPEClassifier, "_vote", voted)


def sensitivity_of_another_alpha(patch):
    """BDPEα: splits at α = 1 with the sensitivity of α = 0."""
    known = BDPEClassifier._sensitivity
    patch.setattr(BDPEClassifier, "_sensitivity", lambda self, n, alpha: known(self, n, 0.0))


def a_weight_bound_of_a_half(patch):
    """BDPEα: noise is for weights of ½ in all rounds."""
    for name in ("_grow", "_vote"):
        own = getattr(BDPEClassifier, name)
        patch.setattr(
            BDPEClassifier, name, lambda self, *of, own=own: own(self, *of[:-2], 0.5, of[-1])
        )


SIGN = {**TWO, "votes": "sign", "delta": 1e-2}
MISTAKES = [
    (votes_exactly, Case("dp_forest", TWO), CHARGE),
    (draws_noise_of_its_own, Case("dp_forest", TWO), CHARGE),
    (noise_for_one_count, Case("dp_forest", TWO), SENSITIVITY),
    (noise_for_one_count, Case("dp_bagging", TEACHERS, sizes=(1, 30)), SENSITIVITY),
    (noise_for_one_count, Case("bdpe", SIGN), SENSITIVITY),
    (votes_not_divided, Case("dp_bagging", TEACHERS, sizes=(1, 30)), SENSITIVITY),
    (pool_of_the_records, Case("dp_bagging", TEACHERS, sizes=(12,)), POST_PROCESSING),
    (gradients_not_filtered, Case("dpboost", GRADIENT), SENSITIVITY),
    (leaves_not_clipped, Case("dpboost", {**GRADIENT, "learning_rate": 0.9}), SENSITIVITY),
    (each_tree_has_all_records, Case("dpboost", GRADIENT), SENSITIVITY),
    (records_sorted_by_label, Case("dpboost", GRADIENT), SENSITIVITY),
    (stops_when_all_are_right, Case("dpboost", GRADIENT), CONTROL),
    (the_same_noise_in_each_tree, Case("dpboost", GRADIENT), CHARGE),
    (the_same_noise_in_each_tree, Case("bdpe", TWO), CHARGE),
    (the_best_questions, Case("bdpe", TWO), POST_PROCESSING),
    (questions_for_nothing, Case("bdpe", {**TWO, "tree_share": 0.0}), SENSITIVITY),
    (exact_leverages, Case("bdpe", {**LINK, "n_trees": 1}), POST_PROCESSING),
    (noise_before_the_clamp, Case("bdpe", LINK), SENSITIVITY),
    (sensitivity_of_another_alpha, Case("bdpe", {**TWO, "alpha": 1.0}), SENSITIVITY),
    (a_weight_bound_of_a_half, Case("bdpe", {**TWO, "step": 9.0}), SENSITIVITY),
    (exact_number, Case("bdpe", {**TWO, "calibrate_alpha": "released"}), CHARGE),
    (half_the_noise, Case("bdpe", SIGN), NOISE),
    (half_the_noise, Case("dpboost", GRADIENT, sizes=MANY), NOISE),
    (one_number_for_all, Case("dp_forest", TWO), NOISE),
]
