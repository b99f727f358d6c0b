"""Make the tables of learners' accuracy at each ε, and of the selected settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from privcurve.analysis.keys import mean, short_text
from privcurve.analysis.measures import (
    ACCURACY,
    IN_TABLES,
    MEASURES,
    NO_LOG_LOSS,
    error_factor,
    ranked_by,
    share_held_out,
)
from privcurve.experiments import kinds
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.outputs.base import Context, Output, OutputRequest, Reads, metric_name
from privcurve.tables.table import Table, format_counts, format_decimals, format_means, text_frame

SELECTION_NOTES = (
    (
        "The cross-validated accuracy of the selected setting is optimistic: it is the best of "
        "the compared settings, on the folds that selected it."
    ),
    (
        "The selection of settings is itself not private: ε is the budget of one training, not "
        "of the search."
    ),
    (
        "Accuracies and other scores are exact statistics of the scored records, without "
        "noise: ε covers the models, not these numbers."
    ),
    (
        "Calibration 'published' uses the noise printed in the method's paper, 'proved' the "
        "noise proved by this project; a method without privacy has no noise, and ε = inf."
    ),
)
MEAN = (
    "mean ± its standard error over the repeats. If all repeats score one test part, it "
    "covers the noise of training alone (and the draw of records, if a method trains on a "
    "share of them); otherwise it is widened, as the scored parts overlap (Nadeau and "
    "Bengio 2003)"
)
FRESH_NOTES = (
    (
        "Accuracy, AUC and log loss are from fresh trainings with the selected setting: "
        f"{MEAN}. Scores from cross-validation are ± one standard deviation over the folds. "
        "Where a dataset has no test set, the fresh folds are new partitions of the records "
        "that also selected the setting."
    ),
    (
        "A value is missing (–) if one of its repeats is missing or failed; the other repeats "
        f"are not averaged. {NO_LOG_LOSS}"
    ),
)


class Accuracy(Output):
    """Table ``accuracy``: one row for each dataset, method and ε."""

    word: ClassVar[str] = "accuracy"
    version: ClassVar[int] = 9

    def reads(self, request: OutputRequest) -> Reads:
        return all_curves(request)

    def make(self, context: Context) -> None:
        table = accuracy_of(context.study, read_all_selected(context), context.runs())
        context.write(replace(table, notes=(*table.notes, *context.data_notes())))


def accuracy_of(study: Study, selected: pd.DataFrame, refits: pd.DataFrame) -> Table:
    """Return the table ``accuracy`` of a study from its selected settings and fresh trainings."""
    order = study.datasets, list(study.methods)
    frame = accuracy_table(selected, refits, study.repeats, *order, study.metric)
    frame = kinds.add_kinds(frame, study.methods, after="epsilon")
    notes = (*SELECTION_NOTES, *kinds.NOTES, *FRESH_NOTES)
    texts = format_table(frame, study.metric)
    return Table(frame, "Accuracy of each learner at each ε", notes, texts)


def all_curves(request: OutputRequest) -> Reads:
    """Return the inputs of an output that reads all curves of the study, sorted as in the study."""
    study = request.study
    facts = [list(study.datasets), list(study.methods), study.metric]
    return Reads(request.curves_of(study.methods.values()), data=study.datasets, facts=facts)


def read_all_selected(context: Context) -> pd.DataFrame:
    """Return the selected settings of all curves; raise IncompleteError if a curve has none."""
    selected = context.read_selected()
    curves = set(zip(selected["dataset"], selected["method"], strict=True))
    missing = [pair for pair in context.request.reads.curves if pair not in curves]
    if missing:
        raise IncompleteError(f"{context.study.name}: no setting is selected for {missing}")
    return selected


def format_table(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the table ``accuracy`` with texts for readers: fewer columns, four decimals."""
    texts = text_frame(frame[["dataset", "method", "epsilon", "kind"]])
    cv = optimistic_column(metric)
    texts[f"CV {metric_name(metric)} (optimistic)"] = format_means(frame[cv], frame[f"{cv}_std"])
    texts = texts.assign(**scores_as_text(frame))
    texts["features used"] = format_decimals(frame["n_features_used"], 1)
    texts["repeats"] = format_counts(frame["n_repeats"] - frame["n_failed"], frame["n_repeats"])
    return texts


