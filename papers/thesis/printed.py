"""Compare numbers printed in the thesis with ours (Tables 5.2 to 5.4, A.1 to A.3, B.1 to B.3).

A difference is our number minus the printed number, divided by the standard error of this
difference (docs/research/thesis.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any, ClassVar

from privcurve.analysis.keys import mean, short_text
from privcurve.lazy import pd
from privcurve.outputs.base import PAPERS, Context, Option, Output, OutputRequest, Reads
from privcurve.stored import spoken_frame
from privcurve.tables.table import MISSING, Table

from ._checks import check_curves

# Names of the files with printed numbers; the outputs with our numbers have the same names.
TABLES = ("sparsity", "rademacher", "model_card")


class Printed(Output):
    """Table: each number of ``papers/<paper>/printed/`` with ours, and their difference."""

    word: ClassVar[str] = "printed"
    version: ClassVar[int] = 3
    memory: ClassVar[int] = 2000
    options: ClassVar = {"learner": Option("an entry of the study's learners", str)}

    def check(self, request: OutputRequest) -> None:
        check_curves(request)
        methods = request.methods_of(request.options["learner"])
        if {method.calibration for method in methods} != {*CALIBRATIONS}:
            both = ", ".join(CALIBRATIONS)
            raise ValueError(
                f"learner must have the calibrations {both}, to compare printed numbers with both"
            )
        files = _files(request)
        if not files:
            papers = sorted({path.parts[1] for path in PAPERS.glob("*/printed/*.csv")})
            raise ValueError(
                f"paper must have printed numbers; got {request.paper}: use {' or '.join(papers)}"
            )
        if not files.keys() & {*TABLES, "settings"}:
            names = ", ".join((*TABLES, "settings"))
            raise ValueError(f"{request.paper}/printed must have a file named {names}; got none")
        if "model_card" in files and "model_accuracy" not in files:
            raise ValueError(
                f"{request.paper}/printed must have model_accuracy if it has model_card"
            )

    def reads(self, request: OutputRequest) -> Reads:
        files = _files(request)
        return Reads(
            request.curves_of(request.methods_of(request.options["learner"])),
            grids=True,
            data=request.study.datasets,
            outputs=tuple(name for name in TABLES if name in files),
            resources=tuple(files.values()),
        )

    def make(self, context: Context) -> None:
        selected, files = context.read_selected(), _files(context.request)

        def read_printed(name: str) -> pd.DataFrame:
            return keep_comparable(spoken_frame(pd.read_csv(files[name], dtype="str")), selected)

        parts = []
        for name, compare in (("sparsity", compare_sparsity), ("rademacher", compare_rademacher)):
            if name in files:
                parts.append(compare(read_printed(name), context.table_of(name)))
        if "model_card" in files:
            votes = spoken_frame(pd.read_csv(context.others["model_card"].files.others["votes"]))
            printed, accuracy = read_printed("model_card"), read_printed("model_accuracy")
            parts.append(compare_card(printed, accuracy, votes))
        if "settings" in files:
            settings, runs = read_printed("settings"), context.grids(RUN_COLUMNS)
            runs_of_settings = pd.concat(keep_settings(part, settings, selected) for part in runs)
            parts.append(compare_settings(settings, selected, runs_of_settings))
        frame = join_in_order(parts)
        context.write(Table(frame, CAPTION, NOTES, format_table(frame)))


def _files(request: OutputRequest) -> dict[str, Path]:
    return {path.stem: path for path in sorted((request.paper / "printed").glob("*.csv"))}


CALIBRATIONS = ("published", "proved")
COLUMNS = ["table", "dataset", "epsilon", "quantity", "printed"] + [
    f"{c}{part}" for c in CALIBRATIONS for part in ("", "_standard_error", "_difference")
]
RUN_COLUMNS = ["dataset", "calibration", "epsilon", "setting", "fold", "accuracy", "status"]
SETTINGS = ("density", "learning_rate", "n_rounds")

CAPTION = "Numbers of the thesis and ours"
NOTES = (
    "Difference: ours less printed, in standard errors of that difference; what these are made of, "
    "and why numbers deviate: docs/research/thesis.md.",
    "Tables B: the difference is that of the cross-validated accuracies of our setting and the "
    "printed one, both trained by us, in its standard error over the folds; ours is the best of "
    "all settings on these folds, so about 2 are expected where the two are equally good.",
    "Table 5.3: votes are means over our models at that ε, of the bin that comes nearest.",
)

# Our value; the standard error of the gap, that is, our value minus the printed value; and the gap
# divided by this standard error.
Ours = tuple[float, float, float]


def difference(ours: float, printed: float, standard_error: float) -> float:
    """Return (ours − printed)/standard error: 0 if the numbers are equal, NaN if one is missing."""
    if ours == printed:
        return 0.0
    return (ours - printed) / standard_error if standard_error > 0 else math.nan


def rounding(printed: str) -> float:
    """Return the standard deviation of the rounding error of a printed number (a text).

    The error is uniform over one unit of the last printed decimal.
    """
    decimals = len(printed.partition(".")[2])
    return 10.0**-decimals / math.sqrt(12)


def keep_comparable(printed: pd.DataFrame, selected: pd.DataFrame) -> pd.DataFrame:
    """Return the printed rows for which our study has dataset and ε, with both calibrations."""
    ours: dict[str, set[tuple[str, str]]] = {}
    for calibration, one in selected.groupby("calibration"):
        keys = zip(one["dataset"], one["epsilon"].map(short_text), strict=True)
        ours[str(calibration)] = set(keys)
    both = set.intersection(*(ours.get(calibration, set()) for calibration in CALIBRATIONS))
    keys = zip(printed["dataset"], printed["epsilon"].map(short_text), strict=True)
    return printed[[key in both for key in keys]]


def compare_sparsity(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Compare the number of features used: its mean, standard deviation and percentage.

    The thesis and we have the same number n of trainings, and standard deviations s₁ and s₂ with n
    in the denominator. So the standard error of the gap is √((s₁² + s₂²)/(n − 1)) for the means,
    and √((s₁² + s₂²)/(2(n − 1))) for the standard deviations.
    """
    rows = []
    for row, mine in _pair_rows(printed, ours):
        for quantity in ("features_mean", "features_std", "features_percent"):
            values = {}
            for c, one in mine.items():
                error = _sparsity_error(quantity, float(row["features_std"]), one)
                values[c] = _compare_number(one[quantity], row[quantity], error)
            rows.append(_row(row, quantity, float(row[quantity]), values))
    return _frame(rows)


