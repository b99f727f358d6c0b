"""Define a piece of a raw file as named columns, which every reader returns."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from privcurve.datasets.description import Description, Parser
from privcurve.datasets.domain import Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading.cells import NoColumnError, convert_cells
from privcurve.schema import suggestion

# Limits of memory: maximum number of records in a piece, and of fields in all its records.
MOST_RECORDS = 50_000
MOST_FIELDS = 250_000

# Maximum number of names in a message (_SHOWN), and of characters of a name (_LONGEST).
_SHOWN = 30
_LONGEST = 40

_ARFF = (".arff", ".arff.gz")
_TITLE = "If a title is above the names of its columns, delete it."

# End of messages about values that are in no bin of a trained model: only a new training can change
# its bins.
DECIDED = "the description, and train again"

# Exceptions when damaged files are read; ValueError includes UnicodeDecodeError.
READ_ERRORS = (ValueError, csv.Error, gzip.BadGzipFile, zlib.error, EOFError)

T = TypeVar("T")

# The number of a line or row, and its fields: texts, or in Excel values of any type.
Record = tuple[int, Sequence[Any]]


@dataclass(frozen=True)
class RawTable:
    """Consecutive records of a file or frame, as named columns, before encoding."""

    source: str  # name of the file in messages
    # Each column, by name: a list or Arrow array of texts (None: missing), or a NumPy array of
    # numbers (NaN: missing) or days.
    columns: Mapping[str, Any]
    lines: Sequence[int]  # number of each record's line or row
    unit: str = "line"  # word for the numbers `lines` in messages, such as "line" or "row"
    share: float | None = None  # share of the file that is read so far; None if unknown

    def head(self, n_records: int | None) -> RawTable:
        """Return a table with the first `n_records` records; with all records if it is None."""
        if n_records is None or n_records >= len(self.lines):
            return self
        columns = {name: values[:n_records] for name, values in self.columns.items()}
        return replace(self, columns=columns, lines=self.lines[:n_records])

    def place_of(self, row: int) -> str:
        """Return words for the position of a record in messages, such as "line 7 of table.csv"."""
        return f"{self.unit} {self.lines[row]} of {self.source}"


def chunk_size(width: int) -> int:
    """Return the maximum number of records in a piece, if each record has `width` fields."""
    return max(1, min(MOST_RECORDS, MOST_FIELDS // max(width, 1)))


def chunks_of(items: Iterable[T], width: int) -> Iterator[list[T]]:
    """Split records with `width` fields into lists, each a piece of :func:`chunk_size` records."""
    rest = iter(items)
    while chunk := list(islice(rest, chunk_size(width))):
        yield chunk


@dataclass(frozen=True)
class Unlabelled:
    """Replaces the description when a file of unlabelled records is read.

    In messages, `name` is the file, and `path` says what to change if a value is in no bin.
    `copied` has the fields that are read in addition to the columns of the domain.
    """

    domain: Domain
    parser: Parser
    name: str
    path: str = DECIDED
    label: None = None
    unit: None = None
    copied: tuple[str, ...] = ()


AnyDescription: TypeAlias = "Description | Unlabelled"


def wanted_fields(description: AnyDescription) -> list[str]:
    """Return the names of the fields to read.

    These are the columns of the domain. A dataset adds the label and the column of persons; a file
    for prediction adds the copied columns.
    """
    if description.label is None:
        return list(dict.fromkeys((*description.domain.names, *description.copied)))
    unit = [] if description.unit is None else [description.unit.column]
    return [*description.domain.names, description.label.column, *unit]


def list_names(names: Sequence[str]) -> str:
    """Join names of columns for a message; long names are cut, and a long list is shortened."""
    some = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in names[:_SHOWN]]
    more = len(names) - len(some)
    return (", ".join(some) or "none") + (f", … ({more:,} more)" if more else "")


def hint_of(source: str, fields: Sequence[str]) -> str:
    """Return a hint if a file seems to have another format than a plain table; else "".

    `source` is the name of the file, `fields` are the fields of its first record. The hint includes
    a remedy.
    """
    start = fields[0].lstrip() if fields else ""
    if start[:1] in ("{", "["):
        return (
            "It seems to be JSON: write its records as CSV or Parquet (in pandas, read_json "
            "and to_csv)."
        )
    if start.lower().startswith("sep="):
        return "Its first line, sep=…, is only for Excel: delete it."
    is_arff = source.lower().endswith(_ARFF) and start[:1] in ("%", "@")
    if is_arff or start.lower().startswith("@relation"):
        return (
            "It is ARFF: write its records as CSV with a first line of names (Weka: Save as "
            'CSV), or describe it by hand with parser: {kind: delimited, comment: "@", fields: '
            "[…]}."
        )
    return ""


def find_fields(
    source: str, fields: Sequence[str], wanted: Sequence[str], problems: Problems, remedy: str = ""
) -> dict[str, int]:
    """Return the position of each wanted field, by name; `source` and `remedy` are for messages.

    Raises DatasetError if a wanted field is missing or occurs more than once.
    """
    hint = hint_of(source, fields)
    counts = Counter(fields)
    missing = [name for name in wanted if not counts[name]]
    names = f"column{'s' * (len(missing) > 1)} {list_names(list(map(repr, missing)))}"
    if missing and len(missing) == len(wanted):
        # The line has no name of a column, so it may be a record. The message shows a field of the
        # line only if the field nearly equals the name of a column.
        near = next((end for name in missing if (end := suggestion(name, fields)) != "."), ".")
        hint = hint or (_TITLE if near == "." else "")
        problems.add(
            f"{source} must have the {names}; no required column is among its {len(fields)} "
            f"name{'s' * (len(fields) != 1)}{near}{hint and f' {hint}'}{remedy}"
        )
    elif missing:
        near = suggestion(missing[0], fields) if len(missing) == 1 else "."
        hint = hint and f" {hint}"
        columns = f"Its columns: {list_names(fields)}"
        problems.add(f"{source} has no {names}{near} {columns}.{hint}{remedy}")
    for name in wanted:
        if counts[name] > 1:
            problems.add(f"{source} must have one column {name!r}; it has {counts[name]}.{remedy}")
    problems.check()
    place = {name: j for j, name in enumerate(fields)}
    return {name: place[name] for name in wanted}


def positions(
    description: AnyDescription, source: str, fields: Sequence[str], problems: Problems
) -> dict[str, int]:
    """Return the position of each field that is read, by name, or raise DatasetError."""
    remedy = ""
    if description.label is not None:
        remedy = f" Correct the names, there or in {description.path} (columns, label, parser)."
    return find_fields(source, fields, wanted_fields(description), problems, remedy)


def check_order(description: AnyDescription, source: str, above: Sequence[str], unit: str) -> None:
    """Raise DatasetError if the last skipped row has the column names in another order.

    The order must be the order of the parser's fields.

    `above` has the fields of this row; `unit` is the word for it in messages, ``line`` or ``row``.
    """
    parser = description.parser
    counts = Counter(name.strip() for name in above)
    for j, name in enumerate(above, start=1):
        name = name.strip()
        if counts[name] > 1 or name not in parser.fields:
            continue
        k = parser.fields.index(name) + 1
        if j != k:
            says = f"{description.path} says that this is column {k}: give parser: fields in the "
            says += "order of the file."
            if description.label is None:
                says = f"the model was trained on files where this is column {k}: keep their order."
            raise DatasetError(
                f"{unit} {parser.skip_rows} of {source} names its column {j} {name!r}, but {says}"
            )


def convert_columns(
    description: AnyDescription, source: str, columns: Mapping[str, object]
) -> dict[str, Any]:
    """Convert the cells of each column to the types that the encoder reads (:func:`convert_cells`).

    Raises DatasetError if the type of a column is not supported.
    """
    column_of = {column.name: column for column in description.domain.columns}
    labels = () if description.label is None else description.label.codes
    fix = f". Leave it out of {description.path}, or write it in another way."
    result = {}
    for name, cells in columns.items():
        try:
            result[name] = convert_cells(cells, description.domain, column_of.get(name), labels)
        except (NoColumnError, DatasetError) as error:
            fault = f"{name!r} {error}{fix}" if isinstance(error, NoColumnError) else error
            raise DatasetError(f"{subject(description)}{source}: {fault}") from None
    return result


def unreadable_error(description: AnyDescription, source: object, error: Exception) -> DatasetError:
    """Return a DatasetError, with a remedy, for a file that cannot be read because of `error`."""
    if description.label is None and isinstance(error, UnicodeError):
        encoding = description.parser.encoding.removesuffix("-sig")
        return DatasetError(
            f"{source} is not written in {encoding}: {error}. Name its encoding, such as "
            "--encoding utf-16 or --encoding cp1252"
        )
    if description.label is None:
        reason = getattr(error, "strerror", None) or error
        return DatasetError(f"{source} can't be read: {reason}")
    reason = str(error) if str(error).endswith(("?", ".")) else f"{error}."
    return DatasetError(
        f"{subject(description)}{source} can't be read: {reason} "
        f"Correct parser (encoding, separator, sheet) in {description.path}, or replace the file."
    )


def subject(description: AnyDescription) -> str:
    """Return the name of the dataset, as the beginning of a message; "" for unlabelled records."""
    return "" if description.label is None else f"dataset {description.name!r}: "


# Unlabelled records --------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """The format of a file for prediction, as given by the options of a command and the model.

    If an option has its default value, the parser of the model decides instead.
    """

    # parser of the training files; None if the model does not contain it
    parser: Parser | None = None
    separator: str | None = None
    encoding: str | None = None
    sheet: str = ""
    rows: int = 0
    labels: Path | None = None  # the file with the labels of an idx file

    def of(self, *kinds: str) -> Parser | None:
        """Return the parser of the training files if its kind is one of `kinds`, else None."""
        return self.parser if self.parser is not None and self.parser.kind in kinds else None


class UnlabelledFile(NamedTuple):
    """An open file of unlabelled records whose columns have been found."""

    description: Unlabelled
    ignored: tuple[str, ...]  # columns of the file that the domain lacks
    tables: Callable[[Problems], Iterator[RawTable]]  # function that reads the records in pieces
    # Only for a file without column names, whose columns are found by position: `top` has the first
    # records of the file, `above` the last skipped line before them.
    top: Sequence[Record] = ()
    above: Record = (0, ())
    remarks: tuple[str, ...] = ()

    def read(self, problems: Problems) -> Iterator[RawTable]:
        """Read the records in pieces; unreadable records become faults in `problems`.

        The records can be read only once. Raises DatasetError if the file is damaged.
        """
        try:
            yield from self.tables(problems)
        except (*READ_ERRORS, OSError) as error:
            raise unreadable_error(self.description, self.description.name, error) from None


def has_all(wanted: Unlabelled, names: Sequence[str]) -> bool:
    """Return whether all columns of the domain are among `names`."""
    return set(wanted.domain.names) <= set(names)


def find_unused(description: Unlabelled, fields: Sequence[str], hint: str = "") -> tuple[str, ...]:
    """Return the fields of a file that are not used; raise DatasetError if a field is missing."""
    wanted, problems = wanted_fields(description), Problems(description.name, is_file=True)
    find_fields(description.name, fields, wanted, problems)
    # A separator at the end of each line makes a column without a name: do not report it as unused.
    used = {*wanted, description.domain.label.column, ""}
    return tuple(field for field in fields if field not in used)
