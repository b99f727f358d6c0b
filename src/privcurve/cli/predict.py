"""``privcurve predict``: what a model says of new records."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.cli.errors import CommandError

if TYPE_CHECKING:
    from privcurve.models.model import Model

HELP = "predict the label of each record of a table, by a model.json"
EXAMPLES = """\
examples:
  privcurve predict model.json new.csv
  privcurve predict model.json new.csv.gz --proba -o answers.csv
  zcat new.csv.gz | privcurve predict model.json - | head

The first line of the table names its columns, in any order; others than those of the model are
left out. The answer has a line for each record, in their order; blank lines are none.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("model", type=Path, help="a model.json, of privcurve release or save")
    parser.add_argument(
        "file",
        type=Path,
        help="a table: CSV and its like (.gz too), Parquet, an Excel sheet; - for standard input",
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="where to write the answer (standard output)"
    )
    parser.add_argument("--proba", action="store_true", help="probabilities beside the label")
    parser.add_argument("--separator", help="of fields; found out by the names of columns")
    parser.add_argument("--encoding", help="of a table of text (utf-8)")


def run(arguments: argparse.Namespace) -> None:
    """Write a label for each record."""
    from privcurve.datasets import DatasetError
    from privcurve.datasets.readers.table import shown
    from privcurve.datasets.unlabelled import ENCODING, read_codes
    from privcurve.files import replace_file
    from privcurve.models import load
    from privcurve.models.answers import write_answers

    if arguments.separator is not None and len(arguments.separator) != 1:
        raise CommandError(f"--separator {arguments.separator!r} is not one character")
    if arguments.output is not None and arguments.output.is_dir():
        raise CommandError(f"{arguments.output} is a folder: name the file to write")
    if arguments.output is not None and arguments.output.exists():
        for read in (arguments.model, arguments.file):
            if read.exists() and read.samefile(arguments.output):
                raise CommandError(f"{read} is read: name another file to write")
    model = load(arguments.model)
    if arguments.output is None:
        _check_stdout(model, arguments.proba)
    records = read_codes(
        model.domain,
        arguments.file,
        separator=arguments.separator,
        encoding=arguments.encoding or ENCODING,
        # Python has no file for a standard input that was closed.
        stdin=getattr(sys.stdin, "buffer", None),
    )
    if records.ignored:
        print(f"privcurve: left out {shown([*map(repr, records.ignored)])}", file=sys.stderr)
    answered: Counter[str] = Counter()

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            write_answers(model, records.pieces, stream, arguments.proba, answered)

    if arguments.output is None:
        try:
            write_answers(model, records.pieces, sys.stdout, arguments.proba, answered)
        except DatasetError as error:
            if not answered:
                raise
            n = answered.total()
            raise DatasetError(
                f"{error}\nThe {n:,} records before were answered, no more."
            ) from None
    else:
        replace_file(arguments.output, write)
    for remark in records.lost.remarks():
        print(f"privcurve: {remark}", file=sys.stderr)
    if len(answered) == 1 and answered.total() > 1:
        ((label, n),) = answered.items()
        more = "; --proba may tell them apart" if model.has_probabilities > arguments.proba else ""
        print(f"privcurve: all {n:,} answers are {label!r}{more}", file=sys.stderr)


def _check_stdout(model: Model, probabilities: bool) -> None:
    """Refuse a standard output that the answers can't be written to, before any is."""
    from privcurve.models.answers import names

    if sys.stdout is None:
        raise CommandError("there is no standard output: name a file to write (-o)")
    words = "".join([*names(model, probabilities), *model.labels])
    try:
        words.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError as error:
        raise CommandError(
            f"standard output is written in {sys.stdout.encoding}, which has no "
            f"{words[error.start]!a}: name a file to write (-o), which is in UTF-8, or set "
            "PYTHONIOENCODING=utf-8"
        ) from None
