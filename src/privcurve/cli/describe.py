"""``privcurve describe``: a draft of the description of a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.cli.errors import CommandError

if TYPE_CHECKING:
    from privcurve.datasets.drafts import Draft

HELP = "draft the description of a table of your own: what is public about it"
EXAMPLES = """\
examples:
  privcurve describe patients.csv --label sick
  privcurve describe patients.parquet --label outcome --positive died --negative alive
  privcurve describe iris2.csv --label species --public   # its records are public

The draft is descriptions/<name>.yaml; edit it, and go on with: privcurve check <name>
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "file", type=Path, help="a table: CSV and its like (.gz too), Parquet, or an Excel sheet"
    )
    parser.add_argument("--label", required=True, help="the column that is to be predicted")
    parser.add_argument("--positive", nargs="+", default=[], help="its values of positive records")
    parser.add_argument("--negative", nargs="+", default=[], help="its values of negative records")
    parser.add_argument("--name", help="of the dataset; by default that of the file")
    parser.add_argument("--test", type=Path, help="a file of records to test by, written alike")
    parser.add_argument(
        "--public",
        action="store_true",
        help="the records are public: copy bounds and categories from them",
    )
    parser.add_argument(
        "--no-header", action="store_true", help="the first line is a record: column1, column2, …"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="where to write it (descriptions/<name>.yaml)"
    )
    parser.add_argument("--force", action="store_true", help="write over a description")


def run(arguments: argparse.Namespace) -> None:
    """Write the draft, and show what was seen."""
    from privcurve.datasets import catalogue
    from privcurve.datasets.drafts import draft
    from privcurve.datasets.drafts.draft import name_of
    from privcurve.datasets.drafts.label import LabelChoice
    from privcurve.files import replace_text

    name = name_of(arguments.file, arguments.name)
    path = arguments.output or Path(catalogue.LOCAL, f"{name}.yaml")
    for read in filter(None, (arguments.file, arguments.test)):
        if read.exists() and path.exists() and read.samefile(path):
            raise CommandError(f"{read} is read: name another file to write")
    # To a pipe or a terminal it is written as it is.
    if (path.is_file() or path.is_dir()) and not arguments.force:
        raise CommandError(
            f"{path} is there already: check it by privcurve check {path.stem}, draft another by "
            "--name, or write over it by --force"
        )
    result = draft(
        arguments.file,
        LabelChoice(arguments.label, arguments.positive, arguments.negative),
        name=name,
        test=arguments.test,
        header=not arguments.no_header,
        public=arguments.public,
    )
    replace_text(path, result.text)
    print("\n".join(_seen(arguments.file, result)))
    print(f"\nwrote {path}")
    if result.blanks:
        lines = "1 line is" if result.blanks == 1 else f"{result.blanks} lines are"
        print(f'To do: {lines} marked "decide" there.')
    there = Path(catalogue.LOCAL, f"{name}.yaml")
    move = "" if path.absolute() == there.absolute() else f"put it at {there}, and "
    print(f"Then: {move}privcurve check {name}")


def _seen(file: Path, draft: Draft) -> Iterator[str]:
    """Say what was seen, for the holder of the records."""
    how = draft.format.parser
    if how["kind"] == "delimited":
        written = f"separator {how.get('separator', ',')!r}, {how.get('encoding', 'UTF-8')}"
        if draft.decimal != ".":
            written += ", decimal comma"
    else:
        written = how["kind"]
        sheets = [repr(name) for name in draft.format.sheets]
        if len(sheets) > 1:
            written += f", the sheet {sheets[0]}; not read: {', '.join(sheets[1:])} (parser: sheet)"
    yield f"{file}: {draft.n_read:,} records, {len(draft.columns) + 1} columns; {written}"
    yield "What follows is of the records: for their holder's eyes, not for the description.\n"
    width = min(max(map(len, draft.columns)), 24)
    for name, column in draft.columns.items():
        gaps = f"{share:.1%} missing; " if (share := draft.shares[name]) else ""
        yield f"  {name:<{width}}  {column.kind or 'not used':<11}  {gaps}{column.seen}"
    words = ", ".join(word for word in draft.missing if word)
    if words:
        yield f"\nTaken for missing, beside nothing at all: {words}. Strike what means something."
    yield f"\nThe label holds {draft.classes.seen}."
    if draft.classes.n_missing:
        n = draft.classes.n_missing
        yield (
            f"{n:,} record{' has' if n == 1 else 's have'} no label: leave such out of the file, "
            "or list their word as a value of the label."
        )
    if draft.faults:
        yield "Lines that can't be read:"
        yield from (f"  {fault}" for fault in draft.faults)
