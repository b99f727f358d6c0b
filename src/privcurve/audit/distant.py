"""Check the contract on *distant* tables, which have nothing but their public facts in common.

If a curator gives the same answers, a fit must make the same calls and return the same model on any
two tables, not only on neighbours. So distant tables can show a leak that neighbours hide: the
number of distinct bins, or the type of a result, rarely changes with one record. The checks train
learners by `fit(X, y)`, which runs more code than a study does. Learners that accept partitioned
records also train on partitions of distant and of neighbouring tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from privcurve.audit.contract import (
    BINS,
    REAL_BINS,
    Case,
    Verdict,
    check_costs,
    compare_sides,
    neighbours,
    train_by_fit,
)
from privcurve.audit.replay_fits import CHARGE, BreachError, Replay
from privcurve.coding import Records
from privcurve.learners import registry
from privcurve.learners.base import CodedClassifier
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS
from privcurve.privacy.parts import OpenPart, PartedRecords, Threads

# The tables to try: each item of DOMAINS has the numbers of bins of the columns, and SIZES has the
# numbers of records.
DOMAINS = (BINS, REAL_BINS, (33, 40))
SIZES = (2, 12, 60, 300)


def check_distant(case: Case, seed: int = 0, sizes: Sequence[int] = SIZES) -> Verdict:
    """Check conditions 1 and 2 of the contract on distant tables; stop at the first breach.

    `sizes` are numbers of records to try, in addition to `case.sizes`. If a parameter of the case
    is at an end of its range, only `case.sizes` are tried.
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
    """Yield three pairs of tables with `n` records each.

    The first pair has a table of equal records and a table of random records. The second pair has a
    table of equal records of the last class, and a table of random records of the first class. The
    third pair has two random tables. Under private-columns, both tables have the same public
    values. Under add-remove, the second table has half as many records or, in the first pair, none.
    """
    first = (0,) * (len(case.bins) + 1)
    last = (*(k - 1 for k in case.bins), case.n_classes - 1)
    codes = (*case.bins, case.n_classes)
    tables = (rng.integers(codes, size=(n, len(codes))).tolist() for _ in range(2))
    mixed, other = ([tuple(row) for row in table] for table in tables)
    of_one_class = [(*row[:-1], 0) for row in mixed]
    pairs = [([first] * n, mixed), ([last] * n, of_one_class), (mixed, other)]
    for k, (one, two) in enumerate(pairs):
        if case.neighbours == PRIVATE_COLUMNS:
            two = [(a[0], *b[1:-1], a[-1]) for a, b in zip(one, two, strict=True)]
        elif case.neighbours == ADD_REMOVE:
            two = two[: n // 2 if k else 0]
        together = k == 0 and not case.by_row
        yield case.table(one, together), case.table(two, together)


# Partitioned records -----------------------------------------------------------------------------

# Number of records of a partitioned table, number of its parts, and number of neighbouring pairs.
N_IN_PARTS, N_PARTS, N_NEIGHBOURS = 12, 3, 8


@dataclass(frozen=True)
class _InMemory:
    """A part of partitioned records that is kept in memory, not on disk."""

    held: Records
    path: str = "a part"

    @property
    def n(self) -> int:
        """Number of records in this part."""
        return self.held.n

    def records(self) -> Records:
        """Return the records of this part."""
        return self.held


class _InTurn(Threads):
    """Queries parts of records one after another, in this thread."""

    def __init__(self) -> None:
        pass

    def ask(
        self, held: Sequence[OpenPart], question: str, arguments: tuple[object, ...]
    ) -> Iterator[Any]:
        """Yield the answer of each part to the query `question`."""
        return (one.ask(question, arguments) for one in held)


def train_in_parts(case: Case, side: Records, curator: Replay) -> CodedClassifier:
    """Train the case's learner on `N_PARTS` parts of `side`, some of which may be empty."""
    codes, labels = (np.repeat(part, side.counts, axis=0) for part in side[:2])
    ends = np.linspace(0, len(labels), N_PARTS + 1).astype(int).tolist()
    parts: Any = tuple(
        _InMemory(Records(codes[a:b], labels[a:b], np.ones(b - a, dtype=np.int64), side.n_bins))
        for a, b in pairwise(ends)
    )
    learner = case.estimator(side.n_bins.tolist())
    return learner.fit_records(PartedRecords(parts, side.n_bins, _InTurn()), [{}], [curator])[0]


def check_in_parts(case: Case, seed: int = 0) -> Verdict:
    """Check conditions 1, 2, 3 and 5 of the contract on partitioned records.

    Returns a verdict on 0 pairs if the learner does not accept partitioned records.
    """
    verdict = Verdict(case)
    made, entry = case.estimator(case.bins), registry.entry(case.learner)
    if entry.refuses(setting=made._setting(), in_parts=True, facts=made):
        return verdict
    far = distant_tables(case, N_IN_PARTS, np.random.default_rng([seed, 31]))
    near = neighbours(replace(case, sizes=(N_IN_PARTS,)), N_NEIGHBOURS, seed)
    pairs = chain(((tables, False) for tables in far), ((tables, True) for tables in near))
    for k, (tables, is_near) in enumerate(pairs):
        try:
            sides = compare_sides(case, tables, (seed, k), train_in_parts)
            if isinstance(sides, str):
                verdict.refusal = sides
                continue
            if is_near:
                check_costs(*sides[:2], verdict)
        except BreachError as breach:
            breach.tables = tables
            verdict.breach = breach
            return verdict
        verdict.n_pairs += 1
    return verdict
