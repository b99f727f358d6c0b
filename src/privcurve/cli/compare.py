"""``privcurve compare``: which certified learner to take, and what the privacy costs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privcurve.workflow.comparison import Comparison

HELP = "which private classifier to take at an ε, and what the privacy costs"
EXAMPLES = """\
examples:
  privcurve compare patients --epsilon 0.5 1 2
  privcurve compare patients --epsilon 1 --delta 1e-6 --tune

Each certified learner is trained at one setting that is public, on ten random parts of the
records, and scored on the others. It ends in a sentence, a table and a page.
"""
LOOKED = """\
This comparison has looked at the records: its numbers are exact statistics of them, and ε covers
none of them. Keep them to those who may see the records. A model of the learner that came out
first has its ε only if the choice is counted as public. If that is too much, choose before looking
(PrivGAM, the default of release, needs no setting), or compare on public data that are alike.\
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("dataset", help="name of a description: descriptions/<name>.yaml")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0], metavar="ε")
    parser.add_argument("--delta", type=float, default=0.0, help="0 by default: pure privacy")
    parser.add_argument(
        "--tune", action="store_true", help="also settings chosen on the records, paid out of ε"
    )
    parser.add_argument("--repeats", type=int, default=10, help="how many hold-outs (10)")
    parser.add_argument("--cores", default="all", help="how many (all)")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what Snakemake says")


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print sentence, table and where the page is."""
    import sys

    from privcurve.cli.errors import CommandError
    from privcurve.workflow import comparison, running

    if arguments.cores != "all" and not (arguments.cores.isdigit() and int(arguments.cores)):
        raise CommandError(f"--cores {arguments.cores}: give a number above 0, or all")
    made = comparison.prepare(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        tune=arguments.tune,
        repeats=arguments.repeats,
    )
    for note in (*made.plan.notes([made.study.name]), *(f"left out: {w}" for w in made.left_out)):
        print(note, file=sys.stderr)
    log = running.LOGS / f"{made.study.name}.log"
    try:
        running.run(made.arguments(arguments.cores), log, verbose=arguments.verbose)
    except running.RunError as error:
        raise CommandError(str(error)) from None
    print(report(made))
    print(f"log:   {log}")
    return 0


def report(made: Comparison) -> str:
    """Give what a finished comparison says.

    Parameters
    ----------
    made : Comparison

    Returns
    -------
    str
        A sentence for each ε, the learners, what the comparison cost, and where the page is.
    """
    from privcurve.outputs.answers import rankings

    (dataset,) = made.study.datasets
    epsilons = sorted({e for arm in made.study.arms.values() if arm.relation for e in arm.epsilons})
    found = rankings(made.output("accuracy"), dataset, epsilons)
    parts = []
    for one in found:
        sentence = one.sentence()
        parts += ["", f"{sentence[0].upper()}{sentence[1:]}.", *one.lines()]
    page = made.output("leaderboard").files.others["page"]
    table = made.output("accuracy").files.tables[0]
    return "\n".join(
        [
            *parts,
            "",
            LOOKED,
            "",
            f"page:  {page}",
            f"table: {table}.md (.csv, .tex)",
            f"study: {made.file}",
        ]
    )
