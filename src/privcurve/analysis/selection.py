"""Selection of settings: for each ε of an arm, the best in cross-validation."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Sequence
from statistics import stdev
from typing import Any

import pandas as pd

KEY = ["dataset", "arm", "epsilon"]
CARRIED = ["learner", "calibration", "delta"]
COLUMNS = [
    "dataset",
    "arm",
    "learner",
    "calibration",
    "delta",
    "epsilon",
    "setting",
    "cv_accuracy",
    "cv_std",
    "n_settings",
    "n_failed_settings",
    "status",
    "error",
]

# Hyperparameters that measure the size of a model: among equals the smallest model wins.
SIZES = ("n_rounds", "n_trees", "n_estimators", "max_depth")

# Means closer than this are a tie: such a difference is rounding, not accuracy.
TIE_DIGITS = 12


def select(cv: pd.DataFrame) -> pd.DataFrame:
    """Select, for each dataset, arm and ε, the setting with the best mean accuracy.

    A setting with a failed or missing fold is never selected. Ties go to the smaller
    model, then to the smaller values of the other hyperparameters, so the result does
    not depend on the order of the rows.

    Parameters
    ----------
    cv : DataFrame
        One row a cell of the cross-validation, with the columns dataset, arm, learner,
        calibration, delta, epsilon, setting (canonical JSON), fold ("k/n"), accuracy,
        status and error.

    Returns
    -------
    DataFrame
        One row for each dataset, arm and ε, in that order: the arm's columns, the setting,
        its mean accuracy and the standard deviation over folds (n - 1 in the denominator),
        and how many settings there were and failed. Where no setting is complete, the
        setting is None, the status "failed", and the error the first that was met.

    Raises
    ------
    ValueError
        If a fold is not of a cross-validation, an arm has different numbers of folds, or a
        cell appears twice.
    """
    rows = [
        _select_one(dict(zip(KEY, key, strict=True)), group, n_folds)
        for key, group, n_folds in _groups(cv)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"setting": object, "error": object})


def tie_key(setting: str) -> tuple[Hashable, ...]:
    """Give the order of settings among equals: small models first, numbers as numbers.

    Parameters
    ----------
    setting : str
        Canonical JSON.

    Returns
    -------
    tuple
        To sort by.
    """
    values = json.loads(setting)
    names = [name for name in SIZES if name in values]
    names += sorted(name for name in values if name not in SIZES)
    return (*(_value_key(values[name]) for name in names), setting)


def _value_key(value: Any) -> tuple[int, float, str]:
    if isinstance(value, (int, float)):
        return (0, float(value), "")
    return (1, 0.0, json.dumps(value, sort_keys=True))


def _groups(cv: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame, int]]:
    n_folds: dict[tuple[str, str], int] = {}
    key: Any
    for key, group in cv.groupby(KEY[:2]):
        n_folds[key] = _number_of_folds(group["fold"].unique().tolist(), ", ".join(key))
    for key, group in cv.groupby(KEY):
        yield key, group, n_folds[key[:2]]


def _number_of_folds(folds: Sequence[str], what: str) -> int:
    counts = set()
    for fold in folds:
        number, _, count = fold.partition("/")
        if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
            raise ValueError(f"{what}: {fold!r} is not a fold of a cross-validation, like '1/5'")
        counts.add(int(count))
    if len(counts) > 1:
        raise ValueError(f"{what}: cells with {sorted(counts)} folds can't be compared")
    return counts.pop()


def _select_one(key: dict[str, Any], group: pd.DataFrame, n_folds: int) -> dict[str, Any]:
    best: tuple[float, str, list[float]] | None = None
    first_error = None
    n_failed = 0
    by_setting = _cells_by_setting(group)
    for setting in sorted(by_setting, key=tie_key):
        accuracies, error = _fold_accuracies(by_setting[setting], n_folds)
        if error is not None:
            n_failed += 1
            first_error = first_error or f"{setting}: {error}"
            continue
        mean = round(math.fsum(accuracies) / n_folds, TIE_DIGITS)
        if best is None or mean > best[0]:
            best = (mean, setting, accuracies)
    result = {
        **key,
        **{name: group[name].iloc[0] for name in CARRIED},
        "n_settings": len(by_setting),
        "n_failed_settings": n_failed,
    }
    if best is None:
        failed = {"cv_accuracy": math.nan, "cv_std": math.nan, "status": "failed"}
        return {**result, **failed, "setting": None, "error": first_error}
    mean, setting, accuracies = best
    return {
        **result,
        "setting": setting,
        "cv_accuracy": mean,
        "cv_std": stdev(accuracies) if n_folds > 1 else math.nan,
        "status": "ok",
        "error": None,
    }


def _cells_by_setting(group: pd.DataFrame) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Give accuracy, status and error by setting and fold; a loop, for speed on large grids."""
    cells: dict[str, dict[str, tuple[Any, ...]]] = {}
    columns = (group[name] for name in ("setting", "fold", "accuracy", "status", "error"))
    for setting, fold, *result in zip(*columns, strict=True):
        of_setting = cells.setdefault(setting, {})
        if fold in of_setting:
            raise ValueError(f"a cell appears twice: setting {setting}, fold {fold}")
        of_setting[fold] = tuple(result)
    return cells


def _fold_accuracies(
    cells: dict[str, tuple[Any, ...]], n_folds: int
) -> tuple[list[float], str | None]:
    """Give the accuracy of each fold in order, or what is wrong with the first bad one."""
    accuracies = []
    for number in range(1, n_folds + 1):
        fold = f"{number}/{n_folds}"
        if fold not in cells:
            return [], f"fold {fold} is missing"
        accuracy, status, error = cells[fold]
        if status != "ok" or pd.isna(accuracy):
            return [], f"fold {fold}: {'no accuracy' if pd.isna(error) else error}"
        accuracies.append(float(accuracy))
    return accuracies, None
