"""The tables of a study: accuracy of the selected settings when trained afresh, and the settings.

No table holds a time, so two runs of a study give the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from privcurve.files import replace_text

METRICS = ["accuracy", "balanced_accuracy", "auc", "log_loss", "n_features_used"]
ARM = ["dataset", "arm", "learner", "calibration", "delta", "epsilon"]
OPTIMISTIC = "cv_accuracy_selected_optimistic"
ACCURACY_COLUMNS = [
    *ARM,
    "scored_on",
    OPTIMISTIC,
    f"{OPTIMISTIC}_std",
    "accuracy",
    "accuracy_std",
    *METRICS[1:],
    "n_repeats",
    "n_failed",
    "status",
    "error",
]

# Float columns that are written in their shortest form.
SHORT = ("epsilon", "delta")

MISSING = "–"

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


def accuracy_table(
    selected: pd.DataFrame,
    refits: pd.DataFrame,
    n_repeats: int,
    datasets: Sequence[str],
    arms: Sequence[str],
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
    keys = ["dataset", "arm", refits["epsilon"].map(_short), "setting"]
    groups = dict(list(refits.groupby(keys)))
    rows = []
    for row in _sorted(selected, datasets, arms).to_dict("records"):
        fresh = groups.get((row["dataset"], row["arm"], _short(row["epsilon"]), row["setting"]))
        rows.append(
            {
                **{name: row[name] for name in ARM},
                "scored_on": scored_on.get(row["dataset"]),
                OPTIMISTIC: row["cv_accuracy"],
                f"{OPTIMISTIC}_std": row["cv_std"],
                **_fresh(row, refits.iloc[:0] if fresh is None else fresh, n_repeats),
            }
        )
    return pd.DataFrame(rows, columns=ACCURACY_COLUMNS)


def selected_settings_table(
    selected: pd.DataFrame, datasets: Sequence[str], arms: Sequence[str]
) -> pd.DataFrame:
    """Give the selected settings, one column a hyperparameter.

    Parameters
    ----------
    selected : DataFrame
    datasets, arms : sequence of str
        The order of the rows.

    Returns
    -------
    DataFrame
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


def write_study_tables(
    selected: pd.DataFrame,
    refits: pd.DataFrame,
    folder: Path,
    datasets: Sequence[str],
    arms: Sequence[str],
    n_repeats: int,
) -> None:
    """Write ``accuracy`` and ``selected_settings`` as .csv, .md and .tex into a folder."""
    accuracy = accuracy_table(selected, refits, n_repeats, datasets, arms)
    write_table(
        accuracy,
        folder / "accuracy",
        "Accuracy of each learner at each ε",
        SELECTION_NOTES + FRESH_NOTES,
        shown=_shown_accuracy(accuracy),
    )
    settings = selected_settings_table(selected, datasets, arms)
    write_table(
        settings,
        folder / "selected_settings",
        "Settings selected by cross-validation",
        SELECTION_NOTES,
        shown=_shown(settings.drop(columns=["learner", "error"])),
    )


def write_table(
    frame: pd.DataFrame,
    stem: Path,
    caption: str,
    notes: Sequence[str],
    shown: pd.DataFrame | None = None,
) -> None:
    """Write a table as CSV, Markdown and LaTeX (booktabs, longtable), never half a file.

    Parameters
    ----------
    frame : DataFrame
        Written to the CSV in full.
    stem : Path
        Without ending.
    caption : str
    notes : sequence of str
        Below the table in Markdown and LaTeX.
    shown : DataFrame of str, optional
        What Markdown and LaTeX show; `frame` by default.
    """
    shown = _shown(frame) if shown is None else shown
    replace_text(stem.with_name(stem.name + ".csv"), formatted(frame).to_csv(index=False))
    replace_text(stem.with_name(stem.name + ".md"), _markdown(shown, caption, notes))
    replace_text(stem.with_name(stem.name + ".tex"), _latex(shown, caption, stem.name, notes))


def read_table(*paths: Path) -> pd.DataFrame:
    """Read tables that this project wrote as CSV, one below the other.

    Names stay text, whatever they look like: a dataset may be called 2024 or NA.

    Parameters
    ----------
    *paths : Path

    Returns
    -------
    DataFrame
    """
    names = dict.fromkeys(("dataset", "arm", "learner", "setting"), "str")
    return pd.concat(
        [pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""]) for path in paths],
        ignore_index=True,
    )


def formatted(frame: pd.DataFrame) -> pd.DataFrame:
    """Write each value in its one form; a missing one is None.

    ε, δ and the values of mixed columns (hyperparameters) are written in their shortest
    form, other floats with six decimals.
    """
    columns = {}
    for name, values in frame.items():
        short = name in SHORT or not pd.api.types.is_float_dtype(values)
        texts = [_text(value, ".12g" if short else ".6f") for value in values]
        columns[name] = pd.Series(texts, dtype=object)
    return pd.DataFrame(columns)


