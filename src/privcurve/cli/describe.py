"""``privcurve describe``: draft the description of a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.cli import console
from privcurve.cli.errors import CommandError, check_output
from privcurve.errors import DONE, USAGE

if TYPE_CHECKING:
    from privcurve.datasets.describing import Draft, Proposal

HELP = "draft the description of your own table: what is public about it"
EXAMPLES = """\
examples:
  privcurve describe patients.csv                # its columns
  privcurve describe patients.csv --label sick
  privcurve describe patients.parquet --label outcome --positive died --negative alive
  privcurve describe patients.csv --label grade --classes none mild severe
  privcurve describe iris.csv --label species --public   # its records are public

The draft is descriptions/<name>.yaml. Edit it, then run: privcurve check <name>
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    option = parser.add_argument
    option("file", type=Path, help="a table: CSV or similar (also .gz), Parquet, or an Excel sheet")
    option("--label", help="the column to predict; without it the columns are shown, and no more")
    option("--positive", nargs="+", default=[], help="label values of the positive class")
    option("--negative", nargs="+", default=[], help="label values of the negative class")
    option("--classes", nargs="+", default=[], help="label values, where there are more than two")
    option("--name", help="name of the dataset (default: that of the file)")
    option("--test", type=Path, help="a file of test records, in the same format")
    option(
        "--public",
        action="store_true",
        help="the records are public: copy bounds and categories from them",
    )
    option(
        "--no-header",
        action="store_true",
        help="the first line is a record; name the columns column1, column2, …",
    )
    option("--sheet", default="", help="sheet of an Excel file (default: the first)")
    option(
        "-o", "--output", type=Path, help="where to write it (default: descriptions/<name>.yaml)"
    )
    option("--force", action="store_true", help="overwrite a description")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the draft, and print a summary of the table; without a label, only list its columns."""
    from privcurve.datasets import catalogue
    from privcurve.datasets.describing import LabelChoice, draft, name_of
    from privcurve.files import replace_text

    if arguments.label is None:
        return _show_columns(arguments)
    name = name_of(arguments.file, arguments.name)
    path = arguments.output or Path(catalogue.LOCAL, f"{name}.yaml")
    check_output(path, arguments.file, arguments.test)
    # Writing to a pipe or terminal overwrites nothing, so it needs no --force.
    if path.is_file() and not arguments.force:
        raise CommandError(
            f"{path} exists already: check it with privcurve check {path.stem}, draft another with "
            "--name, or overwrite it with --force"
        )
    label = LabelChoice(arguments.label, arguments.positive, arguments.negative, arguments.classes)
    with console.show_reading(arguments, str(arguments.file)) as watch:
        result = draft(
            arguments.file,
            label,
            name=name,
            test=arguments.test,
            header=not arguments.no_header,
            sheet=arguments.sheet,
            public=arguments.public,
            watch=watch,
        )
    replace_text(path, result.text)
    place = Path(catalogue.LOCAL, f"{name}.yaml")

    def lines() -> Iterator[str]:
        yield from _describe_table(arguments.file, result)
        yield f"\nwrote {path}"
        if result.blanks:
            n = "1 line is" if result.blanks == 1 else f"{result.blanks} lines are"
            yield f'To do: {n} marked "decide" there: privcurve decide {name} asks for them.'
        move = "" if path.absolute() == place.absolute() else f"move it to {place}, and "
        yield f"Then: {move}privcurve check {name}"

    console.print_result(arguments, lines(), {"description": str(path), **_content(result)})
    return DONE


def _show_columns(arguments: argparse.Namespace) -> int:
    """Print the columns of a table, say that the label is missing, and return the exit code."""
    from privcurve.datasets.describing import profile_table, proposals
    from privcurve.datasets.errors import Problems

    problems = Problems(str(arguments.file), is_file=True)
    with console.show_reading(arguments, str(arguments.file)) as watch:
        form, profiles = profile_table(
            arguments.file, not arguments.no_header, arguments.sheet, problems, watch
        )
    for remark in problems.remarks:
        console.remark(arguments, f"privcurve: {remark}")
    columns = proposals(form, profiles)
    shares = {key: profile.missing.total() / profile.n for key, profile in profiles.items()}
    lines = chain(_list_columns(columns, shares), _list_faults(problems.messages))
    content = {"columns": list(columns), "problems": list(problems.messages)}
    console.print_result(arguments, lines, content)
    print("privcurve: say which column is to be predicted: --label <column>", file=sys.stderr)
    return USAGE


def _content(draft: Draft) -> dict[str, Any]:
    """Return the draft for JSON."""
    return {
        "dataset": draft.name,
        "n_records": draft.n_read,
        "n_undecided": draft.blanks,
        "missing": draft.missing,
        "columns": [
            {"name": name, "kind": column.kind or None} for name, column in draft.columns.items()
        ],
        "problems": list(draft.faults),
        "remarks": list(draft.remarks),
    }


def _describe_table(file: Path, draft: Draft) -> Iterator[str]:
    """Yield lines about the table, for the data owner."""
    parser = draft.format.parser
    if parser["kind"] == "delimited":
        form = f"separator {parser.get('separator', ',')!r}, {parser.get('encoding', 'UTF-8')}"
        form += " (a guess)" * draft.format.is_guessed
        if draft.decimal != ".":
            form += ", decimal comma"
        if draft.thousands:
            form += f", {draft.thousands!r} between thousands"
    else:
        form = parser["kind"]
        sheets = [repr(name) for name in draft.format.sheets]
        if len(sheets) > 1:
            form += f", the sheet {sheets[0]}; not read: {', '.join(sheets[1:])} (--sheet)"
    yield f"{file}: {draft.n_read:,} records, {len(draft.columns) + 1} columns; {form}"
    yield "The following describes the records: for their owner, not for the description.\n"
    yield from _list_columns(draft.columns, draft.shares)
    words = ", ".join(word for word in draft.missing if word)
    if words:
        yield f"\nTreated as missing, besides empty cells: {words}. Remove what has a meaning."
    yield f"\nThe label holds {draft.classes.summary}."
    if draft.classes.n_missing:
        n = draft.classes.n_missing
        yield (
            f"{n:,} record{' has' if n == 1 else 's have'} no label: remove them from the "
            "file; or, if their word is a class, name all: --classes, of two --positive --negative."
        )
    yield from (f"\nNote: {remark}." for remark in draft.remarks)
    yield from _list_faults(draft.faults)


def _list_faults(faults: Sequence[str]) -> Iterator[str]:
    if faults:
        yield "Lines that can't be read:"
        yield from (f"  {fault}" for fault in faults)


def _list_columns(columns: Mapping[str, Proposal], shares: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each column: its proposed kind, and a summary of its values."""
    width = min(max(map(len, columns)), 24)
    for name, column in columns.items():
        gaps = f"{share:.1%} missing; " if (share := shares.get(name)) else ""
        yield f"  {name:<{width}}  {column.kind or 'not used':<11}  {gaps}{column.summary}"
