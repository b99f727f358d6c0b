"""What a paper claims, and whether our tables bear it out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from privcurve import schema
from privcurve.analysis.keys import mean, short
from privcurve.lazy import pd
from privcurve.outputs.base import OF, PAPER, Asked, Output, Reads
from privcurve.outputs.context import Context
from privcurve.tables.table import MISSING, Table, decimals, of_all, read_table

# What a claim calls single runs, in place of a table.
RUNS = "runs"
SCHEMA = Path(__file__).with_name("claims.schema.yaml")


class Claims(Output):
    """Table: each claim of ``resources/printed/<paper>/claims.yaml`` about the study.

    Of a study of studies: the claims of all of them, in the order of their names.
    """

    word: ClassVar[str] = "claims"
    gathers: ClassVar[bool] = True
    selects: ClassVar[bool] = False
    options: ClassVar = {"paper": PAPER}

    def check(self, asked: Asked) -> None:
        if asked.study.studies:
            if asked.options["paper"]:
                raise ValueError("paper: these are the claims of the studies: leave it out")
            return
        path = _path(asked)
        if not path.is_file():
            raise ValueError(f"there is no {path}, where the claims of the paper stand")
        missing = [str(path) for path in _printed(asked).values() if not path.is_file()]
        if missing:
            raise ValueError(f"there is no {missing[0]}, whose numbers {path} takes off")
        if not _claims(asked):
            raise ValueError(f"{path} has no claim with study: {asked.study.name}")

    def reads(self, asked: Asked) -> Reads:
        if asked.study.studies:
            return Reads(outputs=tuple(f"{one}{OF}{self.word}" for one in asked.study.studies))
        words = list(dict.fromkeys(claim.get("table", "accuracy") for claim in _claims(asked)))
        curves = asked.curves_of(asked.study.arms.values()) if RUNS in words else ()
        resources = (_path(asked), *_printed(asked).values())
        tables = tuple(word for word in words if word != RUNS)
        return Reads(curves, outputs=tables, resources=resources)

    def make(self, context: Context) -> None:
        tables = {word: context.table_of(word) for word in context.others}
        notes = NOTES
        if context.study.studies:
            frame = together(dict(zip(context.study.studies, tables.values(), strict=True)))
            notes = NOTES_TOGETHER
        else:
            if context.curves:
                tables[RUNS] = context.described_runs()
                notes += (PAIRED_NOTE,)
            printed = {name: read_table(path) for name, path in _printed(context.asked).items()}
            frame = verdicts(_claims(context.asked), tables, printed)
        context.write(Table(frame, CAPTION, notes, readable(frame)))


def _path(asked: Asked) -> Path:
    return asked.printed / "claims.yaml"


def _printed(asked: Asked) -> dict[str, Path]:
    """Return the files of printed numbers that the claims name."""
    names = [claim["less_printed"] for claim in _claims(asked) if "less_printed" in claim]
    return {name: _path(asked).with_name(name) for name in dict.fromkeys(names)}


def _claims(asked: Asked) -> list[Mapping[str, Any]]:
    """Read the claims of the paper that are about the study; SchemaError names what is wrong."""
    path = _path(asked)
    claims = _all_claims(path, schema.state(path))
    return [claim for claim in claims if claim["study"] == asked.study.name]


@lru_cache(maxsize=16)
def _all_claims(path: Path, changed: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    # Asked for several times by each study of a paper, whenever a DAG is built.
    content = schema.read_yaml(path)
    schema.check(content, SCHEMA, str(path))
    return tuple(content["claims"])


COLUMNS = [
    *("name", "claim", "source", "printed", "criterion", "least", "mean", "largest", "n_rows"),
    *("n_pass", "verdict"),
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
    """Return the verdict of each claim, or of each value of what it names under `each`.

    Tables are those that claims name, by their outputs' words or names; under `RUNS` single runs,
    with a column for whatever tells them apart, which give a `standard_error` of the mean too.
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
    """Return a claim once for each value of the columns under `each`, in the table's order."""
    columns = list(claim.get("each", []))
    rows = select(table, claim["where"])[columns].drop_duplicates()
    if not columns or rows.empty:
        return [dict(claim)]
    return [
        {
            **claim,
            "name": ", ".join([claim["name"], *map(key_text, row)]),
            "where": {**claim["where"], **dict(zip(columns, row, strict=True))},
        }
        for row in rows.itertuples(index=False, name=None)
    ]


