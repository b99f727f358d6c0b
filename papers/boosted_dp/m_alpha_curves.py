"""Plot the functions of the Mα-loss: Figures 1 and 5 of the paper on boosted private ensembles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from privcurve.coding import Floats
from privcurve.figures import style
from privcurve.lazy import Figure, pd, sns
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads


class MAlphaCurves(Output):
    """Figure: Bayes risk, sensitivity, link, inverse link and surrogate of the Mα-loss."""

    word: ClassVar[str] = "m_alpha_curves"
    writes: ClassVar = ("figure",)
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "alphas": Option("values of α, from 0 to 1, as a list", list, (0.1, 0.25, 0.5, 0.75, 1.0))
    }

    def check(self, request: OutputRequest) -> None:
        for alpha in request.options["alphas"]:
            if not (isinstance(alpha, (int, float)) and 0 < alpha <= 1):
                raise ValueError(f"alphas must be above 0 and at most 1; got {alpha!r}")

    def reads(self, request: OutputRequest) -> Reads:
        return Reads()

    def make(self, context: Context) -> None:
        frame = curves([float(alpha) for alpha in context.options["alphas"]])
        context.draw(draw(frame), frame)


def surrogate(margins: Floats, alpha: float) -> Floats:
    """Return the surrogate loss F(z) at each margin z.

    F is convex, with F(0) = 1 and the derivative F′(z) = −ψ⁻¹(−z), where ψ⁻¹ is the inverse link.
    """
    beyond = np.maximum(np.abs(margins) / 2 - (1 - alpha), 0.0)
    return np.asarray(1 - alpha - margins / 2 + np.hypot(alpha, beyond))


def curvature(margins: Floats, alpha: float) -> Floats:
    """Return the second derivative F″(z) of :func:`surrogate`, for α > 0.

    It is 0 where |z| < 2(1 − α), and jumps at |z| = 2(1 − α).
    """
    beyond = np.abs(margins) / 2 - (1 - alpha)
    inside = alpha**2 / (4 * np.hypot(alpha, np.maximum(beyond, 0.0)) ** 3)
    return np.asarray(np.where(beyond >= 0, inside, 0.0))


def _vectorise(function: Callable[[float, float], float]) -> Callable[[Floats, float], Floats]:
    return lambda values, alpha: np.array([function(value, alpha) for value in values.tolist()])


# Points of the x axes: shares q of positive weight, margins z, and numbers m of records.
SHARES = np.linspace(0.005, 0.995, 199)
MARGINS = np.arange(-160, 161) / 40
RECORDS = np.unique(np.geomspace(10, 10_000, 61).round())


class Panel(NamedTuple):
    """Content of one panel of the figure."""

    title: str
    x: str
    places: Floats  # x coordinates of the points
    # returns the y coordinates, given the x coordinates and α
    values: Callable[[Floats, float], Floats]


def panels() -> list[Panel]:
    """Return the panels of the figure."""
    # Imported here, as the workflow imports this file while it builds the DAG, and must not wait
    # for compiled code.
    from .learners._m_alpha import bayes_weight, boosted_split_published, inverse_link, link

    sensitivity = _vectorise(lambda m, alpha: boosted_split_published(int(m), alpha))
    risk = _vectorise(lambda q, alpha: bayes_weight(q, 1 - q, alpha))
    return [
        Panel("Bayes risk L(q)", "q", SHARES, risk),
        Panel("Sensitivity Δ*(m), as published", "m", RECORDS, sensitivity),
        Panel("Link ψ(q)", "q", SHARES, _vectorise(link)),
        Panel("Inverse link ψ⁻¹(z)", "z", MARGINS, _vectorise(inverse_link)),
        Panel("Surrogate F(z)", "z", MARGINS, surrogate),
        Panel("Its second derivative F″(z)", "z", MARGINS, curvature),
    ]


def curves(alphas: Sequence[float]) -> pd.DataFrame:
    """Return the points of all curves, with the columns `panel`, `alpha`, `x` and `value`."""
    parts = []
    for panel, alpha in itertools.product(panels(), alphas):
        points = {"x": panel.places, "value": panel.values(panel.places, alpha)}
        parts.append(pd.DataFrame({"panel": panel.title, "alpha": alpha, **points}))
    return pd.concat(parts, ignore_index=True)


def draw(frame: pd.DataFrame) -> Figure:
    """Draw all panels of :func:`panels`; each has one line for each α."""
    alphas = list(dict.fromkeys(frame["alpha"]))
    colours = dict(zip(alphas, itertools.cycle(style.COLOURS), strict=False))
    with style.paper():
        all_panels = panels()
        figure, axes = style.panels(len(all_panels))
        for ax, panel in zip(axes, all_panels, strict=True):
            part = frame[frame["panel"] == panel.title]
            look = {"hue": "alpha", "palette": colours, "legend": False, "estimator": None}
            sns.lineplot(part, x="x", y="value", ax=ax, **look)
            ax.set_title(panel.title)
            ax.set_xlabel(panel.x)
            ax.set_ylabel("")
            if panel.x == "m":
                ax.set_xscale("log")
        handles = [style.key_line(f"α = {alpha:g}", color=colours[alpha]) for alpha in alphas]
        style.legend_below(figure, handles)
    return figure
