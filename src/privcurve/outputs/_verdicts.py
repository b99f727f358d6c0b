"""Compare rows of our tables with the criteria of papers' claims, and return verdicts.

docs/claims.md states the rules of the verdicts.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privcurve.analysis.keys import mean, short_text
from privcurve.analysis.ranks import holm
from privcurve.lazy import pd, stats
from privcurve.outputs.base import check_name

# Value of a claim's key `table` if the claim is about single runs, not about an output's table.
RUNS = "runs"
# Columns that identify the split of a run: the repeat, and the fold within the repeat. All curves
# have the same splits, so that runs of different curves can be paired.
SPLIT, FOLD = "repeat", "fold"
SPLITS = (SPLIT, FOLD)
EPSILON = "epsilon"
KEYS = ["dataset", EPSILON]
# ε = ∞ (training without privacy), as `key_text` writes it.
NO_NOISE = "inf"
# Column with the standard error of a claim's mean value. The error is computed by leaving out each
# split in turn (jackknife).
STANDARD_ERROR = "standard_error"
COLUMNS = [
    "name", "quote", "claim", "source", "printed", "criterion", "least", "mean", "largest",
    "n_places", "n_pass", "n_for", "n_against", "verdict", "why", "changed", "commit",
]  # fmt: skip
HOLDS, FAILS, MIXED = "holds", "fails", "mixed"
UNDECIDED, UNKNOWN, NOT_COMPARABLE = "not decided", "not computed", "not comparable"
# A difference from the criterion's bound is decisive if it exceeds this many standard errors.
BEYOND = 2.0
# Tolerance of comparisons, for the rounding errors of differences: tables have six decimals.
ROUNDING = 1e-9
# The criteria by name. Each is a triple: its text, whether a value equal to the bound violates the
# criterion, and a function of value and bound. The function returns the distance between value and
# bound, positive if the value meets the criterion, else negative.
_CRITERIA: Mapping[str, tuple[str, bool, Callable[[float, Any], float]]] = {
    "above": ("> {:g}", True, lambda value, bound: value - bound),
    "at_least": ("≥ {:g}", False, lambda value, bound: value - bound),
    "below": ("< {:g}", True, lambda value, bound: bound - value),
    "at_most": ("≤ {:g}", False, lambda value, bound: bound - value),
    "within": ("{:g} ± {:g}", False, lambda value, bound: bound[1] - abs(value - bound[0])),
}

Key = tuple[str, ...]
# The numbers that a claim compares with its criterion, by key. A key has the values that identify
# the number, such as the dataset and ε, as texts.
Values = dict[Key, float]


@dataclass(frozen=True)
class Computed:
    """A function in ``papers/<paper>/_claims.py`` that computes the values of some claims.

    `function` takes a claim and the rows of the claim's table. If the table has single runs, the
    function is called once with the runs of all splits and, for the standard error, once for each
    split with the runs of all other splits.
    """

    # Phrase that describes the values in the table of verdicts, such as "mean over {over} of
    # {value}". The claim's values of the keys `over` and `value` replace the braces.
    text: str
    function: Callable[[Mapping[str, Any], pd.DataFrame], Values]
    has_error: bool  # whether a standard error over splits has a meaning


def computed(text: str, has_error: bool = True) -> Callable[[Any], Computed]:
    """Return a decorator that makes a :class:`Computed` of a function.

    `text` and `has_error` are attributes of the result. `has_error` must be False for counts: they
    change in whole steps if a split is left out, so that the jackknife estimates no standard error.
    """
    return lambda function: Computed(text, function, has_error)


def verdicts(
    claims: Sequence[Mapping[str, Any]],
    tables: Mapping[str, pd.DataFrame],
    printed: Mapping[str, pd.DataFrame] | None = None,
    functions: Mapping[str, Computed] | None = None,
) -> pd.DataFrame:
    """Return a table with verdicts on claims.

    A claim has one row or, if it has columns under `each`, a row for each combination of their
    values.

    `tables` contains the tables that claims name, indexed by an output's name or `Output.word`. The
    table of single runs is indexed by `RUNS`; it has a column for each parameter. Only claims on
    single runs have standard errors. `printed` contains the files that claims name under
    `less_printed`, and `functions` the functions that claims name under `compute`.
    """
    rows = []
    for claim in claims:
        table = tables[claim.get("table", "accuracy")]
        check_columns(claim, [*map(str, table)])
        prints = (printed or {}).get(claim.get("less_printed", ""))
        how = functions[claim["compute"]] if functions and "compute" in claim else None
        rows += [_verdict(one, table, prints, how) for one in _expand_claim(claim, table)]
    paired = any(claim.get("table") == RUNS for claim in claims)
    return pd.DataFrame(rows, columns=verdict_columns(paired))


def check_columns(claim: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Raise ValueError if a claim names a column that its table does not have.

    `columns` are the columns of the table.
    """
    groups = (*_telling_columns(claim), *claim.get("each", ()))
    for column in (*groups, claim.get("value", "accuracy")):
        what = f"claim {claim['name']}: {claim.get('table', 'accuracy')} has no column"
        check_name(what, column, columns)


