"""What a reader gives: a piece of a raw file as named columns."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from privcurve.datasets.description import Description, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.schema import suggestion

# What is read and coded at once, so that a file of any length needs the same memory.
MOST_RECORDS = 50_000
MOST_FIELDS = 250_000

# Names that a message shows, and letters of each.
_SHOWN = 30
_LONGEST = 40

# Where the fate of values without a code is decided, for messages that end so.
DECIDED = "the description, and train again"

# What reading a file raises that is not what it should be. A UnicodeDecodeError is a ValueError.
DAMAGED = (ValueError, csv.Error, gzip.BadGzipFile, zlib.error, EOFError)

T = TypeVar("T")


@dataclass(frozen=True)
class RawTable:
    """Some records of a file, before any coding."""

    source: str  # the file, for messages
    # Texts as they stand in the file, in a list or an Arrow array, with None where there is no
    # value; or an array of numbers or days.
    columns: Mapping[str, Any]
    lines: Sequence[int]  # where in the file each record stands
    unit: str = "line"  # what these numbers count
    share: float | None = None  # how much of the file was read with them, where that is known

    def head(self, n_records: int) -> RawTable:
        """Return the first records."""
        if n_records >= len(self.lines):
            return self
        columns = {name: values[:n_records] for name, values in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[:n_records])

    def where(self, row: int) -> str:
        """Say where a record stands."""
        return f"{self.unit} {self.lines[row]} of {self.source}"


def at_once(width: int) -> int:
    """Return how many records of so many fields are read and coded at once."""
    return max(1, min(MOST_RECORDS, MOST_FIELDS // max(width, 1)))


def in_chunks(items: Iterable[T], width: int) -> Iterator[list[T]]:
    """Yield lists of records of so many fields, to be read and coded at once."""
    rest = iter(items)
    while chunk := list(islice(rest, at_once(width))):
        yield chunk


@dataclass(frozen=True)
class Unlabelled:
    """What stands for the description of a file of records without labels.

    `name` and `path` are for messages: what is read, and where the fate of its values is decided.
    `copied` are fields that are read beside the columns.
    """

    domain: Domain
    parser: Parser
    name: str
    path: str = DECIDED
    label: None = None
    unit: None = None
    copied: tuple[str, ...] = ()


Described: TypeAlias = "Description | Unlabelled"


def wanted_fields(description: Described) -> list[str]:
    """Return the fields that are used: columns, then label and unit, or what is copied."""
    if description.label is None:
        return list(dict.fromkeys((*description.domain.names, *description.copied)))
    unit = [] if description.unit is None else [description.unit.column]
    return [*description.domain.names, description.label.column, *unit]


def list_names(names: Sequence[str]) -> str:
    """Write names of columns for a message: a table may have thousands, or none but records."""
    some = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in names[:_SHOWN]]
    more = len(names) - len(some)
    return (", ".join(some) or "none") + (f", … ({more:,} more)" if more else "")


def lacking(
    domain: Domain, source: str, fields: Sequence[str], copied: Sequence[str] = ()
) -> DatasetError | None:
    """Return the error for columns that are not there, or there twice; None if all are."""
    counts = Counter(fields)
    missing = [name for name in domain.names if not counts[name]]
    if missing and len(missing) == len(set(domain.names)):
        # That line may be a record.
        several = list_names(list(map(repr, missing)))
        return DatasetError(
            f"{source} has no column{'s' * (len(missing) > 1)} {several}, which the model asks "
            f"for, nor any other that it does: its first line has to name the columns."
        )
    if missing:
        several = f"columns {list_names(list(map(repr, missing)))}, which the model asks for."
        if len(missing) == 1:
            several = (
                f"column {missing[0]!r}, which the model asks for{suggestion(missing[0], fields)}"
            )
        return DatasetError(f"{source} has no {several} Its columns: {list_names(fields)}.")
    for name in copied:
        if not counts[name]:
            return DatasetError(
                f"{source} has no column {name!r}{suggestion(name, fields)} Its columns: "
                f"{list_names(fields)}."
            )
    twice = [name for name in (*domain.names, *copied) if counts[name] > 1]
    if twice:
        return DatasetError(f"{source} has more than one column {twice[0]!r}: which one is meant?")
    return None


def positions(
    description: Described, source: str, fields: Sequence[str], problems: Problems
) -> dict[str, int]:
    """Return the places of the fields that are used, each of which has to be there once."""
    if description.label is None:
        fault = lacking(description.domain, source, fields, description.copied)
        if fault is not None:
            raise fault
    wanted, counts = wanted_fields(description), Counter(fields)
    if not set(wanted) & set(fields):
        # One cause: another line is the header, or fields are separated in another way.
        way = "parser (separator or sheet, header, skip_rows), or " * description.parser.header
        problems.add(
            f"{source} has no column {wanted[0]!r}, nor any other that {description.path} "
            f"describes, where it should name its {len(fields)}. Correct {way}the names."
        )
        problems.fail()
    for name in wanted:
        if not counts[name]:
            problems.add(
                f"{source} has no column {name!r}{suggestion(name, fields)} Its columns: "
                f"{list_names(fields)}. Correct the name in {description.path}."
            )
        elif counts[name] > 1:
            problems.add(
                f"{source} has {counts[name]} columns named {name!r}: which one is meant? "
                "Give each a name of its own in the file, or its names in parser: fields with "
                f"skip_rows: 1 in place of header: true, in {description.path}."
            )
    problems.check()
    place = {name: j for j, name in enumerate(fields)}
    return {name: place[name] for name in wanted}


def check_order(description: Described, source: str, above: Sequence[str], unit: str) -> None:
    """Refuse a file whose last skipped row, `above`, names columns in another order."""
    parser = description.parser
    counts = Counter(name.strip() for name in above)
    for j, name in enumerate(above, start=1):
        name = name.strip()
        if counts[name] > 1 or name not in parser.fields:
            continue
        k = parser.fields.index(name) + 1
        if j != k:
            raise DatasetError(
                f"{unit} {parser.skip_rows} of {source} names its column {j} {name!r}, but "
                f"{description.path} says that this is column {k}: give parser: fields in the "
                "order of the file."
            )


def unreadable(description: Described, source: object, error: object) -> DatasetError:
    """Return the error for a file that is not of the format that it should be."""
    if description.label is None:
        return DatasetError(f"{source} can't be read: {error}")
    return DatasetError(
        f"{subject(description)}{source} can't be read: {error}. "
        f"Correct parser (encoding, separator) in {description.path}, or replace the file."
    )


def subject(description: Described) -> str:
    """Return what a message begins with: the dataset; nothing of a file that is none's."""
    return "" if description.label is None else f"dataset {description.name!r}: "
