"""``privcurve budget``: the releases of a dataset, their costs, and the remaining budget."""

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
    prices = [release.price for release in releases]
    spent, left = totals(prices, budget), budget.subtract(prices)
    content = {
        "dataset": records,
        "ledger": str(ledger.path),
        "releases": [_describe_release(release) for release in releases],
        "n_comparisons": n_comparisons,
        "spent": [price.content for price in spent],
        "budget": budget.content if left else None,
        "left": left.content if left else None,
    }

    def lines() -> Iterator[str]:
        n = len(releases)
        yield f"{ledger.path}: {n or 'no'} release{'' if n == 1 else 's'} of {records}"
        for release in releases:
            yield from _write_release(release)
        if n_comparisons:
            number = "1 comparison" if n_comparisons == 1 else f"{n_comparisons} comparisons"
            yield f"{number} of these records, for their owner: not private, and nothing is spent"
        yield from _write_sums(spent, budget, left)

    console.print_result(arguments, lines(), content)


def _write_sums(spent: list[Price], budget: Budget, left: Price | None) -> Iterator[str]:
    for price in spent:
        yield f"spent:  {price.claim} ({price.neighbours_text})"
    if left is None:
        yield "budget: none is set (budget: {epsilon: …} in the description)"
        return
    yield f"budget: {budget} ({budget.neighbours_text})"
    yield f"left:   {left}"


def _describe_release(release: Release) -> dict[str, Any]:
    """Return a release for JSON, without the facts that determine its random stream."""
    facts = ("at", "dataset", "learner", "what", "folder", "kept", "error")
    return {
        "release": release.number,
        "state": release.state,
        **release.price.content,
        **{key: release.facts[key] for key in facts if key in release.facts},
    }


def _write_release(release: Release) -> Iterator[str]:
    from privcurve.releases.budget_ledger import DONE

    price, facts = release.price, release.facts
    what = f"{facts.get('learner', facts.get('what', '?'))}: {price} ({price.neighbours_text})"
    where = str(Path(facts["folder"])) if "folder" in facts else ""
    state = where if release.state == DONE else f"{release.state}; spent all the same"
    yield f"  {release.number}  {facts.get('at', '')}  {what}  {state}"
