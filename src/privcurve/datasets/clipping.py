"""Values outside their bounds: how many a column has, and when that is too many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.datasets.columns import spelt
from privcurve.datasets.description import Description
from privcurve.datasets.encode import Coded
from privcurve.datasets.errors import Problems

# Shares of a column's values: worth a word, and a mistake unless it is expected.
NOTED = 0.05
REFUSED = 0.5

_DIGITS = 6


def clipped_shares(
    description: Description, part: str, coded: Coded, problems: Problems
) -> dict[str, float]:
    """Return the share of clipped values of each column that has any.

    Columns of which most values were clipped are told of, if that is not expected.
    """
    shares = {}
    for column, count in zip(description.domain.columns, coded.clipped.tolist(), strict=True):
        if not count:
            continue
        share = shares[column.name] = count / len(coded.y)
        if share > REFUSED and column.name not in description.clipped:
            low, high = (spelt(end, column.dates, _DIGITS) for end in column.edges[:: column.bins])
            problems.add(
                f"{share:.0%} of the values of {column.name!r} ({part}) lie outside its bounds, "
                f"{low} to {high}: check their unit, and decide on bounds from what is public, "
                f"not from the records. If it must be so, say clipping: expected of the column in "
                f"{description.path}."
            )
    return shares


def clipping_notes(facts: Mapping[str, Any]) -> list[str]:
    """Say of which columns many values were clipped.

    Parameters
    ----------
    facts : mapping
        What :func:`privcurve.datasets.facts` gives.

    Returns
    -------
    list of str
        A sentence for each column and part with more than :data:`NOTED` of its values clipped.
    """
    ends = {
        column["name"]: [spelt(end, column.get("dates", ""), _DIGITS) for end in column["bounds"]]
        for column in facts["domain"]["columns"]
        if "bounds" in column
    }
    return [
        f"{facts['name']}: {share:.0%} of the values of {name!r} ({part}) lay outside the bounds "
        f"{ends[name][0]} to {ends[name][1]} and were clipped to them."
        for part, shares in facts["clipped"].items()
        for name, share in shares.items()
        if share > NOTED
    ]
