"""Provide packages that are slow to import, and import each at its first use.

Snakemake imports all modules of outputs whenever it builds the graph of jobs, and again in each
job. So a module of outputs must not import pandas or Matplotlib before it makes an output.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from privcurve import extras

if TYPE_CHECKING:
    import matplotlib as mpl
    import pandas as pd
    import seaborn as sns
    from matplotlib import patheffects, ticker
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from scipy import stats

    from privcurve.kernels import arithmetic
else:

    class _Later:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            package = self._name.partition(".")[0]
            if package in extras.EXTRAS:
                extras.check(package, "a figure")
            return getattr(import_module(self._name), attribute)

    mpl, pd, sns, stats = map(_Later, ("matplotlib", "pandas", "seaborn", "scipy.stats"))
    patheffects, ticker = _Later("matplotlib.patheffects"), _Later("matplotlib.ticker")
    # `arithmetic` imports Numba, which takes half a second.
    arithmetic = _Later("privcurve.kernels.arithmetic")
    # These types only occur in annotations, so nothing needs to be imported at run time.
    Axes = Figure = Any

__all__ = ["Axes", "Figure", "arithmetic", "mpl", "patheffects", "pd", "sns", "stats", "ticker"]
