"""Compute numbers that claims in papers/claims.yaml compare with a criterion.

Each function takes a claim and the rows of the claim's table. It returns a mapping from keys to
numbers; a key is a tuple of values of the columns that the claim's `by` names.
"""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("{value} minus {value} at n_kept = 25")
def missing_of_round_25(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the claim's value minus its value if only the first 25 rounds vote.

    The last part of a key is `n_kept`, the number of rounds that vote.
    """
    return _subtract_last_key(values_of(claim, rows), "25")


@computed("{value} minus {value} at epsilon = 0.01")
def gain_since_least_epsilon(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the claim's value minus its value at ε = 0.01; a key ends in ε."""
    return _subtract_last_key(values_of(claim, rows), "0.01")


def _subtract_last_key(values: Values, base: str) -> Values:
    """Subtract from each value the value whose key ends in `base` and has the same other parts.

    The difference is NaN if there is no such value. The result has no entries for keys that end in
    `base`.
    """
    return {
        key: value - values.get((*key[:-1], base), float("nan"))
        for key, value in values.items()
        if key[-1] != base
    }
