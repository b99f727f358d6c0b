"""Name how the hyperparameters of a curve were chosen, and so whether ε covers their choice.

The ε of a curve is the ε of one training. It covers everything from the records to the model if the
hyperparameters follow a public rule, or if private selection, which ε pays for, chose them.
If the hyperparameters were chosen on the records without privacy, ε does not cover the choice: the
curve then shows an upper bound of a learner's accuracy, and its models must not be released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from privcurve.experiments.methods import Method
from privcurve.lazy import pd

RULE = "rule"
TUNED = "tuned privately"
NOT_COVERED = "hyperparameters chosen without privacy"
NOT_PRIVATE = "not private"
# If hyperparameters were chosen in one of these ways, ε covers everything from the records to the
# model.
COVERED = (RULE, TUNED)
# Short names of ways to choose hyperparameters, for tables and legends with little room.
SHORT: Mapping[str, str] = {TUNED: TUNED, NOT_COVERED: "untuned budget"}

# Note below tables that explains the names of the ways to choose hyperparameters.
NOTES = (
    f"Kind '{RULE}': hyperparameters fixed beforehand and independently of the records, so that ε "
    f"covers everything from the records to the model. '{TUNED}': hyperparameters chosen on the "
    f"records by private selection, whose cost is part of ε. '{NOT_COVERED}': the best of a grid "
    "by cross-validation; ε does not cover the choice.",
)


def kind(method: Method, epsilon: float | None = None, *, selected: bool = True) -> str:
    """Return how a curve's hyperparameters were chosen: its kind, such as `RULE` or `TUNED`.

    If `epsilon` is given, the result is the kind of the curve's point at this ε; at ε = ∞ it is
    `NOT_PRIVATE`. `selected` is False in a study with ``select: all``, which selects no setting.
    """
    if method.calibration is None or epsilon == math.inf:
        return NOT_PRIVATE
    if method.tune is not None:
        return TUNED
    return NOT_COVERED if selected and len(method.settings) > 1 else RULE


def add_kinds(frame: pd.DataFrame, methods: Mapping[str, Method], after: str) -> pd.DataFrame:
    """Return a copy of `frame` with a new column ``kind`` behind the column `after`.

    `frame` has the columns ``method`` and ``epsilon``; `methods` has the methods by name.
    """
    points = zip(frame["method"], frame["epsilon"], strict=True)
    table = frame.copy()
    kinds = [kind(methods[name], epsilon) for name, epsilon in points]
    table.insert(list(frame).index(after) + 1, "kind", kinds)
    return table
