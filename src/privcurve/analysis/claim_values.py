"""The numbers that tell whether a claim holds: rows of a table, their differences, statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from privcurve.analysis.numbers import mean, short

KEYS = ["dataset", "epsilon"]
# What tells one run from the others of its setting: the splits are the same for all curves.
SPLIT = "repeat"


def values(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None = None
) -> list[float]:
    """Give the numbers that a claim's criterion is put to.

    Parameters
    ----------
    claim : mapping
        Of a paper's ``claims.yaml``.
    table : DataFrame
        One row for each value of the columns that the claim names under `by`.
    printed : DataFrame, optional
        Printed numbers, which are taken off.

    Returns
    -------
    list of float
        One a row that the claim is about; with a statistic one for each value of the columns
        of `by` that are not under `over`. NaN where something is missing.

    Raises
    ------
    KeyError
        If the table lacks a column.
    ValueError
        If several rows have the same key.
    """
    value, keys = claim.get("value", "accuracy"), claim.get("by", KEYS)
    mine = _rows(table, claim["where"], claim["name"], keys).set_index(keys)[value].astype(float)
    if "less" in claim:
        mine = _less(mine, claim, table, value, keys)
    elif printed is not None:
        mine = _less(mine, {**claim, "less": {}}, printed, value, keys)
    if "statistic" not in claim:
        return list(mine)
    over = claim["over"]
    rest = [name for name in keys if name not in over]
    frame = mine.rename("value").reset_index()
    groups = [part for _, part in frame.groupby(rest, sort=False)] if rest else [frame]
    return [_STATISTICS[claim["statistic"]](part, over) for part in groups if len(part)]


def select(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Give the rows that have the values, or one of a list of values, that are asked for.

    Raises
    ------
    KeyError
        If the table lacks a column.
    """
    for column, value in where.items():
        wanted = [text(one) for one in (value if isinstance(value, list) else [value])]
        table = table[table[column].map(text).isin(wanted)]
    return table


def averaged(runs: pd.DataFrame, claim: Mapping[str, Any]) -> list[pd.DataFrame]:
    """Average single runs over their splits: over all, then, if there are several, all but each.

    Parameters
    ----------
    runs : DataFrame
        One row a run, with its `repeat` and `status`.
    claim : mapping
        It says which runs, which value and, under `of_runs`, whether their mean or their
        standard deviation.

    Returns
    -------
    list of DataFrame
        Each with a row for each value of the columns that the claim names. A row of which a run
        has failed has no value.

    Raises
    ------
    KeyError
        If the runs lack a column.
    """
    value, keys = claim.get("value", "accuracy"), list(claim.get("by", KEYS))
    named = [*keys, *claim["where"], *claim.get("less", {}), *claim.get("less_by", [])]
    columns = list(dict.fromkeys(named))
    about = [select(runs, claim["where"])]
    about += [select(runs, claim["less"])] if "less" in claim else []
    mine = pd.concat(about)
    mine = mine[~mine.index.duplicated()]
    # A key may lack a value, such as the parameter of another method.
    keyed = {name: mine[name].astype(object).where(mine[name].notna(), "") for name in columns}
    mine = mine.assign(**keyed)
    numbers = pd.to_numeric(mine[value]).where(mine["status"] == "ok")
    mine = mine.assign(**{value: numbers})
    splits = sorted(mine[SPLIT].unique())
    # Without its only split nothing is left.
    each = splits if len(splits) > 1 else []
    parts = [mine, *(mine[mine[SPLIT] != split] for split in each)]
    return [_average(part, columns, value, claim) for part in parts]


