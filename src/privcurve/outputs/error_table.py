"""Make the table of learners' errors by dataset, ε and measure, with wins and ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

from privcurve.analysis.keys import mean, short_text
from privcurve.analysis.measures import (
    ACCURACY,
    MEASURES,
    NO_LOG_LOSS,
    add_errors,
    error_factor,
    ranked_by,
    share_held_out,
)
from privcurve.experiments import kinds
from privcurve.figures import style
from privcurve.lazy import pd
from privcurve.numerals import power
from privcurve.outputs.accuracy import FRESH_NOTES, MEAN, SELECTION_NOTES, all_curves
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads, check_name
from privcurve.privacy.ledger import CLAIMED
from privcurve.tables.table import MISSING, Table


class ErrorTable(Output):
    """Table: each method's error on each dataset (the lowest in bold), and its wins and losses."""

    word: ClassVar[str] = "error_table"
    version: ClassVar[int] = 11
    options: ClassVar = {
        "baseline": Option(
            "the method that others are compared with; by default the first", str, None
        ),
        "neighbours": Option(
            "the neighbouring relations whose methods are included with the "
            "baseline; by default all",
            str,
            None,
        ),
    }

    def check(self, request: OutputRequest) -> None:
        name, methods = request.options["baseline"], request.study.methods
        if name is not None:
            check_name("baseline: no method", name, methods)
        claims = {methods[private].claim for private in private_methods(request)}
        if request.options["neighbours"] is not None:
            check_name(
                "neighbours: no method has the relation", request.options["neighbours"], claims
            )
        if baseline(request) not in private_methods(request):
            raise ValueError(f"baseline: must be a method with an ε; {baseline(request)} has none")

    def reads(self, request: OutputRequest) -> Reads:
        read, methods = all_curves(request), request.study.methods
        titles = [method.title for method in methods.values()]
        curves = request.curves_of(methods[name] for name in table_methods(request))
        return Reads(curves, data=read.data, facts=[read.facts, titles])

    def make(self, context: Context) -> None:
        study, base = context.study, baseline(context.request)
        titles, private = method_labels(context.request), private_methods(context.request)
        runs, methods = context.runs(), table_methods(context.request)
        unranked = [name for name, method in study.methods.items() if method.breaks_contract]
        shared = (runs, study.datasets, methods, base)
        parts = [error_frame(*shared, measure, unranked) for measure in ranked_by(study.metric)]
        there = [part for part in parts if len(part)] or parts[:1]
        frame = pd.concat(there, ignore_index=True)
        frame = kinds.add_kinds(frame, study.methods, after="learner")
        notes = (
            f"Errors of fresh trainings: {MEAN}.",
            (
                f"Wins, ties and losses are against {titles[base]}, by two standard errors of the "
                "difference, paired by fold and repeat. The lowest private error of a row is in "
                "bold. Ranks are among private learners, over the datasets that have all of them. "
                f"Lower is better for each measure: error is 1 − accuracy. {NO_LOG_LOSS}"
            ),
            *SELECTION_NOTES[1:],
            *kinds.NOTES,
            *FRESH_NOTES[1:],
            *context.data_notes(),
        )
        caption = "Error of each learner on each dataset, at each ε"
        context.write(Table(frame, caption, notes, format_table(frame, titles, base, private)))


def baseline(request: OutputRequest) -> str:
    """Return the name of the method with which the other methods are compared."""
    return str(request.options["baseline"] or next(iter(request.study.methods)))


def table_methods(request: OutputRequest) -> list[str]:
    """Return the methods in the table, in the order of the study.

    If the study sets the option `neighbours`, these are the baseline and the private methods with
    that neighbouring relation.
    """
    methods, relation = request.study.methods, request.options["neighbours"]
    if relation is None:
        return list(methods)
    alike = [name for name in private_methods(request) if methods[name].claim == relation]
    return [name for name in methods if name in (*alike, baseline(request))]


def private_methods(request: OutputRequest) -> list[str]:
    """Return the names of the private methods of the study."""
    return [name for name, method in request.study.methods.items() if method.calibration]


def method_titles(request: OutputRequest) -> dict[str, str]:
    """Return a title for each method that distinguishes it from the other methods.

    If methods differ in calibration, in δ, or in the way in which hyperparameters were chosen,
    their titles say so.
    """
    methods = request.study.methods
    kind_of = {name: kinds.kind(method) for name, method in methods.items()}
    mixed = len({method.delta > 0 for method in methods.values() if method.calibration}) > 1
    titles = {}
    for name, method in methods.items():
        alike = {other.calibration for other in methods.values() if other.title == method.title}
        words = [method.title]
        if len(alike) > 1:
            words.append(str(method.calibration))
        if mixed and method.delta > 0:
            words.append(f"δ = {power(method.delta)}")
        if kind_of[name] in kinds.SHORT and kinds.RULE in kind_of.values():
            words.append(kinds.SHORT[kind_of[name]])
        titles[name] = ", ".join(words)
    return titles


