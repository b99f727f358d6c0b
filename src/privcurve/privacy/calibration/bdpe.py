"""Noise of boosted ensembles with the Mα-loss, and the statement.

Proofs are in docs/privacy.md, section "Boosted ensembles".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import (
    ADAPTIVE,
    BASIC,
    ZCDP_CKS,
)
from privcurve.privacy.accountants.compose import (
    GAUSSIAN as EXACT_GAUSSIAN,
)
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, check_budget, is_private
from privcurve.privacy.calibration.ensemble_truth import truth_of_published
from privcurve.privacy.calibration.search import Calibration, calibrate
from privcurve.privacy.ledger import (
    LedgerEntry,
    PrivacyStatement,
)
from privcurve.privacy.mechanisms import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    MECHANISMS,
    NOISY_LABEL,
    PERMUTE_AND_FLIP,
)
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.counts import histogram_l1, histogram_l2, margins_l1
from privcurve.privacy.sensitivity.ensembles import margins_l2, released_error
from privcurve.privacy.sensitivity.impurity import boosted_split_published, split_sensitivity

LEARNER = "bdpe"

# How the vote of a leaf follows from its records.
LINK = "link"
SHRUNK = "shrunk"
SIGN = "sign"

# α of the splits: given, from the exact error, or from the error with noise.
RELEASED = "released"

# Part of a tree's budget that its errors get, when they are released (§f3).
ERROR_SHARE = 0.01

# Part of it that splits get where none is given: the middle of the paper's grid.
TREE_SHARE = 0.5

SOURCE_SPLITS = "PRIVACY.md §f1, §f2, §0 L3"
SOURCE_LEAVES = "PRIVACY.md §f5; docs/privacy.md, boosted ensembles"
SOURCE_ERRORS = "PRIVACY.md §f3"
SOURCE_PUBLISHED = "Nock and Henecka, Algorithm 1, (15), (17) and §17.2"
IN_WEIGHTS = "in units of the largest weight of the round"
NODES = "the nodes of a tree's level"
LEAVES = "the leaves of a tree"


@dataclass(frozen=True)
class EnsembleNoise:
    """Noise of a boosted ensemble, where records weigh at most 1; divide by w̄ where they do.

    Attributes
    ----------
    mechanism : str
        Of the splits: ``exponential`` or ``permute_and_flip``.
    spent : tuple of float
        ε (or range) of the choice at one node of each level; its rate is that over
        2w̄(`bound` + α · `slope`). Infinite at ε = ∞; empty where questions are drawn.
    bound, slope : float
        Sensitivity of a split's score at α = 0, and what α = 1 adds to it.
    leaves : str
        Whose noise the leaves get: ``laplace``, ``gaussian`` or ``noisy_label``.
    leaf_rate : float
        One over the scale of that noise; of labels, what multiplies the margin.
    errors : str
        Whose noise released errors get.
    error_rate : float
        One over its scale; infinite where none is released.
    statement : PrivacyStatement
    """

    mechanism: str
    spent: tuple[float, ...]
    bound: float
    slope: float
    leaves: str
    leaf_rate: float
    errors: str
    error_rate: float
    statement: PrivacyStatement


@lru_cache(maxsize=64)
def bdpe(
    *,
    n: int,
    n_trees: int,
    depth: int,
    alphas: tuple[float, ...],
    calibrate_alpha: str,
    chosen: bool,
    tree_share: float | None,
    votes: str,
    clamp: float,
    largest_link: float,
    leverage: str,
    epsilon: float,
    delta: float,
    calibration: str,
) -> EnsembleNoise:
    """Calibrate a boosted ensemble.

    Trees share the budget equally. Certified: each level of a tree may spend its share at every
    node, the leaves of a tree theirs together (PRIVACY.md §f2, §f5). Published: nodes of a
    level share too, and leaves get noise on their link.

    Parameters
    ----------
    n, n_trees, depth : int
    alphas : tuple of float
        α of each level, as far as it is public.
    calibrate_alpha : str
        ``no``, ``exact`` or ``released``.
    chosen : bool
        Whether questions are chosen by the data.
    tree_share : float or None
        Part of a tree's ε (δ = 0) or ρ for its splits. None: a half; labels with δ > 0 and
        splits have equal ranges then.
    votes : str
        ``link``, ``shrunk`` or ``sign``.
    clamp, largest_link : float
        M, and the largest link of a leaf: of the published leaves.
    leverage : str
        ``exact`` or ``constant``.
    epsilon, delta : float
        ε may be infinite; δ > 0 is offered by the certified calibration alone.
    calibration : str

    Returns
    -------
    EnsembleNoise

    Raises
    ------
    ValueError
        If the budget is out of range, or δ > 0 is asked of the published calibration.
    """
    check_budget(epsilon, delta)
    published = calibration == PUBLISHED
    if not is_private(epsilon):
        none = PrivacyStatement.not_private(LEARNER)
        spent = (math.inf,) * depth if chosen else ()
        return EnsembleNoise(
            EXPONENTIAL, spent, 1.0, 0.0, LAPLACE, math.inf, LAPLACE, math.inf, none
        )
    if published:
        if delta > 0:
            raise ValueError(
                "bdpe: the paper has no composition for delta > 0: use calibration='certified', "
                "or delta = 0"
            )
        share = TREE_SHARE if tree_share is None else tree_share
        return _published(
            n, n_trees, depth, calibrate_alpha, share, clamp, largest_link, leverage, epsilon
        )
    # One record alone has a score of 0, whatever it is.
    bound = split_sensitivity(max(n, 2), "m_alpha", 0.0)
    slope = split_sensitivity(max(n, 2), "m_alpha", 1.0) - bound
    steps = _Steps.of(
        n_trees, depth, chosen, calibrate_alpha == RELEASED, tree_share, votes, epsilon, delta
    )
    unit = steps.leaf_sensitivity(votes)
    ledger = []
    for t in range(1, n_trees + 1):
        for level in range(depth):
            if steps.error > 0:
                ledger.append(
                    LedgerEntry(
                        mechanism=steps.errors,
                        what=f"tree {t}: error before level {level + 1}, {IN_WEIGHTS}",
                        noise_rate=steps.error / released_error(1.0),
                        sensitivity=released_error(1.0),
                        epsilon=steps.error if delta == 0 else math.inf,
                        source=SOURCE_ERRORS,
                    )
                )
            if steps.level == 0:
                continue
            # With released errors α is not known yet: in units of its sensitivity.
            known = 1.0 if calibrate_alpha == RELEASED else bound + alphas[level] * slope
            ledger.append(
                LedgerEntry(
                    mechanism=steps.mechanism,
                    what=f"tree {t}: splits of level {level + 1}, all nodes, {IN_WEIGHTS}",
                    noise_rate=steps.level / (2 * known),
                    sensitivity=known,
                    epsilon=steps.level,
                    bounded_range=MECHANISMS[steps.mechanism].bounded_range(steps.level),
                    source=SOURCE_SPLITS,
                    calls=2**level,
                    parallel=NODES,
                )
            )
        ledger.append(
            LedgerEntry(
                mechanism=steps.leaves,
                what=f"tree {t}: {_released_of(votes)} of all leaves, {IN_WEIGHTS}",
                noise_rate=steps.leaf / unit,
                sensitivity=unit,
                epsilon=math.inf if steps.leaves == GAUSSIAN else steps.leaf,
                bounded_range=MECHANISMS[steps.leaves].bounded_range(steps.leaf),
                source=SOURCE_LEAVES,
                calls=2**depth * (2 if votes == LINK else 1),
                parallel=LEAVES,
            )
        )
    statement = state(
        LEARNER,
        epsilon=epsilon,
        delta=delta,
        calibration=CERTIFIED,
        composition=steps.accountant,
        ledger=ledger,
    )
    return EnsembleNoise(
        mechanism=steps.mechanism,
        spent=(steps.level,) * depth if chosen else (),
        bound=bound,
        slope=slope,
        leaves=steps.leaves,
        leaf_rate=steps.leaf / unit,
        errors=steps.errors,
        error_rate=steps.error / released_error(1.0) if steps.error > 0 else math.inf,
        statement=statement,
    )


@dataclass(frozen=True)
class _Steps:
    """What one level, one tree's leaves and one error may spend: ε, a range, or L2/σ."""

    mechanism: str
    level: float
    leaves: str
    leaf: float
    errors: str
    error: float
    accountant: str

    @classmethod
    def of(
        cls,
        n_trees: int,
        depth: int,
        chosen: bool,
        released: bool,
        tree_share: float | None,
        votes: str,
        epsilon: float,
        delta: float,
    ) -> _Steps:
        share = TREE_SHARE if tree_share is None else tree_share
        share = share if chosen else 0.0
        of_error = ERROR_SHARE / depth if released and chosen else 0.0
        rest = 1.0 - of_error * depth
        of_level, of_leaf = rest * share / depth, rest * (1.0 - share)
        if delta == 0:
            tree = epsilon / n_trees
            return cls(
                PERMUTE_AND_FLIP, of_level * tree, LAPLACE, of_leaf * tree, LAPLACE,
                of_error * tree, BASIC,
            )  # fmt: skip
        labels = votes == SIGN
        if labels and tree_share is None and not released:
            n_steps = depth + 1 if chosen else 1
            found = _calibrated((Cost(BOUNDED_RANGE_KIND, 1.0, n_trees * n_steps),), epsilon, delta)
            each = found.scale
            return cls(
                EXPONENTIAL, each if chosen else 0.0, NOISY_LABEL, each, GAUSSIAN, 0.0,
                found.accountant,
            )  # fmt: skip
        # In proportion so that ρ is shared: a range r costs r²/8, Gaussian a²/2.
        level, error = math.sqrt(8 * of_level), math.sqrt(2 * of_error)
        leaf = math.sqrt((8 if labels else 2) * of_leaf)
        costs = [Cost(BOUNDED_RANGE_KIND if labels else GAUSSIAN_KIND, leaf, n_trees)]
        if level > 0:
            costs.append(Cost(BOUNDED_RANGE_KIND, level, n_trees * depth))
        if error > 0:
            costs.append(Cost(GAUSSIAN_KIND, error, n_trees * depth))
        found = _calibrated(tuple(costs), epsilon, delta)
        return cls(
            EXPONENTIAL, found.scale * level, NOISY_LABEL if labels else GAUSSIAN,
            found.scale * leaf, GAUSSIAN, found.scale * error, found.accountant,
        )  # fmt: skip

    def leaf_sensitivity(self, votes: str) -> float:
        """Sensitivity of what all leaves of a tree release, in the norm of their noise."""
        if self.leaves == GAUSSIAN:
            return histogram_l2() if votes == LINK else margins_l2()
        return histogram_l1() if votes == LINK else margins_l1()


