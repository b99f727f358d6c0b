"""A dataset in plain Python, cell by cell: what docs/datasets.md says, and nothing of ours.

Slow and without any array. The one thing that it shares with the program is the schema of
descriptions, which is a document too.
"""

import hashlib
import math
import re
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

from plain_columns import day_of, fits
from plain_description import describe
from plain_files import records_of
from plain_yaml import RefusedError

LEADING_ZERO = re.compile(r"[+-]?0[0-9*]")


def coded(name, folder="descriptions"):
    """Code a dataset.

    Parameters
    ----------
    name : str
    folder : path
        That of the descriptions; paths in them are from the working folder.

    Returns
    -------
    namespace
        `about`: the description; `train` and `test`: lists of (codes, label), the latter None
        where there is no test part; `clipped`: how many values of either lay outside.

    Raises
    ------
    RefusedError
    """
    about = describe(name, lambda one: file_of(Path(folder) / f"{one}.yaml"))
    used = [*(about.records.parts or ["train"]), *(["test"] if about.n_test else [])]
    check_files([file for part in used for file in about.files[part]])
    train, clipped = part_of(about, about.records.parts or ["train"], about.records.first)
    if len({label for _, label in train}) < 2:
        raise RefusedError("all records have the same label")
    test, clipped_test = None, 0
    if about.n_test:
        test, clipped_test = part_of(about, ["test"], 0)
    if about.records.balance:
        train = balanced(train, about.records.balance)
    if about.sampled and len(train) != about.n_rows:
        raise RefusedError(f"{len(train)} records, not {about.n_rows}")
    return SimpleNamespace(about=about, train=train, test=test, clipped=clipped + clipped_test)


def file_of(path):
    try:
        return path.read_bytes()
    except OSError:
        raise RefusedError(f"there is no {path}") from None


def check_files(files):
    digests = []
    for file in [*files, *(one["labels"] for one in files if "labels" in one)]:
        path = Path(file["local"])
        if not path.is_file():
            raise RefusedError(f"there is no file {path}")
        data = path.read_bytes()
        digests.append(hashlib.sha256(data).hexdigest())
        if file.get("sha256", digests[-1]) != digests[-1] or file.get("bytes", len(data)) != len(
            data
        ):
            raise RefusedError(f"{path} is another file")
    if len(set(digests)) < len(digests):
        raise RefusedError("the same file twice")


def part_of(about, parts, first):
    """Read and code the files of some parts, one after another, the first so many records."""
    records, outside = [], [0] * len(about.columns)
    for part in parts:
        before = len(records)
        for file in about.files[part]:
            most = first - len(records) if first else None
            for record in records_of(about, file, most):
                codes = []
                for j, column in enumerate(about.columns):
                    code, is_outside = code_of(about, column, record[column.name])
                    codes.append(code)
                    outside[j] += is_outside
                records.append((codes, label_code(about, record[about.label.column])))
        if first and len(records) == first:
            break
        n = len(records) - before
        if not n or n != about.sizes.get(part, n):
            raise RefusedError(f"{n} records in {part}, not {about.sizes.get(part)}")
    if first and len(records) < first:
        raise RefusedError(f"{len(records)} records, not {first}")
    for column, count in zip(about.columns, outside, strict=True):
        if count > len(records) / 2 and not column.clipping_expected:
            raise RefusedError(f"{count} values of {column.name} outside its bounds")
    return records, sum(outside)


def balanced(train, how):
    """Keep as many of each label: the first ones; of random ones, say only which may be kept."""
    sizes = {}
    for _, label in train:
        sizes[label] = sizes.get(label, 0) + 1
    least = min(sizes.values())
    if how == "random":
        return Balanced(train, least, sizes)
    taken, kept = dict.fromkeys(sizes, 0), []
    for record in train:
        taken[record[1]] += 1
        if taken[record[1]] <= least:
            kept.append(record)
    return kept


class Balanced:
    """Records of which any choice of so many a label, in their order, is right."""

    def __init__(self, records, least, sizes):
        self.records, self.least, self.labels = records, least, list(sizes)

    def __len__(self):
        return self.least * len(self.labels)

    def allows(self, kept):
        labels = [label for _, label in kept]
        waiting = iter(self.records)
        return all(labels.count(label) == self.least for label in self.labels) and all(
            record in waiting for record in kept
        )


# Cells ---------------------------------------------------------------------------------


def code_of(about, column, cell):
    """Return the code of a cell, and whether it lies outside of the bounds."""
    if column.kind == "numeric":
        value = number_of(about, cell)
    elif column.kind == "date":
        value = date_of(about, column, cell)
    else:
        return category_of(about, column, cell), False
    if value is None:
        if not column.missing_bin:
            raise RefusedError(f"{column.name} is missing")
        return column.n_bins, False
    # A value on an edge belongs to the bin above it; what is outside, to the nearest.
    code = sum(edge <= value for edge in column.edges[1:-1])
    return code, not column.edges[0] <= value <= column.edges[-1]


