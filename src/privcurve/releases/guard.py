"""What is checked before a price is reserved: that what was spent is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privcurve.datasets import Description
from privcurve.releases.budget_ledger import RELEASES, BudgetLedger, lock_releases
from privcurve.releases.errors import ReleaseError
from privcurve.releases.released import MODEL
from privcurve.releases.traces import Traces, same_records


@contextmanager
def guard(
    ledger: BudgetLedger, description: Description, digests: set[str], output: Path | None = None
) -> Iterator[None]:
    """Reserve a price within this: no other release begins meanwhile, and a trace of it is kept.

    `digests` are of the records, as of :class:`~privcurve.releases.traces.Traces`; `output` is the
    folder of a model that may stand beside the numbered ones. Raises ReleaseError for a ledger that
    lacks releases, and for records that have another one.
    """
    traces = Traces(ledger, description, digests)
    with lock_releases(RELEASES):
        _check_numbers(ledger.path.parent, ledger, output)
        _check_other_ledgers(description.records_name, description.name, digests)
        with traces.lock():
            traces.check()
            traces.prepare()
            yield
            traces.keep()


def check_complete(ledger: BudgetLedger, description: Description) -> None:
    """Refuse a ledger that lacks releases (ReleaseError): what was spent is not what it says."""
    _check_numbers(ledger.path.parent, ledger, None)
    Traces(ledger, description, ()).check()


def _check_numbers(home: Path, ledger: BudgetLedger, output: Path | None) -> None:
    """Refuse a ledger that lacks a release whose number is there, but for `output`."""
    releases = ledger.releases()
    folders = [one.facts["folder"] for one in releases if "folder" in one.facts]
    named = {Path(folder).resolve() for folder in (*folders, *([output] if output else []))}
    for path in sorted(home.glob("*"), key=lambda path: (len(path.name), path.name)):
        number = int(path.name) if path.name.isdecimal() else 0
        if number > len(releases) and path.resolve() not in named:
            model = path / MODEL
            raise ReleaseError(
                f"{model if model.exists() else path} is there, but the ledger, {ledger.path}, "
                "does not know of it: restore the ledger, without which what is spent can't be "
                "known"
            )


def _check_other_ledgers(records: str, dataset: str, digests: set[str]) -> None:
    """Refuse records that have a ledger under another name: budgets would not add up."""
    for path in sorted(RELEASES.glob("*/")):
        if path.name == records:
            continue
        other = BudgetLedger(path)
        for one in other.releases():
            # A file that was saved again has other bytes, and mostly the same codes.
            theirs = {one.facts.get("checksum"), *one.facts.get("sources", {}).values()}
            if digests & theirs:
                raise ReleaseError(same_records(records, dataset, path.name, other.path))
