"""The spread of a score over fresh trainings, box by box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.outputs.sweep import Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from privcurve.analysis.sweep import Axes


class Boxes(Sweep):
    """Figure: a box of the fresh trainings at each value, from quartile to quartile."""

    word: ClassVar[str] = "boxes"
    version: ClassVar[int] = 1
    options: ClassVar = {
        name: option
        for name, option in Sweep.options.items()
        if name not in ("levels", "scale", "compare", "note")
    }

    def _drawn(
        self, parts: list[tuple[pd.DataFrame, Axes]], label: str, options: Mapping[str, Any]
    ) -> tuple[Figure, pd.DataFrame]:
        from privcurve.analysis import sweep
        from privcurve.figures.boxes import boxes

        ((frame, axes),) = parts
        return boxes(frame, axes.x, axes.y, label), sweep.spread(frame, axes)
