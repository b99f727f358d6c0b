"""Sensitivities of naive Bayes from noisy counts (docs/partial.md, P3)."""

from __future__ import annotations

import math


def column_score() -> float:
    """Sensitivity 1 of Q_j = ½ Σ_c |Σ_i y_i [x_ij = c]|, how much a column tells of the label.

    A changed record moves two of the inner sums by 1, or one by 2. Replace-one. Source:
    docs/partial.md, P3 (proved; enumerated in the tests).
    """
    return 1.0


def column_counts_l1(n_columns: int) -> float:
    """L1 sensitivity 2m of the (code × label) counts of m columns together.

    Replace-one. Source: PRIVACY.md §e4 (proved).
    """
    return 2.0 * n_columns


def column_counts_l2(n_columns: int) -> float:
    """L2 sensitivity √(2m) of the (code × label) counts of m columns together.

    In each column a record leaves one cell and enters another. Replace-one. Source:
    PRIVACY.md §e, certified form (proved).
    """
    return math.sqrt(2.0 * n_columns)
