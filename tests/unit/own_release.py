"""A private dataset named ``mine``, and requests for releases of it.

The fixture ``write_private_dataset`` of conftest.py writes `LINES` (60 records: age, town, a note
and a label) and a description with a budget of ε = 2 into a temporary working folder.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privcurve.releases.budget_ledger import BudgetLedger
from privcurve.releases.request import Request

N_ROWS = 60
LINES = [
    "age,town,note,sick",
    *(
        f"{20 + k},{'Oslo' if k % 3 else '?'},secret-note-{k},{'yes' if k % 4 else 'no'}"
        for k in range(N_ROWS)
    ),
]
QUICK_LEARNER = "noisy_majority"


def release_request(**changes: Any) -> Request:
    """Return the request of a release of ``mine`` at ε = 1 with a quick learner.

    ``release(release_request(epsilon=0.5))`` releases at ε = 0.5.
    """
    return Request(**{"dataset": "mine", "epsilon": 1.0, "learner": QUICK_LEARNER, **changes})


def write_test_file(lines: list[str]) -> dict[str, Any]:
    """Write a test file; return the value of `files` for a description that has it."""
    Path("data/test.csv").write_text("\n".join(lines) + "\n")
    return {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}


def budget_ledger() -> BudgetLedger:
    """Return the budget ledger of ``mine``."""
    return BudgetLedger(Path("releases/mine"))


def release_states() -> list[str]:
    """Return the state of each release in the budget ledger, such as ``["done", "failed"]``."""
    return [one.state for one in budget_ledger().releases()]


@contextmanager
def limit_file_size(most: int) -> Iterator[None]:
    """Let writes beyond `most` bytes of a file fail in this block, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
