"""``privcurve evaluate``: measure a model on a labelled table, by group."""

from __future__ import annotations

import argparse
import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.cli import console
from privcurve.cli.errors import PICTURES, UsageError, check_output, check_picture, check_separator
from privcurve.cli.predict import add_layout_arguments
from privcurve.numerals import amount, count

if TYPE_CHECKING:
    from privcurve.releases.evaluation import Row

HELP = "measure a model on a labelled table, by group: error, AUC, calibration, positive answers"
EXAMPLES = """\
examples:
  privcurve evaluate model.json test.csv --by sex
  privcurve evaluate model.json test.csv --by sex --csv groups.csv --picture groups.svg
  privcurve evaluate model.json test.csv --by sex --epsilon 0.5 --dataset patients

Each ± is a standard error. Without --epsilon the numbers are exact facts about the table. With it
they follow from noisy counts by group, label and answer. These are a release of the records of
--dataset, written into its budget ledger; --by must then be a column of the model.
"""

# By default, groups with fewer records are not measured, as their measures would be uncertain.
LEAST = 30
TITLES = {
    "error": "error",
    "auc": "AUC",
    "predicted": "predicted share",
    "actual": "actual share",
    "positive": "positive answers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    option = parser.add_argument
    option("model", type=Path, help="a model.json, written by privcurve release or privcurve.save")
    option("file", type=Path, help="a table that has the label too: CSV, Parquet or Excel")
    option("--by", metavar="COLUMN", help="the column of groups (default: all records alone)")
    option(
        "--least",
        type=count,
        metavar="N",
        help=f"measure no group of fewer records (default: {LEAST}); of exact numbers",
    )
    option("--csv", type=Path, metavar="FILE", help="write the table as CSV too")
    option("--picture", type=Path, metavar="FILE", help=f"draw it too ({', '.join(PICTURES)})")
    option("--epsilon", type=amount, help="release noisy counts, not exact numbers, at this price")
    option("--dataset", help="with --epsilon: whose budget pays")
    option("--labels", type=Path, metavar="FILE", help="of an idx file, the file of its labels")
    add_layout_arguments(parser)
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Measure a model, and write the table.

    With ``--epsilon``, the price is spent only after all checks.
    """
    from privcurve import extras
    from privcurve.files import replace_file, replace_text
    from privcurve.models import load
    from privcurve.releases import evaluation

    _check_options(arguments)
    epsilon = arguments.epsilon
    if arguments.picture is not None:
        extras.check("matplotlib", "a picture of an evaluation")
    model = load(arguments.model)
    if epsilon is not None and arguments.by not in (None, *model.domain.names):
        raise UsageError(
            f"--by {arguments.by} is no column of the model, so its groups are not public: with "
            f"--epsilon name one of {', '.join(model.domain.names)}"
        )
    with console.show_reading(arguments, str(arguments.file)) as watch:
        answers = evaluation.ask(
            model,
            arguments.file,
            arguments.by,
            lambda remark: console.remark(arguments, f"privcurve: {remark}"),
            watch,
            separator=arguments.separator,
            encoding=arguments.encoding,
            sheet=arguments.sheet,
            rows=arguments.rows,
            labels=arguments.labels,
        )
    if epsilon is None:
        least = LEAST if arguments.least is None else arguments.least
        rows, small = evaluation.measure(answers, least)
        fewer = f"Fewer than {least} records, not measured: {', '.join(small)}."
        notes = [fewer] if small else []
        notes.append(
            f"These numbers are exact facts about {arguments.file}, for its owner alone; --epsilon "
            "gives noisy ones."
        )
    else:
        rows, entry, ledger = evaluation.release(
            answers, arguments.model, arguments.file, arguments.dataset, arguments.by, epsilon
        )
        notes = [
            f"Noisy counts: epsilon = {epsilon:g} for {entry.price.neighbours_text}; errors are of "
            f"the noise too. Budget ledger: {ledger}, release {entry.number}."
        ]
    names = [name for name in TITLES if evaluation.is_measured(rows, name)]
    content = {
        "private": epsilon is not None,
        "groups": [row._asdict() for row in rows],
        "notes": notes,
        "by": arguments.by,
    }
    # Print first, so that a paid result is not lost if a file can't be written.
    console.print_result(arguments, _write_lines(rows, names, notes), content)
    if arguments.csv is not None:
        replace_text(arguments.csv, _write_csv(rows, names))
    if arguments.picture is not None:
        kind = arguments.picture.suffix.lower().removeprefix(".")
        figure = evaluation.draw(rows)
        replace_file(arguments.picture, lambda path: figure.savefig(path, format=kind))


def _check_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError or CommandError if options are not possible, or contradict each other."""
    check_output(arguments.csv, arguments.model, arguments.file)
    check_picture(arguments.picture, arguments.model, arguments.file)
    check_separator(arguments.separator)
    if str(arguments.file) == "-":
        raise UsageError("evaluate reads no standard input: name a file")
    if arguments.least is not None and arguments.least < 1:
        raise UsageError(f"--least must be above 0; got {arguments.least}")
    if arguments.least is not None and arguments.epsilon is not None:
        raise UsageError("--least is for exact numbers: noisy counts show all groups. Leave it out")
    if (arguments.epsilon is None) != (arguments.dataset is None):
        raise UsageError("--epsilon and --dataset belong together: noisy counts are paid for")
    if arguments.epsilon is not None and not 0 < arguments.epsilon < math.inf:
        raise UsageError(f"--epsilon must be finite and above 0; got {arguments.epsilon}")


def _write_lines(rows: Sequence[Row], names: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    from tabulate import tabulate

    cells = [
        [row.group, f"{row.n:,.0f}", *(_write_number(*getattr(row, name)) for name in names)]
        for row in rows
    ]
    header = ["group", "n", *(TITLES[name] for name in names)]
    yield tabulate(cells, header, tablefmt="simple", disable_numparse=True)
    yield ""
    yield from notes


def _write_number(value: float, error: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")


def _write_csv(rows: Sequence[Row], names: Sequence[str]) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["group", "n", *(f"{name}{end}" for name in names for end in ("", "_se"))])
    for row in rows:
        numbers = [number for name in names for number in getattr(row, name)]
        out.writerow([row.group, row.n, *("" if math.isnan(x) else f"{x:.6g}" for x in numbers)])
    return text.getvalue()
