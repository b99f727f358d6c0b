"""Calibrate the published noise of BDPEα, and state the true status of the paper's privacy claim.

Proofs: papers/boosted_dp/proofs.md, 'Published noise'.
"""

from __future__ import annotations

import math
from functools import lru_cache

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import PROVED, PUBLISHED, check_budget, is_private
from privcurve.privacy.ledger import (
    CLAIMED,
    REFUTED,
    LedgerEntry,
    PrivacyStatement,
    state,
)
from privcurve.privacy.mechanisms import EXPONENTIAL
from privcurve.privacy.noise import Announced

LEARNER = "bdpe"

SOURCE = "Nock and Henecka, Algorithm 1, (15), (17) and §17.2"
LEAVES = "the leaves of a tree"
OF_NODE = "tree {}: split of node {}"
OF_LINKS = "tree {}: the leaf values, before they are clamped"

# Values of `leverage`: with EXACT, β is computed from the exact records, as published; with
# CONSTANT, β is a public constant.
EXACT = "exact"
CONSTANT = "constant"

LEAK = (
    "the leveraging coefficients of the trees are computed from the exact records, without noise: "
    "given the leaves, which are public, one of them tells a record's label for certain"
)
ERROR_LEAK = "α of the splits is computed from the exact error, which the paper does not charge for"
LEAF_LEAK = (
    "leaf values get noise for a range of 2M before they are clamped to ±M, but range over more"
)


# The result is cached because it takes long to build the ledger, and folds of equal size have the
# same arguments.
@lru_cache(maxsize=512)
def published_noise(
    *,
    n_trees: int,
    depth: int,
    sensitivity: float,
    calibrate_alpha: str,
    tree_share: float,
    clamp: float,
    largest_link: float,
    leverage: str,
    epsilon: float,
    delta: float,
) -> PrivacyStatement:
    """Return the privacy statement of BDPEα with the noise that the paper publishes.

    The nodes of a level divide the level's ε, and the links of leaves get Laplace noise. The
    statement has the ε that the paper claims. Its `status` and `caveat` say whether the claim is
    true, and `proved_epsilon` is the ε that is proved instead, if any.

    Parameters
    ----------
    n_trees, depth : int
        Number of trees, and number of levels of questions.
    sensitivity : float
        Sensitivity of a split's score, for weights up to 1.
    calibrate_alpha, tree_share, clamp, leverage
        See :class:`~.classifier.BDPEClassifier`.
    largest_link : float
        The largest possible link of a leaf, before noise.
    epsilon, delta : float
        The budget; δ must be 0.

    Raises
    ------
    ValueError
        If the budget is out of range, or δ > 0.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        return PrivacyStatement.not_private(LEARNER)
    if delta > 0:
        raise ValueError(
            f"bdpe: delta must be 0 for calibration='published'; got {delta:g}: use "
            "calibration='proved', or delta = 0"
        )
    spent = [tree_share * epsilon / (n_trees * depth * 2**level) for level in range(depth)]
    each_leaf = (1 - tree_share) * epsilon / n_trees
    ledger: list[LedgerEntry] = []
    for t in range(1, n_trees + 1):
        for node in range(1, 2**depth):
            of_node = spent[node.bit_length() - 1]
            split = Announced(
                OF_NODE.format(t, node), score_range=2 * sensitivity, by=EXPONENTIAL, source=SOURCE
            )
            ledger += split.entries(of_node, pure=True) if of_node > 0 else []
        links = Announced(
            OF_LINKS.format(t), l1=2 * clamp, calls=2**depth, parallel=LEAVES, source=SOURCE
        )
        ledger += links.entries(each_leaf, pure=True)
    status, caveat = REFUTED, LEAK
    proved: float | None = math.inf
    if leverage != EXACT:
        # The ε that the splits of all trees spend in fact: a level costs only as much as one of its
        # 2^level nodes, because the nodes have disjoint records.
        splits = tree_share * epsilon * (2 - 2.0 ** (1 - depth)) / depth
        of_leaves = (1 - tree_share) * epsilon
        # An upper bound of the true ε: replacing a record may change the links of two leaves, each
        # by up to twice the largest link.
        most = splits + of_leaves * 4 * largest_link / (2 * clamp)
        # A lower bound of the true ε. If a record is alone in its leaf in every tree, and its label
        # is flipped, the privacy loss of all leaves is the first term. The splits can reduce this
        # loss by at most their own ε.
        least = n_trees * _flip_loss(clamp, largest_link, 2 * clamp * n_trees / of_leaves) - splits
        status, caveat, proved = CLAIMED, LEAF_LEAK, None if calibrate_alpha == EXACT else most
        if least > epsilon:
            status = REFUTED
        elif proved is None:
            caveat = ERROR_LEAK
        elif proved <= epsilon * (1 + 1e-12):
            status, caveat, proved = PROVED, "", None
    return state(
        LEARNER,
        epsilon=epsilon,
        delta=0.0,
        calibration=PUBLISHED,
        composition=BASIC,
        ledger=ledger,
        status=status,
        caveat=caveat,
        proved_epsilon=proved,
    )


def _flip_loss(clamp: float, largest_link: float, scale: float) -> float:
    """Return the privacy loss ln P(M | +R)/P(M | −R) of one leaf, for links ±R.

    R is the largest link, M the clamp. P(M | ±R) is the probability that the link ±R plus Laplace
    noise is clamped to M.
    """
    far = (clamp + largest_link) / scale
    near = (clamp - largest_link) / scale
    kept = 1 - arithmetic.exp(near) / 2 if near < 0 else arithmetic.exp(-near) / 2
    return arithmetic.log(kept) + arithmetic.log(2) + far
