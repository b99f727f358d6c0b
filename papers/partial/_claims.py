"""Computations of this paper's claims, other than differences and means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("{value} less that at n_kept = 25")
def missing_of_round_25(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return each value minus the value at round 25; the last key is the round."""
    return _subtract_last_key(values_of(claim, rows), "25")


@computed("{value} less that at epsilon = 0.01")
def gain_since_least_epsilon(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return each value minus the value at ε = 0.01; the last key is ε."""
    return _subtract_last_key(values_of(claim, rows), "0.01")


def _subtract_last_key(values: Values, base: str) -> Values:
    """Subtract from each value the value with the last key `base`; NaN if it is missing."""
    return {
        key: value - values.get((*key[:-1], base), float("nan"))
        for key, value in values.items()
        if key[-1] != base
    }
