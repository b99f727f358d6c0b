"""Three kinds of curve, by how the settings were chosen.

The ε of a curve is the ε of one training. It covers everything from the records to the model if
settings follow a public rule, or were selected on the records within ε. If they were selected on
the records outside the budget, it does not: such a curve is an upper bound of what a learner could
reach, and no such model may be released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from privcurve.experiments.methods import Method
from privcurve.lazy import pd

RULE = "rule"
TUNED = "tuned, paid"
UNPAID = "best setting, not private"
NOT_PRIVATE = "not private"
# Kinds whose ε covers everything from the records to the model.
COVERED = (RULE, TUNED)
# Short names, where there is little room.
SHORT: Mapping[str, str] = {TUNED: "paid", UNPAID: "unpaid"}

# Note below tables.
NOTES = (
    f"Kind '{RULE}': settings that were fixed before and apart from the records, so that ε covers "
    f"the whole way from records to model. '{TUNED}': chosen on the records by private selection, "
    f"whose price is in ε. '{UNPAID}': the best of a grid by cross-validation, which ε does not "
    "cover.",
)


def kind(method: Method, epsilon: float | None = None, *, selected: bool = True) -> str:
    """Return the kind of a curve, or of its point at an ε: not private at infinity.

    `selected` is False if no best setting is taken, as with ``select: all``.
    """
    if method.calibration is None or epsilon == math.inf:
        return NOT_PRIVATE
    if method.tune is not None:
        return TUNED
    return UNPAID if selected and len(method.settings) > 1 else RULE


def add_kinds(frame: pd.DataFrame, methods: Mapping[str, Method], after: str) -> pd.DataFrame:
    """Return a table of methods and ε with a column of kinds after a named column."""
    points = zip(frame["method"], frame["epsilon"], strict=True)
    table = frame.copy()
    kinds = [kind(methods[name], epsilon) for name, epsilon in points]
    table.insert(list(frame).index(after) + 1, "kind", kinds)
    return table
