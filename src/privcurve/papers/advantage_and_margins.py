"""The advantage of each round of boosting, and the margins of the vote (thesis, Figure 5.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.figures import style
from privcurve.lazy import pd, ticker
from privcurve.learners import registry
from privcurve.outputs.base import (
    COUNT,
    FIGURE,
    NUMBER,
    REQUIRED,
    TEXT,
    Asked,
    Option,
    Output,
    Reads,
)
from privcurve.outputs.context import Context

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WITHOUT_NOISE = "without noise"


class AdvantageAndMargins(Output):
    """Figure: how much better than guessing each round is, and the margins that follow.

    The learning rate is a quarter of the advantage that is assumed, as the theory asks.
    """

    word: ClassVar[str] = "advantage_and_margins"
    writes: ClassVar = (FIGURE,)
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", TEXT, REQUIRED),
        "dataset": Option("a dataset of the study", TEXT, REQUIRED),
        "epsilon": Option("the budget of all rounds together", NUMBER, REQUIRED),
        "density": Option("κ, between 0 and 1", NUMBER, 0.5),
        "advantage": Option("γ that is assumed, between 0 and 1/2", NUMBER, 0.05),
        "rounds": Option("a number of rounds", COUNT, 1000),
        "runs": Option("a number of runs with noise", COUNT, 10),
    }

    def check(self, asked: Asked) -> None:
        asked.check_one_rules(asked.options["learner"])
        asked.check_dataset(asked.options["dataset"])

    def reads(self, asked: Asked) -> Reads:
        arms = asked.arms_of(asked.options["learner"])
        versions = [[arm.name, registry.entry(arm.learner).version] for arm in arms]
        return Reads(data=(asked.options["dataset"],), facts=versions)

    def make(self, context: Context) -> None:

        from privcurve.experiments import models

        options = context.options
        arms = context.asked.arms_of(options["learner"])
        data = context.data(options["dataset"])
        setting = {
            "weak_learner": "one_rule",
            "n_rounds": options["rounds"],
            "density": options["density"],
            "learning_rate": options["advantage"] / 4,
        }
        budget = options["epsilon"]
        titles = {str(arm.calibration): f"{arm.calibration}, ε = {budget:g}" for arm in arms}
        runs = [(str(arm.calibration), arm, budget) for arm in arms]
        frames = []
        for name, arm, epsilon in [*runs, (WITHOUT_NOISE, arms[0], math.inf)]:
            advantages, found = models.round_by_round(
                data, arm, epsilon, setting, options["runs"], context.seed
            )
            frames.append(advantage_frame(name, advantages))
            frames += [margin_frame(name, part, each) for part, each in found.items()]
        frame = pd.concat(frames, ignore_index=True)
        failing = failing_rounds(frame, options["advantage"])
        needed = rounds_needed(options["density"], options["advantage"])
        print(f"the assumption fails at rounds {failing}; the theorem needs {needed} rounds")
        figure = draw(
            frame,
            options["advantage"],
            failing,
            titles | {WITHOUT_NOISE: WITHOUT_NOISE},
            drawn=str(arms[0].calibration),
        )
        context.draw(figure, frame)


# A single round's advantage is noisy: the assumption fails where the mean over this many
# rounds, from one round on, is below γ.
WINDOW = 20

MARGIN_BINS = 100

ADVANTAGE, MARGIN = "advantage", "margin"


def histogram(
    margins: NDArray[np.float64], counts: NDArray[np.int64], n_bins: int = MARGIN_BINS
) -> NDArray[np.float64]:
    """Return the share of records in each of `n_bins` equal bins of [−1, 1].

    Sums to 1.
    """
    # Margins lie on a lattice that may meet the edges: rounding must not scatter them.
    places = np.floor((margins + 1) * n_bins / 2 + 1e-9).astype(np.int64)
    found = np.bincount(np.clip(places, 0, n_bins - 1), weights=counts, minlength=n_bins)
    return found / counts.sum()


def rounds_needed(density: float, advantage: float) -> int:
    """Return the rounds that the thesis' Theorem 3.0.1 asks for: 16 ln(1/κ)/γ²."""
    return math.ceil(16 * math.log(1 / density) / advantage**2)


