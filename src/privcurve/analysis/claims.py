"""What a paper claims, and whether our tables bear it out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from privcurve.analysis import claim_values
from privcurve.analysis.names import RUNS
from privcurve.analysis.numbers import mean

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
# A claim of single runs has it: by leaving out each split in turn.
STANDARD_ERROR = "standard_error"
# Tables have six decimals; differences of them have the rounding of floats.
ROUNDING = 1e-9

CAPTION = "What the paper claims, by our results"
NOTES: tuple[str, ...] = (
    "Each claim is checked on the rows of a table of this study: 'holds' if as many of them pass "
    "as the claim asks for, 'fails' if not, 'not computed' if rows or values are missing.",
    "Least, mean and largest are of the value that is compared: a score, or the difference of two.",
)
NOTES_TOGETHER = (NOTES[0].replace("this study", "its study"), *NOTES[1:])
PAIRED_NOTE = (
    "± is a standard error, by leaving out each split in turn: the splits are the same for all "
    "curves, so differences are paired."
)
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
        Those that claims name, by their outputs' words or names; under `RUNS` single runs, with
        a column for whatever tells them apart.
    printed : mapping of str to DataFrame, optional
        Those of printed numbers that claims name.

    Returns
    -------
    DataFrame
        With the columns `COLUMNS`, a row a claim (or a value of what it names under `each`); a
        `standard_error` of the mean too, if a claim is of single runs.

    Raises
    ------
    ValueError
        If a claim names a column that its table has not.
    """
    rows = []
    for claim in claims:
        table = tables[claim.get("table", "accuracy")]
        prints = (printed or {}).get(claim.get("less_printed", ""))
        try:
            rows += [_verdict(one, table, prints) for one in _each(claim, table)]
        except KeyError as error:
            raise ValueError(f"claim {claim['name']}: its table has no column {error}") from None
    paired = any(claim.get("table") == RUNS for claim in claims)
    return pd.DataFrame(rows, columns=_columns(paired))


def _columns(paired: bool) -> list[str]:
    return [*COLUMNS[:8], STANDARD_ERROR, *COLUMNS[8:]] if paired else COLUMNS


def _each(claim: Mapping[str, Any], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Give a claim once for each value of the columns under `each`, in the table's order."""
    columns = list(claim.get("each", []))
    found = claim_values.select(table, claim["where"])[columns].drop_duplicates()
    if not columns or found.empty:
        return [dict(claim)]
    return [
        {
            **claim,
            "name": ", ".join([claim["name"], *map(claim_values.text, row)]),
            "where": {**claim["where"], **dict(zip(columns, row, strict=True))},
        }
        for row in found.itertuples(index=False, name=None)
    ]


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
    columns = _columns(STANDARD_ERROR in whole)
    return whole.loc[order, [*columns, STUDY]].reset_index(drop=True)


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
    tables = claim_values.averaged(table, claim) if claim.get("table") == RUNS else [table]
    values, *left_out = [claim_values.values(claim, one, printed) for one in tables]
    n_pass = sum(passes(value, bound) for value in values)
    share = claim.get("share", 1)
    if not values or any(math.isnan(value) for value in values):
        verdict = UNKNOWN
    else:
        verdict = HOLDS if n_pass >= share * len(values) - 1e-9 else FAILS
    criterion = text.format(*bound) if word == "within" else text.format(bound)
    of_all = "all rows" if share == 1 else f"{100 * share:g} % of rows"
    known = verdict != UNKNOWN
    error = claim_values.jackknife([mean(one) for one in left_out]) if known else math.nan
    return {
        "name": claim["name"],
        "claim": claim["claim"],
        "source": claim["source"],
        "printed": claim.get("printed"),
        "criterion": f"{_looked_at(claim)} {criterion} in {of_all}",
        "least": min(values) if known else math.nan,
        "mean": mean(values) if known else math.nan,
        "largest": max(values) if known else math.nan,
        STANDARD_ERROR: math.nan if claim.get("statistic") == "reached" else error,
        "n_rows": len(values),
        "n_pass": n_pass,
        "verdict": verdict,
    }


def _looked_at(claim: Mapping[str, Any]) -> str:
    value = claim.get("value", "accuracy")
    value = f"standard deviation of {value}" if claim.get("of_runs") == "std" else value
    if claim.get("table") == RUNS and "less" in claim:
        value = f"difference of {value}"
    if "statistic" not in claim:
        return str(value)
    over = " and ".join(claim["over"])
    text = {
        "mean": "mean over {over} of {value}",
        "spearman": "rank correlation of {over} and {value}",
        "smallest_step": "smallest step over {over} of {value}",
        "reached": "smallest {over} with a {value} of 0 or more",
    }
    return text[claim["statistic"]].format(over=over, value=value)


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the table as a reader wants it."""

    def number(value: float) -> str:
        return "–" if pd.isna(value) else f"{value:.3f}"

    errors = frame.get(STANDARD_ERROR, pd.Series(math.nan, frame.index))
    ours = [
        number(mean)
        + ("" if pd.isna(error) else f" ± {number(error)}")
        + ("" if n <= 1 else f" ({number(least)} to {number(largest)})")
        for n, mean, error, least, largest in zip(
            frame["n_rows"], frame["mean"], errors, frame["least"], frame["largest"], strict=True
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
