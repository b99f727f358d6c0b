"""What the tests of releases share: private records of one's own, and what is asked of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privcurve.releases.asked import Asked
from privcurve.releases.book import Book

ROWS = 60
LINES = [
    "age,town,note,sick",
    *(
        f"{20 + k},{'Oslo' if k % 3 else '?'},secret-note-{k},{'yes' if k % 4 else 'no'}"
        for k in range(ROWS)
    ),
]
QUICK = "noisy_majority"


def asked(**changes: Any) -> Asked:
    return Asked(**{"dataset": "mine", "epsilon": 1.0, "learner": QUICK, **changes})


def book() -> Book:
    return Book(Path("releases/mine"))


def states() -> list[str]:
    return [one.state for one in book().releases()]