def check_runs(claim: Mapping[str, Any], places: Sequence[Mapping[str, object]]) -> None:
    """Raise ValueError if a claim on runs names an unknown column or averages over several curves.

    `places` are the points of the study (:meth:`.OutputRequest.places`). Each point has the values
    of all columns that identify its runs, except the columns `SPLITS`.
    """
    names = dict.fromkeys((*(name for place in places for name in place), *SPLITS))
    columns = dict.fromkeys((*_telling_columns(claim), *claim.get("each", ())))
    for column in columns:
        check_name(f"claim {claim['name']}: no run has", column, names)
    if set(SPLITS) & set(columns):
        return
    wanted = [{name: list_texts(one) for name, one in part.items()} for part in _parts(claim)]
    seen: dict[Key, Any] = {}
    for place in places:
        texts = {name: key_text(place.get(name)) for name in columns}
        if any(all(texts[name] in some for name, some in part.items()) for part in wanted):
            other = seen.setdefault(tuple(texts.values()), place)
            if other is not place:
                several = f"several runs of one split have the same {' and '.join(columns)}"
                both = dict.fromkeys((other["method"], place["method"]))
                raise ValueError(
                    f"claim {claim['name']}: {several} ({', '.join(both)}); narrow 'where'"
                )


def check(claim: Mapping[str, Any]) -> None:
    """Raise ValueError if keys of a claim contradict each other or have no effect."""
    keys, name = claim.get("by", KEYS), f"claim {claim['name']}"
    for word in ("over", "less_by"):
        for stray in claim.get(word, ()):
            if stray not in keys:
                raise ValueError(
                    f"{name}: {word!r} must name columns under 'by' "
                    f"({', '.join(keys)}); got {stray!r}"
                )
    if "compute" in claim and len(claim.get("over", ())) > 1:
        raise ValueError(f"{name}: 'over' must be one column for {claim['compute']}; got several")
    if "every" in claim and claim.get("share", 1) < 1:
        raise ValueError(f"{name}: 'every' and a share of places exclude each other; leave one out")


def check_printed(claim: Mapping[str, Any], path: Path) -> None:
    """Raise ValueError if the file `path` of printed numbers lacks a column that a claim needs."""
    with path.open(encoding="utf-8", newline="") as lines:
        header = next(csv.reader(lines), [])
    for column in (*claim.get("by", KEYS), claim.get("value", "accuracy")):
        check_name(f"claim {claim['name']}: {path} has no column", column, header)


def verdict_columns(paired: bool) -> list[str]:
    """Return the columns of the table of verdicts; with standard errors if `paired`."""
    return [*COLUMNS[:9], STANDARD_ERROR, *COLUMNS[9:]] if paired else COLUMNS


