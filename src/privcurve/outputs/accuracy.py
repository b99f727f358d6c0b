"""The accuracy of each learner at each ε, of fresh trainings, and the selected settings."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from privcurve.analysis import kinds
from privcurve.analysis.numbers import mean, short
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.outputs.base import Asked, Output, Reads
from privcurve.outputs.context import Context
from privcurve.tables.table import Table, decimals, plus_minus, shown

METRIC_NAMES = {"auc": "AUC"}
SELECTION_NOTES = (
    "The cross-validated accuracy of the selected setting is optimistic: it is the best of "
    "the settings that were compared, on the folds that chose it.",
    "The selection of settings is itself not private: ε is the budget of one training, not of "
    "the search.",
    "Accuracies and other scores are exact statistics of the records they are measured on, "
    "without noise: ε covers the models, not these numbers.",
    "Calibration 'published' sets the noise as the method's paper prints it, 'certified' as "
    "this project proves it; a method without privacy has none, and ε = inf.",
)
FRESH_NOTES = (
    "Accuracy is of fresh trainings with the selected setting: mean ± one standard deviation over "
    "the repeats. Where a dataset has no test set, the fresh folds are new partitions of the "
    "records that also chose the setting.",
    "A value is missing (–) when a repeat it needs is missing or has failed; nothing is averaged "
    "over the rest.",
)


class Accuracy(Output):
    """Table ``accuracy``: one row for each dataset, arm and ε."""

    word: ClassVar[str] = "accuracy"
    version: ClassVar[int] = 3

    def reads(self, asked: Asked) -> Reads:
        return whole(asked.study)

    def make(self, context: Context) -> None:
        table = accuracy_of(context.study, complete(context), context.refits())
        context.write(replace(table, notes=(*table.notes, *context.data_notes())))


def accuracy_of(study: Study, selected: pd.DataFrame, refits: pd.DataFrame) -> Table:
    """Return the table of accuracy of a study from its selected settings and fresh trainings."""
    order = study.datasets, list(study.arms)
    frame = accuracy_table(selected, refits, study.repeats, *order, study.metric)
    frame.insert(list(frame).index("epsilon") + 1, "kind", kinds.column(frame, study.arms))
    caption = "Accuracy of each learner at each ε"
    notes = (*SELECTION_NOTES, *kinds.NOTES, *FRESH_NOTES)
    return Table(frame, caption, notes, readable(frame, study.metric))


def whole(study: Study) -> Reads:
    """Read every curve of a study, in its order."""
    curves = tuple(itertools.product(study.datasets, study.arms))
    return Reads(
        curves, data=study.datasets, facts=[list(study.datasets), list(study.arms), study.metric]
    )


def complete(context: Context) -> pd.DataFrame:
    """Return the selected settings of all curves of a study."""
    selected = context.selected()
    found = set(zip(selected["dataset"], selected["arm"], strict=True))
    missing = [pair for pair in context.asked.reads.curves if pair not in found]
    if missing:
        raise IncompleteError(f"{context.study.name}: nothing selected for {missing}")
    return selected


def readable(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the table as a reader wants it: fewer columns, four decimals."""
    name = METRIC_NAMES.get(metric, metric.replace("_", " "))
    texts = shown(frame[["dataset", "arm", "epsilon", "kind"]])
    texts[f"CV {name} (optimistic)"] = plus_minus(
        frame[optimistic(metric)], frame[f"{optimistic(metric)}_std"]
    )
    for column in ("accuracy", "balanced_accuracy", "auc", "log_loss"):
        name = METRIC_NAMES.get(column, column.replace("_", " "))
        std = f"{column}_std"
        texts[name] = (
            plus_minus(frame[column], frame[std]) if std in frame else decimals(frame[column], 4)
        )
    texts["features used"] = decimals(frame["n_features_used"], 1)
    good = frame["n_repeats"] - frame["n_failed"]
    texts["repeats"] = [f"{n} of {m}" for n, m in zip(good, frame["n_repeats"], strict=True)]
    return texts


class SelectedSettings(Output):
    """Table ``selected_settings``: one row for each dataset, arm and ε, a column an axis."""

    word: ClassVar[str] = "selected_settings"

    def reads(self, asked: Asked) -> Reads:
        return whole(asked.study)

    def make(self, context: Context) -> None:
        context.write(settings_of(context.study, complete(context)))


def settings_of(study: Study, selected: pd.DataFrame) -> Table:
    """Return the table of the selected settings of a study."""
    frame = selected_settings_table(selected, study.datasets, list(study.arms))
    texts = shown(frame.drop(columns=["learner", "error"]))
    return Table(frame, "Settings selected by cross-validation", SELECTION_NOTES, texts)


METRICS = ["accuracy", "balanced_accuracy", "auc", "log_loss", "n_features_used"]
ARM = ["dataset", "arm", "learner", "calibration", "delta", "epsilon"]
ACCURACY = METRICS[0]


def optimistic(metric: str = ACCURACY) -> str:
    """Name the column of the cross-validated score that selected a setting."""
    return f"cv_{metric}_selected_optimistic"


def columns(metric: str = ACCURACY) -> list[str]:
    """Return the columns of the table; the metric that selects has a standard deviation too."""
    return [
        *ARM,
        "scored_on",
        optimistic(metric),
        f"{optimistic(metric)}_std",
        ACCURACY,
        f"{ACCURACY}_std",
        *METRICS[1:],
        *([] if metric == ACCURACY else [f"{metric}_std"]),
        *("n_repeats", "n_failed", "status", "error"),
    ]


