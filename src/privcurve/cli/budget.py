"""``privcurve budget``: what was released of a dataset's records, what is spent, what is left."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.cli import console
from privcurve.cli.check import dataset_name

if TYPE_CHECKING:
    from privcurve.releases.budget_ledger import Budget, Price, Release

HELP = "show what was released of a dataset, what it cost, and what is left of its budget"
EXAMPLES = """\
examples:
  privcurve budget patients
  privcurve budget patients --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("name", help="name of the dataset; its file is descriptions/<name>.yaml")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Show the budget ledger of a dataset's records."""
    from privcurve import datasets
    from privcurve.releases.budget_ledger import RELEASES, BudgetLedger, budget_of, totals
    from privcurve.releases.guard import check_complete

    description = datasets.describe(dataset_name(arguments.name))
    records = description.records_name
    budget = budget_of(records)
    ledger = BudgetLedger(RELEASES / records)
    check_complete(ledger, description)
    releases, n_comparisons = ledger.releases(), len(ledger.comparisons())
    spent = totals([one.price for one in releases], budget)
    left = budget.subtract([one.price for one in releases])
    content = {
        "dataset": records,
        "ledger": str(ledger.path),
        "releases": [_entry(one) for one in releases],
        "n_comparisons": n_comparisons,
        "spent": [one.content for one in spent],
        "budget": budget.content if left else None,
        "left": left.content if left else None,
    }

    def lines() -> Iterator[str]:
        n = len(releases)
        yield f"{ledger.path}: {n or 'no'} release{'' if n == 1 else 's'} of {records}"
        for one in releases:
            yield from _release_lines(one)
        if n_comparisons:
            some = "1 comparison" if n_comparisons == 1 else f"{n_comparisons} comparisons"
            yield f"{some} of these records, for their owner: not private, and nothing is spent"
        yield from _sum_lines(spent, budget, left)

    console.print_result(arguments, lines(), content)


def _sum_lines(spent: list[Price], budget: Budget, left: Price | None) -> Iterator[str]:
    for one in spent:
        yield f"spent:  {one.claim} ({one.neighbours_text})"
    if left is None:
        yield "budget: none is set (budget: {epsilon: …} in the description)"
        return
    yield f"budget: {budget} ({budget.neighbours_text})"
    yield f"left:   {left}"


def _entry(one: Release) -> dict[str, Any]:
    """Return what is told of a release to machines; nothing by which its noise could be told."""
    facts = ("at", "dataset", "learner", "what", "folder", "kept", "error")
    return {
        "release": one.number,
        "state": one.state,
        **one.price.content,
        **{key: one.facts[key] for key in facts if key in one.facts},
    }


def _release_lines(one: Release) -> Iterator[str]:
    from privcurve.releases.budget_ledger import DONE

    price, facts = one.price, one.facts
    what = f"{facts.get('learner', facts.get('what', '?'))}: {price} ({price.neighbours_text})"
    where = str(Path(facts["folder"])) if "folder" in facts else ""
    state = where if one.state == DONE else f"{one.state}; spent all the same"
    yield f"  {one.number}  {facts.get('at', '')}  {what}  {state}"