def _expand_claim(claim: Mapping[str, Any], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one claim for each combination of values that the table has in the columns `each`.

    The claims have the order of the table's rows. If the table lacks a value under `where` or
    `less`, the result is the claim itself, with the missing values under the key ``gone``.
    """
    names = list(claim.get("each", []))
    if gone := _values_without_rows(claim, table):
        return [{**claim, "gone": gone}]
    rows = select_rows(table, claim["where"])[names].drop_duplicates()
    if not names or rows.empty:
        return [dict(claim)]
    return [
        {
            **claim,
            "name": ", ".join([claim["name"], *map(key_text, row)]),
            "where": {**claim["where"], **dict(zip(names, row, strict=True))},
        }
        for row in rows.itertuples(index=False, name=None)
    ]


def _values_without_rows(claim: Mapping[str, object], table: pd.DataFrame) -> list[str]:
    """Return the values under `where` and `less` for which the table has no row.

    A claim with such values is not judged, as a verdict on its other values would cover only a part
    of the claim.
    """
    gone = []
    for part in _parts(claim):
        for column, wanted in part.items():
            there = set(map(key_text, table[column].unique()))
            gone += [f"{column} {one}" for one in list_texts(wanted) if one not in there]
    return gone


def _verdict(
    claim: Mapping[str, Any],
    table: pd.DataFrame,
    printed: pd.DataFrame | None,
    how: Computed | None,
) -> dict[str, Any]:
    word = next(name for name in _CRITERIA if name in claim)
    text, strict, margin_of = _CRITERIA[word]
    bound, share = claim[word], claim.get("share", 1)
    tables = leave_out_splits(table, claim) if claim.get("table") == RUNS else [table]
    values, *left_out = [
        how.function(claim, one) if how else values_of(claim, one, printed) for one in tables
    ]
    margins = {key: margin_of(value, bound) for key, value in values.items()}
    passes = {key: m > 0 if strict else m >= -ROUNDING for key, m in margins.items()}
    why, gone = claim.get("not_comparable"), claim.get("gone")
    places = "all places" if share == 1 else f"{100 * share:g} % of places"
    value = _describe_value(claim, how)
    row = {
        **{name: claim.get(name) for name in ("name", "quote", "claim", "source", "printed")},
        **{name: claim.get(name) for name in ("changed", "commit")},
        "criterion": f"{value} {text.format(*np.atleast_1d(bound))} in {places}",
        "n_places": len(values),
        "n_pass": sum(passes.values()),
        "why": why or (f"no row has {', '.join(gone)}" if gone else None),
        "verdict": NOT_COMPARABLE if why else UNKNOWN,
    }
    if gone or not values or any(map(math.isnan, values.values())):
        return row
    numbers = list(values.values())
    row |= {"least": min(numbers), "mean": mean(numbers), "largest": max(numbers)}
    sides: list[int] | None = None
    # Counts have no standard error: leaving out a split changes them in whole steps.
    if claim.get("table") == RUNS and (how is None or how.has_error):
        row[STANDARD_ERROR] = jackknife(_means_left_out(left_out, values))
        moved = [{key: margin_of(value, bound) for key, value in one.items()} for one in left_out]
        sides = _judge_places(margins, passes, moved)
        row |= {"n_for": sides.count(1), "n_against": sides.count(-1)}
    if why:
        return row
    if share < 1:
        keys = [one for one in claim.get("by", KEYS) if one not in claim.get("over", ())]
        return {**row, "verdict": _judge_share(passes, share, keys)}
    if sides is None:
        return {**row, "verdict": _judge_values(list(passes.values()), bool(claim.get("every")))}
    middle = mean(margins.values())
    alone: Key = ()
    of_means = [{alone: one} for one in _means_left_out(moved, values)]
    (side,) = _judge_places({alone: middle}, {alone: middle >= 0}, of_means)
    every = bool(claim.get("every"))
    return {**row, "verdict": _judge_sides(sides, side, every, all(passes.values()))}


def _means_left_out(
    left_out: Sequence[Mapping[Key, float]], values: Mapping[Key, float]
) -> list[float]:
    """Return the mean over the keys of `values`, computed without each split in turn.

    `left_out` has the values without each split. A mean is NaN if a key has no value without the
    split.
    """
    return [mean(one.get(key, math.nan) for key in values) for one in left_out]


def _judge_places(
    margins: Mapping[Key, float],
    passes: Mapping[Key, bool],
    left_out: Sequence[Mapping[Key, float]],
) -> list[int]:
    """Return 1 for each value clearly inside the criterion, −1 if clearly outside, else 0.

    `margins` are the distances of the values from the criterion's bound, positive inside, and
    `passes` says which values meet the criterion. `left_out` has the margins computed without each
    split. A single value is clearly inside or outside if its margin exceeds two standard errors.
    Several values are tested at the same significance level (two standard errors under Student's
    t), with Holm's correction for the number of values. Values without a standard error get 0.
    """
    tails: dict[Key, float] = {}
    freedom = len(left_out) - 1
    for key, margin in margins.items():
        error = jackknife([one.get(key, math.nan) for one in left_out])
        if error <= ROUNDING:
            tails[key] = 0.0 if passes[key] else 1.0
        elif not math.isnan(error):
            tails[key] = float(stats.t.sf(margin / error, freedom))
    level = float(stats.t.sf(BEYOND, freedom))
    inside = dict(zip(tails, holm(list(tails.values())), strict=True))
    outside = dict(zip(tails, holm([1 - tail for tail in tails.values()]), strict=True))
    return [(inside.get(key, 1.0) < level) - (outside.get(key, 1.0) < level) for key in margins]


def _judge_sides(sides: Sequence[int], of_mean: int, every: bool, all_pass: bool) -> str:
    """Return the verdict on a claim from the results of :func:`_judge_places`.

    A result is 1, 0 or −1: `sides` has the result for each value, and `of_mean` is the result for
    the mean of all values. `every` says whether the claim is about every value, `all_pass` whether
    all values meet the criterion.
    """
    if -1 in sides:
        return MIXED if 1 in sides and not every else FAILS
    # A mean inside the criterion confirms a claim about every value only if all values meet it.
    on_average = of_mean > 0 and (all_pass or not every)
    return HOLDS if 0 not in sides or on_average else UNDECIDED


def _judge_values(passes: Sequence[bool], every: bool) -> str:
    """Return the verdict on values without standard errors; `passes` says which are good.

    `every` says whether the claim is about every value.
    """
    if all(passes):
        return HOLDS
    return MIXED if any(passes) and not every else FAILS


def _judge_share(passes: Mapping[Key, bool], share: float, keys: Sequence[str]) -> str:
    """Return the verdict on a claim that at least a share of the values meet the criterion.

    The standard error of the share treats datasets as independent. `keys` are the columns whose
    values the keys of `passes` contain.
    """
    by_dataset: dict[str, list[bool]] = {}
    for key, passed in passes.items():
        dataset = dict(zip(keys, key, strict=True)).get("dataset", "")
        by_dataset.setdefault(dataset, []).append(passed)
    shares = [mean(map(float, own)) for own in by_dataset.values()]
    if len(shares) < 2:
        return HOLDS if mean(shares) >= share - ROUNDING else FAILS
    reach = BEYOND * float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
    if abs(mean(shares) - share) <= reach:
        return UNDECIDED
    return HOLDS if mean(shares) > share else FAILS


def _describe_value(claim: Mapping[str, Any], how: Computed | None) -> str:
    value = claim.get("value", "accuracy")
    value = f"difference of {value}" if "less" in claim else str(value)
    text = how.text if how else "mean over {over} of {value}" if "over" in claim else "{value}"
    return text.format(over=" and ".join(claim.get("over", ())), value=value)


def values_of(
    claim: Mapping[str, Any],
    rows: pd.DataFrame,
    printed: pd.DataFrame | None = None,
    average: Literal["mean", "std"] = "mean",
    summary: Callable[[pd.Series, pd.Series], float] | None = None,
) -> Values:
    """Return the numbers that a claim compares with its criterion, by key; NaN if missing.

    A key has the values of the claim's columns `by`, except the columns `over`. If the claim is
    about single runs, the runs are first averaged over the splits by `average`. If the claim has no
    columns `over`, each row gives one number. Otherwise all rows with the same key give one number:
    the mean of their values, or ``summary(column, values)``, where `column` has the rows' values in
    the first column of `over`.
    """
    value, keys = claim.get("value", "accuracy"), list(claim.get("by", KEYS))
    table = _average_splits(claim, rows, average) if claim.get("table") == RUNS else rows
    rows = _claimed_rows(table, claim, "where", keys)
    frame = rows[keys].assign(value=_numbers(claim, rows, value))
    theirs = table if "less" in claim else printed
    if theirs is not None:
        frame["value"] -= _compared_values(claim, frame, theirs, value, keys)
    if "over" not in claim:
        return dict(zip(_texts(frame, keys), frame["value"], strict=True))
    rest = [name for name in keys if name not in claim["over"]]
    parts = [part for _, part in frame.groupby(rest, sort=False)] if rest else [frame]
    return {_texts(part, rest)[0]: _summarise(claim, part, summary) for part in parts if len(part)}


def _summarise(
    claim: Mapping[str, Any],
    part: pd.DataFrame,
    summary: Callable[[pd.Series, pd.Series], float] | None,
) -> float:
    values = part["value"]
    if summary is None:
        return mean(values)
    over = _numbers(claim, part, claim["over"][0])
    return math.nan if values.isna().any() else float(summary(over, values))


def _numbers(claim: Mapping[str, Any], rows: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as floats; raise ValueError, naming the claim, if the column has texts."""
    try:
        return pd.to_numeric(rows[column]).astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"claim {claim['name']}: the column {column!r} must have numbers; it has texts"
        ) from None


