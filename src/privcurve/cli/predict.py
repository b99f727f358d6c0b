"""``privcurve predict``: predict the labels of new records."""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

import numpy as np

from privcurve.cli import console
from privcurve.cli.errors import CommandError, UsageError, check_output, check_separator
from privcurve.errors import DONE, SKIPPED
from privcurve.numerals import count

if TYPE_CHECKING:
    from privcurve.datasets.coding import CodedPiece, NewRecords
    from privcurve.datasets.reading import RawTable
    from privcurve.models.model import Model

HELP = "predict the label of each record of a table, by a model.json"
EXAMPLES = """\
examples:
  privcurve predict model.json new.csv
  privcurve predict model.json new.csv.gz --id customerID --proba -o answers.csv
  privcurve predict model.json new.xlsx --sheet "May 2024" --on-error skip
  zcat new.csv.gz | privcurve predict model.json - | head

The first line of the table names its columns, in any order; otherwise the table is written as the
one that the model was trained on (without names, as LIBSVM, …). Columns that the model does not use
are ignored. The answer has one line for each record, in the same order; blank lines, and lines of
separators alone, are skipped.
Answers are in the column predicted_<label>.

A record that the model can't read ends the command before anything is written. With --on-error
skip it gets an empty answer, its line and the reason go to standard error, and the exit code is 3.
"""

STOP, SKIP = "stop", "skip"
# Answers for standard output are kept until all records are read: in memory up to this many bytes,
# then in a temporary file.
_MOST_IN_MEMORY = 2**24
_PIECE = 2**20  # number of characters to copy at a time


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
        "-o", "--output", type=Path, help="where to write the answers (default: standard output, -)"
    )
    option(
        "--id",
        action="append",
        default=[],
        metavar="COLUMN",
        dest="copied",
        help="copy this column of the table to the answers; can be repeated",
    )
    option("--proba", action="store_true", help="write probabilities beside the label")
    option(
        "--answers",
        metavar="NAME",
        help="name of the column of answers (default: predicted_<label>)",
    )
    option(
        "--on-error",
        choices=[STOP, SKIP],
        default=STOP,
        help="what to do about a record that can't be read (default: stop)",
    )
    add_layout_arguments(parser)
    console.add_arguments(parser)


