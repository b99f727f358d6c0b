"""PrivGAM: sensitivities, the grid of its noise, its statement (docs/proofs.md, 'PrivGAM')."""

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

# Bound of clipped logistic residuals: half of the noise, and the same decision
# (docs/privgam.md).
CLIP = 0.5

# Residuals are integer multiples of 2^-bits; more bits than this gain nothing.
MOST_BITS = 30
LEAST_BITS = 8
# Maximum number of records whose sums stay below 2^61 in units of 2^-30.
MOST_RECORDS = 2**31

# The sources of the public datasets that trained its network: docs/privgam.md.
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
    """Return the sensitivity of half of the counts by class and bin of all columns.

    L1 if pure, else L2. A record adds c to one cell of each of the d columns; the totals by class
    count as one column. Source: docs/proofs.md, 'PrivGAM', 1 and 3 (proved, attained).
    """
    histograms = feature_histograms_l1 if pure else feature_histograms_l2
    return CLIP * histograms(n_columns, neighbours)


def sums_sensitivity(neighbours: str, pure: bool, n_classes: int = 2, n_columns: int = 1) -> float:
    """Return the sensitivity of the sums of residuals by class and bin of all columns.

    L1 if pure, else L2. A record adds at most c to one cell of each column. With more than two
    classes it adds c to one cell and c, in parts, to cells of the others: twice as much in L1, √2
    times as much in L2. The totals count as one column. Source: docs/proofs.md, 'PrivGAM', 1 to 3
    (proved, attained).
    """
    times = 1.0 if n_classes == 2 else 2.0 if pure else math.sqrt(2.0)
    return times * counts_sensitivity(neighbours, pure, n_columns)


def grid_bits(ledger: Sequence[LedgerEntry], epsilon: float) -> int:
    """Return the bits of a grid that can represent the noise of all releases.

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
    """Return the scale of noise, 1/rate, in units of the grid, rounded up."""
    return math.ceil(2.0**bits / rate)


def statement(budget: SharedBudget, ledger: Sequence[LedgerEntry]) -> PrivacyStatement:
    """Make the statement of a fit.

    Its sums are whole numbers and its noise exact, so floating point is not excluded.
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