def _texts(frame: pd.DataFrame, keys: Sequence[str]) -> list[Key]:
    """Return a key for each row: the values of the columns `keys`, as texts."""
    rows = frame[list(keys)].itertuples(index=False, name=None) if keys else [()] * len(frame)
    return [tuple(map(key_text, row)) for row in rows]


def _telling_columns(claim: Mapping[str, Any]) -> list[str]:
    """Return the columns that identify a claim's rows: `by`, `where`, `less` and `less_by`."""
    parts = (claim.get("by", KEYS), claim["where"], claim.get("less", {}), claim.get("less_by", ()))
    return list(dict.fromkeys(name for part in parts for name in part))


def _claimed_rows(
    table: pd.DataFrame, claim: Mapping[str, Any], where: str, keys: Sequence[str]
) -> pd.DataFrame:
    rows = select_rows(table, claim.get(where, {}))
    if keys and rows.duplicated(list(keys)).any():
        same = f"several rows have the same {' and '.join(keys)}"
        raise ValueError(f"claim {claim['name']}: {same}; narrow 'where'")
    return rows


def _compared_values(
    claim: Mapping[str, Any], frame: pd.DataFrame, table: pd.DataFrame, value: str, keys: list[str]
) -> list[float]:
    """Return the values that a claim with `less` subtracts from the rows of `frame`, one per row.

    The value for a row comes from the rows of `table` that match the claim's `less` and have the
    same values as the row in the columns `less_by` of the claim (default: `keys`). If several rows
    match, the claim's key `against` says whether the smallest or the largest value counts. The
    value is NaN if no row matches.
    """
    matched, best = list(claim.get("less_by", keys)), claim.get("against")
    others = _claimed_rows(table, claim, "less", [] if best else matched)
    subtrahends = _numbers(claim, others, value)
    keys = [name for name in matched if name != EPSILON]
    # Rows are grouped by method: the only row of a method without privacy, at ε = ∞, matches rows
    # of every ε; the rows of other methods match rows of the same ε.
    apart = [
        name for name in ("method", *claim.get("less", ())) if name in others and name != EPSILON
    ]
    rows = zip(_texts(others, keys), _texts(others, apart), subtrahends, strict=True)
    theirs: dict[Key, dict[Key, dict[str, list[float]]]] = {}
    for (key, method, number), epsilon in zip(rows, _epsilons(others, matched), strict=True):
        own = theirs.setdefault(key, {}).setdefault(method, {})
        own.setdefault(epsilon, []).append(float(number))
    numbers = []
    for key, epsilon in zip(_texts(frame, keys), _epsilons(frame, matched), strict=True):
        subtracted: list[float] = []
        for own in theirs.get(key, {}).values():
            there = own.get(epsilon, own.get(NO_NOISE) if len(own) == 1 else None)
            # A method without a row at this ε might have the best value there. The best value is
            # then unknown.
            subtracted += there or ([math.nan] if best else [])
        if best is None and len(subtracted) > 1:
            same = f"several rows of 'less' match one {' and '.join(matched)}"
            raise ValueError(f"claim {claim['name']}: {same}; give 'against', or narrow 'less'")
        # `np.min` and `np.max` return NaN if one of the values is missing.
        choose = np.min if best == "smallest" else np.max
        numbers.append(float(choose(subtracted)) if subtracted else math.nan)
    return numbers


