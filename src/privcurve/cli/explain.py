"""``privcurve explain``: the effect of each column on a model's score."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.cli import console
from privcurve.cli.errors import PICTURES, UsageError, check_picture
from privcurve.numerals import count

HELP = "explain a model.json: the importance and the effect of each column"
EXAMPLES = """\
examples:
  privcurve explain model.json
  privcurve explain model.json --columns 3 --picture shapes.svg

Importances and shapes follow from the released model: they reveal no more about any record than
the model does.
"""

COLUMNS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    option = parser.add_argument
    option("model", type=Path, help="a model.json, written by privcurve release or privcurve.save")
    option(
        "--columns",
        type=count,
        default=COLUMNS,
        metavar="N",
        help=f"how many columns, the most important first (default: {COLUMNS})",
    )
    option("--picture", type=Path, metavar="FILE", help=f"draw them too ({', '.join(PICTURES)})")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the explanation of a model; with ``--picture``, draw it, too."""
    from privcurve.files import replace_file
    from privcurve.models import load

    picture, most = arguments.picture, arguments.columns
    if most < 0:
        raise UsageError(f"--columns must be at least 0; got {most}")
    check_picture(picture, arguments.model)
    explanation = load(arguments.model).explain()
    content = {
        "importances": explanation.importances,
        "is_sum": explanation.is_sum,
        "constant": explanation.constant.tolist(),
        "columns": [
            {
                "name": shape.column.name,
                "bins": list(shape.titles),
                "values": shape.values.tolist(),
                "errors": None if shape.errors is None else shape.errors.tolist(),
                "people": None if shape.people is None else shape.people.tolist(),
            }
            for shape in explanation.used[:most]
        ],
        "picture": None if picture is None else str(picture),
    }
    if picture is not None:
        figure = explanation.plot(most)[0].figure
        kind = picture.suffix.lower().removeprefix(".")
        replace_file(picture, lambda path: figure.savefig(path, format=kind))
    console.print_result(arguments, explanation.lines(most), content)
