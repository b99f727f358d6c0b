"""What a paper claims, and whether our tables bear it out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

COLUMNS = [
    "name",
    "claim",
    "source",
    "printed",
    "criterion",
    "least",
    "mean",
    "largest",
    "n_rows",
    "n_pass",
    "verdict",
]
STUDY = "study"
HOLDS, FAILS, UNKNOWN = "holds", "fails", "not computed"
KEYS = ["dataset", "epsilon"]
# Tables have six decimals; differences of them have the rounding of floats.
ROUNDING = 1e-9

CAPTION = "What the paper claims, by our results"
NOTES = (
    "Each claim is checked on the rows of a table of this study: 'holds' if as many of them pass "
    "as the claim asks for, 'fails' if not, 'not computed' if rows or values are missing.",
    "Least, mean and largest are of the value that is compared: a score, or the difference of two.",
)
NOTES_TOGETHER = (NOTES[0].replace("this study", "its study"), *NOTES[1:])
_CRITERIA: Mapping[str, tuple[str, Callable[[float, Any], bool]]] = {
    "above": ("> {:g}", lambda value, bound: value > bound),
    "at_least": ("≥ {:g}", lambda value, bound: value >= bound - ROUNDING),
    "below": ("< {:g}", lambda value, bound: value < bound),
    "at_most": ("≤ {:g}", lambda value, bound: value <= bound + ROUNDING),
    "within": ("{:g} ± {:g}", lambda value, bound: abs(value - bound[0]) <= bound[1] + ROUNDING),
}


def verdicts(
    claims: Sequence[Mapping[str, Any]],
    tables: Mapping[str, pd.DataFrame],
    printed: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Compute the verdict of each claim.

    Parameters
    ----------
    claims : sequence of mapping
        Of a paper's ``claims.yaml``.
    tables : mapping of str to DataFrame
        Those that claims name, by their outputs' words or names.
    printed : mapping of str to DataFrame, optional
        Those of printed numbers that claims name.

    Returns
    -------
    DataFrame
        With the columns `COLUMNS`, a row a claim.

    Raises
    ------
    ValueError
        If a claim names a column that its table has not.
    """
    rows = []
    for claim in claims:
        try:
            table = tables[claim.get("table", "accuracy")]
            rows.append(_verdict(claim, table, (printed or {}).get(claim.get("less_printed", ""))))
        except KeyError as error:
            raise ValueError(f"claim {claim['name']}: its table has no column {error}") from None
    return pd.DataFrame(rows, columns=COLUMNS)


def together(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the verdicts of several studies into one table.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By studies; those of :func:`verdicts`.

    Returns
    -------
    DataFrame
        With the columns `COLUMNS` and ``study``, in the order of names: C2 is before C10. Rows of
        one name stay in the order of `tables`.
    """
    parts = [table.assign(study=study) for study, table in tables.items()]
    whole = pd.concat(parts, ignore_index=True)
    order = sorted(range(len(whole)), key=lambda i: _natural(str(whole["name"][i])))
    return whole.loc[order, [*COLUMNS, STUDY]].reset_index(drop=True)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Give a key that orders names with numbers in them by these numbers."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _verdict(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None
) -> dict[str, Any]:
    word = next(name for name in _CRITERIA if name in claim)
    text, passes = _CRITERIA[word]
    bound = claim[word]
    values = _values(claim, table, printed)
    n_pass = sum(passes(value, bound) for value in values)
    share = claim.get("share", 1)
    if not values or any(math.isnan(value) for value in values):
        verdict = UNKNOWN
    else:
        verdict = HOLDS if n_pass >= share * len(values) - 1e-9 else FAILS
    criterion = text.format(*bound) if word == "within" else text.format(bound)
    of_all = "all rows" if share == 1 else f"{100 * share:g} % of rows"
    known = verdict != UNKNOWN
    return {
        "name": claim["name"],
        "claim": claim["claim"],
        "source": claim["source"],
        "printed": claim.get("printed"),
        "criterion": f"{claim.get('value', 'accuracy')} {criterion} in {of_all}",
        "least": min(values) if known else math.nan,
        "mean": math.fsum(values) / len(values) if known else math.nan,
        "largest": max(values) if known else math.nan,
        "n_rows": len(values),
        "n_pass": n_pass,
        "verdict": verdict,
    }


def _values(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None
) -> list[float]:
    value, keys = claim.get("value", "accuracy"), claim.get("by", KEYS)
    mine = _rows(table, claim["where"], claim["name"], keys).set_index(keys)[value].astype(float)
    if "less" in claim:
        others = _rows(table, claim["less"], claim["name"], keys)
    elif printed is not None:
        others = _rows(printed, {}, claim["name"], keys)
    else:
        return mine.tolist()
    theirs = others.set_index(keys)[value].astype(float)
    # A method without privacy has one row, at ε = ∞: it is compared at each ε.
    fixed = {
        _without(key, keys): number
        for key, number in theirs.items()
        if "epsilon" in keys and math.isinf(_part(key, keys, "epsilon"))
    }
    known = {_canonical(key): number for key, number in theirs.items()}
    return [
        number - known.get(_canonical(key), fixed.get(_without(key, keys), math.nan))
        for key, number in mine.items()
    ]


def _rows(
    table: pd.DataFrame, where: Mapping[str, Any], name: str, keys: Sequence[str]
) -> pd.DataFrame:
    for column, value in where.items():
        wanted = [_text(one) for one in (value if isinstance(value, list) else [value])]
        table = table[table[column].map(_text).isin(wanted)]
    if table.duplicated(list(keys)).any():
        raise ValueError(
            f"claim {name}: several rows have the same {' and '.join(keys)}; say more under 'where'"
        )
    return table


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, (int, float)) else str(value)


def _tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _canonical(key: Any) -> tuple[str, ...]:
    return tuple(_text(part) for part in _tuple(key))


def _part(key: Any, keys: Sequence[str], name: str) -> float:
    return float(_tuple(key)[list(keys).index(name)])


def _without(key: Any, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        part for part, name in zip(_canonical(key), keys, strict=True) if name != "epsilon"
    )


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the table as a reader wants it."""

    def number(value: float) -> str:
        return "–" if pd.isna(value) else f"{value:.3f}"

    ours = [
        number(mean) if n <= 1 else f"{number(mean)} ({number(least)} to {number(largest)})"
        for n, mean, least, largest in zip(
            *(frame[name] for name in ("n_rows", "mean", "least", "largest")), strict=True
        )
    ]
    of_studies = {STUDY: frame[STUDY]} if STUDY in frame else {}
    return pd.DataFrame(
        {
            "": frame["name"],
            "claim": frame["claim"],
            "source": frame["source"],
            "printed": [text if isinstance(text, str) else "–" for text in frame["printed"]],
            "criterion": frame["criterion"],
            "ours": ours,
            "rows": [f"{n} of {m}" for n, m in zip(frame["n_pass"], frame["n_rows"], strict=True)],
            "verdict": frame["verdict"],
            **of_studies,
        }
    )