def accuracy_table(
    selected: pd.DataFrame,
    refits: pd.DataFrame,
    n_repeats: int,
    datasets: Sequence[str],
    arms: Sequence[str],
    metric: str = ACCURACY,
) -> pd.DataFrame:
    """Put the fresh accuracy of each selected setting beside its optimistic one.

    Parameters
    ----------
    selected : DataFrame
        As :func:`privcurve.analysis.selection.select` gives it.
    refits : DataFrame
        One row a fresh training (repeats 1 … `n_repeats`); rows of a setting that is not
        the selected one do not count.
    n_repeats : int
        How many fresh trainings each selected setting must have.
    datasets, arms : sequence of str
        The order of the rows.
    metric : str
        What selected.

    Returns
    -------
    DataFrame
        One row for each dataset, arm and ε. `scored_on` is "test" or "folds". A metric is NaN
        unless all repeats have it; `n_failed` counts failed and missing repeats, `error` names
        them.

    Raises
    ------
    ValueError
        If a dataset or arm is not in the given order, a repeat appears twice, or a dataset was
        scored both on its test set and on folds.
    """
    scored_on = _scored_on(refits)
    # ε as text: a file of the selected settings may have moved its last bit.
    keys = ["dataset", "arm", refits["epsilon"].map(short), "setting"]
    groups = dict(list(refits.groupby(keys)))
    rows = []
    for row in _sorted(selected, datasets, arms).to_dict("records"):
        fresh = groups.get((row["dataset"], row["arm"], short(row["epsilon"]), row["setting"]))
        rows.append(
            {
                **{name: row[name] for name in ARM},
                "scored_on": scored_on.get(row["dataset"]),
                optimistic(metric): row[f"cv_{metric}"],
                f"{optimistic(metric)}_std": row["cv_std"],
                **_fresh(row, refits.iloc[:0] if fresh is None else fresh, n_repeats, metric),
            }
        )
    return pd.DataFrame(rows, columns=columns(metric))


def selected_settings_table(
    selected: pd.DataFrame, datasets: Sequence[str], arms: Sequence[str]
) -> pd.DataFrame:
    """Return the selected settings, one column a hyperparameter.

    Hyperparameters (in order of their names) that an arm does not have are missing.
    """
    rows = _sorted(selected, datasets, arms)
    settings = [{} if pd.isna(text) else json.loads(text) for text in rows["setting"]]
    table = rows[ARM].reset_index(drop=True)
    for name in sorted({name for setting in settings for name in setting}):
        values = [setting.get(name) for setting in settings]
        table[name] = pd.Series(values, dtype=object)
    for name in ("n_settings", "n_failed_settings", "status", "error"):
        table[name] = rows[name].to_numpy()
    return table


def _scored_on(refits: pd.DataFrame) -> dict[str, str]:
    found: dict[str, str] = {}
    for dataset, folds in refits.groupby("dataset")["fold"]:
        is_test = folds == "test"
        if is_test.any() and not is_test.all():
            raise ValueError(
                f"{dataset}: scored on the test set in some refits, on folds in others"
            )
        found[str(dataset)] = "test" if is_test.all() else "folds"
    return found


def _sorted(frame: pd.DataFrame, datasets: Sequence[str], arms: Sequence[str]) -> pd.DataFrame:
    for column, order in (("dataset", datasets), ("arm", arms)):
        unknown = sorted(set(frame[column]) - set(order))
        if unknown:
            raise ValueError(f"the {column} {unknown[0]!r} is not one of {', '.join(order)}")
    keys = {
        "dataset": {name: i for i, name in enumerate(datasets)},
        "arm": {name: i for i, name in enumerate(arms)},
    }
    return frame.sort_values(
        ["dataset", "arm", "epsilon"],
        key=lambda column: column.map(keys[str(column.name)]) if column.name in keys else column,
        kind="stable",
    )


def _fresh(
    row: Mapping[Any, Any], fresh: pd.DataFrame, n_repeats: int, metric: str
) -> dict[str, Any]:
    what = f"{row['dataset']}, {row['arm']}, ε = {row['epsilon']:g}"
    if fresh["repeat"].duplicated().any():
        raise ValueError(f"{what}: a repeat appears twice")
    fresh = fresh.set_index("repeat").reindex(range(1, n_repeats + 1))
    failed = fresh["status"].ne("ok") | fresh["accuracy"].isna()
    problems = {
        repeat: "missing" if pd.isna(status) else ("failed" if pd.isna(error) else error)
        for repeat, status, error in fresh.loc[failed.to_numpy(), ["status", "error"]].itertuples(
            name=None
        )
    }
    means = {name: mean(fresh[name].astype(float)) for name in METRICS}
    if problems:
        means = dict.fromkeys(METRICS, math.nan)
    if row["status"] != "ok":
        status, error = "failed", f"no setting is complete: {row['error']}"
    elif problems:
        status, error = "failed", _name(problems, n_repeats)
    else:
        status, error = "ok", None
    known = not problems and n_repeats > 1
    stds = {
        f"{name}_std": float(fresh[name].std(ddof=1, skipna=False)) if known else math.nan
        for name in dict.fromkeys((ACCURACY, metric))
    }
    return {
        **means,
        **stds,
        "n_repeats": n_repeats,
        "n_failed": len(problems),
        "status": status,
        "error": error,
    }


def _name(problems: dict[int, str], n_repeats: int) -> str:
    repeats = ", ".join(str(repeat) for repeat in problems)
    first = next(iter(problems.values()))
    return f"repeats {repeats} of {n_repeats}: {first}"