def failing_round(
    advantages: NDArray[np.float64], required: float, window: int = WINDOW
) -> int | None:
    """Return the first round from which the mean advantage of `window` rounds is too small.

    From 1; None if it never fails.
    """
    below = np.flatnonzero(window_means(advantages, window) < required)
    return int(below[0]) + 1 if len(below) else None


def failing_rounds(frame: pd.DataFrame, required: float) -> dict[str, int | None]:
    """Return the failing round of each calibration of a frame of :func:`advantage_frame`."""
    advantages = frame[frame["quantity"] == ADVANTAGE]
    return {
        str(name): failing_round(rows["value"].to_numpy(dtype=float), required)
        for name, rows in advantages.groupby("calibration", sort=False)
    }


def window_means(advantages: NDArray[np.float64], window: int = WINDOW) -> NDArray[np.float64]:
    """Return the mean of `window` rounds from each round on; NaN where fewer are left."""
    if len(advantages) < window:
        raise ValueError(f"{len(advantages)} rounds are fewer than the window of {window}")
    means = np.convolve(advantages, np.full(window, 1 / window), mode="valid")
    return np.concatenate([means, np.full(window - 1, math.nan)])


def advantage_frame(calibration: str, runs: Sequence[NDArray[np.float64]]) -> pd.DataFrame:
    """Return the mean advantage of each round over runs, tidy.

    quantity, calibration, part, round, margin (missing), value, std (over runs; missing
    for one run), n_runs and window_mean, see :func:`window_means`.
    """
    values = np.array(runs)
    frame = _tidy(
        ADVANTAGE, calibration, "train", {"round": np.arange(1, values.shape[1] + 1)}, values
    )
    return frame.assign(window_mean=window_means(values.mean(axis=0)))


