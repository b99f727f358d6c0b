"""Comparisons of private records leave a note in their ledger: cards say that they were made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privcurve import datasets
from privcurve.datasets.fetch import fetch
from privcurve.datasets.load import checksums
from privcurve.releases.asked import RELEASES
from privcurve.releases.book import Book


def note(
    dataset: str, epsilons: Sequence[float], delta: float, releases: Path = RELEASES
) -> Path | None:
    """Write into the ledger that learners are compared on the records of a dataset.

    To be called before they are: one that is stopped half way has looked at them, too.

    Parameters
    ----------
    dataset : str
    epsilons : sequence of float
        Of the models that are compared; the comparison itself has none.
    delta : float
    releases : Path
        Folder of the ledgers.

    Returns
    -------
    Path or None
        The ledger; None of a public benchmark, whose records may be looked at.

    Raises
    ------
    DatasetError
        If its files can't be had.
    BookError
        If the ledger is damaged.
    OSError
        If it can't be written.
    """
    description = datasets.describe(dataset)
    if description.public_benchmark:
        return None
    book = Book(releases / description.of_records)
    facts = {
        "dataset": dataset,
        "sources": checksums(fetch(description)),
        "models": {"epsilons": list(epsilons), "delta": delta},
    }
    book.note_comparison(facts)
    return book.path