def method_labels(request: OutputRequest) -> dict[str, str]:
    """Return the titles of methods; a user's own learner gets its contract check result added."""
    methods = request.study.methods
    return {name: methods[name].label(title) for name, title in method_titles(request).items()}


def method_styles(request: OutputRequest) -> dict[str, style.CurveStyle]:
    """Return the style of each private method; all figures of a study use the same styles."""
    methods = {name: request.study.methods[name] for name in private_methods(request)}
    return style.curve_styles(
        methods,
        {
            name: CLAIMED if one.contract and one.is_claimed else one.calibration
            for name, one in methods.items()
        },
        {name: one.delta for name, one in methods.items()},
        [name for name, one in methods.items() if kinds.kind(one) == kinds.NOT_COVERED],
    )


COLUMNS = [
    "measure", "epsilon", "dataset", "method", "learner", "error", "error_std", "standard_error",
    "n_repeats", "n_failed", "best", "gain", "gain_standard_error", "verdict", "rank",
]  # fmt: skip
WIN, TIE, LOSS = "win", "tie", "loss"
COUNTED = {"wins": WIN, "ties": TIE, "losses": LOSS}
# A gain (the baseline's error minus the method's error) is a win or a loss if its absolute value
# exceeds this many standard errors.
STANDARD_ERRORS = 2.0
# Errors that differ by less than this count as equal: sums in another order differ by rounding.
ROUNDING = 1e-9


def error_frame(
    runs: pd.DataFrame,
    datasets: Sequence[str],
    methods: Sequence[str],
    baseline: str,
    measure: str = ACCURACY,
    unranked: Sequence[str] = (),
) -> pd.DataFrame:
    """Compare the errors of methods with a baseline on each dataset, at each ε, by `measure`.

    A method that lacks the measure on a dataset has no row there (:func:`.measures.add_errors`).
    `gain` is the baseline's error minus the method's error, paired by fold and repeat: both runs of
    a pair have the same records. A gain beyond ±`STANDARD_ERRORS` standard errors is a win or a
    loss. `best` marks the lowest mean error of a private method at an ε on a dataset. `rank` counts
    from 1 among the private methods; equal errors share the mean of their ranks. A method with a
    failed training or without a selected setting has no error, gain or rank. Methods without
    privacy (ε = ∞) and `unranked` methods have no gain or rank and are never `best`.
    """
    errors = add_errors(runs, measure)
    errors["epsilon"] = errors["epsilon"].map(short_text)
    of_point = {
        key: group.set_index(["fold", "repeat"])["error"]
        for key, group in errors.groupby(["epsilon", "dataset", "method"], sort=False)
    }
    learners = dict(zip(runs["method"], runs["learner"], strict=True))
    rows = []
    for epsilon, dataset in itertools.product(sorted(set(errors["epsilon"]), key=float), datasets):
        there = [method for method in methods if (epsilon, dataset, method) in of_point]
        means = {method: mean(of_point[epsilon, dataset, method]) for method in there}
        ranked = {method: mean for method, mean in means.items() if method not in unranked}
        private = {} if math.isinf(float(epsilon)) else ranked
        least = min((m for m in private.values() if not math.isnan(m)), default=math.nan)
        base = None if baseline in unranked else of_point.get((epsilon, dataset, baseline))
        for method, error in means.items():
            scores = of_point[epsilon, dataset, method]
            gain, gain_error = (
                _compute_gain(base, scores) if method in private else (math.nan, math.nan)
            )
            verdict = None if method == baseline else _judge(gain, gain_error)
            best = bool(method in private and error <= least + ROUNDING)
            spread = float(scores.std(ddof=1, skipna=False))
            sure = spread * error_factor(len(scores), share_held_out(scores.index[0][0]))
            place = (measure, float(epsilon), dataset, method, learners[method])
            statistics = (error, spread, sure, len(scores), int(scores.isna().sum()))
            rows.append((*place, *statistics, best, gain, gain_error, verdict))
    frame = pd.DataFrame(rows, columns=COLUMNS[:-1])
    # Errors are rounded to multiples of ROUNDING before they are ranked: errors that are equal up
    # to rounding then share the mean of their ranks.
    is_ranked = frame["epsilon"].map(math.isfinite) & ~frame["method"].isin(list(unranked))
    steps = (frame["error"].where(is_ranked) / ROUNDING).round()
    return frame.assign(rank=steps.groupby([frame["epsilon"], frame["dataset"]]).rank())


