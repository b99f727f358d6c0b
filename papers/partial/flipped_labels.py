"""Compare random thresholds with the best thresholds for flipped labels: the toy example of BRC.

The example is in *Classification with Partially Private Features* (Shen et al.), §4 and Figure 1.
BRC draws its thresholds blindly, that is, without the records. A threshold that is chosen by
labels, flipped or not, depends on the records, and no theorem of the paper covers its privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.figures import style
from privcurve.lazy import Figure, pd, sns
from privcurve.learners import registry
from privcurve.outputs.base import Context, Option, OutputRequest
from privcurve.tables.table import Table

from .thresholds import BUCKETS, DOTS, Thresholds, column_of, finish_weights, votes_frame

if TYPE_CHECKING:
    from privcurve.coding import Bools, Ints
    from privcurve.experiments.study import Method

    from .learners._half_spaces import Vote
    from .learners._half_spaces_noise import BRCNoise

BLIND, FLIPPED = "blind", "flipped labels"
COLOURS = {BLIND: style.COLOURS[4], FLIPPED: style.COLOURS[3]}


class FlippedLabels(Thresholds):
    """Table and figure: BRC's random thresholds against thresholds chosen by flipped labels.

    Thresholds of both kinds vote with weights α. A threshold chosen by flipped labels has the
    fewest errors on labels that are flipped at random.
    """

    word: ClassVar[str] = "flipped_labels"
    writes: ClassVar[tuple[str, ...]] = ("table", "figure")
    options: ClassVar = {
        **Thresholds.options,
        "boundary": Option("where the label changes, in the column's unit", float),
        "flips": Option("the probability that a label is flipped, between 0 and 1", float, 0.49),
        "runs": Option("a number of models of either kind, above 0", int, 100),
        "epsilons": Option("further budgets, for the table, as a list", list, ()),
    }

    def check(self, request: OutputRequest) -> None:
        super().check(request)
        if not 0 <= request.options["flips"] <= 1:
            raise ValueError(f"flips must be between 0 and 1; got {request.options['flips']:g}")
        if request.options["runs"] < 1:
            raise ValueError(f"runs must be above 0; got {request.options['runs']}")
        for epsilon in request.options["epsilons"]:
            if not (isinstance(epsilon, (int, float)) and epsilon > 0):
                raise ValueError(f"epsilons must be numbers above 0; got {epsilon!r}")

    def make(self, context: Context) -> None:
        from privcurve.experiments import models

        method, options = self.method(context.request), context.options
        data, flips = context.data(self.dataset(context.request)), options["flips"]
        column = column_of(method, data.domain)
        codes = data.X[:, data.domain.columns.index(column)].astype(np.int64)
        values, bounds = np.asarray(column.edges)[codes], (column.edges[0], column.edges[-1])
        positive, boundary = data.y > 0, options["boundary"]
        rng = models.stream(self.word, data, context.seed)
        tables, first = [], pd.DataFrame()
        for epsilon in (options["epsilon"], *options["epsilons"]):
            noise = _noise(method, len(codes), epsilon)
            blind = self.trainings(context, data, epsilon, options["runs"])
            votes = {BLIND: [model.learner.votes_ for model in blind]}
            votes[FLIPPED] = [
                vote_on_flipped_labels(codes, positive, column.n_bins, noise, flips, rng)
                for _ in blind
            ]
            frames = {
                kind: [votes_frame(one, column.edges) for one in own] for kind, own in votes.items()
            }
            table = summary(frames, values, positive, bounds, boundary)
            tables.append(table.assign(epsilon=epsilon))
            if first.empty:
                first = pd.concat([own[0].assign(drawn=kind) for kind, own in frames.items()])
        notes = (
            f"{options['runs']} models of either kind at each ε. Flipped labels: the best "
            f"threshold where each label is flipped with a chance of {flips:g}, afresh in each "
            "round, all records alike; it reads the labels.",
            "Share of even: how often a threshold is in this tenth, over how often an even draw "
            "is. Middle by outside: the mean α of thresholds in the middle half of the line over "
            "that of the others. Accuracy: of the vote, on all points.",
        )
        context.write(Table(pd.concat(tables, ignore_index=True), CAPTION, notes))
        context.draw(draw(tables[0], first, column.name, bounds, boundary), first)


CAPTION = "Thresholds on a line, drawn blindly and by flipped labels"


def _noise(method: Method, n: int, epsilon: float) -> BRCNoise:
    """Return the noise of BRC's rounds for the settings of `method`, `n` records and `epsilon`."""
    from .learners._half_spaces_noise import BRCNoise

    setting: dict[str, Any] = {**registry.entry(method.learner).defaults, **method.settings[0]}
    names = ("n_rounds", "smallest", "largest", "estimate")
    terms = {name: setting[name] for name in names}
    return BRCNoise(
        **{"learner": method.learner, "n": n, "epsilon": epsilon, "delta": method.delta, **terms},
        calibration=str(method.calibration),
    )


def best_cut(codes: Ints, positive: Bools, n_bins: int) -> int:
    """Return the threshold with the fewest errors, an integer from 0 to `n_bins`.

    A record is classified as positive if its bin is at least the threshold. If several thresholds
    have the fewest errors, the result is the smallest one.
    """
    # Changes of the number of errors: if the threshold moves past a bin, the bin's negatives become
    # right and its positives become wrong.
    steps = np.bincount(codes, weights=np.where(positive, 1, -1), minlength=n_bins)
    return int(np.argmin(np.concatenate([[0.0], np.cumsum(steps)])))


