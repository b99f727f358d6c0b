"""Compute numbers that claims in papers/claims.yaml compare with a criterion.

Each function takes a claim and the rows of the claim's table. It returns a mapping from keys to
numbers; a key is a tuple of values of the columns that the claim's `by` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, select_rows, values_of


@computed("accuracy minus accuracy and accuracy_std")
def beyond_one_deviation(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return, by key, an accuracy minus another accuracy, minus the other's standard deviation.

    The claim's `less` selects the rows of the other accuracy.
    """
    theirs = rows.index.isin(select_rows(rows, claim["less"]).index)
    return values_of(claim, rows.assign(accuracy=rows["accuracy"] + rows["accuracy_std"] * theirs))


@computed("{value} minus accuracy")
def less_accuracy(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return, by key, the claim's column `value` minus the column `accuracy` of the same row."""
    value = claim["value"]
    return values_of(claim, rows.assign(**{value: rows[value] - rows["accuracy"]}))