def scores_as_text(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return a column of texts for each score, by the score's title.

    A text is the mean with its standard error, or only the mean if the table has no error.
    """
    return {
        metric_name(name): format_means(frame[name], frame[f"{name}_error"])
        if f"{name}_error" in frame
        else format_decimals(frame[name], 4)
        for name in MEASURES
        if name in frame
    }


class SelectedSettings(Output):
    """Table ``selected_settings``: a row per dataset, method and ε, a column per hyperparameter."""

    word: ClassVar[str] = "selected_settings"
    version: ClassVar[int] = 5

    def reads(self, request: OutputRequest) -> Reads:
        return all_curves(request)

    def make(self, context: Context) -> None:
        context.write(settings_of(context.study, read_all_selected(context)))


def settings_of(study: Study, selected: pd.DataFrame) -> Table:
    """Return the table ``selected_settings`` of a study."""
    frame = selected_settings_table(selected, study.datasets, list(study.methods))
    texts = text_frame(frame.drop(columns=["learner", "error"]))
    return Table(frame, "Settings selected by cross-validation", SELECTION_NOTES, texts)


METHOD = ["dataset", "method", "learner", "calibration", "delta", "epsilon"]


def optimistic_column(metric: str = ACCURACY) -> str:
    """Return the name of the column with the cross-validated score that selected the setting."""
    return f"cv_{metric}_selected_optimistic"


def table_columns(metric: str = ACCURACY) -> list[str]:
    """Return the columns of the table ``accuracy`` if the study selects settings by `metric`."""
    cv, spread = optimistic_column(metric), spread_scores(metric)
    return [
        *METHOD, "scored_on", cv, f"{cv}_std", ACCURACY, f"{ACCURACY}_std",
        *scores_of_tables(metric)[1:], "n_features_used",
        *(f"{name}_std" for name in spread if name != ACCURACY),
        *(f"{name}_error" for name in spread),
        "n_repeats", "n_failed", "status", "error",
    ]  # fmt: skip


def scores_of_tables(metric: str) -> list[str]:
    """Return the scores whose mean is in the table ``accuracy``."""
    return list(dict.fromkeys((*IN_TABLES, metric)))


def spread_scores(metric: str) -> list[str]:
    """Return the scores whose standard deviation and standard error the table ``accuracy`` has."""
    return list(ranked_by(metric))


def score_spreads(good: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return standard deviation and standard error of each of `spread_scores`, by column name.

    `good` has a row for each successful repeat.
    """
    share = share_held_out(good["fold"].iloc[0]) if len(good) else 0.0
    stds = {
        name: float(good[name].astype(float).std(ddof=1, skipna=False))
        for name in spread_scores(metric)
    }
    factor = error_factor(max(len(good), 1), share)
    errors = {f"{name}_error": std * factor for name, std in stds.items()}
    return {f"{name}_std": std for name, std in stds.items()} | errors


def accuracy_table(
    selected: pd.DataFrame,
    refits: pd.DataFrame,
    n_repeats: int,
    datasets: Sequence[str],
    methods: Sequence[str],
    metric: str = ACCURACY,
) -> pd.DataFrame:
    """Return the table ``accuracy``: scores of fresh trainings, and the cross-validated score.

    The cross-validated score is optimistic, as the setting was selected by this score. The table
    has a row for each dataset, method and ε, sorted as `datasets` and `methods`. `refits` are the
    fresh trainings (repeats 1 … `n_repeats`); trainings of settings that are not in `selected` are
    ignored. In the result, `scored_on` is "test" or "folds". A score is NaN if a repeat lacks it;
    `n_failed` counts failed and missing repeats, and `error` names them.
    """
    scored_on = _find_scoring_sets(refits)
    # ε is compared as text, as writing and reading the selected settings may change its last bit.
    keys = ["dataset", "method", refits["epsilon"].map(short_text), "setting"]
    groups = dict(list(refits.groupby(keys)))
    rows = []
    for row in _sort(selected, datasets, methods).to_dict("records"):
        key = (row["dataset"], row["method"], short_text(row["epsilon"]), row["setting"])
        rows.append(
            {
                **{name: row[name] for name in METHOD},
                "scored_on": scored_on.get(row["dataset"]),
                optimistic_column(metric): row[f"cv_{metric}"],
                f"{optimistic_column(metric)}_std": row["cv_std"],
                **_average_fresh(row, groups.get(key, refits.iloc[:0]), n_repeats, metric),
            }
        )
    return pd.DataFrame(rows, columns=table_columns(metric))


def selected_settings_table(
    selected: pd.DataFrame, datasets: Sequence[str], methods: Sequence[str]
) -> pd.DataFrame:
    """Return the selected settings, one per row, with a column for each hyperparameter.

    Columns of hyperparameters are sorted by name. Rows are sorted as `datasets` and `methods`.
    """
    rows = _sort(selected, datasets, methods)
    settings = [{} if pd.isna(text) else json.loads(text) for text in rows["setting"]]
    table = rows[METHOD].reset_index(drop=True)
    # With private selection, a setting also names the learner; the table has this column already.
    for name in sorted({name for setting in settings for name in setting} - set(METHOD)):
        table[name] = pd.Series([setting.get(name) for setting in settings], dtype=object)
    for name in ("n_settings", "n_failed_settings", "status", "error"):
        table[name] = rows[name].to_numpy()
    return table


def _find_scoring_sets(refits: pd.DataFrame) -> dict[str, str]:
    sets = {}
    for dataset, folds in refits.groupby("dataset")["fold"]:
        is_test = folds == "test"
        if is_test.nunique() > 1:
            raise ValueError(
                f"{dataset}: refits must all score the test set, or all score folds; got both"
            )
        sets[str(dataset)] = "test" if is_test.all() else "folds"
    return sets


def _sort(frame: pd.DataFrame, datasets: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    orders = {"dataset": list(datasets), "method": list(methods)}
    for column, order in orders.items():
        unknown = sorted(set(frame[column]) - set(order))
        if unknown:
            raise ValueError(f"{column} must be one of {', '.join(order)}; got {unknown[0]!r}")
    return frame.sort_values(
        [*orders, "epsilon"],
        key=lambda values: (
            values.map(orders[values.name].index) if values.name in orders else values
        ),
        kind="stable",
    )


def _average_fresh(
    row: Mapping[Any, Any], fresh: pd.DataFrame, n_repeats: int, metric: str
) -> dict[str, Any]:
    """Return the scores, counts and status of one row of the table ``accuracy``.

    `row` is the selected setting, and `fresh` are its fresh trainings. Scores are means over the
    repeats. If a repeat failed or is missing, the scores are NaN, and ``error`` names the repeat.
    """
    if fresh["repeat"].duplicated().any():
        what = f"{row['dataset']}, {row['method']}, ε = {row['epsilon']:g}"
        raise ValueError(f"{what}: two fresh trainings have the same repeat number")
    fresh = fresh.set_index("repeat").reindex(range(1, n_repeats + 1))
    failed = fresh[fresh["status"].ne("ok") | fresh["accuracy"].isna()]
    error = None
    if row["status"] != "ok":
        error = f"no setting is complete: {row['error']}"
    elif len(failed):
        status, reason = failed.iloc[0][["status", "error"]]
        reason = "missing" if pd.isna(status) else "failed" if pd.isna(reason) else reason
        error = f"repeats {', '.join(map(str, failed.index))} of {n_repeats}: {reason}"
    good = fresh.iloc[:0] if len(failed) else fresh
    shown = (*scores_of_tables(metric), "n_features_used")
    means = {name: mean(good[name].astype(float)) for name in shown}
    counts = {"n_repeats": n_repeats, "n_failed": len(failed)}
    outcome = {"status": "ok" if error is None else "failed", "error": error}
    return {**means, **score_spreads(good, metric), **counts, **outcome}
