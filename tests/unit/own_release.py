"""What the tests of releases share: private records of one's own, and what is asked of them."""

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
    """Write records to test by; return the files of the description."""
    Path("data/test.csv").write_text("\n".join(lines) + "\n")
    return {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}


def book() -> BudgetLedger:
    return BudgetLedger(Path("releases/mine"))


def states() -> list[str]:
    return [one.state for one in book().releases()]


@contextmanager
def files_of(most: int) -> Iterator[None]:
    """Be short of space: no file may have more bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
