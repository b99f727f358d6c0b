"""Compute a score against anything that varies: a parameter, ε, or the share of the records."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from privcurve.analysis.keys import NONE, is_near
from privcurve.lazy import pd
from privcurve.schema import suggestion

# Columns that distinguish the trainings over which a point of a figure averages.
DRAW = ["repeat", "fold"]


@dataclass(frozen=True)
class Axes:
    """The columns of runs that a figure shows: x, y, and the columns of lines and of panels.

    A figure has a line for each combination of values of `lines`, and a panel for each combination
    of values of `panels`. `y` is a score of a run or a measure of its learner.
    """

    x: str
    y: str
    lines: tuple[str, ...]
    panels: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """The columns `panels`, `lines` and `x`, without duplicates."""
        return list(dict.fromkeys([*self.panels, *self.lines, self.x]))

    def without_x(self) -> Axes:
        """Return axes for trainings whose score does not depend on x: one point per line and panel.

        As its `x`, the result has a column that is constant on each line.
        """
        return replace(self, x=[*self.lines, *self.panels][0])


def describe_runs(runs: pd.DataFrame, methods: Mapping[str, Mapping[str, object]]) -> pd.DataFrame:
    """Return the runs with a column for each parameter, measure and key of `methods`.

    `methods` maps a method to its varied parameters and its `entry` (its name in the study's
    learners). If several values have the same name, the result has the first of them in this order:
    column of the runs, key of `methods`, parameter of the setting, measure. A run that lacks a
    column's value has null.
    """
    frame = runs.reset_index(drop=True)
    measured = frame["measures"] if "measures" in frame else [None] * len(frame)
    columns = pd.DataFrame(
        [
            {
                **(json.loads(text) if isinstance(text, str) else {}),
                **json.loads(setting),
                **methods[method],
            }
            for text, setting, method in zip(
                measured, frame["setting"], frame["method"], strict=True
            )
        ],
        index=frame.index,
    )
    return frame.assign(**{str(name): columns[name] for name in columns if name not in frame})


def trainings(
    runs: pd.DataFrame,
    methods: Mapping[str, Mapping[str, object]],
    axes: Axes,
    at: Mapping[str, object],
) -> pd.DataFrame:
    """Return a row per fresh training with the columns of `axes`; y is NaN if a training failed.

    Only trainings with the values in `at` are returned; the value None selects trainings that have
    no value in the column. Raises ValueError if there are no runs, a column is unknown (the message
    suggests the nearest), no training has the values in `at`, or `y` is not a number. Raises
    ValueError, too, if a point has two trainings of one repeat, because a column varies that is
    neither in `axes` nor in `at`.
    """
    if runs.empty:
        raise ValueError("at least one training must have a result; all have failed")
    frame = describe_runs(runs, methods)
    for name in [*axes.keys, axes.y, *at]:
        if name not in frame:
            hint = suggestion(name, map(str, frame.columns))
            raise ValueError(f"no result has {name!r}{hint}")
    for name, value in at.items():
        frame = frame[_is_at(frame[name], value)]
    # A method without the parameter x has no position on the axis.
    frame = frame[frame[axes.x].notna()]
    if frame.empty:
        raise ValueError(f"no training has the values {dict(at)}")
    try:
        numbers = pd.to_numeric(frame[axes.y])
    except (TypeError, ValueError):
        raise ValueError(f"{axes.y} must be a number") from None
    frame = frame.assign(**{axes.y: numbers.where(frame["status"] == "ok")})
    for keys in (axes.lines, axes.panels):
        for name in keys:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), NONE)
    _check_points(frame, axes, methods)
    columns = dict.fromkeys([*axes.keys, "entry", "calibration", *DRAW, axes.y])
    return frame[list(columns)].reset_index(drop=True)


def levels(
    runs: pd.DataFrame,
    methods: Mapping[str, Mapping[str, object]],
    axes: Axes,
    at: Mapping[str, object],
) -> tuple[pd.DataFrame, Axes]:
    """Return the trainings of learners that have no value of x, and axes for these trainings.

    The means of these trainings are drawn as horizontal lines. `at` does not exclude learners that
    lack one of its keys (a parameter, or a finite ε). A column is dropped from the axes if its
    values do not change the trainings: the share of the training records, for example, does not
    change a learner that predicts the most frequent label.
    """
    frame = describe_runs(runs, methods)
    frame = frame.assign(**{name: None for name in axes.lines if name not in frame})
    noisy = frame["method"].isin(frame["method"][frame["epsilon"].map(math.isfinite)])
    for name, value in at.items():
        if name in frame:
            lacks = ~noisy if name == "epsilon" else frame[name].isna()
            frame = frame[lacks | _is_at(frame[name], value)]
    rows = trainings(frame, methods, axes, {})
    varies = [name for name in axes.lines if rows[name].nunique() > 1]
    for name in varies:
        if name in ("entry", "calibration"):
            continue
        fewer = replace(axes, lines=tuple(line for line in axes.lines if line != name))
        less = rows.drop(columns=name).drop_duplicates()
        if not less.duplicated([*fewer.lines, *fewer.panels, *DRAW]).any():
            rows, axes = less.reset_index(drop=True), fewer.without_x()
    return rows, axes


def points(frame: pd.DataFrame, axes: Axes) -> pd.DataFrame:
    """Return the mean and standard deviation over the trainings of each point.

    `frame` is the result of :func:`trainings`. The result has the columns of `axes`, `<y>_std`,
    `n_repeats` and `n_failed`. The mean is NaN if a training of the point failed.
    """
    rows = []
    for key, group in frame.groupby(axes.keys, sort=False, dropna=False):
        values = group[axes.y]
        rows.append(
            {
                **dict(zip(axes.keys, key, strict=True)),
                axes.y: float(values.mean(skipna=False)),
                f"{axes.y}_std": float(values.std(ddof=1, skipna=False)),
                "n_repeats": len(group),
                "n_failed": int(values.isna().sum()),
            }
        )
    return pd.DataFrame(rows)


def _is_at(values: pd.Series, wanted: object) -> pd.Series:
    # A run without a value has NaN, which `is_one_of` does not match with None.
    at = values.map(lambda value: is_one_of(value, wanted)).astype(bool)
    return at | values.isna() if is_one_of(None, wanted) else at


def is_one_of(value: object, wanted: object) -> bool:
    """Return whether `value` equals `wanted` or, if `wanted` is a list, one of its elements.

    Numbers are compared by twelve digits.
    """
    listed = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    if not isinstance(value, (int, float)):
        return value in listed
    # Twelve digits, because writing and reading a file may change the last bit of a number.
    numbers = [number for number in listed if isinstance(number, (int, float))]
    return any(value == number or is_near(value, number) for number in numbers)


def _check_points(
    frame: pd.DataFrame, axes: Axes, methods: Mapping[str, Mapping[str, object]]
) -> None:
    place = [*axes.keys, *DRAW]
    twice = frame[frame.duplicated(place, keep=False)]
    if twice.empty:
        return
    # The rows also differ in columns such as scores and times. The message leaves these out: `at`
    # cannot select rows by them.
    fixed = {"dataset", "calibration", "delta", "epsilon"}.union(*methods.values())
    fixed = fixed.union(*map(json.loads, twice["setting"])) - set(axes.keys)
    first = twice[(twice[place] == twice.iloc[0][place]).all(axis=1)]
    # Values are compared as texts, so that a missing value counts as different from all other
    # values.
    different = first.astype(str).nunique(dropna=False)
    differ = [name for name in map(str, frame) if name in fixed and different[name] > 1] or [
        "method"
    ]
    raise ValueError(explain_several(differ))


def explain_several(varied: Sequence[str]) -> str:
    """Return the message that a point has several results; `varied` are the columns that differ."""
    return (
        f"a point has several results: {', '.join(varied)} vary too; make them lines or panels, or "
        "give 'at' a value of each"
    )