def _short(value: float) -> str:
    return f"{value:.12g}"


def _text(value: Any, form: str) -> str | None:
    # Not pd.isna: a hyperparameter may be a list.
    if value is None or value != value:
        return None
    return format(value, form) if isinstance(value, float) else str(value)


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


def _fresh(row: Mapping[Any, Any], fresh: pd.DataFrame, n_repeats: int) -> dict[str, Any]:
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
    means = {name: _mean(fresh[name]) for name in METRICS}
    if problems:
        means = dict.fromkeys(METRICS, math.nan)
    if row["status"] != "ok":
        status, error = "failed", f"no setting is complete: {row['error']}"
    elif problems:
        status, error = "failed", _name(problems, n_repeats)
    else:
        status, error = "ok", None
    std = math.nan if problems or n_repeats < 2 else float(fresh["accuracy"].std(ddof=1))
    return {
        **means,
        "accuracy_std": std,
        "n_repeats": n_repeats,
        "n_failed": len(problems),
        "status": status,
        "error": error,
    }


def _mean(values: pd.Series) -> float:
    numbers = list(values.astype(float))
    return math.fsum(numbers) / len(numbers)


def _name(problems: dict[int, str], n_repeats: int) -> str:
    repeats = ", ".join(str(repeat) for repeat in problems)
    first = next(iter(problems.values()))
    return f"repeats {repeats} of {n_repeats}: {first}"


def _plus_minus(means: pd.Series, stds: pd.Series) -> list[str]:
    return [
        MISSING if pd.isna(mean) else f"{mean:.4f}" + ("" if pd.isna(std) else f" ± {std:.4f}")
        for mean, std in zip(means, stds, strict=True)
    ]


def _decimals(values: pd.Series, digits: int) -> list[str]:
    return [MISSING if pd.isna(value) else f"{value:.{digits}f}" for value in values]


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    shown = formatted(frame).map(lambda text: MISSING if text is None else text)
    names = {"epsilon": "ε", "delta": "δ"}
    return shown.rename(columns=lambda name: names.get(name, str(name).replace("_", " ")))


def _shown_accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the accuracy table as a reader wants it: fewer columns, four decimals."""
    shown = _shown(frame[["dataset", "arm", "epsilon"]])
    shown["CV accuracy (optimistic)"] = _plus_minus(frame[OPTIMISTIC], frame[f"{OPTIMISTIC}_std"])
    shown["accuracy"] = _plus_minus(frame["accuracy"], frame["accuracy_std"])
    shown["balanced accuracy"] = _decimals(frame["balanced_accuracy"], 4)
    shown["AUC"] = _decimals(frame["auc"], 4)
    shown["log loss"] = _decimals(frame["log_loss"], 4)
    shown["features used"] = _decimals(frame["n_features_used"], 1)
    good = frame["n_repeats"] - frame["n_failed"]
    shown["repeats"] = [f"{n} of {m}" for n, m in zip(good, frame["n_repeats"], strict=True)]
    return shown


def _markdown(shown: pd.DataFrame, caption: str, notes: Sequence[str]) -> str:
    rows = [[cell.replace("|", r"\|").replace("\n", " ") for cell in row] for row in _cells(shown)]
    table = tabulate(rows, headers=list(shown.columns), tablefmt="pipe", disable_numparse=True)
    return "\n".join([f"# {caption}", "", table, "", *(f"- {note}" for note in notes), ""])


_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "±": r"$\pm$",
    "–": "--",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
    "\n": " ",
}


def _escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _latex(shown: pd.DataFrame, caption: str, label: str, notes: Sequence[str]) -> str:
    header = " & ".join(_escape(str(name)) for name in shown.columns) + r" \\"
    return "\n".join(
        [
            r"% \usepackage{booktabs,longtable}",
            r"{\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\begin{{longtable}}{{{'l' * shown.shape[1]}}}",
            rf"\caption{{{_escape(caption)}}}\label{{tab:{label}}}\\",
            r"\toprule",
            header,
            r"\midrule",
            r"\endfirsthead",
            r"\toprule",
            header,
            r"\midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *(" & ".join(_escape(cell) for cell in row) + r" \\" for row in _cells(shown)),
            r"\end{longtable}",
            *(rf"\par\noindent {_escape(note)}" for note in notes),
            r"\par}",
            "",
        ]
    )


def _cells(shown: pd.DataFrame) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in shown.itertuples(index=False, name=None)]
