"""A small dataset of a user's own, for tests of the room `datasets`."""

from __future__ import annotations

from typing import Any

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
