"""Hypothesis strategies for tables: all kinds of columns, spellings, markers and cell types."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from one_cell import code

from privcurve.datasets import Column, Domain, Label

LABEL = Label("sick", "no", "yes")
HOUR_AHEAD = timezone(timedelta(hours=1))


def categories(*texts, patterns=False):
    pairs = tuple((text, text) for text in texts)
    return Column("x", "categorical", categories=pairs, patterns=patterns)


def number(low, high, bins, **options):
    return Column("x", "numeric", (low, high), bins, **options)


GROUPS = (("i*", "i"), ("1", "one"), ("2.5", "half"), ("true", "t"), ("other",) * 2, ("?",) * 2)
COLUMNS = (
    number(-5.0, 5.0, 7, missing_bin=True),
    number(0.1, 0.7, 6, missing_bin=True),
    number(1.0, 1e4, 4, spacing="log"),
    number(-10.0, 90.0, 8, missing_bin=True, spacing="mixed"),
    number(-7.0, 0.0, 5, spacing="mixed-high"),
    number(18000.0, 19000.0, 5, missing_bin=True, dates="iso"),
    number(18000.0, 19000.0, 5, missing_bin=True, dates="%d.%m.%Y"),
    number(-9000.0, 19000.0, 7, dates="%d.%m.%y"),
    categories("Oslo", "Rome, north", "NA", "?"),
    categories("Oslo", "other"),
    categories("1", "2", "-3", "other", "?"),
    categories("1.5", "2,5", "1e+20", "3.0", "100", "other", "?"),
    categories("true", "false", "?"),
    categories("True", "0", "other"),
    categories("2020-01-31", "2021-12-05T10:30:00", "other", "?"),
    categories("0150", "9990", "other", "?"),
    categories("9007199254740993", "1", "?"),
    Column("x", "categorical", categories=GROUPS, patterns=True),
    Column("x", "categorical", categories=(("0*", "north"), *GROUPS[4:]), patterns=True),
)
DATED = ("2020-01-31", "31.01.2020")
_NUMERALS = ("-9", "-9.0", "-9,9", "-9.9", "1.50", "0", "inf", "nan", "9990")
MARKERS = ("", "NA", "?", *_NUMERALS, "true", *DATED)

_TOWNS = ("Oslo", "oslo", "Rome, north", " Oslo ", "Malmo\u0308")
_CODES = ("I21", "1", "1_0", "٣", "0150", "150", "9990", "true", "True", "FALSE")
WORDS = st.sampled_from([*_TOWNS, *_CODES, "NA", "na", "?", "", "  ", "other", "nan", "inf"])
NUMBERS = st.sampled_from([0, 1, 2, -3, 3, 150, 9990, 2**53 + 1, 10**20, -9, 1.5, 2.5, -9.9, 0.1])
AMOUNTS = st.one_of(NUMBERS, st.floats(-10, 10).map(lambda x: round(x, 2)))
POINTED = AMOUNTS.map(str) | AMOUNTS.map(lambda x: f"{x}.0" if isinstance(x, int) else f"{x}0")
WRITTEN = POINTED | POINTED.map(lambda text: text.replace(".", ","))
DAYS = st.dates(date(1950, 1, 1), date(2024, 1, 1)) | st.sampled_from([date(2020, 1, 31)])
CLOCKS = st.sampled_from([(0, 0, 0), (10, 30, 0), (23, 59, 59)])
TIMES = st.builds(lambda day, clock: datetime(day.year, day.month, day.day, *clock), DAYS, CLOCKS)
FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%Y-%m-%dT%H:%M:%S", "%Y%m%d"]
TEXTS = st.one_of(
    *(WORDS, WRITTEN, st.sampled_from(MARKERS)),
    st.builds(lambda time, form: time.strftime(form), TIMES, st.sampled_from(FORMS)),
)
NOTHING = st.sampled_from([None, float("nan"), pd.NA, pd.NaT])
TYPED = st.one_of(
    *(AMOUNTS, st.booleans(), DAYS, TIMES),
    AMOUNTS.map(float),
    AMOUNTS.map(lambda x: Decimal(str(x))) | st.sampled_from([Decimal("1.50"), Decimal("2.125")]),
    st.builds(np.float32, AMOUNTS),
    TIMES.map(lambda time: time.replace(tzinfo=UTC)),
    TIMES.map(lambda time: time.replace(tzinfo=HOUR_AHEAD)),
    TIMES.map(pd.Timestamp),
    st.sampled_from([b"Oslo", b"1"]),
)
# Cells that Excel can hold; an empty cell is the empty text.
EXCEL = TEXTS | AMOUNTS.map(float) | st.booleans()
# Columns of one type, as a program writes them that has looked at all values, and of several types.
KINDS = (TEXTS, AMOUNTS.map(float), NUMBERS, st.booleans(), DAYS, TIMES, TYPED, TYPED | TEXTS)


@st.composite
def domains(draw, most=3):
    """Return a domain of some columns."""
    some = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=most))
    return Domain(
        named(some),
        LABEL,
        missing=tuple(draw(st.lists(st.sampled_from(MARKERS), max_size=3, unique=True))),
        unknown=draw(st.sampled_from(["fail", "other"])),
        decimal=draw(st.sampled_from([".", ","])),
    )


def named(columns):
    """Return columns names of their own."""
    return tuple(replace(column, name=f"x{k}") for k, column in enumerate(columns))


@st.composite
def tables(draw, cells=None, nothing=True, most=4, of=None):
    """Draw a domain and {column name: cells}; by default the columns differ in kind.

    With `nothing` a cell may also be None, NaN or a missing value of pandas. In most tables, cells
    that would be refused are replaced, so that few tables are refused.
    """
    domain = draw(domains()) if of is None else of
    size = draw(st.integers(1, most))
    columns = {}
    all_coded = draw(st.integers(0, 7)) > 0
    for column in domain.columns:
        kind = draw(st.sampled_from(KINDS)) if cells is None else cells
        kind = kind | NOTHING if nothing else kind
        drawn = draw(st.lists(kind, min_size=4 * size, max_size=4 * size))
        coded = [cell for cell in drawn if code(cell, column, domain) is not None]
        columns[column.name] = ((coded if all_coded else []) + drawn)[:size]
    return domain, columns


def one_by_one(columns):
    """Return a table for each row."""
    size = len(next(iter(columns.values())))
    return [{name: [cells[row]] for name, cells in columns.items()} for row in range(size)]
