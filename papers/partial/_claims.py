"""Functions that compute the values of some claims of this paper."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("{value} minus {value} at n_kept = 25")
def missing_of_round_25(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return each value minus the value at n_kept = 25, which is the last part of a key."""
    return _subtract_last_key(values_of(claim, rows), "25")


@computed("{value} minus {value} at epsilon = 0.01")
def gain_since_least_epsilon(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return each value minus the value at ε = 0.01, which is the last part of a key."""
    return _subtract_last_key(values_of(claim, rows), "0.01")


def _subtract_last_key(values: Values, base: str) -> Values:
    """Subtract from each value its base: the value with `base` as the last part of the same key.

    The result is NaN without a base; the bases themselves are left out.
    """
    return {
        key: value - values.get((*key[:-1], base), float("nan"))
        for key, value in values.items()
        if key[-1] != base
    }
