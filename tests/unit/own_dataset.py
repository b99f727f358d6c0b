"""A small dataset of a user's own, for tests of the room `datasets`."""

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
    """Load a dataset that has to be refused, with such a message; return all that it says."""
    with pytest.raises(datasets.DatasetError, match=message) as caught:
        datasets.load(name)
    return str(caught.value)
