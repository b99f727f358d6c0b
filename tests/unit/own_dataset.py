"""A small dataset with a description, for tests of `privcurve.datasets`.

The fixture ``own`` of conftest.py writes `LINES` and `DESCRIPTION` as the dataset ``mine`` into a
temporary working folder; ``own(lines, **changes)`` rewrites them with other lines or other keys.
Then a test loads ``mine``, or calls ``refused("a message")`` to check the error of loading it.
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


def refused(message: str | None = None, name: str = "mine") -> str:
    """Check that loading the dataset raises an error with this message; return the full message."""
    with pytest.raises(datasets.DatasetError, match=message) as caught:
        datasets.load(name)
    return str(caught.value)