def vote_on_flipped_labels(
    codes: Ints,
    positive: Bools,
    n_bins: int,
    noise: BRCNoise,
    flips: float,
    rng: np.random.Generator,
) -> list[Vote]:
    """Run the rounds of BRC with thresholds that are best for labels flipped at random.

    In each round, each label is flipped with the probability `flips`. `codes` are the bins of the
    records in the only column; `positive` says which records have the positive label. Weights,
    errors and noise are as in BRC, and use the labels that are not flipped.
    """
    from privcurve.coding import scale_codes
    from privcurve.privacy.curator import Curator

    from .learners._half_spaces import HalfSpace, PrivateWeights, Rounds

    places = scale_codes(np.arange(n_bins, dtype=np.uint32)[:, None], np.array([n_bins]))[:, 0]
    # The possible thresholds on the scale of the learner's columns: below all bins, between
    # neighbouring bins, and above all bins.
    borders = np.concatenate([[places[0] - 1], (places[1:] + places[:-1]) / 2, [places[-1] + 1]])

    class Flipped:
        def propose(self, t: int, alphas: Sequence[float], weights: PrivateWeights) -> HalfSpace:
            cut = best_cut(codes, positive ^ (rng.random(len(codes)) < flips), n_bins)
            return HalfSpace(np.ones(1), -float(borders[cut]), codes >= cut)

    rounds = Rounds(noise, Flipped(), positive, np.ones(len(codes), dtype=np.int64), Curator(rng))
    rounds.run_private()
    return rounds.votes


def summary(
    frames: Mapping[str, Sequence[pd.DataFrame]],
    values: object,
    positive: Bools,
    bounds: tuple[float, float],
    boundary: float,
) -> pd.DataFrame:
    """Return a table with a row for each kind of thresholds and each tenth of `bounds`.

    A row has the number of thresholds in the tenth and their mean weight α. `frames` has, for each
    kind of thresholds, one table of thresholds per model. Some columns have the same value in all
    ten rows of a kind. `middle_by_outside` is the mean α of the thresholds near `boundary` (at most
    a quarter of the interval away), divided by the mean α of the others. `accuracy` is the mean,
    over models, of the accuracy of a model's votes on the points `values`, whose labels are
    `positive`.
    """
    width = bounds[1] - bounds[0]
    rows = []
    for kind, runs in frames.items():
        both = pd.concat(runs, ignore_index=True)
        threshold, alpha = both["threshold"].to_numpy(), both["alpha"].to_numpy()
        middle = np.abs(threshold - boundary) <= width / 4
        buckets = np.minimum((threshold - bounds[0]) / width * BUCKETS, BUCKETS - 1).astype(int)
        right = [_accuracy(run, values, positive) for run in runs]
        for bucket in range(BUCKETS):
            mine = buckets == bucket
            rows.append({
                "drawn": kind, "bucket": bucket + 1,
                "from": bounds[0] + bucket * width / BUCKETS,
                "n_thresholds": int(mine.sum()), "share_of_even": BUCKETS * mine.mean(),
                "mean_alpha": alpha[mine].mean() if mine.any() else np.nan,
                "middle_by_outside": alpha[middle].mean() / alpha[~middle].mean(),
                "accuracy": np.mean(right), "median_accuracy": np.median(right),
                "least_accuracy": min(right), "largest_accuracy": max(right),
            })  # fmt: skip
    return pd.DataFrame(rows)


def _accuracy(run: pd.DataFrame, values: Any, positive: Bools) -> float:
    """Return the accuracy of the weighted vote of one model's thresholds."""
    order = np.argsort(run["threshold"].to_numpy(), kind="stable")
    threshold, alpha = run["threshold"].to_numpy()[order], run["alpha"].to_numpy()[order]
    passed = np.concatenate([[0.0], np.cumsum(alpha)])
    scores = 2 * passed[np.searchsorted(threshold, values, side="right")] - alpha.sum()
    return float(((scores > 0) == positive).mean())


def draw(
    table: pd.DataFrame,
    first: pd.DataFrame,
    column: str,
    bounds: tuple[float, float],
    boundary: float,
) -> Figure:
    """Draw the share of thresholds in each tenth of a line, and the weights α of one model.

    `table` is the result of :func:`summary`. For each kind of thresholds, `first` has the
    thresholds and weights of one model. The line is the column named `column`, with the ends
    `bounds`; the label changes at `boundary`.
    """
    with style.paper():
        figure = style.new_figure(style.TEXT_WIDTH, style.SINGLE_PANEL_HEIGHT)
        left, right = figure.subplots(1, 2)
        look: Any = {"hue": "drawn", "hue_order": list(COLOURS), "palette": COLOURS}
        sns.barplot(
            table, x="bucket", y="share_of_even", saturation=1, legend=False, ax=left, **look
        )
        left.axhline(1, color="0.2", linewidth=0.8, linestyle=DOTS)
        left.set_title("Thresholds drawn; dotted: an even draw")
        left.set_xlabel(f"Tenth of {column}")
        left.set_ylabel("How often, by an even draw")
        look |= {"style": "drawn", "style_order": list(COLOURS), "s": 16, "linewidth": 0.3}
        sns.scatterplot(first, x="threshold", y="alpha", zorder=3, ax=right, **look)
        right.set_title("What each weighs in one model")
        style.legend_below(figure, finish_weights(right, column, bounds, boundary))
    return figure
