"""Three kinds of curve: what the choice of its settings has cost, beside the noise of a training.

The ε of a curve is that of a training. Whether it is also that of the whole way from the records
to the model follows from how its settings were chosen: by a public rule, which costs nothing; on
the records, at a price that is in ε; or on the records and for nothing. The last kind is an upper
end of what a learner could reach, not something that anyone may release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

RULE = "rule"
TUNED = "tuned, paid"
UNPAID = "best setting, not private"
NOT_PRIVATE = "not private"
KINDS = (RULE, TUNED, UNPAID, NOT_PRIVATE)
# Without a price on top: ε is that of the whole way.
WHOLE = (RULE, TUNED)
# Where there is little room.
SHORT: Mapping[str, str] = {TUNED: "paid", UNPAID: "unpaid"}

# What tables say of them.
NOTES = (
    f"Kind '{RULE}': settings that were fixed before and apart from the records, so that ε covers "
    f"the whole way from records to model. '{TUNED}': chosen on the records by private selection, "
    f"whose price is in ε. '{UNPAID}': the best of a grid by cross-validation, which ε does not "
    "cover.",
)


class HasSettings(Protocol):
    """What the kind of a curve follows from; an arm of a study is one."""

    @property
    def calibration(self) -> str | None:
        """None for a method without privacy."""

    @property
    def settings(self) -> tuple[Any, ...]:
        """The settings that were compared."""

    @property
    def tune(self) -> Any:
        """Not None if its setting is chosen by private selection, within its ε."""


def kind(arm: HasSettings, epsilon: float | None = None, *, selected: bool = True) -> str:
    """Give the kind of a curve, or of one of its points.

    Parameters
    ----------
    arm : HasSettings
    epsilon : float, optional
        A point: at infinity any learner is not private.
    selected : bool
        Whether one of its settings is taken for the results of that setting; with
        ``select: all`` none is.

    Returns
    -------
    str
        One of `KINDS`.
    """
    if arm.calibration is None or epsilon == math.inf:
        return NOT_PRIVATE
    if arm.tune is not None:
        return TUNED
    return UNPAID if selected and len(arm.settings) > 1 else RULE


def column(frame: pd.DataFrame, arms: Mapping[str, HasSettings]) -> list[str]:
    """Give the kind of each row of a table of selected settings.

    Parameters
    ----------
    frame : DataFrame
        With the columns arm and epsilon.
    arms : mapping of str to HasSettings
        By name.

    Returns
    -------
    list of str
    """
    return [
        kind(arms[arm], epsilon)
        for arm, epsilon in zip(frame["arm"], frame["epsilon"], strict=True)
    ]


def envelope(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Give the best certified results by rule, or paid for, with δ = 0.

    Which learner is the best is seen from these very results: nobody knows it beforehand.

    Parameters
    ----------
    frame : DataFrame
        dataset, arm, kind, calibration, delta, epsilon and the metric, a row a point of a curve.
    metric : str

    Returns
    -------
    DataFrame
        Rows of `frame`, one for each dataset and ε of which at least one such result is known;
        empty if there are fewer than two such arms.
    """
    from privcurve.analysis.selection import LOSSES

    whole = frame[
        frame["kind"].isin(WHOLE)
        & frame["calibration"].eq("certified")
        & frame["delta"].eq(0)
        & frame["epsilon"].map(math.isfinite)
    ]
    if whole["arm"].nunique() < 2:
        return whole.iloc[:0]
    order = whole[whole[metric].notna()].sort_values(metric, ascending=metric in LOSSES)
    return order.drop_duplicates(["dataset", "epsilon"]).sort_values(["dataset", "epsilon"])
