"""Find the kind of a file, and detect the format of a table.

Each kind of files has a module in this package, which defines its `KIND`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from privcurve import extras
from privcurve.datasets.description import DELIMITED, Parser
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.reading.table import (
    READ_ERRORS,
    Layout,
    RawTable,
    Record,
    Unlabelled,
    UnlabelledFile,
    hint_of,
)

# Values of `FileKind.naming`, which says where the names of fields come from. BY_LINE: from a line
# of the file, or from `fields` of the parser. BY_FILE: from the file, as its format always includes
# names. BY_NUMBER: from `fields`, as the file only numbers its fields.
BY_LINE, BY_FILE, BY_NUMBER = "line", "file", "number"

ENCODINGS = (Parser(DELIMITED).encoding, "cp1252", "latin-1")


@dataclass(frozen=True)
class FileKind:
    """A kind of files: how files of this kind are recognized and read.

    Attributes
    ----------
    name : str
        The word for this kind in descriptions, at the key ``kind`` of `parser`.
    read : callable
        ``read(description, file, problems, most=None)`` yields the records of a raw file, as
        :class:`RawTable`.
    keys : tuple of str
        The keys that `parser` may have, in addition to ``kind`` and ``fields``.
    naming : str
        Where the names of fields come from: `BY_LINE`, `BY_FILE` or `BY_NUMBER`.
    suffixes : tuple of str
        Endings of the names of files of this kind, in lower case.
    has_content : callable, optional
        ``has_content(path)`` returns whether the content of a file is of this kind.
    is_distinct : bool
        Whether `has_content` is reliable for every file. If not, it is only used for files for
        prediction of a model whose training files were of this kind.
    sniff : callable, optional
        ``sniff(path, header, sheet)`` returns the :class:`Format` of a table.
    open : callable, optional
        ``open(wanted, path, layout)`` opens a file for prediction, and finds its columns. By
        default, such a file is read as text.
    read_lines : callable, optional
        ``read_lines(description, source, numbered, problems)`` reads numbered lines, in a kind of
        text files without names of fields.
    package : str, optional
        Import name of the optional package that `read` needs (:mod:`privcurve.extras`).
    has_files : bool
        Whether the records are in raw files; False if a function generates or loads them.
    has_labels : bool
        Whether the labels of a file are in a second file.
    unit : str
        The word for the number of a record in messages: ``line`` or ``row``.
    cell_bytes : float
        Bytes of memory for each cell during reading, for kinds that read a file as one piece.
    """

    name: str
    read: Callable[..., Iterator[RawTable]]
    keys: tuple[str, ...] = ()
    naming: str = BY_FILE
    suffixes: tuple[str, ...] = ()
    has_content: Callable[[Path], bool] | None = None
    is_distinct: bool = False
    sniff: Callable[[Path, bool, str], Format] | None = None
    open: Callable[[Unlabelled, Path, Layout], UnlabelledFile] | None = None
    read_lines: Callable[..., Iterator[RawTable]] | None = None
    package: str | None = None
    has_files: bool = True
    has_labels: bool = False
    unit: str = "line"
    cell_bytes: float = 0.0

    def fits(self, path: Path, trained: Parser | None = None) -> bool:
        """Return whether a file is of this kind, judged by its name or its content.

        `trained` is the parser of the training files, if the file is for prediction.
        """
        if path.suffix.lower() in self.suffixes:
            return True
        is_tried = self.is_distinct or (trained is not None and trained.kind == self.name)
        return (
            is_tried and self.has_content is not None and path.is_file() and self.has_content(path)
        )


@cache
def kinds() -> Mapping[str, FileKind]:
    """Return all kinds by name: the `KIND` of each module in this package that defines one."""
    modules = [
        import_module(f"{__package__}.{module.name}")
        for module in iter_modules(import_module(__package__).__path__)
    ]
    every = [module.KIND for module in modules if hasattr(module, "KIND")]
    return {kind.name: kind for kind in every}


def kind_names() -> list[str]:
    """Return the names of all kinds of files."""
    return list(kinds())


def file_kind_names() -> list[str]:
    """Return the names of the kinds of datasets whose records are in raw files."""
    return [kind.name for kind in kinds().values() if kind.has_files]


def find_kind(path: Path, trained: Parser | None = None) -> FileKind | None:
    """Return the kind of a file, judged by its name or content; None for a text file.

    Raises MissingPackageError if the kind needs an optional package that is not installed.
    """
    kind = next((kind for kind in kinds().values() if kind.fits(path, trained)), None)
    if kind is not None and kind.package is not None:
        extras.check(kind.package, f"kind: {kind.name}")
    return kind


@dataclass(frozen=True)
class Format:
    """The format of a table, as :func:`sniff` detects it."""

    parser: dict[str, Any]  # the content of `parser` in a description
    fields: tuple[str, ...]  # distinct names of the fields, in order
    # The names in the header of the file; names may repeat or be empty. () without a header.
    names: tuple[str, ...] = ()
    # Names of the columns that are not read because they contain lists or objects (Parquet).
    nested: tuple[str, ...] = ()
    # Names of all sheets of an Excel file, first the sheet that is read.
    sheets: tuple[str, ...] = ()

    @property
    def is_guessed(self) -> bool:
        """Whether the encoding is a guess: the file is not UTF-8, and several encodings fit."""
        return self.parser.get("encoding") in ENCODINGS[1:]


def sniff(path: Path, header: bool = True, sheet: str = "") -> Format:
    """Detect the format of a table; without a header, the fields are called column1, column2, ….

    `sheet` is the name of an Excel sheet, by default the first. Raises DatasetError if the file is
    missing or empty, or if its format cannot be detected.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DatasetError(f"{path} {what}: name the file of your table")
    if not path.stat().st_size:
        raise DatasetError(f"{path} is empty")
    try:
        kind = find_kind(path) or kinds()[DELIMITED]
        if sheet and "sheet" not in kind.keys:
            raise DatasetError(
                f"{path} is not an Excel file, so it has no sheets: leave out --sheet"
            )
        if kind.sniff is None:
            raise DatasetError(
                f"{path} is a {kind.name} file, which describe can't draft: write its description "
                "yourself"
            )
        return kind.sniff(path, header, sheet)
    except READ_ERRORS as error:
        raise DatasetError(f"{path} can't be read: {error}") from None