def add_layout_arguments(parser: argparse.ArgumentParser) -> None:
    """Add options for the format of a table that neither the model nor the file determines."""
    option = parser.add_argument
    option("--separator", help="the character between fields (default: found by the column names)")
    option("--encoding", help="encoding of a text table (default: as trained, or utf-8)")
    option("--sheet", default="", help="sheet of an Excel file (default: as trained, or the first)")
    option(
        "--rows",
        type=count,
        default=0,
        metavar="N",
        help="how many rows of an Excel sheet are records (default: as trained, or all)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the options, write a label for each record, and return the exit code."""
    if arguments.output == Path("-"):
        arguments.output = None
    output = arguments.output
    check_separator(arguments.separator)
    if arguments.json and output is None:
        raise UsageError("--json writes to standard output: name an output file for answers (-o)")
    check_output(output, arguments.model, arguments.file)
    with console.show_reading(arguments, str(arguments.file)) as watch:
        return _predict(arguments, watch)


def _predict(arguments: argparse.Namespace, watch: Callable[[RawTable], None]) -> int:
    """Write a label for each record, and return the exit code."""
    from privcurve.datasets.coding import read_codes
    from privcurve.datasets.reading import list_names
    from privcurve.files import replace_file
    from privcurve.models import load

    output, probabilities = arguments.output, arguments.proba
    model = load(arguments.model)
    header = _make_header(arguments, model)
    if output is None:
        _check_stdout([*header, *model.labels])
    records = read_codes(
        model.domain,
        arguments.file,
        parser=model.parser,
        separator=arguments.separator,
        encoding=arguments.encoding,
        sheet=arguments.sheet,
        rows=arguments.rows,
        copied=arguments.copied,
        skip=arguments.on_error == SKIP,
        # sys.stdin is None if standard input was closed.
        stdin=getattr(sys.stdin, "buffer", None),
        watch=watch if output is not None else None,
    )
    for text in records.notes:
        console.remark(arguments, f"privcurve: {text}")
    if records.ignored:
        console.remark(arguments, f"privcurve: ignored {list_names([*map(repr, records.ignored)])}")
    if probabilities:
        model.check_probabilities()
    answers = _Answers(model, probabilities, to_stdout=output is None)

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as stream:
            answers.write(records.parts, stream, header)

    if output is not None:
        replace_file(output, write)
    elif arguments.on_error == SKIP:
        answers.write(records.parts, sys.stdout, header)
    else:
        # Keep the answers until the end: if a later record can't be read, the command fails, and
        # standard output must not get the answers to earlier records.
        with SpooledTemporaryFile(_MOST_IN_MEMORY, "w+", encoding="utf-8", newline="") as spool:
            answers.write(records.parts, spool, header)
            spool.seek(0)
            while piece := spool.read(_PIECE):
                sys.stdout.write(piece)
    return _report(arguments, answers, records)


def _make_header(arguments: argparse.Namespace, model: Model) -> list[str]:
    """Return the names of the columns of the answers; raise UsageError if two are equal."""
    name = arguments.answers or f"predicted_{model.domain.label.column}"
    names = [f"probability of {name}" for name in model.labels] if arguments.proba else []
    header = [*arguments.copied, name, *names]
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise UsageError(
            f"the answers would have two columns {twice[0]!r}: name another --id, or the column "
            "of answers by --answers"
        )
    return header


def _report(arguments: argparse.Namespace, answers: _Answers, records: NewRecords) -> int:
    """Print remarks on the answers and the result, and return the exit code."""
    remarks, counts, n = list(records.remarks), answers.counts, answers.counts.total()
    if len(counts) == 1 and n > 1:
        (label,) = counts
        more = answers.model.has_probabilities > answers.probabilities
        remarks.append(f"all {n:,} answers are {label!r}" + "; --proba may tell them apart" * more)
    for text in remarks:
        console.remark(arguments, f"privcurve: {text}")
    n_records = n + answers.n_skipped
    if answers.n_skipped:
        fault = f"{answers.n_skipped:,} of {n_records:,} records have no answer"
        print(f"privcurve: {fault}", file=sys.stderr)
    content = {
        "answers": str(arguments.output),
        "n_records": n_records,
        "n_skipped": answers.n_skipped,
        "labels": {str(label): counts[label] for label in answers.model.labels},
        "ignored": list(records.ignored),
        "remarks": [*records.notes, *remarks],
    }
    console.print_result(arguments, (), content)
    return SKIPPED if answers.n_skipped else DONE


class _Answers:
    """Writes answers as CSV, and counts the answers of each label and the skipped records."""

    def __init__(self, model: Model, probabilities: bool, to_stdout: bool) -> None:
        self.model, self.probabilities, self.to_stdout = model, probabilities, to_stdout
        self.counts: Counter[str] = Counter()
        self.n_skipped = 0

    def write(self, parts: Iterable[CodedPiece], target: IO[str], header: list[str]) -> None:
        """Write header and answers; print the reasons for skipped records.

        Nothing is written before the first part is read, as reading may raise an error.
        Probabilities have six digits.
        """
        out = csv.writer(target, lineterminator="\n")
        first = [header]
        for part in parts:
            columns = self._answer(part)
            for texts in part.copied if self.to_stdout else ():
                _check_stdout(texts)
            out.writerows([*first, *zip(*part.copied, *columns, strict=True)])
            first = []
            for _, reasons in part.skipped:
                self.n_skipped += 1
                for reason in reasons:
                    print(f"privcurve: {reason}", file=sys.stderr)
        out.writerows(first)

    def _answer(self, part: CodedPiece) -> list[list[str]]:
        """Return the columns of labels and probabilities as texts, "" for skipped records."""
        columns: list[list[str]] = [
            [] for _ in range(1 + self.probabilities * len(self.model.labels))
        ]
        if len(part.codes):
            if self.probabilities:
                answers, chances = self.model.predict_with_probabilities(part.codes)
                columns[1:] = [[f"{p:.6g}" for p in column] for column in chances.T]
            else:
                answers = self.model.predict_names(part.codes)
            columns[0] = answers.tolist()
            self.counts.update(columns[0])
        if part.skipped:
            places = np.cumsum(part.answered) - 1
            columns = [
                [column[k] if has else "" for k, has in zip(places, part.answered, strict=True)]
                for column in columns
            ]
        return columns


def _check_stdout(texts: list[str]) -> None:
    """Raise CommandError if standard output can't encode the texts."""
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
