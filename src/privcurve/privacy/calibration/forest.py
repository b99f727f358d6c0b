"""Noise of forests of random trees, and of the majority label; and the statements.

Proofs are in docs/privacy.md, section "Boosted ensembles".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, PUBLISHED, check_budget, is_private
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS, NOISY_LABEL, TWO_LAPLACE
from privcurve.privacy.public_facts import state
from privcurve.privacy.sensitivity.counts import margins_l1

FOREST = "dp_forest"
MAJORITY = "noisy_majority"

EXPONENTIAL_LEAVES = "exponential"

SOURCE = "PRIVACY.md §f6"
SOURCE_PUBLISHED = "Nock and Henecka §17.2; PRIVACY.md §f6: valid, of 2**depth leaves two move"
LEAVES = "the leaves of a tree"


@dataclass(frozen=True)
class MarginNoise:
    """Noise of margins n₊ − n₋.

    Attributes
    ----------
    mechanism : str
        ``laplace``, ``two_laplace`` (a number on either count) or ``noisy_label``.
    rate : float
        One over the scale of the noise; infinite at ε = ∞.
    statement : PrivacyStatement
    """

    mechanism: str
    rate: float
    statement: PrivacyStatement


@lru_cache(maxsize=1024)
def forest(
    *, n_trees: int, depth: int, leaves: str, epsilon: float, calibration: str
) -> MarginNoise:
    """Calibrate a forest of random trees.

    Trees share ε equally. Certified: the margins of all leaves of a tree together change by
    at most 2. Published: the leaves of a tree share its part too, and each of two counts, or
    the label of a leaf, gets noise for that.

    Parameters
    ----------
    n_trees, depth : int
    leaves : str
        ``laplace``, or ``exponential``: labels drawn by their chances.
    epsilon : float
        May be infinite.
    calibration : str

    Returns
    -------
    MarginNoise

    Raises
    ------
    ValueError
        If the budget is out of range.
    """
    check_budget(epsilon, 0.0)
    drawn = leaves == EXPONENTIAL_LEAVES
    published = calibration == PUBLISHED
    mechanism = NOISY_LABEL if drawn else TWO_LAPLACE if published else LAPLACE
    if not is_private(epsilon):
        return MarginNoise(mechanism, math.inf, PrivacyStatement.not_private(FOREST))
    tree = epsilon / n_trees
    if published:
        # What the paper takes a leaf's change to be: 1 in a count, and 2 in a label's scores.
        unit, leaf = 2.0 if drawn else 1.0, tree / 2**depth
    else:
        unit, leaf = margins_l1(), tree
    ledger = tuple(
        LedgerEntry(
            mechanism=NOISY_LABEL if drawn else LAPLACE,
            what=f"tree {t}: {'labels' if drawn else 'margins'} of all leaves",
            noise_rate=leaf / unit,
            sensitivity=unit,
            epsilon=tree,
            bounded_range=MECHANISMS[NOISY_LABEL].bounded_range(tree) if drawn else None,
            source=SOURCE_PUBLISHED if published else SOURCE,
            calls=2**depth * (2 if mechanism == TWO_LAPLACE else 1),
            parallel="" if published else LEAVES,
        )
        for t in range(1, n_trees + 1)
    )
    statement = _statement(FOREST, epsilon, calibration, ledger)
    return MarginNoise(mechanism, leaf / unit, statement)


@lru_cache(maxsize=1024)
def majority(epsilon: float) -> MarginNoise:
    """Calibrate the margin of all labels, whose sensitivity is 2.

    Raises
    ------
    ValueError
        If the budget is out of range.
    """
    check_budget(epsilon, 0.0)
    if not is_private(epsilon):
        return MarginNoise(LAPLACE, math.inf, PrivacyStatement.not_private(MAJORITY))
    rate = epsilon / margins_l1()
    entry = LedgerEntry(
        mechanism=LAPLACE,
        what="margin of all labels",
        noise_rate=rate,
        sensitivity=margins_l1(),
        epsilon=epsilon,
        source=SOURCE,
    )
    return MarginNoise(LAPLACE, rate, _statement(MAJORITY, epsilon, CERTIFIED, (entry,)))


def _statement(
    learner: str, epsilon: float, calibration: str, ledger: tuple[LedgerEntry, ...]
) -> PrivacyStatement:
    return state(
        learner,
        epsilon=epsilon,
        delta=0.0,
        calibration=calibration,
        composition=BASIC,
        ledger=ledger,
    )