def jackknife(left_out: Sequence[float]) -> float:
    """Give the standard error of a statistic, by its values when one split is left out.

    Of a mean over independent splits it is the usual standard error; of a difference of two
    curves, that of the paired difference.

    Parameters
    ----------
    left_out : sequence of float

    Returns
    -------
    float
        NaN of fewer than two, or if one is not finite.
    """
    n = len(left_out)
    if n < 2 or not all(map(math.isfinite, left_out)):
        return math.nan
    middle = mean(left_out)
    return math.sqrt((n - 1) / n * math.fsum((one - middle) ** 2 for one in left_out))


def _average(
    runs: pd.DataFrame, columns: list[str], value: str, claim: Mapping[str, Any]
) -> pd.DataFrame:
    groups = runs.groupby(columns, sort=False)[value]
    found = groups.std(ddof=1) if claim.get("of_runs") == "std" else groups.mean()
    return found.where(groups.count() == groups.size()).reset_index()


def _less(
    mine: pd.Series, claim: Mapping[str, Any], table: pd.DataFrame, value: str, keys: list[str]
) -> pd.Series:
    """Take off the rows that a claim compares with, matched by their keys."""
    matched = list(claim.get("less_by", keys))
    best = claim.get("against")
    others = _rows(table, claim["less"], claim["name"], [] if best else matched)
    groups = others.astype({value: float}).groupby(matched, sort=False, dropna=False)[value]
    theirs = {
        key: getattr(part, {"largest": "max", "smallest": "min"}[best])(skipna=False)
        if best
        else float(part.iloc[0])
        for key, part in groups
    }
    # A method without privacy has one row, at ε = ∞: it is compared at each ε.
    fixed = {
        _without(key, matched): number
        for key, number in theirs.items()
        if "epsilon" in matched and math.isinf(_part(key, matched, "epsilon"))
    }
    known = {_canonical(key): number for key, number in theirs.items()}
    places = [keys.index(name) for name in matched]
    found = []
    for whole, number in mine.items():
        key = tuple(_tuple(whole)[place] for place in places)
        other = known.get(_canonical(key), fixed.get(_without(key, matched), math.nan))
        found.append(number - other)
    return pd.Series(found, index=mine.index)


def _rows(
    table: pd.DataFrame, where: Mapping[str, Any], name: str, keys: Sequence[str]
) -> pd.DataFrame:
    found = select(table, where)
    if keys and found.duplicated(list(keys)).any():
        raise ValueError(
            f"claim {name}: several rows have the same {' and '.join(keys)}; say more under 'where'"
        )
    return found


def _mean(part: pd.DataFrame, over: Sequence[str]) -> float:
    return mean(part["value"])


def _spearman(part: pd.DataFrame, over: Sequence[str]) -> float:
    ranks = part[[*over, "value"]].astype(float).rank()
    if ranks["value"].isna().any() or part["value"].isna().any():
        return math.nan
    return float(ranks[over[0]].corr(ranks["value"]))


def _smallest_step(part: pd.DataFrame, over: Sequence[str]) -> float:
    steps = part.sort_values(over[0])["value"].diff().iloc[1:]
    return float(steps.min(skipna=False)) if len(steps) else math.nan


def _reached(part: pd.DataFrame, over: Sequence[str]) -> float:
    if part["value"].isna().any():
        return math.nan
    return float(min(part.loc[part["value"] >= 0, over[0]], default=math.inf))


_STATISTICS: Mapping[str, Callable[[pd.DataFrame, Sequence[str]], float]] = {
    "mean": _mean,
    "spearman": _spearman,
    "smallest_step": _smallest_step,
    "reached": _reached,
}


def text(value: Any) -> str:
    """Write a value of a key: a file may have moved the last bit of a number."""
    return short(value) if isinstance(value, (int, float)) else str(value)


def _tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _canonical(key: Any) -> tuple[str, ...]:
    return tuple(text(part) for part in _tuple(key))


def _part(key: Any, keys: Sequence[str], name: str) -> float:
    return float(_tuple(key)[list(keys).index(name)])


def _without(key: Any, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        part for part, name in zip(_canonical(key), keys, strict=True) if name != "epsilon"
    )
