"""Select settings: for each ε of a method, the setting that is best in cross-validation."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Any

from privcurve.analysis.measures import ACCURACY, LOSSES
from privcurve.lazy import pd

KEY = ["dataset", "method", "epsilon"]
# Columns of runs that are copied into the table of selected settings.
CARRIED = ["learner", "calibration", "delta"]

# Hyperparameters that determine the size of a model. If settings have equal scores, the setting
# with the smallest model is selected.
SIZES = ("n_rounds", "n_trees", "n_estimators", "depth", "max_depth", "n_splits")

# Mean scores that agree in this many decimals count as equal: a smaller difference is due to
# rounding.
TIE_DIGITS = 12


def run_columns(metric: str = ACCURACY) -> list[str]:
    """Return the columns of runs that a selection by `metric` needs."""
    return [*KEY, *CARRIED, "setting", "fold", metric, "status", "error"]


Key = tuple[str, str, float]  # dataset, method, ε
# Sort key of a setting, best first: the mean cost over the folds, the setting's `tie_key`, and the
# metric on each fold.
Rank = tuple[float, tuple[Any, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Candidate:
    """The best settings of a method on a dataset at one ε, among the settings read so far."""

    key: Key
    carried: tuple[Any, ...]  # values of the columns `CARRIED`
    n_settings: int
    n_failed: int
    # The best settings that have a result on every fold, best first.
    best: tuple[Rank, ...]
    # The tie key and the error of one setting with a failed or missing fold: the first such setting
    # in the order of tie keys. None if there is no such setting.
    error: tuple[tuple[Any, ...], str] | None

    @property
    def settings(self) -> list[str]:
        """The settings in `best`, best first, as canonical JSON."""
        return [setting for _, (*_, setting), _ in self.best]

    def merge(self, other: Candidate, n_best: int) -> Candidate:
        """Return the candidate with the `n_best` best of all settings of `self` and `other`."""
        return Candidate(
            self.key,
            self.carried,
            self.n_settings + other.n_settings,
            self.n_failed + other.n_failed,
            tuple(sorted(self.best + other.best)[:n_best]),
            min((c.error for c in (self, other) if c.error is not None), default=None),
        )

    def row(self, metric: str = ACCURACY) -> dict[str, Any]:
        """Return this candidate as a row of the table of selected settings (:func:`table`)."""
        mean = f"cv_{metric}"
        result = {
            **dict(zip(KEY, self.key, strict=True)),
            **dict(zip(CARRIED, self.carried, strict=True)),
            "n_settings": self.n_settings,
            "n_failed_settings": self.n_failed,
        }
        if not self.best:
            error = None if self.error is None else self.error[1]
            failed = {mean: math.nan, "cv_std": math.nan, "status": "failed"}
            return {**result, **failed, "setting": None, "error": error}
        cost, (*_, setting), values = self.best[0]
        return {
            **result,
            "setting": setting,
            mean: _sign_of_cost(metric) * cost,
            "cv_std": stdev(values) if len(values) > 1 else math.nan,
            "status": "ok",
            "error": None,
        }


def _sign_of_cost(metric: str) -> int:
    """Return the factor that turns a metric into a cost: 1 if lower is better, else −1."""
    return 1 if metric in LOSSES else -1


def select_only(key: Key, carried: tuple[object, ...], setting: str) -> Candidate:
    """Return a candidate for a method with only one setting: no training is needed to select it.

    `carried` has the values of the columns `CARRIED`.
    """
    return Candidate(key, carried, 1, 0, ((math.nan, tie_key(setting), ()),), None)


def rank_settings(
    parts: Iterable[pd.DataFrame], n_best: int, metric: str, folds: Sequence[str]
) -> list[Candidate]:
    """Return the best settings of each method on each dataset at each ε.

    Only one part of the runs is in memory at a time.

    A setting with a failed or missing fold is never selected. If settings have equal scores, the
    setting with the smaller model is better, then the setting with smaller values of the other
    hyperparameters: the result does not depend on the order of the rows.

    Parameters
    ----------
    parts : iterable of DataFrame
        One row per run, with the columns of :func:`run_columns`; a setting is canonical JSON. All
        runs of a setting are in one part.
    n_best : int
        Maximum number of settings to return for each method, dataset and ε.
    metric : str
        The column by which settings are selected.
    folds : sequence of str
        The folds on which each setting must have a result.

    Returns
    -------
    list of Candidate
        Sorted by dataset, method and ε.

    Raises
    ------
    ValueError
        If a run appears twice.
    """
    candidates: dict[Key, Candidate] = {}
    for part in parts:
        for candidate in _rank_part(part, n_best, metric, folds):
            other = candidates.get(candidate.key)
            candidates[candidate.key] = other.merge(candidate, n_best) if other else candidate
    return [candidates[key] for key in sorted(candidates)]


def table(candidates: Iterable[Candidate], metric: str = ACCURACY) -> pd.DataFrame:
    """Return the table of the selected settings: one row for each dataset, method and ε.

    The columns `KEY` and `CARRIED` identify the row, and ``setting`` is the selected setting.
    ``cv_<metric>`` and ``cv_std`` are the mean and the standard deviation (n − 1 in the
    denominator) of the setting's metric over the folds. Further columns have the numbers of
    settings and of failed settings, the status and the error. If every setting has a failed or
    missing fold, the setting is None, the status is "failed", and the error is the error of one
    setting.
    """
    rows = [candidate.row(metric) for candidate in candidates]
    counts = ["n_settings", "n_failed_settings"]
    scores = [f"cv_{metric}", "cv_std"]
    keys = ["dataset", "method", *CARRIED, "epsilon", "setting"]
    frame = pd.DataFrame(rows, columns=[*keys, *scores, *counts, "status", "error"])
    return frame.astype({"setting": object, "error": object})


def choose_finalists(
    candidates: Iterable[Candidate], trainings: pd.DataFrame, metric: str = ACCURACY
) -> list[Candidate]:
    """Choose the best setting of each candidate by further trainings.

    The cross-validation of a large grid favours settings with lucky noise; the metric of a setting
    in further trainings is unbiased. `trainings` has a row per training. A setting may have several
    trainings on a fold; their mean is the setting's metric on the fold. A setting with a failed
    training is not chosen; if all settings of a candidate have a failed training, the result has no
    best setting.
    """
    accuracies: dict[tuple[Key, str], dict[str, list[float]]] = {}
    errors: dict[tuple[Key, str], str] = {}
    for *row, setting, fold, accuracy, status, error in zip(
        *(trainings[name] for name in run_columns(metric)), strict=True
    ):
        place = (row[0], row[1], row[2]), setting
        if status != "ok" or pd.isna(accuracy):
            errors.setdefault(place, f"{setting}: fold {fold}: {error}")
        accuracies.setdefault(place, {}).setdefault(fold, []).append(accuracy)
    chosen = []
    for candidate in candidates:
        ranks: list[Rank] = []
        failures = []
        for setting in candidate.settings:
            place = candidate.key, setting
            if place in errors:
                failures.append((tie_key(setting), errors[place]))
                continue
            by_fold = tuple(math.fsum(a) / len(a) for _, a in sorted(accuracies[place].items()))
            ranks.append(_make_rank(setting, by_fold, metric))
        best, n_failed = tuple(sorted(ranks)[:1]), candidate.n_failed + len(failures)
        error = candidate.error or min(failures, default=None)
        chosen.append(replace(candidate, n_failed=n_failed, best=best, error=error))
    return chosen


def tie_key(setting: str) -> tuple[Hashable, ...]:
    """Return a sort key for settings with equal scores: small models first, then small values.

    `setting` is canonical JSON.
    """
    values = json.loads(setting)
    names = [name for name in SIZES if name in values]
    names += sorted(name for name in values if name not in SIZES)
    return (*(_make_key(values[name]) for name in names), setting)


def _make_key(value: object) -> tuple[int, float, str]:
    if isinstance(value, (int, float)):
        return (0, float(value), "")
    return (1, 0.0, json.dumps(value, sort_keys=True))


def _rank_part(
    cv: pd.DataFrame, n_best: int, metric: str, folds: Sequence[str]
) -> Iterator[Candidate]:
    """Yield a candidate for each dataset, method and ε in one part of the runs."""
    runs: dict[Key, dict[str, dict[str, tuple[Any, ...]]]] = {}
    carried: dict[Key, tuple[Any, ...]] = {}
    # A loop over plain values is fast enough, as a part has few runs.
    for *row, setting, fold, value, status, error in zip(
        *(cv[name] for name in run_columns(metric)), strict=True
    ):
        dataset, method, epsilon, *rest = row
        key = (dataset, method, epsilon)
        carried.setdefault(key, tuple(rest))
        of_setting = runs.setdefault(key, {}).setdefault(setting, {})
        if fold in of_setting:
            raise ValueError(f"a run appears twice: setting {setting}, fold {fold}")
        of_setting[fold] = (value, status, error)
    for key, by_setting in runs.items():
        good: list[Rank] = []
        bad = []
        for setting, by_fold in by_setting.items():
            values, error = _collect_values(by_fold, folds, metric)
            if error is None:
                good.append(_make_rank(setting, values, metric))
            else:
                bad.append((tie_key(setting), f"{setting}: {error}"))
        best, first = tuple(sorted(good)[:n_best]), min(bad, default=None)
        yield Candidate(key, carried[key], len(by_setting), len(bad), best, first)


def _make_rank(setting: str, values: Sequence[float], metric: str) -> Rank:
    """Return the sort key of a setting from its metric on each fold."""
    mean = round(math.fsum(values) / len(values), TIE_DIGITS)
    return _sign_of_cost(metric) * mean, tie_key(setting), tuple(values)


def _collect_values(
    runs: Mapping[str, tuple[Any, ...]], folds: Sequence[str], metric: str
) -> tuple[list[float], str | None]:
    """Return the metric on each of `folds`, and None; or an empty list and the text of an error.

    The error is about the first fold that failed or is missing.
    """
    values = []
    for fold in folds:
        if fold not in runs:
            return [], f"fold {fold} is missing"
        value, status, error = runs[fold]
        if status != "ok" or pd.isna(value):
            metric_lacks = f"no {metric.replace('_', ' ')}"
            return [], f"fold {fold}: {metric_lacks if pd.isna(error) else error}"
        values.append(float(value))
    return values, None
