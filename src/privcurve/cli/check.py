"""``privcurve check``: what is wrong with a description, all at once."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.cli.errors import CommandError

if TYPE_CHECKING:
    from privcurve.datasets.drafts import Report
    from privcurve.datasets.drafts.check import Tally

HELP = "check a description and its file: each problem with its line and what to do"
EXAMPLES = """\
examples:
  privcurve check patients
  privcurve check descriptions/patients.yaml
"""

# Worth a second look: what is clipped or other tells nothing apart.
_NOTED = {"clipped": 0.05, "other": 0.5, "missing": 0.5}
# So many columns are named of which all values are in one bin.
_NAMED = 5
# Of more columns only those with such a share have a line.
MOST_SHOWN = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("name", help="of the dataset: its file is descriptions/<name>.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Check, and show what was found."""
    from privcurve.datasets.drafts import check
    from privcurve.files import shown

    name = dataset_name(arguments.name)
    report = check(name)
    where = shown(report.path)
    if report.tallies:
        print("\n".join(_shares(report)))
        print()
    if report.ready:
        print(f"ready: privcurve compare {name} --epsilon 0.5 1 2")
        return 0
    n = len(report.faults)
    told = "\n".join(f"  line {fault.line}: {fault.message}" for fault in report.faults)
    raise CommandError(f"{where}: {n} problem{'s' * (n > 1)}\n{told}")


def dataset_name(given: str) -> str:
    """Return the name of a dataset that is given by name or by the file of its description."""
    from privcurve import schema
    from privcurve.datasets import catalogue

    path = Path(given)
    if path in schema.strays(path.parent):
        raise CommandError(schema.misnamed(path, path.parent))
    if path.suffix != schema.ENDING and path.name == given:
        return given
    if path.suffix != schema.ENDING:
        raise CommandError(
            f"{given} is no name of a dataset: say privcurve check <name>, of "
            f"{catalogue.LOCAL}/<name>.yaml"
        )
    if not path.is_file():
        raise CommandError(f"there is no file {path}")
    if path.resolve().parent not in [folder.resolve() for folder in catalogue.folders()]:
        raise CommandError(
            f"{path} is not in {Path.cwd() / catalogue.LOCAL}: paths of files are from the folder "
            "above descriptions/. Go there (cd), or put it there"
        )
    return path.stem


def _shares(report: Report) -> Iterator[str]:
    yield f"{report.name}: {report.n_rows:,} records. Shares are of them: for their holder."
    yield ""
    width = min(max(len(tally.column.name) for tally in report.tallies), 24)
    yield f"  {'column':<{width}}   codes  clipped    other  missing"
    left = 0
    for k, tally in enumerate(report.tallies):
        cells = "  ".join(_cells(tally)).rstrip()
        if k >= MOST_SHOWN and "!" not in cells:
            left += 1
            continue
        yield f"  {tally.column.name:<{width}}  {tally.column.n_bins:>6}  {cells}"
    if left:
        yield f"  … and {left} columns more, of which little is clipped, other or missing"
    alike = [tally.column.name for tally in report.tallies if tally.in_one_bin]
    if alike and report.ready:
        named = ", ".join(map(repr, alike[:_NAMED]))
        more = f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
        yield ""
        yield f"  All values in one bin, which tell nothing apart: {named}{more}."
        yield "  Are their bounds in the unit of the file?"


def _cells(tally: Tally) -> Iterator[str]:
    numeric = tally.column.bounds is not None
    for key, count, meant in (
        ("clipped", tally.clipped, numeric),
        ("other", tally.other, not numeric),
        ("missing", tally.missing, True),
    ):
        share = tally.share(count)
        mark = "!" if share > _NOTED[key] else " "
        yield f"{share:>6.1%}{mark}" if meant else f"{'–':>6} "
