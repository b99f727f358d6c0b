"""Draw the advantage of each boosting round, and the margins of the model (thesis, Figure 5.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads

from ._checks import check_one_rules

WITHOUT_NOISE = "without noise"


class AdvantageAndMargins(Output):
    """Figure: the advantage of each round over guessing, and the resulting margins.

    The theory of boosting assumes that each round has at least the advantage γ, and sets the
    learning rate to γ/4; the figure shows from which round on the assumption fails.
    """

    word: ClassVar[str] = "advantage_and_margins"
    version: ClassVar[int] = 2
    writes: ClassVar = ("figure",)
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", str),
        "dataset": Option("a dataset of the study", str),
        "epsilon": Option("the budget of all rounds together", float),
        "density": Option("κ, between 0 and 1", float, 0.5),
        "advantage": Option("the assumed γ, between 0 and 1/2", float, 0.05),
        "rounds": Option("a number of rounds", int, 1000),
        "runs": Option("number of runs with noise", int, 10),
    }

    def check(self, request: OutputRequest) -> None:
        check_one_rules(request)
        request.check_dataset(request.options["dataset"])
        options = request.options
        low = {"epsilon": 0, "density": 0, "advantage": 0, "rounds": WINDOW - 1, "runs": 0}
        high = {"density": 1, "advantage": 0.5}
        for name, least in low.items():
            most = high.get(name, math.inf)
            if not least < options[name] < most:
                raise ValueError(
                    f"{name} must be above {least} and below {most}; got {options[name]:g}"
                )

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.methods_of(request.options["learner"])
        versions = [[method.name, method.version] for method in methods]
        return Reads(data=(request.options["dataset"],), facts=versions)

    def make(self, context: Context) -> None:
        from ._insides import round_by_round

        options = context.options
        methods = context.request.methods_of(options["learner"])
        data, budget = context.data(options["dataset"]), options["epsilon"]
        setting = {
            "weak_learner": "one_rule",
            "n_rounds": options["rounds"],
            "density": options["density"],
            "learning_rate": options["advantage"] / 4,
        }
        runs = [(str(method.calibration), method, budget) for method in methods]
        frames = []
        for name, method, epsilon in [*runs, (WITHOUT_NOISE, methods[0], math.inf)]:
            advantages, margins = round_by_round(
                data, method, epsilon, setting, options["runs"], context.seed
            )
            frames.append(advantage_frame(name, advantages))
            frames += [margin_frame(name, part, each) for part, each in margins.items()]
        frame = pd.concat(frames, ignore_index=True)
        failing = failing_rounds(frame, options["advantage"])
        needed = rounds_needed(options["density"], options["advantage"])
        print(f"the assumption fails at rounds {failing}; the theorem needs {needed} rounds")
        titles = {name: f"{name}, ε = {budget:g}" for name, _, _ in runs}
        titles[WITHOUT_NOISE] = WITHOUT_NOISE
        context.draw(draw(frame, options["advantage"], failing, titles, runs[0][0]), frame)


# The advantage of a single round is noisy. So the assumption counts as failing at the first round
# from which the mean over this number of rounds is below γ.
WINDOW = 20
MARGIN_BINS = 100
ADVANTAGE, MARGIN = "advantage", "margin"


def histogram(
    margins: NDArray[np.float64], counts: NDArray[np.int64], n_bins: int = MARGIN_BINS
) -> NDArray[np.float64]:
    """Return the share of records in each of `n_bins` equal intervals of [−1, 1].

    `margins` has the margin of each row, `counts` its number of records.
    """
    # Margins are multiples of 1/τ, so they may be equal to the edge of an interval. The small
    # number keeps rounding errors from moving such a margin to the interval below.
    places = np.floor((margins + 1) * n_bins / 2 + 1e-9).astype(np.int64)
    sums = np.bincount(np.clip(places, 0, n_bins - 1), weights=counts, minlength=n_bins)
    return sums / counts.sum()


def rounds_needed(density: float, advantage: float) -> int:
    """Return the number of rounds, 16 ln(1/κ)/γ², that Theorem 3.0.1 of the thesis requires.

    κ is the density, γ the advantage.
    """
    return math.ceil(16 * math.log(1 / density) / advantage**2)


def failing_round(
    advantages: NDArray[np.float64], required: float, window: int = WINDOW
) -> int | None:
    """Return the first round from which the mean advantage of `window` rounds is below `required`.

    Rounds count from 1. The result is None if there is no such round.
    """
    below = np.flatnonzero(window_means(advantages, window) < required)
    return int(below[0]) + 1 if len(below) else None


def failing_rounds(frame: pd.DataFrame, required: float) -> dict[str, int | None]:
    """Return :func:`failing_round` for each calibration in a table of :func:`advantage_frame`."""
    groups = frame[frame["quantity"] == ADVANTAGE].groupby("calibration", sort=False)["value"]
    return {str(name): failing_round(one.to_numpy(dtype=float), required) for name, one in groups}


def window_means(advantages: NDArray[np.float64], window: int = WINDOW) -> NDArray[np.float64]:
    """Return, for each round, the mean over the `window` rounds that begin with it.

    It is NaN for the last rounds, which begin fewer than `window` rounds.
    """
    if len(advantages) < window:
        raise ValueError(f"rounds must be at least the window of {window}; got {len(advantages)}")
    means = np.convolve(advantages, np.full(window, 1 / window), mode="valid")
    return np.concatenate([means, np.full(window - 1, math.nan)])


def advantage_frame(calibration: str, runs: Sequence[NDArray[np.float64]]) -> pd.DataFrame:
    """Return a table of the mean advantage of each round over all runs.

    The column `window_mean` has :func:`window_means` of the mean advantages.
    """
    values = np.array(runs)
    rounds = pd.array(np.arange(1, values.shape[1] + 1), dtype="Int64")
    frame = _tidy(ADVANTAGE, calibration, "train", values, round=rounds)
    return frame.assign(window_mean=window_means(values.mean(axis=0)))


def margin_frame(
    calibration: str, part: str, runs: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]]
) -> pd.DataFrame:
    """Return a table of the histogram of margins, averaged over all runs.

    The column `value` has the mean share of the records in an interval of margins, and the column
    `margin` the lower edge of the interval. `part` is the name of the part, train or test.
    """
    values = np.array([histogram(margins, counts) for margins, counts in runs])
    edges = -1 + 2 * np.arange(MARGIN_BINS) / MARGIN_BINS
    return _tidy(MARGIN, calibration, part, values, margin=edges).assign(window_mean=math.nan)


def _tidy(
    quantity: str, calibration: str, part: str, values: NDArray[np.float64], **places: Any
) -> pd.DataFrame:
    """Return a table with the mean and standard deviation of `values` over runs.

    `values` has the shape (n_runs, n). `places` is one column with n entries: the rounds (`round`)
    or the margins (`margin`) at which the values are.
    """
    n_runs, n = values.shape
    std = values.std(axis=0, ddof=1) if n_runs > 1 else math.nan
    missing = {"round": pd.array([pd.NA] * n, dtype="Int64"), "margin": np.full(n, math.nan)}
    return pd.DataFrame(
        {
            "quantity": quantity,
            "calibration": calibration,
            "part": part,
            **missing | places,
            "value": values.mean(axis=0),
            "std": std,
            "n_runs": n_runs,
        }
    )


HEIGHT = 4.9

GAMMA: Any = {"color": "0.2", "linewidth": 0.8, "linestyle": (0, (1, 1.2))}
LOOKS: dict[str, Any] = {
    "proved": {"color": style.COLOURS[0], "linestyle": "-"},
    "published": {"color": style.COLOURS[1], "linestyle": (0, (3.2, 1.4))},
}
OTHER_LOOK: Any = {"color": style.BASELINE_COLOUR, "linestyle": (0, (6, 1.5, 1, 1.5))}


def draw(
    frame: pd.DataFrame,
    required: float,
    failing: Mapping[str, int | None],
    titles: Mapping[str, str],
    drawn: str,
) -> Figure:
    """Draw the advantages of rounds and, below, the histogram of margins of one calibration.

    `frame` has the rows of :func:`advantage_frame` and :func:`margin_frame`. Thin lines are means
    over runs; thick lines are means over runs and a window of rounds. `failing` has, for each
    calibration, the round from which the advantage is below the assumed γ (`required`); a circle
    marks it. `drawn` is the calibration of the histogram.
    """
    advantages = frame[frame["quantity"] == ADVANTAGE]
    margins = frame[(frame["quantity"] == MARGIN) & (frame["calibration"] == drawn)]
    if advantages.empty or margins.empty:
        raise ValueError(f"frames must have advantages, and margins of {drawn!r}; got none")
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
        look = LOOKS.get(name, OTHER_LOOK)
        rounds = rows["round"].to_numpy(dtype=float)
        panel.plot(rounds, rows["value"], color=look["color"], linewidth=0.4, alpha=0.35)
        fails = failing.get(name)
        verdict = "never below γ" if fails is None else f"below γ from round {fails}"
        label = f"{titles[name]}: {verdict}"
        panel.plot(rounds, rows["window_mean"], label=label, zorder=3, **look)
        if fails is not None:
            mark: Any = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white", "zorder": 4}
            mark |= {"color": look["color"], "markeredgewidth": 1.2}
            panel.plot(fails, rows["window_mean"].iloc[fails - 1], **mark)
    panel.axhline(required, **GAMMA, zorder=2)
    # The label of the γ line is below the line, at the left end.
    place: Any = {"xytext": (0, -2), "textcoords": "offset points", "va": "top", "color": "0.2"}
    axes = panel.get_yaxis_transform()
    panel.annotate(f"γ = {required:g}", (0.015, required), xycoords=axes, **place)
    panel.set_xscale("log")
    panel.set_xlim(1, frame["round"].max())
    style.write_ticks(panel.xaxis)
    panel.set_xlabel("Round of boosting")
    panel.set_ylabel("Advantage over guessing")
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, handlelength=2.4)


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
    places = frame[frame["value"] > 0]["margin"]
    room = 0.04
    panel.set_xlim(places.min() - room, places.max() + width + room)
    panel.axvline(0, color="0.2", linewidth=0.6)
    panel.axvline(required, **GAMMA, label=f"margin γ = {required:g}")
    panel.set_xlabel("Normalised margin, right less wrong votes per round")
    panel.set_ylabel(f"Records, % per {width:.2g} of margin")
    panel.legend(loc="upper left", title=title, handlelength=2)