def is_marker(about, text):
    """Tell whether a text stands for a missing value; a number, however it is written."""
    return text in about.missing or plain_number(text, about.decimal) in amounts_of(about)


def is_other_marker(about, text, listed):
    """Tell the same where texts are listed, which are what they are; 0150 is no number there."""
    if text in about.missing:
        return True
    own = [plain_number(one, about.decimal) for one in listed if not LEADING_ZERO.match(one)]
    number = None if LEADING_ZERO.match(text) else plain_number(text, about.decimal)
    return number in amounts_of(about) and number not in own


def amounts_of(about):
    """Return the numbers that stand for a missing value."""
    numbers = [n for marker in about.missing for n in marker_numbers(marker, about.decimal)]
    return [number for number in numbers if number is not None]


def marker_numbers(marker, decimal):
    return [plain_number(marker, sign) for sign in {".", decimal}]


def plain_number(text, decimal):
    """Return the value of a written number; None if it is none, or not finite."""
    if "_" in text or (decimal != "." and "." in text):
        return None
    try:
        number = float(text.strip().replace(decimal, "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def number_of(about, cell):
    """Return the number in a cell; None if it is missing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        if not text or is_marker(about, text):
            return None
        number = plain_number(text, about.decimal)
        if number is None:
            raise RefusedError(f"{text!r} is not a number")
        return number
    if not isinstance(cell, (int, float, Decimal)) or not math.isfinite(cell):
        raise RefusedError(f"{cell!r} is not a number")
    return None if float(cell) in amounts_of(about) else float(cell)


def date_of(about, column, cell):
    if cell is None:
        return None
    if isinstance(cell, datetime):
        return (cell.date() - date(1970, 1, 1)).days
    if isinstance(cell, date):
        return (cell - date(1970, 1, 1)).days
    text = written(about, column, cell).strip()
    if not text or is_marker(about, text):
        return None
    try:
        return day_of(text, column.format)
    except ValueError:
        raise RefusedError(f"{text!r} is not a date") from None


def written(about, column, cell):
    """Write a cell as a file of text would."""
    if isinstance(cell, bool):
        listed = [] if column is None else [value for value, _ in getattr(column, "values", [])]
        spellings = [str(cell).lower(), str(cell), str(cell).upper(), str(int(cell))]
        return next((text for text in spellings if text in listed), spellings[0])
    if isinstance(cell, float):
        text = str(int(cell)) if cell.is_integer() else repr(cell)
        return text.replace(".", about.decimal) if about.parser.kind == "excel" else text
    if isinstance(cell, date):
        return cell.isoformat()
    if not isinstance(cell, (str, int, Decimal)):
        raise RefusedError(f"{cell!r} is no text")
    return unicodedata.normalize("NFC", str(cell))


def category_of(about, column, cell):
    values = column.values
    if isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool):
        zeros = [value for value, _ in values if LEADING_ZERO.match(value)]
        if zeros and about.parser.kind in ("parquet", "excel"):
            raise RefusedError(f"numbers have lost the leading zeros of {zeros[0]}")
    absent = cell is None or (isinstance(cell, float) and math.isnan(cell))
    text = "" if absent else written(about, column, cell).strip()
    if column.kind == "text":
        return column.titles.index(group_of(about, values, text))
    title = listed_of(about, dict(values), text, absent)
    if title is None:
        raise RefusedError(f"{text!r} is not one of the categories of {column.name}")
    return column.titles.index(title)


def listed_of(about, titles, text, absent):
    """Return the title of a category; a text that is listed is one, whatever it means elsewhere."""
    if not absent and text in titles:
        return titles[text]
    listed = [value for value in titles if value != "?"]
    missing = absent or is_other_marker(about, text, listed)
    # Nothing at all is no other text; where these are refused, someone is to decide on it.
    missing = missing or (text == "" and about.unknown == "other" and "other" in titles)
    if missing and "?" in titles:
        return titles["?"]
    alike = [title for value, title in titles.items() if not absent and short(value) == short(text)]
    if alike:
        return alike[0]
    return titles.get("other") if about.unknown == "other" else None


def short(text):
    """Write a whole number without its point."""
    match = re.fullmatch(r"([+-]?\d+)\.0*", text)
    return match[1] if match else text


def group_of(about, values, text):
    """Return the title of the first pattern that fits; a marker that no pattern has is missing."""
    spelt = [pattern.casefold() for pattern, title in values if title != "?"]
    if not text or (text.casefold() not in spelt and is_other_marker(about, text, spelt)):
        return "?"
    for pattern, title in values:
        if fits(pattern, text) or fits(pattern, short(text)):
            return title
    return "other"


def label_code(about, cell):
    absent = cell is None or (isinstance(cell, float) and math.isnan(cell))
    text = "" if absent else written(about, None, cell).strip()
    text = text.removesuffix(about.label.strip)
    if absent or text not in about.label.codes:
        raise RefusedError(f"the label {text!r}")
    return about.label.codes[text]
