"""A small dataset named ``mine`` with its description, for tests of `privcurve.datasets`.

The fixture ``write_dataset`` of conftest.py writes `LINES` and `DESCRIPTION` into a temporary
working folder; ``write_dataset(lines, **changes)`` rewrites them with other lines or keys.
"""

from __future__ import annotations

from typing import Any

import pytest

from privcurve import datasets

LINES = [
    "age,town,note,sick",
    "31,Oslo,x,yes",
    '45,"Rome, north",y,no',
    "130,?,z,no",
    "17.5,Oslo,w,yes",
]
DESCRIPTION: dict[str, Any] = {
    "title": "Are patients sick?",
    "citation": "own",
    "licence": "own",
    "n_rows": 4,
    "files": {"train": {"local": "data/mine.csv"}},
    "parser": {"kind": "delimited", "header": True},
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [0, 100], "source": "human life"},
        {"name": "town", "kind": "categorical", "categories": ["Oslo", "Rome, north", "?"]},
    ],
    "label": {"column": "sick", "positive": "yes", "negative": "no"},
}


def assert_load_fails(message: str | None = None, name: str = "mine") -> str:
    """Assert that loading the dataset fails with a message that matches; return all of it.

    ``assert_load_fails("row 3")`` after ``write_dataset(["age,sick", "x,yes"])``.
    """
    with pytest.raises(datasets.DatasetError, match=message) as caught:
        datasets.load(name)
    return str(caught.value)
