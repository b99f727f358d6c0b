"""Draft a description of a table, with blanks for what its owner has to decide."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from privcurve.datasets import catalogue, reading
from privcurve.datasets.describing.columns import Proposal, propose
from privcurve.datasets.describing.header import check_names
from privcurve.datasets.describing.label import LabelChoice, find_classes
from privcurve.datasets.describing.profile import OTHER, Profile, empty_profiles
from privcurve.datasets.describing.text import Draft
from privcurve.datasets.description import DELIMITED, Description, LabelSpec, Parser
from privcurve.datasets.domain import CATEGORICAL, Column, Domain, Label
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import Format, RawFile, RawTable, sniff
from privcurve.schema import suggestion


def draft(
    path: Path,
    label: LabelChoice,
    *,
    name: str | None = None,
    test: Path | None = None,
    header: bool = True,
    sheet: str = "",
    public: bool = False,
    watch: Callable[[RawTable], None] | None = None,
) -> Draft:
    """Read a table once, and draft its description.

    Parameters
    ----------
    path : Path
    label : LabelChoice
    name : str, optional
        The name of the dataset; by default the name of the file.
    test : Path, optional
        A file of test records in the same format.
    header : bool
        Whether the first line names the columns.
    sheet : str
        The sheet of an Excel file, by default the first.
    public : bool
        Whether the file is public, so that bounds and categories may be copied from it. Otherwise
        they are left blank, unless they follow from a convention, such as yes and no.
    watch : callable, optional
        Called with each piece of records as it is read.

    Returns
    -------
    Draft

    Raises
    ------
    DatasetError
        If the table can't be read, or if the label does not have valid classes.
    """
    name = name_of(path, name)
    problems = Problems(name)
    form, profiles = profile_table(path, header, sheet, problems, watch)
    if label.column in form.nested:
        raise DatasetError(
            f"the label {label.column!r} must have one value per record; it holds lists or objects"
        )
    if label.column not in form.fields:
        by_line = header and reading.kinds()[form.parser["kind"]].naming == reading.BY_LINE
        remedy = " Its first line must name them." if by_line else ""
        raise DatasetError(
            f"{path} has no column {label.column!r}{suggestion(label.column, form.fields)} Its "
            f"columns: {reading.list_names(form.fields)}.{remedy}"
        )
    if len(form.fields) < 2:
        raise DatasetError(f"{path} must have a column in addition to the label {label.column!r}")
    label_profile = profiles.pop(label.column)
    try:
        classes = find_classes(label, label_profile, public)
    except DatasetError as error:
        if not problems.n_unread:
            raise
        first = " ".join(problems.messages[:1])
        raise DatasetError(
            f"{str(error).rstrip('.')}. Of {path} {problems.n_unread:,} lines can't be read: "
            f"{first}"
        ) from None
    decimal, thousands = _find_marks(form, profiles)
    columns = proposals(form, profiles, public)
    if not any(column.kind for column in columns.values()):
        raise DatasetError(
            f"{path} must have a column to learn from; each is empty or an identifier"
        )
    parts = {"train": path} | ({} if test is None else {"test": test})
    n_rows = label_profile.n + problems.n_unread
    return Draft(
        name=name,
        format=form,
        decimal=decimal,
        thousands=thousands,
        # Sort the words: the order in which they occur in the table would reveal something about
        # records.
        missing=["", *sorted({word for p in profiles.values() for word in p.missing if word})],
        files={part: _relative_path(file) for part, file in parts.items()},
        n_rows=n_rows,
        n_test=0 if test is None else _count_test_records(test, header, form, problems),
        columns=columns,
        shares=dict.fromkeys(form.nested, 0.0)
        | {key: profile.missing.total() / profile.n for key, profile in profiles.items()},
        label=label.column,
        classes=classes,
        public=public,
        n_read=label_profile.n,
        faults=problems.messages,
        remarks=problems.remarks,
    )


def profile_table(
    path: Path,
    header: bool,
    sheet: str,
    problems: Problems,
    watch: Callable[[RawTable], None] | None = None,
) -> tuple[Format, dict[str, Profile]]:
    """Return the format of a table and the profiles of its columns.

    Raises DatasetError if the table has no records, or if the names of its columns look like a
    record.
    """
    form = sniff(path, header, sheet)
    if not form.fields:
        raise DatasetError(f"{path} must have a column of single values; it has none")
    profiles = read(path, form, problems, watch)
    if not next(iter(profiles.values())).n:
        raise DatasetError(f"{path} holds no records" + (" that can be read" * problems.any))
    check_names(path, form, profiles)
    decimal, _ = _find_marks(form, profiles)
    if form.parser["kind"] != DELIMITED and decimal != ".":
        # This table has numbers in cells of text, with a decimal comma. But `read` converted the
        # cells of numbers to texts with a decimal point: read all cells again, with a comma.
        profiles = read(path, form, Problems(path.name), decimal=decimal)
    return form, profiles


def proposals(
    form: Format, profiles: Mapping[str, Profile], public: bool = False
) -> dict[str, Proposal]:
    """Propose a description for each column of the table; columns of lists are left out."""
    marks = _find_marks(form, profiles)
    columns = {key: propose(key, profile, *marks, public) for key, profile in profiles.items()}
    return columns | dict.fromkeys(
        form.nested, Proposal("", summary="lists or objects: not supported")
    )


def name_of(path: Path, name: str | None = None) -> str:
    """Return the name of a dataset, by default the name of its file.

    Raises DatasetError if the name is invalid, or if another dataset has this name.
    """
    if name is not None:
        if not catalogue.NAME.fullmatch(name):
            raise DatasetError(f"--name {name!r}: {catalogue.NAMED}")
    else:
        stem = path.name.removesuffix(path.suffix) if path.suffix == ".gz" else path.name
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(stem).stem).strip("-")
        if not catalogue.NAME.fullmatch(name):
            raise DatasetError(f"{path} does not yield a name for the dataset: name it with --name")
    for folder in catalogue.folders():
        if folder.name != catalogue.LOCAL and (folder / f"{name}.yaml").is_file():
            raise DatasetError(
                f"another dataset is called {name!r}, {folder / name}.yaml: choose another "
                f"name, such as --name my-{name}"
            )
    return name


def read(
    path: Path,
    form: Format,
    problems: Problems,
    watch: Callable[[RawTable], None] | None = None,
    decimal: str = ".",
) -> dict[str, Profile]:
    """Read a table, and return the profiles of its columns, by name.

    `decimal` is the decimal mark for cells that contain numbers; `watch` is called with each piece.
    """
    profiles = empty_profiles(form.fields)
    description = _describe_as_texts(path, form, decimal)
    try:
        for table in reading.read(description, RawFile(path), problems):
            for name, profile in profiles.items():
                profile.add(table.columns[name])
            if watch is not None:
                watch(table)
            if problems.full:
                break
    except DatasetError as error:
        # Remove advice on how to change the description: there is none yet.
        message = re.split(r" (?:Correct parser|Leave it out of)", str(error))[0]
        raise DatasetError(message.removeprefix(f"dataset {path.name!r}: ")) from None
    return profiles


def _count_test_records(path: Path, header: bool, training: Format, problems: Problems) -> int:
    """Return the number of records in a file of test records.

    Raises DatasetError if the file has another format than `training`, or no records.
    """
    form = sniff(path, header, training.parser.get("sheet", ""))
    keys: dict[str, Any] = {"kind": DELIMITED, "separator": ","}
    if "fields" in training.parser:
        # Columns are found by position, and the same number of lines is skipped in both files. If
        # the test file needed another number, its first records would be lost, or a line of names
        # would be read as a record. So compare the numbers (0 by default).
        keys["skip_rows"] = 0
    if not reading.is_plain_text(path):
        keys["encoding"] = reading.ENCODINGS[0]
    for key, plain in keys.items():
        values = [table.parser.get(key, plain) for table in (form, training)]
        if values[0] != values[1]:
            raise DatasetError(
                f"{path} must have the format of the training records: {key} must be "
                f"{values[1]!r}; got {values[0]!r}. Write the test records in this format."
            )
    if lacking := [name for name in training.fields if name not in form.fields]:
        raise DatasetError(
            f"{path} must have the column {lacking[0]!r}. Test records need the columns of the "
            "training records, and a first line that names them."
        )
    n_unread = problems.n_unread
    profiles = read(path, training, problems)
    if n := next(iter(profiles.values())).n + problems.n_unread - n_unread:
        return n
    raise DatasetError(f"{path} must hold test records; it has none")


def _describe_as_texts(path: Path, form: Format, decimal: str) -> Description:
    """Return a description of a table that reads all its fields as texts."""
    parser = Parser(**{**form.parser, "fields": tuple(form.parser.get("fields", ()))})
    label, *others = form.fields
    columns = tuple(Column(name, CATEGORICAL) for name in others)
    return Description(
        name=path.name,
        path=Path(f"{catalogue.LOCAL}/{path.stem}.yaml"),
        parser=parser,
        domain=Domain(columns, Label(label), missing=("",), decimal=decimal),
        label=LabelSpec(label),
    )


def _find_marks(form: Format, profiles: Mapping[str, Profile]) -> tuple[str, str]:
    """Return the decimal mark and the thousands mark that make the most columns numeric.

    The thousands mark is "" if no column needs a thousands mark to be numeric. It is also "" if
    both marks together make fewer columns of a text file numeric than the decimal mark alone.
    """

    def count(some: Iterable[Profile], decimal: str, thousands: str = "") -> int:
        return sum(profile.is_mostly(profile.amounts(decimal, thousands)) for profile in some)

    columns = profiles.values()
    separator = form.parser.get("separator", ",")
    is_comma = separator != "," and count(columns, ",") > count(columns, ".")
    plain = "," if is_comma else "."
    others = [c for c in columns if not any(count([c], decimal) for decimal in OTHER)]
    n_plain = count(columns, plain) if form.parser["kind"] == DELIMITED else 0
    n_more = {
        decimal: count(others, decimal, other) * (count(columns, decimal, other) >= n_plain)
        for decimal, other in OTHER.items()
    }
    decimal = max(n_more, key=lambda sign: (n_more[sign], sign == plain))
    return (decimal, OTHER[decimal]) if n_more[decimal] else (plain, "")


def _relative_path(path: Path) -> str:
    """Return a path relative to the working folder if the file is in it, else the absolute path."""
    relative = os.path.relpath(path)
    return path.absolute().as_posix() if relative.startswith("..") else Path(relative).as_posix()