def count_wins(table: pd.DataFrame) -> pd.DataFrame:
    """Count each method's wins, ties and losses against the baseline, at each finite ε.

    The result also has the mean ranks of the methods.
    """
    ranked = table[table["epsilon"].map(math.isfinite)]
    counts = {name: ranked["verdict"] == verdict for name, verdict in COUNTED.items()}
    at, of_method = ["measure", "epsilon"], ["measure", "epsilon", "method"]
    groups = ranked.assign(**counts).groupby(of_method, sort=False)
    sums = groups.agg(n_datasets=("error", "count"), **{name: (name, "sum") for name in counts})
    # Ranks are averaged over the datasets on which every ranked method has a rank, so that mean
    # ranks are comparable.
    ranks = ranked[ranked["rank"].notna()]
    n_methods = ranks.groupby(at)["method"].transform("nunique")
    shared = ranks[ranks.groupby([*at, "dataset"])["method"].transform("nunique") == n_methods]
    return sums.assign(mean_rank=shared.groupby(of_method)["rank"].mean()).reset_index()


def format_table(
    table: pd.DataFrame, titles: dict[str, str], baseline: str, private: Sequence[str]
) -> pd.DataFrame:
    """Return the table with texts for readers: rows by measure, ε and dataset, a column per method.

    A cell has the error and its standard error; the lowest error of a private method in a row is in
    bold. The last rows of each ε have wins/ties/losses and mean ranks. Methods that are not in
    `private` have no ε; their errors are repeated at each ε.
    """
    methods = [method for method in titles if method in set(table["method"])]
    fixed = table["epsilon"].map(math.isinf)
    free = _write_cells(table[~table["method"].isin(private)])
    keys = ("measure", "epsilon", "method")
    counts = {tuple(row[key] for key in keys): row for row in count_wins(table).to_dict("records")}
    rows = []
    order = table["measure"].map(list(MEASURES).index)
    for (_, epsilon), part in table[~fixed].groupby([order[~fixed], "epsilon"], sort=True):
        measure = part["measure"].iloc[0]
        at, cells = [MEASURES[measure].cost, short_text(str(epsilon))], free | _write_cells(part)
        for dataset in dict.fromkeys(part["dataset"]):
            errors = [cells.get((measure, dataset, method), MISSING) for method in methods]
            rows.append([*at, dataset, *errors])
        of_methods = [counts.get((measure, epsilon, method)) for method in methods]
        compared = [
            "/".join(f"{count[name]:g}" for name in COUNTED)
            if count and method != baseline and counts.get((measure, epsilon, baseline))
            else MISSING
            for method, count in zip(methods, of_methods, strict=True)
        ]
        rows.append([*at, "wins/ties/losses", *compared])
        means = [count["mean_rank"] if count else math.nan for count in of_methods]
        ranks = [MISSING if math.isnan(mean) else f"{mean:.2f}" for mean in means]
        rows.append([*at, "mean rank", *ranks])
    return pd.DataFrame(
        rows, columns=["measure", "ε", "dataset", *(titles[method] for method in methods)]
    )


def _write_cells(part: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """Return the text of each cell that has an error, by (measure, dataset, method)."""
    cells = {}
    for row in part[part["error"].notna()].to_dict("records"):
        error, sure = row["error"], row["standard_error"]
        text = f"**{error:.3f}**" if row["best"] else f"{error:.3f}"
        text += "" if math.isnan(sure) else f" ± {sure:.3f}"
        cells[row["measure"], row["dataset"], row["method"]] = text
    return cells


def _compute_gain(base: pd.Series | None, errors: pd.Series) -> tuple[float, float]:
    """Return the mean of ``base − errors``, paired by split, and its standard error.

    The standard error includes :func:`.error_factor`, as the records of the splits overlap. Both
    numbers are NaN if `base` and `errors`
    have different splits or if an error is missing.
    """
    if base is None or set(base.index) != set(errors.index):
        return math.nan, math.nan
    gaps = base.reindex(errors.index) - errors
    if gaps.isna().any():
        return math.nan, math.nan
    factor = error_factor(len(gaps), share_held_out(errors.index[0][0]))
    return float(gaps.mean()), float(gaps.std(ddof=1)) * factor


def _judge(gain: float, error: float) -> str | None:
    if math.isnan(gain) or math.isnan(error):
        return None
    if abs(gain) <= STANDARD_ERRORS * error + ROUNDING:
        return TIE
    return WIN if gain > 0 else LOSS