def margin_frame(
    calibration: str,
    part: str,
    runs: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> pd.DataFrame:
    """Return the mean share of records by margin over runs, tidy.

    As of :func:`advantage_frame`; `margin` is the lower edge of a bin of width
    2/`MARGIN_BINS`, `round` and `window_mean` are missing.
    """
    values = np.array([histogram(margins, counts) for margins, counts in runs])
    edges = -1 + 2 * np.arange(MARGIN_BINS) / MARGIN_BINS
    return _tidy(MARGIN, calibration, part, {"margin": edges}, values).assign(window_mean=math.nan)


def _tidy(
    quantity: str,
    calibration: str,
    part: str,
    places: Mapping[str, Any],
    values: NDArray[np.float64],
) -> pd.DataFrame:
    n_runs, n = values.shape
    std = values.std(axis=0, ddof=1) if n_runs > 1 else np.full(n, math.nan)
    missing = pd.array([pd.NA] * n, dtype="Int64")
    return pd.DataFrame(
        {
            "quantity": quantity,
            "calibration": calibration,
            "part": part,
            "round": pd.array(places["round"], dtype="Int64") if "round" in places else missing,
            "margin": places.get("margin", np.full(n, math.nan)),
            "value": values.mean(axis=0),
            "std": std,
            "n_runs": n_runs,
        }
    )


COLUMNS = ("quantity", "calibration", "part", "round", "margin", "value", "window_mean")
HEIGHT = 4.9

# The order of curves; what is not among them is drawn in grey.
CALIBRATIONS = ("certified", "published")
DASHES = {"certified": "-", "published": (0, (3.2, 1.4))}


def draw(
    frame: pd.DataFrame,
    required: float,
    failing: Mapping[str, int | None],
    titles: Mapping[str, str],
    drawn: str,
) -> Figure:
    """Draw the advantage by round above, and the histogram of margins below.

    Thin lines are means over runs, thick ones means over a window of rounds too; a mark is
    the round where the weak learner's assumption fails.
    """
    absent = [name for name in COLUMNS if name not in frame]
    if absent:
        raise ValueError(f"the frame of advantages has no column {absent[0]!r}")
    advantages = frame[frame["quantity"] == "advantage"]
    margins = frame[(frame["quantity"] == "margin") & (frame["calibration"] == drawn)]
    if advantages.empty or margins.empty:
        raise ValueError(f"no advantages, or no margins of {drawn!r}, to draw")
    with style.paper():
        figure = style.new_figure(style.COLUMN_WIDTH, HEIGHT)
        upper, lower = figure.subplots(2, 1)
        _draw_advantages(upper, advantages, required, failing, titles)
        _draw_margins(lower, margins, required, titles[drawn])
    return figure


def _draw_advantages(
    panel: Axes,
    frame: pd.DataFrame,
    required: float,
    failing: Mapping[str, int | None],
    titles: Mapping[str, str],
) -> None:
    for calibration, rows in frame.groupby("calibration", sort=False):
        name = str(calibration)
        look = _look(name)
        rounds = rows["round"].to_numpy(dtype=float)
        panel.plot(rounds, rows["value"], color=look["color"], linewidth=0.4, alpha=0.35)
        fails = failing.get(name)
        verdict = "never below γ" if fails is None else f"below γ from round {fails}"
        label = f"{titles[name]}: {verdict}"
        panel.plot(rounds, rows["window_mean"], label=label, zorder=3, **look)
        if fails is not None:
            level = rows["window_mean"].iloc[fails - 1]
            panel.plot(
                fails,
                level,
                marker="o",
                markersize=4.5,
                color=look["color"],
                markerfacecolor="white",
                markeredgewidth=1.2,
                zorder=4,
            )
    panel.axhline(required, color="0.2", linewidth=0.8, linestyle=(0, (1, 1.2)), zorder=2)
    panel.annotate(
        f"γ = {required:g}",
        (0.015, required),
        xycoords=panel.get_yaxis_transform(),
        xytext=(0, -2),
        textcoords="offset points",
        va="top",
        color="0.2",
    )
    panel.set_xscale("log")
    panel.set_xlim(1, frame["round"].max())
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlabel("Round of boosting")
    panel.set_ylabel("Advantage over guessing")
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handlelength=2.4)


def _look(calibration: str) -> dict[str, Any]:
    if calibration not in CALIBRATIONS:
        return {"color": style.BASELINE_COLOUR, "linestyle": (0, (6, 1.5, 1, 1.5))}
    return {
        "color": style.COLOURS[CALIBRATIONS.index(calibration)],
        "linestyle": DASHES[calibration],
    }


def _draw_margins(panel: Axes, frame: pd.DataFrame, required: float, title: str) -> None:
    for part, rows in frame.groupby("part", sort=False):
        left = rows["margin"].to_numpy(dtype=float)
        width = left[1] - left[0]
        edges = np.append(left, left[-1] + width)
        percent = 100 * rows["value"].to_numpy(dtype=float)
        if part == "train":
            panel.stairs(percent, edges, fill=True, color=style.COLOURS[4], label="training set")
        else:
            panel.stairs(percent, edges, color=style.COLOURS[3], linewidth=0.9, label="test set")
    shown = frame[frame["value"] > 0]["margin"]
    room = 0.04
    panel.set_xlim(shown.min() - room, shown.max() + width + room)
    panel.axvline(0, color="0.2", linewidth=0.6)
    panel.axvline(
        required,
        color="0.2",
        linewidth=0.8,
        linestyle=(0, (1, 1.2)),
        label=f"margin γ = {required:g}",
    )
    panel.set_xlabel("Normalised margin, right less wrong votes per round")
    panel.set_ylabel(f"Records, % per {width:.2g} of margin")
    panel.legend(loc="upper left", title=title, handlelength=2)
