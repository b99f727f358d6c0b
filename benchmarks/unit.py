"""Measure the AUC of PrivGAM by `at_most`, the number of records that a person may have.

    python benchmarks/unit.py [--persons 3000] [--repeats 10]

In the made-up tables, persons have 1 to 60 records (geometric, with mean 6). In each of eight
columns, half of the variance is between persons, half between the records of a person. The label
follows a logistic model of four columns and a constant of the person. At most `at_most` records of
a person train. Their ε and δ are such that a person has the ε in the column's title, and δ = 1e-6.
The AUC is measured on all records of new persons, as many as in the training. A cell has the mean
AUC over made-up tables and its standard error. `kept` is the share of records that train. In the
last line ε protects single records only: for a person with 60 records, ε is 60 times as large.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from privcurve.coding import limit_places
from privcurve.learners import PrivGAMClassifier
from privcurve.privacy.budget import budget_within_group

AT_MOST = (1, 2, 5, 10, 20, 60)
EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-6
N_COLUMNS, N_BINS, MOST, MEAN = 8, 16, 60, 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--persons", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    tables = [
        [table(options.persons, np.random.default_rng([repeat, part])) for part in range(2)]
        for repeat in range(options.repeats)
    ]
    titles = [f"AUC, ε = {epsilon:g}" for epsilon in EPSILONS]
    print("| at_most | kept | a record's ε, of 1 |", " | ".join(titles), "|")
    print("|---|---|---|" + "---|" * len(titles))
    for at_most in AT_MOST:
        kept = [limit_places(train[0], at_most, seed) for seed, (train, _) in enumerate(tables)]
        share = np.mean(
            [len(k) / len(train[0]) for k, (train, _) in zip(kept, tables, strict=True)]
        )
        cells = [
            measured(tables, kept, *budget_within_group(epsilon, DELTA, at_most))
            for epsilon in EPSILONS
        ]
        print(
            f"| {at_most} | {share:.0%} | {1 / at_most:.3g} |", " | ".join(cells), "|", flush=True
        )
    everything = [np.arange(len(train[0])) for train, _ in tables]
    cells = [measured(tables, everything, epsilon, DELTA) for epsilon in EPSILONS]
    print(f"| records, not persons | 100% | 1 (a person's: {MOST}) |", " | ".join(cells), "|")


def table(n_persons: int, rng: np.random.Generator) -> tuple[list[str], Any, Any]:
    """Draw the records of `n_persons` persons; return the persons, codes and labels by record."""
    sizes = np.minimum(rng.geometric(1 / MEAN, n_persons), MOST)
    person = np.repeat(np.arange(n_persons), sizes)
    shape = (len(person), N_COLUMNS)
    values = (rng.normal(size=(n_persons, N_COLUMNS))[person] + rng.normal(size=shape)) / math.sqrt(
        2
    )
    score = values[:, 0] + np.abs(values[:, 1]) + np.sin(2 * values[:, 2]) - (values[:, 3] > 1)
    score += rng.normal(size=n_persons)[person] - 0.8
    labels = np.where(rng.random(len(person)) < 1 / (1 + np.exp(-score)), 1, -1)
    codes = np.clip((values + 3) / 6 * N_BINS, 0, N_BINS - 1).astype(np.uint8)
    return [str(name) for name in person], codes, labels


def measured(
    tables: Sequence[Sequence[Any]], kept: Sequence[Any], epsilon: float, delta: float
) -> str:
    """Return a text with the mean AUC over tables and its standard error; `kept` records train."""
    each = []
    for seed, ((train, test), rows) in enumerate(zip(tables, kept, strict=True)):
        model = PrivGAMClassifier(
            n_bins=N_BINS, classes=(-1, 1), epsilon=epsilon, delta=delta, random_state=seed
        ).fit(train[1][rows], train[2][rows])
        each.append(roc_auc_score(test[2] > 0, model.decision_function(test[1])))
    error = np.std(each, ddof=1) / math.sqrt(len(each))
    return f"{np.mean(each):.3f} ({error:.3f})".replace("0.", ".")


if __name__ == "__main__":
    main()
