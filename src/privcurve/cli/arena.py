"""``privcurve arena``: run one method, and rank it among the stored results of the arena."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from privcurve import extras
from privcurve.cli import console
from privcurve.cli.errors import UsageError
from privcurve.numerals import amount

HELP = "run one method on the arena's tables, and show it among the stored results"
EXAMPLES = """\
examples:
  privcurve arena add my_method                          # learners/my_method.py
  privcurve arena add my_method --set n_steps=50 --delta 1e-6
  privcurve arena add my_method --datasets german telco  # a first look
  privcurve arena add my_method --against results/arena/results.parquet

The command trains only this method, with the ε and the hold-outs of the stored results. It tries
the contract first; the tables have the result (docs/arena.md).
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    option = parser.add_argument
    option("action", choices=("add",), help="what to do: add a method to the stored ones")
    option("learner", help="its name in the registry, or of your file in learners/")
    option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the learner; others are at their defaults",
    )
    option("--delta", type=amount, help="(default: 1e-6 if the learner takes it, else 0)")
    option("--neighbours", help="replace-one or add-remove (default: the learner's own)")
    tables = "tables (default: all that did not set PrivGAM)"
    option("--datasets", nargs="+", default=(), metavar="NAME", help=tables)
    option(
        "--against",
        default="frozen",
        metavar="FILE",
        help="a file of runs (default: frozen, which comes with privcurve)",
    )
    option("--cores", default="all", help="number of cores, with Snakemake (default: all)")
    option("-v", "--verbose", action="store_true", help="show all messages of the run")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train the method, and print its ranks and the paths of tables and figures."""
    from privcurve.cli.release import read_parameters
    from privcurve.workflow import running
    from privcurve.workflow.arena import prepare

    if arguments.verbose and (arguments.json or arguments.quiet):
        raise UsageError("--verbose prints everything: leave it out, or --json and --quiet")
    entrant = prepare(
        arguments.learner,
        read_parameters(arguments.learner, arguments.set),
        arguments.against,
        arguments.datasets,
        arguments.delta,
        arguments.neighbours,
    )
    notes = entrant.plan.notes([entrant.name])
    for note in notes:
        console.remark(arguments, note)
    log = running.LOGS / f"{entrant.name}.log"
    output = {"verbose": arguments.verbose, "quiet": arguments.quiet or arguments.json}
    if extras.explain_missing("snakemake", "the arena"):
        running.run_here(entrant.plan, entrant.name, log, **output)
    else:
        running.run(entrant.arguments(arguments.cores), log, **output, printed=notes)
    files = entrant.output.files
    shown = {
        "tables": [f"{stem}.md" for stem in files.tables],
        "figures": [f"{stem}.svg" for stem in files.figures],
        "results": str(files.others["results"]),
    }
    ranks = describe_ranks(entrant.output.files.frames[0], arguments.learner)
    console.print_result(arguments, (ranks, *_lines(shown)), shown)


def _lines(shown: dict[str, Any]) -> list[str]:
    return [
        *(f"table:   {path} (.csv, .tex)" for path in shown["tables"]),
        *(f"figure:  {path} (.pdf, .png)" for path in shown["figures"]),
        f"results: {shown['results']}",
    ]


def describe_ranks(path: Path, learner: str) -> str:
    """Return a line for each ε with the rank of the method by mean AUC.

    Methods with δ > 0 and methods with δ = 0 have separate ranks. `path` is the table of mean AUCs.
    """
    from privcurve.tables.table import read_table

    means = read_table(path)
    own = means[means["method"].str.partition("~")[0] == learner]
    return "\n".join(_rank(means, row) for row in own.to_dict("records"))


def _rank(means: Any, row: dict[Any, Any]) -> str:
    from privcurve.outputs.checks import describe

    at = means[means["epsilon"] == row["epsilon"]]
    alike = at[(at["delta"] > 0) == (row["delta"] > 0)]
    rank = int((alike["auc"] > row["auc"]).sum()) + 1
    return (
        f"ε = {row['epsilon']:g}: mean AUC {row['auc']:.3f}, rank {rank} of {len(alike)} "
        f"({row['status']}; {row['contract']}; measured ε at 1 {describe(row['measured'])}; "
        f"{row['neighbours']})"
    )