def _compare_number(value: float, printed: str, error: float) -> Ours:
    """Compare our `value`, whose standard error is `error`, with a printed, rounded number."""
    error = math.hypot(error, rounding(printed))
    return value, error, difference(value, float(printed), error)


def _compare_with_one(values: Mapping[str, Any], quantity: str, n: str, printed: str) -> Ours:
    """Compare our mean over trainings with a printed number, which counts as one training.

    `values[quantity]` is our mean, and `values[n]` our number of trainings.
    """
    error = values[f"{quantity}_std"] * math.sqrt(1 + 1 / values[n])
    return _compare_number(values[quantity], printed, error)


def _pair_rows(
    printed: pd.DataFrame, ours: pd.DataFrame
) -> Iterator[tuple[dict[Any, Any], dict[str, Any]]]:
    """Yield each printed row with a mapping from calibration to our row."""
    for row in printed.to_dict("records"):
        yield row, {c: _our_row(ours, row, calibration=c) for c in CALIBRATIONS}


def _sparsity_error(quantity: str, printed_std: float, mine: Mapping[str, Any]) -> float:
    squares = printed_std**2 + mine["features_std"] ** 2
    if quantity == "features_std":
        return math.sqrt(squares / (2 * (mine["n_repeats"] - 1)))
    scale = 100 / mine["n_features"] if quantity == "features_percent" else 1.0
    return scale * math.sqrt(squares / (mine["n_repeats"] - 1))


