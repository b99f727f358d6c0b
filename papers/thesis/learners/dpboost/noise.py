"""Calibrate the noise of DPBoost, and make its privacy statement.

Proofs: papers/thesis/proofs.md, 'DPBoost'.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC, ZCDP_CKS
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, LAPLACE_KIND, Cost
from privcurve.privacy.budget import PROVED, PUBLISHED, check_budget
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.ledger import REFUTED, LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import EXPONENTIAL, LAPLACE, PERMUTE_AND_FLIP
from privcurve.privacy.noise import Announced

# g*: trees leave out records with a larger absolute gradient. It is the absolute gradient of the
# square loss with labels ±1 at the score 0, that is, of each record in the first tree.
GRADIENT_BOUND = 1.0

# An added record raises the gain of a split by at most g*² (GAIN_RISE), or reduces it by at most
# 3g*² (GAIN_FALL). The paper takes 3g*² as the sensitivity for the exponential mechanism, that is,
# a range of 6g*². The proved range, for all nodes of a level together, is g*² + 3g*² if a record is
# added to one tree or removed from it, and twice as much if a record is replaced.
GAIN_RISE = 1.0
GAIN_FALL = 3.0
GAIN_RANGE_PUBLISHED = 2 * GAIN_FALL
GAIN_RANGE_PROVED = 2 * (GAIN_RISE + GAIN_FALL)

# The published noise for ε costs ε times this factor for replace-one neighbours. Half of ε is for
# splits, for which the true range is 8/6 of the published range. The other half is for leaves, for
# which the true sensitivity is twice the published sensitivity.
PUBLISHED_PROVED = 0.5 * GAIN_RANGE_PROVED / GAIN_RANGE_PUBLISHED + 0.5 * 2

GEOMETRIC = "geometric"
EQUAL = "equal"

SOURCE = "papers/thesis/proofs.md, 'DPBoost'"
SOURCE_PUBLISHED = "Li et al. 2020, Algorithms 1 and 2 (argued for adding or removing a record)"

# The published noise is too small for add-remove neighbours, too: an added record changes the
# number of records of each tree, so that other records move to other trees. Counterexamples are in
# test_worst_answers_to_dpboost.py and test_dpboost_proofs.py.
CAVEAT_PUBLISHED = (
    "the paper argues for adding or removing a record, and charges for neither a replaced record "
    "nor the records that one more or one less moves from tree to tree (exact counterexamples: "
    "more than epsilon for a replaced record, 6.9 epsilon for an added one)"
)

# Words in the ledger: the calls of all these trees and nodes share one entry, which is charged only
# once, because their records are disjoint.
PARALLEL = "the trees of an ensemble and the nodes of a level"


def leaf_bounds(n_trees: int, learning_rate: float) -> Floats:
    """Return the bound g*(1 − η)^(t−1) to which tree t clips its leaf values, for t = 1 … T.

    η is the learning rate, and g* is `GRADIENT_BOUND`.
    """
    return GRADIENT_BOUND * arithmetic.powers(1.0 - learning_rate, n_trees)


def leaf_l1(n_trees: int, learning_rate: float, regularisation: float, calibration: str) -> Floats:
    """Return, for each tree, the L1 sensitivity of all its leaf values together.

    An added or removed record changes one leaf of tree t by at most ΔV = min{g*/(1+λ),
    2g*(1−η)^(t−1)}, where g* is `GRADIENT_BOUND`, η the learning rate and λ the regularisation.
    ΔV is the published sensitivity. A replaced record may change two leaves, so the proved
    sensitivity is 2ΔV.
    """
    added = np.minimum(
        GRADIENT_BOUND / (1.0 + regularisation), 2.0 * leaf_bounds(n_trees, learning_rate)
    )
    # With η = 1 the sensitivity of trees after the first is 0: their leaf values are clipped to 0.
    return added if calibration == PUBLISHED else 2.0 * added


def chunk_ends(n: int, trees_per_ensemble: int, learning_rate: float, chunks: str) -> Ints:
    """Divide `n` records among the trees of an ensemble; return the end of each tree's records.

    Tree j gets the records from the end of tree j − 1 up to its own end. With ``equal`` all trees
    have equal shares; with ``geometric`` tree j has a share in proportion to (1 − η)^j, as
    published.
    """
    if chunks == EQUAL:
        share = np.arange(1, trees_per_ensemble + 1) / trees_per_ensemble
    else:
        left = arithmetic.powers(1.0 - learning_rate, trees_per_ensemble + 1)[1:]
        share = (1.0 - left) / (1.0 - left[-1])
    return np.rint(n * share).astype(np.int64)


@lru_cache(maxsize=1024)
def dpboost(
    *,
    n_trees: int,
    trees_per_ensemble: int,
    max_depth: int,
    learning_rate: float,
    regularisation: float,
    epsilon: float,
    delta: float,
    calibration: str,
) -> PrivacyStatement:
    """Calibrate DPBoost, and return its privacy statement.

    Ensembles divide ε equally. The trees of an ensemble have disjoint records, so each tree spends
    the whole budget of the ensemble: half on the levels of splits, half on the leaves.

    For each ensemble, the ledger has one entry for each level of splits, and one entry with the
    noise of the leaves of the first tree. The noise of the leaves of other trees is in proportion
    to :func:`leaf_l1`.

    Raises ValueError if the budget is out of range, if δ > 0 with the published calibration, or if
    η = 1 with several ensembles, because all trees after the first are then 0 for any data.
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        return PrivacyStatement.not_private("dpboost")
    published = calibration == PUBLISHED
    if published and delta > 0:
        raise ValueError(
            f"dpboost: delta must be 0 for calibration='published'; got {delta:g}: use "
            "calibration='proved', or delta = 0"
        )
    n_ensembles = math.ceil(n_trees / trees_per_ensemble)
    if learning_rate == 1 and n_ensembles > 1:
        raise ValueError(
            "dpboost: learning_rate must be below 1 with several ensembles; got 1, for which all "
            "trees after the first are 0: give a smaller one, or fewer trees (n_trees)"
        )
    # Amounts in units of the ε of one ensemble; `calibrate` scales them.
    levels = Cost(BOUNDED_RANGE_KIND, 0.5 / max_depth, max_depth * n_ensembles)
    leaves = Cost(LAPLACE_KIND, 0.5, n_ensembles)
    if delta == 0:
        scale, accountant = epsilon / n_ensembles, BASIC
    else:
        scale, accountant = calibrate((levels, leaves), epsilon, delta, (BASIC, ZCDP_CKS))
    level_epsilon, leaf_epsilon = scale * levels.amount, scale * leaves.amount
    # Permute-and-flip needs less noise, but is not bounded-range; so it is used only if the ε of
    # all calls are added up.
    mechanism = EXPONENTIAL if published or accountant != BASIC else PERMUTE_AND_FLIP
    gain_range = GAIN_RANGE_PUBLISHED if published else GAIN_RANGE_PROVED
    sensitivities = leaf_l1(n_trees, learning_rate, regularisation, calibration)
    source = SOURCE_PUBLISHED if published else SOURCE
    ledger: list[LedgerEntry] = []
    for e in range(n_ensembles):
        first = e * trees_per_ensemble
        last = min(n_trees, first + trees_per_ensemble)
        trees = f"ensemble {e + 1}, each of its {last - first} trees (disjoint records)"
        for level in range(1, max_depth + 1):
            splits = Announced(
                f"{trees}: the splits of level {level}",
                score_range=gain_range * (GRADIENT_BOUND * GRADIENT_BOUND),
                by=mechanism,
                calls=(last - first) * 2 ** (level - 1),
                parallel=PARALLEL,
                source=source,
            )
            ledger += splits.entries(level_epsilon, delta == 0)
        # The entry has the noise of the first tree. Later trees have less noise: see `leaf_l1`.
        leaf = float(sensitivities[first])
        ledger.append(
            LedgerEntry(
                mechanism=LAPLACE,
                what=f"{trees}: the leaf values",
                noise_rate=leaf_epsilon / leaf if leaf > 0 else math.inf,
                sensitivity=leaf,
                epsilon=leaf_epsilon,
                source=source,
                calls=(last - first) * 2**max_depth,
                parallel=PARALLEL,
            )
        )
    return state(
        "dpboost",
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        composition=accountant,
        ledger=ledger,
        status=REFUTED if published else PROVED,
        caveat=CAVEAT_PUBLISHED if published else "",
        proved_epsilon=PUBLISHED_PROVED * epsilon if published else None,
    )
