"""Compute the values by which some claims about this paper's results are checked.

A function returns a mapping from keys, the values of a claim's columns `by`, to numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("mean over {over} of {value} minus {value} at dataset = banknote-50")
def gain_of_fifty_bins(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the value on banknote minus the value on banknote-50 (50 bins per column)."""
    values = values_of(claim, rows)
    gains = [values[dataset,] for dataset in ("banknote", "banknote-50") if (dataset,) in values]
    return {(): gains[0] - gains[1]} if len(gains) == 2 else {}