def name_fields(path: Path, parser: dict[str, Any], rows: list[Record], header: bool) -> Format:
    """Return the format of a table, with its `parser`, and names for all fields.

    `rows` has the first two records. With a `header`, the first record has the names; repeated or
    empty names are changed. Raises DatasetError if the first record seems to be a title.
    """
    number, first = rows[0]
    if not header:
        fields = tuple(f"column{k}" for k in range(1, len(first) + 1))
        return Format({**parser, "fields": list(fields)}, fields)
    names = tuple(name.strip() for name in first)
    n_filled, n_below = (sum(map(bool, map(str.strip, row))) for _, row in (rows[0], rows[-1]))
    if 2 * n_filled < n_below or (n_filled == 1 < n_below and names[0]):
        what = hint_of(str(path), names) or (
            f"Its first line has texts for {n_filled} of {len(names)} columns, and the next one "
            f"for {n_below}: if it is a title, delete the lines above the names of columns; "
            "otherwise name each column there."
        )
        raise DatasetError(f"{path} can't be read. {what}")
    if len(set(names)) == len(names) and all(names):
        return Format({**parser, "header": True}, names, names)
    fields = tuple(make_distinct(names))
    return Format({**parser, "skip_rows": number, "fields": list(fields)}, fields, names)


def make_distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield distinct names: a repeated name gets a number, an empty one becomes column1, …."""
    taken: set[str] = set(names)
    seen: set[str] = set()
    for k, name in enumerate(names, start=1):
        name = name or f"column{k}"
        if name in seen:
            name = next(
                new for n in range(2, len(names) + 2) if (new := f"{name}_{n}") not in taken
            )
        taken.add(name)
        seen.add(name)
        yield name
