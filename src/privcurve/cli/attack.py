"""``privcurve attack``: guess the label or the presence of one record from thousands of models."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.cli import console
from privcurve.cli.check import dataset_name
from privcurve.cli.errors import PICTURES, check_picture
from privcurve.cli.release import add_model_arguments, read_request
from privcurve.numerals import count

if TYPE_CHECKING:
    from privcurve.releases.attack import Attack

HELP = "attack models of a table: how often is one record's secret guessed right?"
EXAMPLES = """\
examples:
  privcurve attack patients --epsilon 1
  privcurve attack patients --epsilon 1 --picture attack.svg
  privcurve attack patients --epsilon 1 --made-up    # then cards of such releases cite it

Thousands of models are trained on copies of the table in which one record, the canary, is made up,
and its secret is guessed from each model. An attack can refute a guarantee, never prove it. The
result is computed from the records: it is for their owner alone. With --made-up the table is made
up too, by the description alone, so that the result is public.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("dataset", help="name of the dataset; its file is descriptions/<name>.yaml")
    add_model_arguments(parser)
    option = parser.add_argument
    option("--fits", type=count, metavar="N", help="models for each secret (default: 1000)")
    option("--made-up", action="store_true", help="attack a made-up table of the same schema")
    option("--picture", type=Path, metavar="FILE", help=f"draw it too ({', '.join(PICTURES)})")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Attack a table, and print the share of right guesses."""
    from privcurve import datasets, extras
    from privcurve.experiments.curves import CODED
    from privcurve.files import replace_file
    from privcurve.releases import attack, cited
    from privcurve.releases.errors import ReleaseError

    check_picture(arguments.picture)
    if arguments.picture is not None:
        extras.check("matplotlib", "a picture of an attack")
    arguments.dataset = dataset_name(arguments.dataset)
    description = datasets.describe(arguments.dataset)
    request = read_request(arguments).of(description)
    data = None
    if not arguments.made_up:
        if description.part_rows:
            raise ReleaseError(
                f"{description.name} is in parts (rows_per_part), and an attack needs all records "
                "in one memory. Attack a made-up table of its schema: --made-up"
            )
        folder = CODED / description.name
        with console.show_reading(arguments, request.dataset) as watch:
            if datasets.is_current(folder):
                data = datasets.read(folder)
            else:
                data = datasets.load(description.name, watch=watch)
    n_fits = attack.FITS if arguments.fits is None else arguments.fits
    with console.show_progress(arguments, "of the models trained") as progress:
        result = attack.attack(request, description, data, n_fits, progress)
    kept = cited.write(result.cited, request, description) if arguments.made_up else None
    if arguments.picture is not None:
        kind = arguments.picture.suffix.lower().removeprefix(".")
        figure = attack.draw(result)
        replace_file(arguments.picture, lambda path: figure.savefig(path, format=kind))
    content = {
        "dataset": description.name,
        "made_up": arguments.made_up,
        "right": result.right,
        "error": result.error,
        "most": result.most,
        "refuted": result.refutes,
        "n_fits": result.cited.n_fits,
        "picture": None if arguments.picture is None else str(arguments.picture),
    }
    lines = _write_lines(result, request.person, kept)
    console.print_result(arguments, lines, content)


def _write_lines(result: Attack, person: str, kept: Path | None) -> Iterator[str]:
    sentence = result.sentence()
    yield f"{sentence[0].upper()}{sentence[1:]}."
    whose = f"all records of one {person}" if person else "one record"
    yield (
        f"(epsilon = {result.epsilon:g}, delta = {result.delta:g}; the secret of {whose}, two "
        f"possibilities as likely; ± is a standard error, over {result.cited.n_fits:,} models; the "
        f"canary has {result.canary}.)"
    )
    if result.refutes:
        yield "The guarantee does not hold: please report it (SECURITY.md)."
    if kept is None:
        yield "It is computed from the records: for their owner alone."
    else:
        yield f"The table is made up, so this is public: cards of such releases cite it ({kept})."
