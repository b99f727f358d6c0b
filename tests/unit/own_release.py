"""Private records and requests for the tests of releases.

The fixture ``mine`` of conftest.py writes `LINES` (60 records with age, town, a note and a label)
and a description ``mine`` with a budget of 2 into a temporary working folder; ``mine(lines,
**changes)`` changes them. A test then uses

- ``request(**changes)``: a `Request` for a release of ``mine`` at ε = 1 with the quick learner;
- ``with_test_part(lines)``: write a test file; return `files` for the description;
- ``book()`` and ``states()``: the budget ledger of ``mine``, and the states of its releases;
- ``with files_of(most):`` a block where no file may exceed `most` bytes, like a full disk.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privcurve.releases.budget_ledger import BudgetLedger
from privcurve.releases.request import Request

ROWS = 60
LINES = [
    "age,town,note,sick",
    *(
        f"{20 + k},{'Oslo' if k % 3 else '?'},secret-note-{k},{'yes' if k % 4 else 'no'}"
        for k in range(ROWS)
    ),
]
QUICK = "noisy_majority"


def request(**changes: Any) -> Request:
    return Request(**{"dataset": "mine", "epsilon": 1.0, "learner": QUICK, **changes})


def with_test_part(lines: list[str]) -> dict[str, Any]:
    """Write a test file; return `files` for the description."""
    Path("data/test.csv").write_text("\n".join(lines) + "\n")
    return {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}


def book() -> BudgetLedger:
    return BudgetLedger(Path("releases/mine"))


def states() -> list[str]:
    return [one.state for one in book().releases()]


@contextmanager
def files_of(most: int) -> Iterator[None]:
    """Limit the size of files in this block, like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
