"""The shape functions of an additive model, as frames."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

BIN_COLUMNS = ["column", "code", "condition", "low", "high", "value", "error"]
# Of a pair: what stands between two names, and the groups of the two columns.
CROSSED = " × "
GROUPS = ["first", "second"]
COLUMN_COLUMNS = ["column", "lowest", "lowest_error", "where_lowest",
                  "highest", "highest_error", "where_highest"]  # fmt: skip


def bins(
    names: Sequence[str],
    conditions: Sequence[Sequence[str]],
    edges: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
    errors: Sequence[Sequence[float]],
) -> pd.DataFrame:
    """Give the value of each code, columns in the order of how far apart their values are.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    conditions : sequence of sequence of str
        What each code of a column stands for.
    edges : sequence of sequence of float
        Of the bins of a numeric column; empty for a categorical one. A code beyond the last bin
        (values that are missing) has no edges.
    values, errors : sequence of sequence of float
        By column and code.

    Returns
    -------
    DataFrame
        The columns `BIN_COLUMNS`, a row a code. Columns whose values are all 0 are left out.
    """
    spans = [max(shape) - min(shape) for shape in values]
    rows = []
    for j in sorted(range(len(names)), key=lambda j: (-spans[j], j)):
        if not any(values[j]):
            continue
        between = list(zip(edges[j], edges[j][1:], strict=False))
        between += [(float("nan"), float("nan"))] * (len(values[j]) - len(between))
        each = zip(conditions[j], between, values[j], errors[j], strict=True)
        for code, (condition, (low, high), value, error) in enumerate(each):
            rows.append((names[j], code, condition, low, high, value, error))
    return pd.DataFrame(rows, columns=BIN_COLUMNS)


def pairs(
    names: Sequence[str],
    conditions: Sequence[Sequence[str]],
    columns: Sequence[tuple[int, int]],
    groups: Sequence[Sequence[Sequence[int]]],
    values: Sequence[Sequence[Sequence[float]]],
    errors: Sequence[Sequence[Sequence[float]]],
) -> pd.DataFrame:
    """Give the values of pairs of columns, those first that lie furthest apart.

    Parameters
    ----------
    names, conditions
        As for :func:`bins`.
    columns : sequence of two int
        Of each pair.
    groups : sequence of two sequences of int
        Of each pair the groups of the codes of both columns.
    values, errors : sequence of sequence of sequence of float
        Of each pair, by both groups.

    Returns
    -------
    DataFrame
        The columns `BIN_COLUMNS` and `GROUPS`, a row two groups.
    """
    spans = [max(map(max, shape)) - min(map(min, shape)) for shape in values]
    rows = []
    for k in sorted(range(len(columns)), key=lambda k: (-spans[k], k)):
        first, second = (
            _grouped(names[j], conditions[j], of)
            for j, of in zip(columns[k], groups[k], strict=True)
        )
        name, none = CROSSED.join(names[j] for j in columns[k]), float("nan")
        for g, one in enumerate(first):
            for h, other in enumerate(second):
                code, text = g * len(second) + h, f"{one} and {other}"
                rows.append((name, code, text, none, none, values[k][g][h], errors[k][g][h], g, h))
    return pd.DataFrame(rows, columns=[*BIN_COLUMNS, *GROUPS])


def _grouped(name: str, conditions: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Say each group of a column's codes: its condition, or where it begins and ends."""
    found = []
    for group in range(max(groups) + 1):
        inside = [text for text, of in zip(conditions, groups, strict=True) if of == group]
        if len(inside) == 1:
            found.append(inside[0])
        elif all("<" in text for text in inside):
            found.append(inside[0].partition(name)[0] + name + inside[-1].partition(name)[2])
        else:
            found.append(inside[0] + "".join(f" or {_value(text)}" for text in inside[1:]))
    return found


def _value(condition: str) -> str:
    return condition.partition(" = ")[2] or condition


def ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the lowest and the highest value of each column of :func:`bins`, and where they are.

    Parameters
    ----------
    frame : DataFrame

    Returns
    -------
    DataFrame
        The columns `COLUMN_COLUMNS`, in the order of the frame.
    """
    groups = frame.groupby("column", sort=False)["value"]
    told = ["value", "error", "condition"]
    found = [
        frame.loc[rows, told].reset_index(drop=True) for rows in (groups.idxmin(), groups.idxmax())
    ]
    names = pd.Series(frame["column"].unique(), dtype=object)
    return pd.concat([names, *found], axis=1).set_axis(COLUMN_COLUMNS, axis=1)


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the frame of :func:`ends` as a reader sees it: values with their errors."""
    texts: dict[str, Sequence[str]] = {"column": frame["column"].tolist()}
    for end in ("lowest", "highest"):
        pairs = zip(frame[end], frame[f"{end}_error"], strict=True)
        texts[end] = [f"{value:+.2f} ± {error:.2f}".replace("-", "−") for value, error in pairs]
        texts[f"where {end}"] = frame[f"where_{end}"].tolist()
    return pd.DataFrame(texts)


def notes(
    intercept: tuple[float, float],
    positive: str,
    unused: Sequence[str],
    statement: str,
    left_out: int,
) -> tuple[str, ...]:
    """Give the notes below the table: how to read it, and the privacy statement.

    Parameters
    ----------
    intercept : tuple of float
        Its value and its standard error.
    positive : str
        Name of the positive label.
    unused : sequence of str
        Columns without effect.
    statement : str
        The model's privacy statement in words.
    left_out : int
        Columns that the figure does not show.

    Returns
    -------
    tuple of str
    """
    start = f"{intercept[0]:+.2f} (± {intercept[1]:.2f})".replace("-", "−")
    reading = (
        f"The score of a record is {start}, and to that comes a value for each row; above 0 the "
        f"label is {positive}. Of each column, or two together, its lowest and highest value, with "
        "the standard errors that the model itself tells: of the noise, and of the spread of "
        "records. They are approximate."
    )
    without = [f"Without effect: {', '.join(unused)}."] if unused else []
    small = [f"The figure leaves out the {left_out} flattest columns."] if left_out else []
    return (reading, *without, *small, statement)
