"""Functions that compute the values of some claims of this paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, select_rows, values_of


@computed("accuracy minus accuracy and accuracy_std")
def beyond_one_deviation(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return the accuracy minus (accuracy + standard deviation) of the rows that `less` selects."""
    theirs = rows.index.isin(select_rows(rows, claim["less"]).index)
    return values_of(claim, rows.assign(accuracy=rows["accuracy"] + rows["accuracy_std"] * theirs))


@computed("{value} minus accuracy")
def less_accuracy(claim: Mapping[str, Any], rows: pd.DataFrame) -> Values:
    """Return each row's value (the column that the claim names) minus the row's accuracy."""
    value = claim["value"]
    return values_of(claim, rows.assign(**{value: rows[value] - rows["accuracy"]}))
