"""Compute PrivGAM's sensitivities, the grid of its noise, and its privacy statement.

Proofs: docs/proofs.md, 'PrivGAM'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from privcurve.lazy import arithmetic
from privcurve.privacy.budget import ADD_REMOVE, PROVED
from privcurve.privacy.calibration.shares import SharedBudget
from privcurve.privacy.ledger import (
    ASSUMED_ESTIMATE,
    ASSUMED_ORDER,
    NOT_COVERED,
    NOT_FLOATS,
    LedgerEntry,
    PrivacyStatement,
    assumptions_for,
)
from privcurve.privacy.mechanisms import LARGEST_SCALE
from privcurve.privacy.sensitivity.counts import feature_histograms_l1, feature_histograms_l2

SOURCE = "docs/proofs.md, 'PrivGAM'"

# The bound c to which logistic residuals are clipped. Compared with the bound 1, it halves the
# noise, and it does not change the decisions of a model (docs/privgam.md).
CLIP = 0.5

# Range of the change of a column's score between neighbours: the change is a number from −1 to 1.
# Source: docs/proofs.md, 'PrivGAM', 7 (proved).
SCORE_RANGE = 2.0

# Residuals are rounded to multiples of 2^-bits. More than MOST_BITS bits would gain nothing; with
# fewer than LEAST_BITS bits, the rounding would be too coarse.
MOST_BITS = 30
LEAST_BITS = 8
# Maximum number of records. Up to this number, sums in units of 2^-30 are at most 2^61, so that
# sums with noise fit in 64 bits.
MOST_RECORDS = 2**31

# The sources of the public datasets that trained PrivGAM's network (docs/privgam.md). PrivGAM's
# settings depend on the records of these datasets, which the statement must say.
SET_ON = (
    "adult",
    "bank",
    "creditcard",
    "codrna",
    "mushroom",
    "magic",
    "page-blocks",
    "breast-cancer-wisconsin",
    "banknote",
    "winequality",
    "eeg-eye-state",
    "transfusion",
)
ASSUMED_RULE = (
    "the settings (the weights of a network and a public rule, fixed before and apart from these "
    f"records, unless they are of the public datasets that trained it: {', '.join(SET_ON)})"
)


def counts_sensitivity(neighbours: str, pure: bool, n_columns: int) -> float:
    """Return the sensitivity of the counts by class and bin of all columns, times c = 1/2.

    The norm is L1 if `pure`, else L2. A record adds c to one cell of each column. For the totals by
    class, `n_columns` is 1. Source: docs/proofs.md, 'PrivGAM', 1 and 3 (proved, attained).
    """
    histograms = feature_histograms_l1 if pure else feature_histograms_l2
    return CLIP * histograms(n_columns, neighbours)


def sums_sensitivity(neighbours: str, pure: bool, n_classes: int = 2, n_columns: int = 1) -> float:
    """Return the sensitivity of the sums of residuals by class and bin of all columns.

    The norm is L1 if `pure`, else L2. With two classes, a record adds at most c = 1/2 to one cell
    of each column. With more classes, a record adds up to c to the cell of its own class, and up to
    c in total to the cells of the other classes: twice as much in L1, √2 times as much in L2. For
    the totals, `n_columns` is 1. Source: docs/proofs.md, 'PrivGAM', 1 to 3 (proved, attained).
    """
    times = 1.0 if n_classes == 2 else 2.0 if pure else math.sqrt(2.0)
    return times * counts_sensitivity(neighbours, pure, n_columns)


def grid_bits(ledger: Sequence[LedgerEntry], epsilon: float) -> int:
    """Return the bits of the finest grid (steps of 2^-bits) on which the noise of all calls fits.

    Raises ValueError if the noise is too large for any grid.
    """
    if not ledger:
        return MOST_BITS
    least = min(entry.noise_rate for entry in ledger)
    bits = min(MOST_BITS, math.floor(arithmetic.log2(LARGEST_SCALE / 2 * least)))
    if bits < LEAST_BITS:
        raise ValueError(
            f"privgam: epsilon must be larger; got {epsilon:g}, whose noise does not fit in 64 bits"
        )
    return bits


def grid_scale(rate: float, bits: int) -> int:
    """Return the noise scale 1/rate in steps of the grid, which are 2^-bits; it is rounded up."""
    return math.ceil(2.0**bits / rate)


def statement(budget: SharedBudget, ledger: Sequence[LedgerEntry]) -> PrivacyStatement:
    """Return the privacy statement of a fit of PrivGAM.

    The sums in the fit are integers with exact integer noise, so that the statement does not
    exclude the effects of floating-point arithmetic.
    """
    if not budget.private:
        return PrivacyStatement.not_private("privgam")
    estimated = (ASSUMED_ESTIMATE,) if budget.neighbours == ADD_REMOVE else ()
    return PrivacyStatement(
        learner="privgam",
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=budget.neighbours,
        calibration=PROVED,
        composition=budget.accountant,
        status=PROVED,
        ledger=tuple(ledger),
        assumptions=(*assumptions_for(budget.neighbours), *estimated, ASSUMED_ORDER, ASSUMED_RULE),
        exclusions=tuple(text for text in NOT_COVERED if text != NOT_FLOATS),
    )
