"""``privcurve predict``: what a model says of new records."""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from privcurve.cli.errors import CommandError

if TYPE_CHECKING:
    from privcurve.coding import Codes
    from privcurve.models.model import Model

HELP = "predict the label of each record of a table, by a model.json"
EXAMPLES = """\
examples:
  privcurve predict model.json new.csv
  privcurve predict model.json new.csv.gz --proba -o answers.csv
  zcat new.csv.gz | privcurve predict model.json - | head

The first line of the table names its columns, in any order. Columns that the model does not use
are ignored. The answer has one line for each record, in the same order; blank lines are skipped.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    option = parser.add_argument
    option("model", type=Path, help="a model.json, written by privcurve release or privcurve.save")
    option(
        "file",
        type=Path,
        help="a table: CSV or similar (also .gz), Parquet, or Excel; - for standard input",
    )
    option(
        "-o", "--output", type=Path, help="where to write the answers (default: standard output)"
    )
    option("--proba", action="store_true", help="write probabilities beside the label")
    option("--separator", help="the character between fields (default: found by the column names)")
    option("--encoding", help="encoding of a text table (default: utf-8)")


def run(arguments: argparse.Namespace) -> None:
    """Write a label for each record."""
    from privcurve.datasets import DatasetError
    from privcurve.datasets.readers.table import shown
    from privcurve.datasets.unlabelled import ENCODING, read_codes
    from privcurve.files import replace_file
    from privcurve.models import load

    output, probabilities = arguments.output, arguments.proba
    if arguments.separator is not None and len(arguments.separator) != 1:
        raise CommandError(f"--separator {arguments.separator!r} is not one character")
    if output is not None and output.is_dir():
        raise CommandError(f"{output} is a folder: name an output file")
    if output is not None and output.exists():
        for read in (arguments.model, arguments.file):
            if read.exists() and read.samefile(output):
                raise CommandError(f"{read} is an input: name another output file")
    model = load(arguments.model)
    names = [f"probability of {name}" for name in model.labels] if probabilities else []
    header = [model.domain.label.column, *names]
    if output is None:
        _check_stdout([*header, *model.labels])
    records = read_codes(
        model.domain,
        arguments.file,
        separator=arguments.separator,
        encoding=arguments.encoding or ENCODING,
        # Python has no file for a standard input that was closed.
        stdin=getattr(sys.stdin, "buffer", None),
    )
    if records.ignored:
        print(f"privcurve: ignored {shown([*map(repr, records.ignored)])}", file=sys.stderr)
    answered: Counter[str] = Counter()

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            _write(model, records.pieces, stream, header, answered)

    if output is not None:
        replace_file(output, write)
    else:
        try:
            _write(model, records.pieces, sys.stdout, header, answered)
        except DatasetError as error:
            if not answered:
                raise
            n = answered.total()
            raise DatasetError(
                f"{error}\nOnly the {n:,} records before it were answered."
            ) from None
    for remark in records.lost.remarks():
        print(f"privcurve: {remark}", file=sys.stderr)
    if len(answered) == 1 and answered.total() > 1:
        ((label, n),) = answered.items()
        more = "; --proba may tell them apart" if model.has_probabilities > probabilities else ""
        print(f"privcurve: all {n:,} answers are {label!r}{more}", file=sys.stderr)


def _write(
    model: Model, pieces: Iterable[Codes], target: TextIO, header: list[str], answered: Counter[str]
) -> None:
    """Write answers as CSV, piece after piece, and count them; nothing before there is one.

    Probabilities, to six digits, are written if the header names them.
    """
    probabilities = len(header) > 1
    if probabilities:
        model.check_probabilities()
    out = csv.writer(target, lineterminator="\n")
    written = False
    for codes in pieces:
        columns = []
        if probabilities:
            answers, chances = model.named_with_chances(codes)
            columns = [[f"{p:.6g}" for p in column] for column in chances.T]
        else:
            answers = model.named(codes)
        labels = answers.tolist()
        if not written:
            out.writerow(header)
            written = True
        out.writerows(zip(labels, *columns, strict=True))
        answered.update(labels)
    if not written:
        out.writerow(header)


def _check_stdout(texts: list[str]) -> None:
    """Refuse a standard output that the answers can't be written to, before any is."""
    if sys.stdout is None:
        raise CommandError("there is no standard output: name an output file (-o)")
    words = "".join(texts)
    try:
        words.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError as error:
        raise CommandError(
            f"standard output uses {sys.stdout.encoding}, which has no {words[error.start]!a}: "
            "write to a file (-o), which uses UTF-8, or set PYTHONIOENCODING=utf-8"
        ) from None
