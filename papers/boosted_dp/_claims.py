"""Compute numbers that claims in papers/claims.yaml compare with a criterion.

Each function takes a claim and the rows of the claim's table. It returns a mapping from keys to
numbers; a key is a tuple of values of the columns that the claim's `by` names.
"""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("mean over {over} of {value} minus {value} at dataset = banknote-50")
def gain_of_fifty_bins(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return the claim's value on banknote minus its value on banknote-50 (50 bins per column)."""
    values = values_of(claim, rows)
    gains = [values[dataset,] for dataset in ("banknote", "banknote-50") if (dataset,) in values]
    return {(): gains[0] - gains[1]} if len(gains) == 2 else {}
