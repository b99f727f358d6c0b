"""The words of a guarantee: neighbours, calibrations, and the one check of ε and δ."""

from __future__ import annotations

import math

ADD_REMOVE = "add-remove"
REPLACE_ONE = "replace-one"
PRIVATE_COLUMNS = "private-columns"
PUBLISHED = "published"
CERTIFIED = "certified"


def check_budget(epsilon: float, delta: float) -> None:
    """Check a budget.

    Raises
    ------
    ValueError
        If ε is not in (0, ∞] or δ not in [0, 1).
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon = {epsilon} must be above 0 (inf: not private)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta = {delta} must be in [0, 1)")


def is_private(epsilon: float) -> bool:
    """Whether ε is finite."""
    return not math.isinf(epsilon)
