"""Functions that compute the values of some claims of this paper."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.lazy import pd
from privcurve.outputs._verdicts import Values, computed, values_of


@computed("rank correlation of {over} and {value}")
def rank_correlation(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return Spearman's rank correlation between the values and the column that `over` names."""
    return values_of(claim, rows, summary=lambda over, values: over.rank().corr(values.rank()))


@computed("smallest step over {over} of {value}")
def smallest_step(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return the smallest difference between consecutive values, sorted by the column `over`."""
    return values_of(
        claim, rows, summary=lambda over, values: values.loc[over.sort_values().index].diff().min()
    )


@computed("smallest {over} with a {value} of 0 or more", has_error=False)
def first_reached(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return the smallest entry of the column `over` whose value is at least 0; ∞ if none is."""
    return values_of(
        claim, rows, summary=lambda over, values: min(over[values >= 0], default=float("inf"))
    )


@computed("difference of standard deviation of accuracy")
def spread(claim: Mapping[str, object], rows: pd.DataFrame) -> Values:
    """Return the standard deviation of accuracy over splits, minus the same for rows in `less`."""
    return values_of(claim, rows, average="std")
