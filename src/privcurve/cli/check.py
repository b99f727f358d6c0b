"""``privcurve check``: report all problems of a description and its file at once."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.cli import console
from privcurve.cli.errors import CommandError
from privcurve.errors import DONE, FAILED, UNDECIDED

if TYPE_CHECKING:
    from privcurve.datasets.describing import Report, Tally

HELP = "check a description and its file; show each problem with its line and what to do"
EXAMPLES = """\
examples:
  privcurve check patients
  privcurve check descriptions/patients.yaml
"""

# The output marks a column's share of clipped, `other` or missing values with "!" if the share is
# above this number.
_NOTED = {"clipped": 0.05, "other": 0.5, "missing": 0.5}
# Maximum number of columns that the output names as having most of their values in one bin.
_NAMED = 5
# Maximum number of columns in the table of shares; further columns are shown only if marked "!".
MOST_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("name", help="name of the dataset; its file is descriptions/<name>.yaml")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check a dataset; print shares of each column and all problems; return the exit code."""
    from privcurve.datasets.describing import check
    from privcurve.files import display_path

    name = dataset_name(arguments.name)
    with console.show_reading(arguments, name) as watch:
        report = check(name, watch)
    where = display_path(report.path)
    lines = [*_write_shares(report), ""] if report.tallies else []
    lines += [f"note: {where}, line {note.line}: {note.message}" for note in report.remarks]
    if report.is_ready:
        lines.append(f"ready: privcurve {'compare' if report.can_compare else 'release'} {name}")
    console.print_result(arguments, lines, _content(report))
    if report.is_ready:
        return DONE
    n = len(report.faults)
    faults = "\n".join(f"  line {fault.line}: {fault.message}" for fault in report.faults)
    print(f"privcurve: {where}: {n} problem{'s' * (n > 1)}\n{faults}", file=sys.stderr)
    if report.n_blanks:
        console.remark(arguments, f"privcurve decide {name} asks for what is blank.")
    return UNDECIDED if report.n_blanks else FAILED


def _content(report: Report) -> dict[str, Any]:
    """Return the report as JSON."""
    return {
        "dataset": report.name,
        "file": str(report.path),
        "ready": report.is_ready,
        "n_undecided": report.n_blanks,
        "n_records": report.n_rows,
        "problems": [fault._asdict() for fault in report.faults],
        "remarks": [remark._asdict() for remark in report.remarks],
        "columns": [
            {
                "name": tally.column.name,
                "codes": tally.column.n_bins,
                "clipped": tally.counts.clipped,
                "other": tally.counts.other,
                "missing": tally.counts.missing,
            }
            for tally in report.tallies
        ],
    }


def dataset_name(text: str) -> str:
    """Return the name of a dataset; `text` is the name, or the path of its description.

    Raises CommandError if the path is no description in one of the folders of descriptions.
    """
    from privcurve import schema
    from privcurve.datasets import catalogue

    path = Path(text)
    if path in schema.misnamed_files(path.parent):
        raise CommandError(schema.explain_ending(path, path.parent))
    if path.suffix != schema.ENDING and path.name == text:
        return text
    if path.suffix != schema.ENDING:
        raise CommandError(
            f"{text} is not the name of a dataset: give <name>, of {catalogue.LOCAL}/<name>.yaml"
        )
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    if path.resolve().parent not in [folder.resolve() for folder in catalogue.folders()]:
        raise CommandError(
            f"{path} is not in {Path.cwd() / catalogue.LOCAL}: file paths in a "
            "description are relative to the folder above descriptions/. Go to its folder (cd), or "
            "move it there"
        )
    return path.stem


def _write_shares(report: Report) -> Iterator[str]:
    yield f"{report.name}: {report.n_rows:,} records. Their shares are for their owner only."
    yield ""
    width = min(max(len(tally.column.name) for tally in report.tallies), 24)
    lines = [
        f"  {tally.column.name:<{width}}  {tally.column.n_bins:>6}  {'  '.join(_cell_texts(tally))}"
        for tally in report.tallies
        if tally.counts.clipped or tally.counts.other or tally.counts.missing
    ]
    shown = [line for k, line in enumerate(lines) if k < MOST_SHOWN or "!" in line]
    if shown:
        yield f"  {'column':<{width}}   codes  clipped    other  missing"
        yield from map(str.rstrip, shown)
    if n_left := len(report.tallies) - len(shown):
        more = f"… and {n_left} more" if shown else f"{n_left}"
        word = "no" if shown == lines else "few"
        yield f"  {more} column{'s' * (n_left > 1)} with {word} clipped, other or missing values"
    yield from _name_crowded(report)


def _name_crowded(report: Report) -> Iterator[str]:
    """Yield lines that name the columns with most values in one bin, and propose other bins."""
    from privcurve.datasets.describing import propose_bins

    crowded = [(tally.column, tally.crowded_bin) for tally in report.tallies if tally.crowded_bin]
    if not crowded:
        return
    yield ""
    yield "  More than half of the values in one bin, which does not tell them apart:"
    for column, (code, share) in crowded[:_NAMED]:
        yield f"    {column.bin_names[code]}: {share:.1%}. {propose_bins(column)}"
    if len(crowded) > _NAMED:
        yield f"    … and {len(crowded) - _NAMED} more columns"
    yield "  The proposal follows from the public bounds alone. It can win back what privcurve"
    yield "  compare calls lost by coding."


def _cell_texts(tally: Tally) -> Iterator[str]:
    numeric = tally.column.bounds is not None
    for key, count, applies in (
        ("clipped", tally.counts.clipped, numeric),
        ("other", tally.counts.other, not numeric),
        ("missing", tally.counts.missing, True),
    ):
        share = tally.counts.share(count)
        mark = "!" if share > _NOTED[key] else " "
        yield f"{share:>6.1%}{mark}" if applies else f"{'–':>6} "