def _calibrated(costs: tuple[Cost, ...], epsilon: float, delta: float) -> Calibration:
    # Not by privacy loss distributions, which are of single numbers: here noise is on vectors.
    return calibrate(costs, epsilon, delta, (BASIC, ZCDP_CKS, ADAPTIVE, EXACT_GAUSSIAN))


def _released_of(votes: str) -> str:
    return {LINK: "weights by label", SHRUNK: "margins", SIGN: "margins"}[votes]


def _published(
    n: int,
    n_trees: int,
    depth: int,
    calibrate_alpha: str,
    tree_share: float,
    clamp: float,
    largest_link: float,
    leverage: str,
    epsilon: float,
) -> EnsembleNoise:
    bound = boosted_split_published(n, "m_alpha", 0.0)
    slope = boosted_split_published(n, "m_alpha", 1.0) - bound
    spent = tuple(tree_share * epsilon / (n_trees * depth * 2**level) for level in range(depth))
    of_leaves = (1 - tree_share) * epsilon / n_trees
    leaf_rate = of_leaves / (2 * clamp)
    ledger = []
    for t in range(1, n_trees + 1):
        ledger += [
            LedgerEntry(
                mechanism=EXPONENTIAL,
                what=f"tree {t}: split of node {2**level + place}",
                noise_rate=each / (2 * bound),
                sensitivity=bound,
                epsilon=each,
                bounded_range=each,
                source=SOURCE_PUBLISHED,
            )
            for level, each in enumerate(spent)
            for place in range(2**level)
            if each > 0
        ]
        ledger.append(
            LedgerEntry(
                mechanism=LAPLACE,
                what=f"tree {t}: the leaf values, before they are clamped",
                noise_rate=leaf_rate,
                sensitivity=2 * clamp,
                epsilon=of_leaves,
                source=SOURCE_PUBLISHED,
                calls=2**depth,
                parallel=LEAVES,
            )
        )
    status, caveat, proved = truth_of_published(
        n_trees, depth, calibrate_alpha, tree_share, clamp, largest_link, leverage, epsilon
    )
    statement = state(
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
    return EnsembleNoise(
        EXPONENTIAL, spent, bound, slope, LAPLACE, leaf_rate, LAPLACE, math.inf, statement
    )
