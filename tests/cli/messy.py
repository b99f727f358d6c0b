"""A messy table as a hospital may have it, the same in each run."""

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np

TOWNS = ("Oslo", "Bergen", "Trondheim", "Stavanger", "Tromsø", "Ålesund", "Bodø", "Hamar")
GAPS = ("", "NA", "n/a", "?")
# Answers for these columns, from knowledge about people and clinics.
DECIDED = {
    "BMI": "bounds: [10, 60]",
    "blood pressure": "bounds: [40, 140]",
    "visits": "bounds: [0, 20]",
    "grade": "bounds: [0, 5]",
    "admitted": "bounds: [2015-01-01, 2024-12-31]",
    "town": f"groups: [{', '.join(TOWNS)}]",
    "diagnosis": 'groups: {heart: "I*", sugar: "E1*", lungs: "J*", injury: ["S*", "T*"]}',
}
HEADER = ["patient_id", "age", "sex", "BMI", "blood pressure", "visits", "grade", "smoker", "town"]
HEADER += ["diagnosis", "admitted", "remarks", "clinic", "sick"]


def row(k: int, rng: np.random.Generator) -> list[str]:
    """Return one record."""
    town = str(rng.choice(TOWNS))
    cells = [
        f"P{100000 + k}",
        f"{rng.integers(20, 80)}",
        str(rng.choice(["M", "F", "m", "f", "male", "female"])),
        f"{rng.normal(26, 4):.1f}".replace(".", ","),
        f"{rng.normal(95, 12):.0f}",
        f"{rng.poisson(3)}",
        f"{rng.integers(1, 5)}",
        str(rng.choice(["yes", "no", "Yes", "NO"])),
        str(rng.choice([town, town, town.upper(), f" {town}", town.lower()])),
        f"{rng.choice(list('ABCDEFGHIJKLMNRSTZ'))}{rng.integers(10, 60)}",
        f"{date(2018, 1, 1) + timedelta(days=int(rng.integers(2000))):%d.%m.%Y}",
        "seen by the nurse; to come again in a month or two, if need be",
        "north",
        "yes" if rng.random() < 0.4 else "no",
    ]
    for place in range(1, 11):
        if rng.random() < 0.03:
            cells[place] = str(rng.choice(GAPS))
    return cells


def write(path: Path, n: int = 400) -> Path:
    """Write the table as an office exports it: semicolons, decimal commas, another encoding."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="cp1252", newline="") as stream:
        writer = csv.writer(stream, delimiter=";", quoting=csv.QUOTE_MINIMAL)
        writer.writerows([HEADER, *(row(k, rng) for k in range(n))])
    return path


def decide(draft: str) -> str:
    """Fill in the blanks of a draft for this table."""
    lines = []
    for line in draft.splitlines():
        if line.startswith("  - name: "):
            name = line.partition(": ")[2].strip('"')
        if "# decide" in line:
            line = line[: len(line) - len(line.lstrip())] + DECIDED[name]
        lines.append(line)
    return "\n".join(lines) + "\n"
