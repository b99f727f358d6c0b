"""Three kinds of curve: what the choice of its settings has cost, beside the noise of a training.

The ε of a curve is that of a training. Whether it is also that of the whole way from the records
to the model follows from how its settings were chosen: by a public rule, which costs nothing; on
the records, at a price that is in ε; or on the records and for nothing. The last kind is an upper
end of what a learner could reach, not something that anyone may release.
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
KINDS = (RULE, TUNED, UNPAID, NOT_PRIVATE)
# Kinds whose ε covers everything from the records to the model.
WHOLE = (RULE, TUNED)
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
    """Return the kind of a curve, or of its point at an ε: at infinity any learner is not private.

    `selected` is false where no setting is taken for the best, as with ``select: all``.
    """
    if method.calibration is None or epsilon == math.inf:
        return NOT_PRIVATE
    if method.tune is not None:
        return TUNED
    return UNPAID if selected and len(method.settings) > 1 else RULE


def add_kinds(frame: pd.DataFrame, methods: Mapping[str, Method], after: str) -> pd.DataFrame:
    """Return a table of methods and ε with the kind of each row in a column behind another one."""
    pairs = zip(frame["arm"], frame["epsilon"], strict=True)
    table = frame.copy()
    table.insert(
        list(frame).index(after) + 1, "kind", [kind(methods[method], e) for method, e in pairs]
    )
    return table