def compare_settings(
    printed: pd.DataFrame, selected: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Compare the selected settings with the printed settings.

    There is a row for each hyperparameter of a setting. All rows of a setting have the same
    difference, because it compares settings, not single hyperparameters. The difference is the
    cross-validated accuracy of our setting minus the accuracy of the printed setting, divided by
    the standard error. Both accuracies are from our trainings, paired by fold.
    """
    folds = _fold_accuracies(runs)
    rows = []
    for row, mine in _pair_rows(printed, selected):
        # The text is missing (NaN) if all settings have failed, because then none is selected.
        texts = {c: one["setting"] for c, one in mine.items()}
        settings = {c: json.loads(t) if isinstance(t, str) else {} for c, t in texts.items()}
        losses = {}
        for c, one in mine.items():
            at = (row["dataset"], c, short_text(one["epsilon"]))
            theirs = folds.get((*at, _setting_key(row)))
            losses[c] = _loss(folds.get((*at, _setting_key(settings[c]))), theirs)
        for name in SETTINGS:
            values = {c: (_value(settings[c], name), *losses[c]) for c in CALIBRATIONS}
            rows.append(_row(row, name, float(row[name]), values))
    return _frame(rows)


def keep_settings(
    runs: pd.DataFrame, printed: pd.DataFrame, selected: pd.DataFrame
) -> pd.DataFrame:
    """Return the runs with a selected or printed setting, which :func:`compare_settings` needs."""
    keys = {_setting_key(json.loads(text)) for text in selected["setting"].dropna()}
    keys |= {_setting_key(row) for row in printed.to_dict("records")}
    texts = [text for text in runs["setting"].unique() if _setting_key(json.loads(text)) in keys]
    return runs[runs["setting"].isin(texts)]


def _fold_accuracies(runs: pd.DataFrame) -> dict[tuple[str, ...], dict[str, float]]:
    """Return a mapping from dataset, calibration, ε and setting to the accuracy on each fold."""
    keys = {text: _setting_key(json.loads(text)) for text in runs["setting"].unique()}
    accuracies: dict[tuple[str, ...], dict[str, float]] = {}
    good = runs.loc[runs["status"] == "ok", RUN_COLUMNS[:-1]]
    for dataset, calibration, epsilon, setting, fold, accuracy in good.itertuples(index=False):
        key = (dataset, calibration, short_text(epsilon), keys[setting])
        accuracies.setdefault(key, {})[fold] = accuracy
    return accuracies


def _loss(
    mine: Mapping[str, float] | None, theirs: Mapping[str, float] | None
) -> tuple[float, float]:
    """Return the standard error of the mean gap in accuracy, and mean gap/standard error.

    A gap is ``mine − theirs`` on the same fold. Both results are NaN if a fold is missing.
    """
    if mine is None or theirs is None or set(theirs) != set(mine):
        return math.nan, math.nan
    gaps = [mine[fold] - theirs[fold] for fold in mine]
    error = stdev(gaps) / math.sqrt(len(gaps))
    return error, difference(mean(gaps), 0.0, error)


def compare_rademacher(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """Compare our margin bound and accuracy with the printed numbers.

    The thesis does not state its number of trainings, so a printed number counts as one training.
    """
    rows = []
    for row, mine in _pair_rows(printed, ours):
        for quantity, n in (("bound", "n_models"), ("accuracy", "n_repeats")):
            values = {
                c: _compare_with_one(one, quantity, n, row[quantity]) for c, one in mine.items()
            }
            rows.append(_row(row, quantity, float(row[quantity]), values))
    return _frame(rows)


def compare_card(
    printed: pd.DataFrame, printed_accuracy: pd.DataFrame, ours: pd.DataFrame
) -> pd.DataFrame:
    """Compare a printed model with our models: the votes of each condition, and the accuracy.

    The column `nearest_bin` of `printed` names, for each printed condition, the nearest bin of our
    dataset.
    """
    rows = []
    for row in printed.to_dict("records"):
        values = {}
        for calibration, models in _models_of(ours, row):
            of_bin = models[models["condition"] == row["nearest_bin"]]
            votes = of_bin.groupby("repeat")["votes"].sum()
            votes = votes.reindex(models["repeat"].unique(), fill_value=0)
            values[calibration] = _compare_with_one(_describe(votes), "mean", "n", row["votes"])
        rows.append(_row(row, f"votes: {row['condition']}", float(row["votes"]), values))
    for row in printed_accuracy.to_dict("records"):
        values = {}
        for calibration, models in _models_of(ours, row):
            accuracy = _describe(models.drop_duplicates("repeat")["accuracy"])
            values[calibration] = _compare_with_one(accuracy, "mean", "n", row["accuracy"])
        rows.append(_row(row, "accuracy", float(row["accuracy"]), values))
    return _frame(rows)


def _describe(values: pd.Series) -> dict[str, Any]:
    return {"mean": values.mean(), "mean_std": values.std(ddof=1), "n": len(values)}


def join_in_order(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join comparisons, sorted by the numbers of the thesis' tables."""
    frame = pd.concat(frames, ignore_index=True)
    return frame.sort_values("table", kind="stable", ignore_index=True)


def format_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table for readers: numbers as texts with fewer digits."""
    texts = frame[["table", "dataset"]].copy()
    texts["ε"] = [f"{value:g}" for value in frame["epsilon"]]
    texts["quantity"] = [text.replace("_", " ") for text in frame["quantity"]]
    texts["printed"] = [f"{value:g}" for value in frame["printed"]]
    for c in CALIBRATIONS:
        texts[c] = [MISSING if pd.isna(value) else f"{value:.4g}" for value in frame[c]]
        gaps = frame[f"{c}_difference"]
        texts[f"{c}: difference"] = [MISSING if pd.isna(gap) else f"{gap:+.1f}" for gap in gaps]
    return texts


def _models_of(ours: pd.DataFrame, row: Mapping[Any, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    for calibration in CALIBRATIONS:
        same = ours["epsilon"].map(short_text) == short_text(row["epsilon"])
        yield calibration, ours[(ours["calibration"] == calibration) & same]


def _our_row(frame: pd.DataFrame, row: Mapping[Any, Any], calibration: str) -> dict[Any, Any]:
    """Return our row for a printed row; raise ValueError unless exactly one row matches."""
    mine = frame[(frame["dataset"] == row["dataset"]) & (frame["calibration"] == calibration)]
    mine = mine[mine["epsilon"].map(short_text) == short_text(row["epsilon"])]
    if len(mine) != 1:
        where = f"{row['dataset']}, {calibration}, ε = {row['epsilon']}"
        raise ValueError(
            f"Table {row['table']}: one of our rows must match {where}; got {len(mine)}"
        )
    return mine.iloc[0].to_dict()


def _setting_key(setting: Mapping[Any, Any]) -> str:
    return " ".join(short_text(_value(setting, name)) for name in SETTINGS)


def _value(setting: Mapping[Any, Any], name: str) -> float:
    # A user's study may not name the hyperparameter; then the value is NaN.
    return float(setting.get(name, math.nan))


def _row(
    row: Mapping[Any, Any], quantity: str, printed: float, values: Mapping[str, Ours]
) -> list[Any]:
    start = [row["table"], row["dataset"], float(row["epsilon"]), quantity, printed]
    return start + [part for c in CALIBRATIONS for part in values[c]]


def _frame(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS)