def _epsilons(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the ε of each row as text; always `NO_NOISE` if `names` lacks the column of ε."""
    return [*map(key_text, frame[EPSILON])] if EPSILON in names else [NO_NOISE] * len(frame)


def select_rows(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows whose columns have the values in `where`: one value or a list per column."""
    for column, value in where.items():
        table = table[table[column].map(key_text).isin(list_texts(value))]
    return table


def _parts(claim: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the values of the claim's keys `where` and, if it exists, `less`."""
    return [claim[one] for one in ("where", "less") if one in claim]


def leave_out_splits(runs: pd.DataFrame, claim: Mapping[str, Any]) -> list[pd.DataFrame]:
    """Return the runs of a claim, followed by the runs without each of the splits in turn.

    If there is only one split, the list has only the first item. The value of a failed run is NaN.
    Raises ValueError if a mean over splits would average over several curves or settings.
    """
    value, columns = claim.get("value", "accuracy"), _telling_columns(claim)
    mine = pd.concat([select_rows(runs, part) for part in _parts(claim)])
    mine = mine[~mine.index.duplicated()]
    # NaN marks a parameter that a run's method does not have. It becomes "", as `groupby` drops
    # rows with NaN.
    keyed = {name: mine[name].astype(object).where(mine[name].notna(), "") for name in columns}
    numbers = _numbers(claim, mine, value).where(mine["status"] == "ok")
    mine = mine.assign(**keyed).assign(**{value: numbers})
    one_partition = FOLD in mine and mine[SPLIT].nunique() == 1
    splits = mine[FOLD if one_partition else SPLIT]
    if mine.duplicated([*columns, str(splits.name)]).any():
        same = f"several runs of one split have the same {' and '.join(columns)}"
        raise ValueError(f"claim {claim['name']}: {same}; narrow 'where'")
    names = sorted(splits.unique())
    # If there is only one split, no run is left without it.
    return [mine, *(mine[splits != name] for name in names if len(names) > 1)]


def _average_splits(
    claim: Mapping[str, Any], runs: pd.DataFrame, average: Literal["mean", "std"]
) -> pd.DataFrame:
    """Average the claim's value over splits; the average is NaN if one of the runs has failed.

    The result has a row for each combination of values of the columns that identify the claim's
    rows (:func:`_telling_columns`).
    """
    groups = runs.groupby(_telling_columns(claim), sort=False)[claim.get("value", "accuracy")]
    return groups.agg(average).where(groups.count() == groups.size()).reset_index()


def jackknife(left_out: Sequence[float]) -> float:
    """Return the jackknife standard error of a statistic.

    `left_out` are the values of the statistic, each computed without one of the splits. For the
    mean over independent splits, the result is the usual standard error; for the difference of two
    curves, it is the standard error of the paired difference. The result is NaN if there are fewer
    than two splits, or if a value is not finite.
    """
    n = len(left_out)
    if n < 2 or not all(map(math.isfinite, left_out)):
        return math.nan
    middle = mean(left_out)
    return math.sqrt((n - 1) / n * math.fsum((one - middle) ** 2 for one in left_out))


def list_texts(value: object) -> list[str]:
    """Return `value`, or each of its items if it is a list, as :func:`key_text` writes it."""
    return [*map(key_text, value if isinstance(value, list) else [value])]


def key_text(value: object) -> str:
    """Write a value as text, such that values from a file and from memory can be compared.

    Numbers are shortened, as writing a float to a file and reading it may change its last bit.
    """
    return short_text(value) if isinstance(value, (int, float)) else str(value)