def together(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the verdicts of several studies into one table, by their names: C2 is before C10."""
    parts = [table.assign(study=study) for study, table in tables.items()]
    frame = pd.concat(parts, ignore_index=True)
    order = sorted(range(len(frame)), key=lambda i: _natural(str(frame["name"][i])))
    columns = _columns(STANDARD_ERROR in frame)
    return frame.loc[order, [*columns, STUDY]].reset_index(drop=True)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that orders names with numbers in them by these numbers."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _verdict(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None
) -> dict[str, Any]:
    word = next(name for name in _CRITERIA if name in claim)
    text, passes = _CRITERIA[word]
    bound, share = claim[word], claim.get("share", 1)
    tables = averaged(table, claim) if claim.get("table") == RUNS else [table]
    values, *left_out = [values_of(claim, one, printed) for one in tables]
    n_pass = sum(passes(value, bound) for value in values)
    row = {
        **{name: claim.get(name) for name in ("name", "claim", "source", "printed")},
        "criterion": f"{_compared(claim)} {text.format(*np.atleast_1d(bound))} in "
        + ("all rows" if share == 1 else f"{100 * share:g} % of rows"),
        **{"n_rows": len(values), "n_pass": n_pass, "verdict": UNKNOWN},
    }
    if not values or any(map(math.isnan, values)):
        return row
    if claim.get("statistic") != "reached":
        row[STANDARD_ERROR] = jackknife([mean(one) for one in left_out])
    verdict = HOLDS if n_pass >= share * len(values) - 1e-9 else FAILS
    ends = {"least": min(values), "mean": mean(values), "largest": max(values)}
    return {**row, **ends, "verdict": verdict}


def _compared(claim: Mapping[str, Any]) -> str:
    value = claim.get("value", "accuracy")
    value = f"standard deviation of {value}" if claim.get("of_runs") == "std" else value
    if claim.get("table") == RUNS and "less" in claim:
        value = f"difference of {value}"
    if "statistic" not in claim:
        return str(value)
    text = {
        "mean": "mean over {over} of {value}",
        "spearman": "rank correlation of {over} and {value}",
        "smallest_step": "smallest step over {over} of {value}",
        "reached": "smallest {over} with a {value} of 0 or more",
    }
    return text[claim["statistic"]].format(over=" and ".join(claim["over"]), value=value)


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as a reader wants it."""
    errors = frame.get(STANDARD_ERROR, pd.Series(math.nan, frame.index))
    numbers = (frame["mean"], errors, frame["least"], frame["largest"])
    ours = [
        middle
        + ("" if error == MISSING else f" ± {error}")
        + ("" if n <= 1 else f" ({least} to {largest})")
        for n, middle, error, least, largest in zip(
            frame["n_rows"], *(decimals(one, 3) for one in numbers), strict=True
        )
    ]
    texts = frame[["name", "claim", "source"]].rename(columns={"name": ""})
    texts["printed"] = [text if isinstance(text, str) else MISSING for text in frame["printed"]]
    texts["criterion"], texts["ours"] = frame["criterion"], ours
    texts["rows"] = of_all(frame["n_pass"], frame["n_rows"])
    return texts.join(frame[[name for name in ("verdict", STUDY) if name in frame]])


KEYS = ["dataset", "epsilon"]
# What tells one run from the others of its setting: the splits are the same for all curves.
SPLIT = "repeat"


def values_of(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None = None
) -> list[float]:
    """Return the numbers that a claim's criterion is put to; NaN where something is missing.

    One a row that the claim is about; with a statistic one for each value of the columns
    of `by` that are not under `over`.
    """
    value, keys = claim.get("value", "accuracy"), list(claim.get("by", KEYS))
    rows = _rows(table, claim, "where", keys)
    frame = rows[keys].assign(value=rows[value].astype(float))
    if "less" in claim:
        frame["value"] -= _theirs(claim, frame, table, value, keys)
    elif printed is not None:
        frame["value"] -= _theirs(claim, frame, printed, value, keys)
    if "statistic" not in claim:
        return list(frame["value"])
    rest = [name for name in keys if name not in claim["over"]]
    groups = [part for _, part in frame.groupby(rest, sort=False)] if rest else [frame]
    return [_statistic(claim, part) for part in groups if len(part)]


def _statistic(claim: Mapping[str, Any], part: pd.DataFrame) -> float:
    word, values, over = claim["statistic"], part["value"], part[claim["over"]].iloc[:, 0]
    if word == "mean":
        return mean(values)
    if values.isna().any():
        return math.nan
    if word == "spearman":
        return float(over.astype(float).rank().corr(values.rank()))
    if word == "smallest_step":
        steps = values.loc[over.sort_values().index].diff().iloc[1:]
        return float(steps.min()) if len(steps) else math.nan
    return float(min(over[values >= 0], default=math.inf))


def _rows(
    table: pd.DataFrame, claim: Mapping[str, Any], where: str, keys: Sequence[str]
) -> pd.DataFrame:
    rows = select(table, claim.get(where, {}))
    if keys and rows.duplicated(list(keys)).any():
        same = f"several rows have the same {' and '.join(keys)}"
        raise ValueError(f"claim {claim['name']}: {same}; say more under 'where'")
    return rows


def _theirs(
    claim: Mapping[str, Any], frame: pd.DataFrame, table: pd.DataFrame, value: str, keys: list[str]
) -> list[float]:
    """Return what is taken off each row: the rows that a claim compares with, by their keys."""
    matched, best = list(claim.get("less_by", keys)), claim.get("against")
    others = _rows(table, claim, "less", [] if best else matched)
    groups = others.astype({value: float}).groupby(matched, sort=False, dropna=False)[value]
    theirs = {}
    for key, part in groups:
        number = part.iloc[0] if best is None else part.max(skipna=False)
        number = part.min(skipna=False) if best == "smallest" else number
        theirs[tuple(map(key_text, key))] = float(number)
    numbers = []
    for row in frame[matched].itertuples(index=False, name=None):
        texts = tuple(map(key_text, row))
        # A method without privacy has one row, at ε = ∞: it is compared at each ε.
        pairs = zip(matched, texts, strict=True)
        limit = tuple("inf" if name == "epsilon" else text for name, text in pairs)
        numbers.append(theirs.get(texts, theirs.get(limit, math.nan)))
    return numbers


def select(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows that have the values, or one of a list of values, that are asked for."""
    for column, value in where.items():
        wanted = [key_text(one) for one in (value if isinstance(value, list) else [value])]
        table = table[table[column].map(key_text).isin(wanted)]
    return table


def averaged(runs: pd.DataFrame, claim: Mapping[str, Any]) -> list[pd.DataFrame]:
    """Average single runs over their splits: over all, then, if there are several, all but each.

    Each table has a row for each value of the columns that the claim names. A row of which a run
    has failed has no value.
    """
    value, less = claim.get("value", "accuracy"), claim.get("less", {})
    names = [*claim.get("by", KEYS), *claim["where"], *less, *claim.get("less_by", [])]
    columns = list(dict.fromkeys(names))
    mine = pd.concat([select(runs, claim[one]) for one in ("where", "less") if one in claim])
    mine = mine[~mine.index.duplicated()]
    # A key may lack a value, such as the parameter of another method.
    keyed = {name: mine[name].astype(object).where(mine[name].notna(), "") for name in columns}
    numbers = pd.to_numeric(mine[value]).where(mine["status"] == "ok")
    mine = mine.assign(**keyed).assign(**{value: numbers})
    splits = sorted(mine[SPLIT].unique())
    # Without its only split nothing is left.
    parts = [mine, *(mine[mine[SPLIT] != split] for split in splits if len(splits) > 1)]
    tables = []
    for part in parts:
        groups = part.groupby(columns, sort=False)[value]
        averages = groups.std(ddof=1) if claim.get("of_runs") == "std" else groups.mean()
        tables.append(averages.where(groups.count() == groups.size()).reset_index())
    return tables


def jackknife(left_out: Sequence[float]) -> float:
    """Return the standard error of a statistic, by its values when one split is left out.

    Of a mean over independent splits it is the usual standard error; of a difference of two
    curves, that of the paired difference; NaN of fewer than two, or if one is not finite.
    """
    n = len(left_out)
    if n < 2 or not all(map(math.isfinite, left_out)):
        return math.nan
    middle = mean(left_out)
    return math.sqrt((n - 1) / n * math.fsum((one - middle) ** 2 for one in left_out))


def key_text(value: Any) -> str:
    """Write a value of a key: a file may have moved the last bit of a number."""
    return short(value) if isinstance(value, (int, float)) else str(value)
