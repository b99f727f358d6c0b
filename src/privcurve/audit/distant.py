"""Control and post-processing on distant tables, which share nothing but their public facts.

What follows from answers alone is the same for any two tables, so a leak need not show between
neighbours: the number of distinct codes, or the type of a result, seldom changes with one record.
Learners are trained by `fit(X, y)`, so that all of it is tried, not what a study calls alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from privcurve.audit.contract import (
    BINS,
    REAL_BINS,
    Case,
    Record,
    Verdict,
    compare_sides,
    train_by_fit,
)
from privcurve.audit.replay_fits import CHARGE, BreachError
from privcurve.coding import Records
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS

# Bins of the columns, and numbers of records.
DOMAINS = (BINS, REAL_BINS, (33, 40))
SIZES = (2, 12, 60, 300)


def check_distant(case: Case, seed: int = 0, sizes: Sequence[int] = SIZES) -> Verdict:
    """Try points 1 and 2 on distant tables; stop at the first pair that breaks one.

    `sizes` are numbers of records that are tried beside those of the case, unless a number of it
    is at an end of its range.
    """
    verdict = Verdict(case)
    sizes = () if case.at_end else sizes
    for bins in dict.fromkeys((*DOMAINS, tuple(case.bins))):
        at = replace(case, bins=bins)
        for n in dict.fromkeys((*sizes, *case.sizes)):
            for k, tables in enumerate(distant_tables(at, n, np.random.default_rng([seed, n]))):
                try:
                    sides = compare_sides(at, tables, (seed, n, k), train_by_fit)
                except BreachError as breach:
                    breach.tables = tables
                    verdict.breach = breach
                    return verdict
                if isinstance(sides, str):
                    verdict.refusal = sides
                else:
                    verdict.n_pairs += 1
    if not verdict.n_pairs:
        why = f"no distant tables could be trained: {verdict.refusal}"
        verdict.breach = BreachError(CHARGE, why)
    return verdict


def distant_tables(
    case: Case, n: int, rng: np.random.Generator
) -> Iterator[tuple[Records, Records]]:
    """Yield pairs of tables: equal records and mixed ones, of one class and of all.

    Equal records are one row in every other pair. Where the number of records is private, the
    other table has half as many, or none.
    """
    first = (0,) * (len(case.bins) + 1)
    last = (*(k - 1 for k in case.bins), case.n_classes - 1)
    mixed, other = (_mixed(case, n, rng) for _ in range(2))
    of_one_class = [(*row[:-1], 0) for row in mixed]
    pairs = [([first] * n, mixed), ([last] * n, of_one_class), (mixed, other)]
    for k, (one, two) in enumerate(pairs):
        if case.neighbours == PRIVATE_COLUMNS:
            two = [(a[0], *b[1:-1], a[-1]) for a, b in zip(one, two, strict=True)]
        elif case.neighbours == ADD_REMOVE:
            two = two[: n // 2 if k else 0]
        together = k == 0 and not case.by_row
        yield case.table(one, together), case.table(two, together)


def _mixed(case: Case, n: int, rng: np.random.Generator) -> list[Record]:
    table = rng.integers((*case.bins, case.n_classes), size=(n, len(case.bins) + 1))
    return [tuple(row) for row in table.tolist()]
