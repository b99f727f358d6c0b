"""Three kinds of curve: what the choice of its settings has cost, beside the noise of a training.

The ε of a curve is that of a training. Whether it is also that of the whole way from the records
to the model follows from how its settings were chosen: by a public rule, which costs nothing; on
the records, at a price that is in ε; or on the records and for nothing. The last kind is an upper
end of what a learner could reach, not something that anyone may release.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

RULE = "rule"
TUNED = "tuned, paid"
UNPAID = "best setting, not private"
NOT_PRIVATE = "not private"
KINDS = (RULE, TUNED, UNPAID, NOT_PRIVATE)

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


def kind(arm: HasSettings, epsilon: float | None = None, *, selected: bool = True) -> str:
    """Give the kind of a curve, or of one of its points.

    Parameters
    ----------
    arm : HasSettings
        With a `tune` that is not None if its settings are chosen by private selection within its
        ε.
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
    if getattr(arm, "tune", None) is not None:
        return TUNED
    return UNPAID if selected and len(arm.settings) > 1 else RULE
