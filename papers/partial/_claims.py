"""Compute the values by which some claims about this paper's results are checked.

Each function returns a mapping from keys, the values of a claim's columns `by`, to numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("{value} minus {value} at n_kept = 25")
def missing_of_round_25(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the value minus the value at n_kept 25; n_kept is the last part of a key."""
    return _subtract_last_key(values_of(claim, rows), "25")


@computed("{value} minus {value} at epsilon = 0.01")
def gain_since_least_epsilon(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the value minus the value at ε = 0.01; ε is the last part of a key."""
    return _subtract_last_key(values_of(claim, rows), "0.01")


def _subtract_last_key(values: Values, base: str) -> Values:
    """Subtract from each value the value whose key differs only in the last part, which is `base`.

    The difference is NaN if there is no such value. The result has no entries for keys that end in
    `base`.
    """
    return {
        key: value - values.get((*key[:-1], base), float("nan"))
        for key, value in values.items()
        if key[-1] != base
    }
