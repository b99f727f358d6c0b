"""A messy table as someone might have it, made from scikit-learn's diabetes: deterministic."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

TOWNS = ("Oslo", "Bergen", "Trondheim", "Stavanger", "Tromsø", "Ålesund", "Bodø", "Hamar")
LETTERS = "ABCDEFGHIJKLMNRSTZ"
GAPS = ("", "NA", "n/a", "?")
# What the description says of these columns, from what is known of people and clinics.
DECIDED = {
    "BMI": "bounds: [10, 60]",
    "blood pressure": "bounds: [40, 140]",
    "cholesterol": "bounds: [80, 400]",
    "sugar": "bounds: [40, 400]",
    "visits": "bounds: [0, 20]",
    "grade": "bounds: [0, 5]",
    "admitted": "bounds: [2015-01-01, 2024-12-31]",
    "town": f"groups: [{', '.join(TOWNS)}]",
    "diagnosis": 'groups: {heart: "I*", sugar: "E1*", lungs: "J*", injury: ["S*", "T*"]}',
}


def rows(n: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns, and so many records."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    rng = np.random.default_rng(seed)
    draw = rng.integers(len(bunch.target), size=n)
    X, y = bunch.data[draw], bunch.target[draw]
    numbers = X + rng.normal(scale=0.05, size=X.shape) * X.std(axis=0)
    sick = y + rng.normal(scale=20, size=n) > 140
    first = date(2018, 1, 1)
    header = ["patient_id", "age", "sex", "BMI", "blood pressure", "cholesterol", "sugar", "visits"]
    header += ["grade", "smoker", "town", "diagnosis", "admitted", "remarks", "clinic", "sick"]
    found = []
    for k in range(n):
        age, _, bmi, pressure, cholesterol, *_rest, sugar = numbers[k]
        heavy = "EI" if sick[k] and rng.random() < 0.5 else LETTERS
        town = rng.choice(TOWNS, p=[0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
        spelt = (str(town), str(town).upper(), f" {town}", str(town).lower())
        row = [
            f"P{100000 + k}",
            f"{age:.0f}",
            ("M", "F", "m", "f", "male", "female")[int(X[k, 1] == 2) + 2 * int(rng.integers(3))],
            f"{bmi:.1f}".replace(".", ","),
            f"{pressure:.0f}",
            f"{cholesterol:.1f}".replace(".", ","),
            f"{sugar:.0f}",
            f"{rng.poisson(2 + 2 * sick[k])}",
            f"{rng.integers(1, 5)}",
            ("yes", "no", "Yes", "NO")[int(rng.integers(4))],
            spelt[int(rng.integers(4)) if rng.random() < 0.2 else 0],
            f"{heavy[int(rng.integers(len(heavy)))]}{rng.integers(10, 60)}",
            f"{first + timedelta(days=int(rng.integers(2000))):%d.%m.%Y}",
            "seen by the nurse; to come again in a month or two, if need be",
            "north",
            "yes" if sick[k] else "no",
        ]
        for place in range(1, 13):
            if rng.random() < 0.03:
                row[place] = GAPS[int(rng.integers(len(GAPS)))]
        found.append(row)
    return header, found


def write(path: Path, n: int = 400, seed: int = 0) -> Path:
    """Write a table as an office would: semicolons, decimal commas, another encoding."""
    header, found = rows(n, seed)
    with path.open("w", encoding="cp1252", newline="") as stream:
        writer = csv.writer(stream, delimiter=";", quoting=csv.QUOTE_MINIMAL)
        writer.writerows([header, *found])
    return path


def decide(draft: str) -> str:
    """Fill in what a draft of this table leaves to be decided."""
    lines = []
    name = ""
    for line in draft.splitlines():
        if line.startswith("  - name: "):
            name = line.partition(": ")[2].strip('"')
        if "# decide" in line:
            indent = line[: len(line) - len(line.lstrip())]
            line = indent + DECIDED[name]
        lines.append(line)
    return "\n".join(lines) + "\n"
