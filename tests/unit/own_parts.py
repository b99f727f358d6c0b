"""Public records in parts, and the release that tests make of them."""

from __future__ import annotations

import random
from typing import Any

from own_release import release_request

from privcurve.releases.request import Request

SEED = 20210
DELTA = 1e-4
N = 700

COLUMNS = [
    {"name": "age", "kind": "numeric", "bounds": [0, 100], "n_bins": 40, "source": "human life"},
    {"name": "town", "kind": "categorical", "categories": ["Oslo", "Bergen", "?"]},
    {"name": "weight", "kind": "numeric", "bounds": [0, 200], "n_bins": 300, "source": "scales"},
]


def part_lines(n: int = N) -> list[str]:
    draw = random.Random(3)
    rows = ["age,town,weight,sick"]
    for _ in range(n):
        age, town = draw.uniform(0, 110), draw.choice(["Oslo", "Bergen", "?"])
        weight = draw.gauss(70, 20)
        sick = age / 100 + (town == "Oslo") + abs(weight - 70) / 40 + draw.gauss(0, 0.5) > 1.4
        rows.append(f"{age:.1f},{town},{weight:.1f},{'yes' if sick else 'no'}")
    return rows


def privgam_request(**changes: Any) -> Request:
    return release_request(**{"learner": "privgam", "delta": DELTA, **changes})
