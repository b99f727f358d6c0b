"""Compute numbers that claims in papers/claims.yaml compare with a criterion.

Each function takes a claim and the rows of the claim's table. It returns a mapping from keys to
numbers; a key is a tuple of values of the columns that the claim's `by` names.
"""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("rank correlation of {over} and {value}")
def rank_correlation(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, Spearman's rank correlation of two columns of the table.

    The claim names the columns: `value` and `over`.
    """
    return values_of(claim, rows, summary=lambda over, values: over.rank().corr(values.rank()))


@computed("smallest step over {over} of {value}")
def smallest_step(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the smallest difference of consecutive values of the claim's column `value`.

    The rows are first sorted by the column that the claim names `over`.
    """
    return values_of(
        claim, rows, summary=lambda over, values: values.loc[over.sort_values().index].diff().min()
    )


@computed("smallest {over} with a {value} of 0 or more", has_error=False)
def first_reached(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the smallest number in column `over` whose row has a `value` of 0 or more.

    The claim names the columns `over` and `value`. Without such a row the result is ∞.
    """
    return values_of(
        claim, rows, summary=lambda over, values: min(over[values >= 0], default=float("inf"))
    )


@computed("difference of standard deviation of accuracy")
def spread(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return, by key, the standard deviation of accuracy over splits.

    If the claim has `less`, the standard deviation for the rows that `less` selects is subtracted.
    """
    return values_of(claim, rows, average="std")
