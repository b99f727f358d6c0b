"""What a paper claims, and whether our tables bear it out."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from privcurve import schema
from privcurve.analysis.names import RUNS
from privcurve.analysis.numbers import mean, short
from privcurve.lazy import pd
from privcurve.outputs.base import OF, PAPER, Asked, Output, Reads
from privcurve.outputs.context import Context
from privcurve.tables.table import Table, read_table

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
        words = dict.fromkeys(claim.get("table", "accuracy") for claim in _claims(asked))
        resources = (_path(asked), *_printed(asked).values())
        if RUNS not in words:
            return Reads(outputs=tuple(words), resources=resources)
        del words[RUNS]
        curves = tuple(itertools.product(asked.study.datasets, asked.study.arms))
        return Reads(curves, outputs=tuple(words), resources=resources)

    def make(self, context: Context) -> None:

        tables = {word: context.table_of(word) for word in context.others}
        if context.study.studies:
            frame = together(dict(zip(context.study.studies, tables.values(), strict=True)))
            notes = NOTES_TOGETHER
            context.write(Table(frame, CAPTION, notes, readable(frame)))
            return
        notes = NOTES
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
    """Return a claim once for each value of the columns under `each`, in the table's order."""
    columns = list(claim.get("each", []))
    found = select(table, claim["where"])[columns].drop_duplicates()
    if not columns or found.empty:
        return [dict(claim)]
    return [
        {
            **claim,
            "name": ", ".join([claim["name"], *map(key_text, row)]),
            "where": {**claim["where"], **dict(zip(columns, row, strict=True))},
        }
        for row in found.itertuples(index=False, name=None)
    ]


def together(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put the verdicts of several studies into one table.

    With the columns `COLUMNS` and ``study``, in the order of names: C2 is before C10. Rows of
    one name stay in the order of `tables`.
    """
    parts = [table.assign(study=study) for study, table in tables.items()]
    whole = pd.concat(parts, ignore_index=True)
    order = sorted(range(len(whole)), key=lambda i: _natural(str(whole["name"][i])))
    columns = _columns(STANDARD_ERROR in whole)
    return whole.loc[order, [*columns, STUDY]].reset_index(drop=True)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that orders names with numbers in them by these numbers."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _verdict(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None
) -> dict[str, Any]:
    word = next(name for name in _CRITERIA if name in claim)
    text, passes = _CRITERIA[word]
    bound = claim[word]
    tables = averaged(table, claim) if claim.get("table") == RUNS else [table]
    values, *left_out = [values_of(claim, one, printed) for one in tables]
    n_pass = sum(passes(value, bound) for value in values)
    share = claim.get("share", 1)
    if not values or any(math.isnan(value) for value in values):
        verdict = UNKNOWN
    else:
        verdict = HOLDS if n_pass >= share * len(values) - 1e-9 else FAILS
    criterion = text.format(*bound) if word == "within" else text.format(bound)
    of_all = "all rows" if share == 1 else f"{100 * share:g} % of rows"
    known = verdict != UNKNOWN
    error = jackknife([mean(one) for one in left_out]) if known else math.nan
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


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as a reader wants it."""

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


KEYS = ["dataset", "epsilon"]
# What tells one run from the others of its setting: the splits are the same for all curves.
SPLIT = "repeat"


def values_of(
    claim: Mapping[str, Any], table: pd.DataFrame, printed: pd.DataFrame | None = None
) -> list[float]:
    """Return the numbers that a claim's criterion is put to.

    One a row that the claim is about; with a statistic one for each value of the columns
    of `by` that are not under `over`. NaN where something is missing.
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
    """Return the rows that have the values, or one of a list of values, that are asked for."""
    for column, value in where.items():
        wanted = [key_text(one) for one in (value if isinstance(value, list) else [value])]
        table = table[table[column].map(key_text).isin(wanted)]
    return table


def averaged(runs: pd.DataFrame, claim: Mapping[str, Any]) -> list[pd.DataFrame]:
    """Average single runs over their splits: over all, then, if there are several, all but each.

    Each with a row for each value of the columns that the claim names. A row of which a run
    has failed has no value.
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
    """Return the standard error of a statistic, by its values when one split is left out.

    Of a mean over independent splits it is the usual standard error; of a difference of two
    curves, that of the paired difference.

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


def key_text(value: Any) -> str:
    """Write a value of a key: a file may have moved the last bit of a number."""
    return short(value) if isinstance(value, (int, float)) else str(value)


def _tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _canonical(key: Any) -> tuple[str, ...]:
    return tuple(key_text(part) for part in _tuple(key))


def _part(key: Any, keys: Sequence[str], name: str) -> float:
    return float(_tuple(key)[list(keys).index(name)])


def _without(key: Any, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        part for part, name in zip(_canonical(key), keys, strict=True) if name != "epsilon"
    )
