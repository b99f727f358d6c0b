"""Encode one cell as docs/datasets.md says, without other cells or a table.

The module uses nothing of the package's encoder, and only kind, edges, listed texts and titles of a
column.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from fnmatch import translate

import numpy as np

REFUSED = None


def code(cell, column, domain):
    """Return the bin of a cell (a text or a typed value); None if the cell is refused."""
    if isinstance(cell, bytes):
        cell = cell.decode()
    if column.dates:
        return binned(day(cell, column, domain), column)
    if column.kind == "numeric":
        return binned(amount(cell, domain), column)
    return group(cell, column, domain)


def binned(amount, column):
    if amount == "missing":
        return column.bins if column.missing_bin else REFUSED
    if amount is REFUSED or math.isinf(amount):
        return REFUSED
    return sum(amount >= edge for edge in column.edges[1:-1])


def absent(cell):
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell


def as_number(text, decimal):
    """Return a text as a float; None if it is no number. `decimal` is the decimal mark."""
    if "_" in text or (decimal == "," and "." in text):
        return REFUSED
    try:
        number = float(text.replace(decimal, "."))
    except ValueError:
        return REFUSED
    return REFUSED if math.isnan(number) else number


def markers(domain):
    """Return the numbers that mark a missing value. YAML writes them with a decimal point."""
    both = [as_number(text.replace(",", ".") if domain.decimal == "," else text, ".")
            for text in domain.missing]  # fmt: skip
    return [number for number in both if number is not None]


def amount(cell, domain):
    if absent(cell):
        return "missing"
    if isinstance(cell, str):
        text = cell.strip()
        if text in ("", *domain.missing):
            return "missing"
        number = as_number(text, domain.decimal)
    elif isinstance(cell, date):
        return REFUSED
    else:
        # The shortest decimal notation, which a text file would have.
        number = float(cell) if isinstance(cell, (bool, int)) else float(str(cell))
    return "missing" if number in markers(domain) else number


def day(cell, column, domain):
    if absent(cell):
        return "missing"
    if isinstance(cell, datetime):
        naive = cell if cell.tzinfo is None else cell.astimezone(UTC)
        cell = naive.date()
    if isinstance(cell, date):
        shown = {
            cell.isoformat(),
            cell.strftime("%Y-%m-%d" if column.dates == "iso" else column.dates),
        }
        return "missing" if shown & set(domain.missing) else number_of(cell)
    text = spellings(cell, domain)[0].strip()
    if text in ("", *domain.missing):
        return "missing"
    try:
        if column.dates == "iso":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text, column.dates)
    except ValueError:
        return "missing" if as_number(text, domain.decimal) in markers(domain) else REFUSED
    return number_of((moment if moment.tzinfo is None else moment.astimezone(UTC)).date())


def number_of(day):
    return day.toordinal() - date(1970, 1, 1).toordinal()


def spellings(cell, domain):
    """Return the texts that a file may have for a value; the most common one is first."""
    if isinstance(cell, str):
        return [cell]
    if isinstance(cell, bool) or type(cell).__name__ == "bool":
        word = str(bool(cell))
        return [word.lower(), word, word.upper(), str(int(cell))]
    if isinstance(cell, datetime):
        cell = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
        both = [cell.isoformat(), cell.isoformat(" ")]
        return both + [str(cell.date())] * (cell.hour == cell.minute == cell.second == 0)
    if isinstance(cell, date):
        return [cell.isoformat()]
    if math.isinf(cell):
        return [str(float(cell))]
    # A Decimal shows whether the number is whole.
    exact = Decimal(str(cell))
    if exact == int(exact):
        return [f"{int(exact)}{end}" for end in ("", domain.decimal + "0", ".0")] + [str(cell)]
    short = f"{exact:f}".rstrip("0") if isinstance(cell, Decimal) else str(cell)
    return [short.replace(".", domain.decimal), short, str(cell)]


def group(cell, column, domain):
    titles = list(dict.fromkeys(title for _, title in column.categories))
    none = titles.index("?") if "?" in titles else REFUSED
    other = titles.index("other") if "other" in titles else REFUSED
    if not column.patterns and domain.unknown != "other":
        other = REFUSED
    if absent(cell):
        return other if none is REFUSED else none
    listed = dict(column.categories)
    if not isinstance(cell, (str, date, bool)):
        if any(re.match(r"0[\d*]", text) for text in listed):
            return REFUSED
        few = isinstance(cell, (float, np.floating))
        if few and any(text.isdecimal() and int(float(text)) != int(text) for text in listed):
            return REFUSED
    ways = spellings(cell, domain)
    text = next((way for way in ways if way in listed), ways[0]).strip()
    # 3.0 is read as 3, but 3.50 stays different from 3.5. With decimal commas, 3.000 is three
    # thousand.
    end = r"\.0*" if domain.decimal == "." else r"(,0*|\.(?!(000)+$)0*)"
    digits = re.sub(rf"^([+-]?\d+){end}$", r"\1", text)
    result = {word.casefold() if column.patterns else word
            for word, title in listed.items() if title != "?"}  # fmt: skip
    fold = str.casefold if column.patterns else str
    is_missing = text in domain.missing and not {fold(text), fold(digits)} & result
    codes = not re.match(r"[+-]?0\d", text)
    numbers = [as_number(word.replace(domain.decimal, "."), ".") for word in result
               if not re.match(r"[+-]?0\d", word)]  # fmt: skip
    number = as_number(text, domain.decimal)
    is_missing |= codes and number in set(markers(domain)) - set(numbers)
    if column.patterns:
        if text == "" or is_missing:
            return none
        for pattern, title in column.categories:
            regular = re.compile(translate(pattern.replace("[", "[[]").replace("?", "[?]")), re.I)
            if regular.match(text) or regular.match(digits):
                return titles.index(title)
        return other
    if text in listed:
        return titles.index(listed[text])
    if none is not REFUSED and (is_missing or (text == "" and other is not REFUSED)):
        return none
    if digits in listed:
        return titles.index(listed[digits])
    return none if none is not REFUSED and digits in domain.missing else other
