"""Make pairs of neighbouring tables for attacks.

Each function takes a claim and a real dataset, `target`; most functions make tables without using
`target`. A record "moves" if its bins, and perhaps its label, differ between the two tables of a
pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from privcurve.audit.canaries import canary_tables
from privcurve.audit.claim import Claim, MakePairs
from privcurve.audit.pairs import (
    Pair,
    Row,
    Target,
    add_record,
    all_neighbours,
    cross_columns,
    flipped_balance,
    flipped_constant,
    lone_record,
    records,
    replace_record,
)
from privcurve.coding import Records

# Number of records of the target in `rare_in_part`: few, so that slow learners train quickly.
SMALL = 200


def several(c: Claim, target: Target) -> list[Pair]:
    """Return five pairs of tables for any learner, as different learners fail on different pairs.

    The tables of pair 1 have a single record. Pair 2 has two records, one of which swaps its
    values. Pair 3 has equal records with balanced labels. Pair 4 has equal records, which a model
    can predict without an error on one side only. Pair 5 has distinct records in three bins.
    """
    flips = flipped_balance(9, 0), flipped_constant(6)
    return [lone_record(3), cross_columns(), *flips, three_codes()]


def three_codes() -> Pair:
    """Return a pair of tables of five distinct records in three bins; one moves to the last bin."""
    others = [((0,), -1), ((1,), 1), ((1,), -1), ((2,), -1)]
    return replace_record("three codes, a record that moves", ((0,), 1), ((2,), 1), others, (3,))


def of_three_classes(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of four records in three classes; one changes its bin and class."""
    others = [((0,), 0), ((1,), 1), ((2,), 2)]
    name = "three classes, a record that moves"
    return [replace_record(name, ((0,), 0), ((2,), 1), others, (3,))]


def tiny_neighbours(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all pairs of tables with 2 to 4 records in a column of 2 or 3 bins, and larger pairs.

    The larger pairs are from :func:`constant_columns`.
    """
    for n, n_bins in ((2, 2), (3, 2), (4, 2), (2, 3), (3, 3)):
        yield from all_neighbours(n, (n_bins,))
    yield from constant_columns(c, target)


def two_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all pairs of tables with 2 or 3 records in two columns of two bins."""
    return itertools.chain(all_neighbours(2, (2, 2)), all_neighbours(3, (2, 2)))


def constant_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return the worst pairs of 2 to 40 records for 1-rules (docs/proofs.md, 'LazyBB: 1-rules')."""
    return map(flipped_constant, (2, 3, 4, 6, 8, 12, 20, 40))


def four_constant(c: Claim, target: Target) -> list[Pair]:
    """Return the worst pair of tables of 4 records for 1-rules.

    With so few records, the outcome of largest loss is frequent.
    """
    return [flipped_constant(4)]


def in_crowds(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables: one label flips, and many other records share the record's bins.

    In each column, a different group of equal records has the bin of the flipped record. The groups
    have balanced labels, and are so large that noise hardly changes their sums; an even larger
    group fixes the intercept. So apart from noise, the released value of each of the three bins
    depends only on the flipped label, and the score of the flipped record adds up these values.
    """
    d = 3
    apart = [*np.eye(d, dtype=int).tolist(), [0] * d]
    others = [(codes, label) for codes in apart for label in (1, -1)]
    counts = [10] * (2 * d) + [1_000] * 2
    one, name = [1] * d, "a label among balanced crowds"
    return [replace_record(name, (one, 1), (one, -1), others, [2] * d, counts)]


def rare_in_part(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of `SMALL` records of `target`; one label flips.

    The record with this label is in the rarest bin of each column.
    """
    codes, labels, counts, n_bins = target.records
    part = codes[:SMALL].copy()
    part[0] = [
        np.argmin(np.bincount(column[:SMALL], minlength=bins))
        for column, bins in zip(codes.T, n_bins, strict=True)
    ]
    left, right = (
        Records(part, np.append(np.int8(label), labels[1:SMALL]), counts[:SMALL], n_bins)
        for label in (1, -1)
    )
    dataset = f"{target.name}, {left.n} records"
    return [Pair(dataset, "canary with its label flipped", left, right)]


def flipped_among_many(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of 400 equal records; one label flips.

    The counts are larger than the noise that is added to them.
    """
    return [flipped_balance(400, 0)]


def torn_columns(c: Claim, target: Target) -> list[Pair]:
    """Return the pair of tables that attains the sensitivity of a split.

    Source: docs/proofs.md, 'LazyBB: trees'. A label flips. Then a child of the split by the first
    column becomes pure, and a pure child of the split by every other column becomes impure. All
    columns but the first are equal, so that the tree almost certainly splits by one of them.
    """
    one, others = [1] * 31, [([1] + [0] * 30, 1), ([0] + [1] * 30, -1)]
    name = "a flipped label that purifies a child"
    return [replace_record(name, (one, -1), (one, 1), others, [2] * 31, [1000, 1000])]


# Number of copies of each unchanged record in `moved_between_leaves`: enough for trees to grow.
COPIES = 400


def moved_between_leaves(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of many records, which differ in one record.

    This record has other bins in all columns, and the other label, in the second table. There are
    enough records for trees to grow. On each level, the record leaves one node and enters another.
    """
    return _move_between_leaves([((0, 0), 1), ((1, 1), -1), ((0, 1), 1), ((1, 0), -1)], COPIES)


def moved_among_few(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of four records; one record moves to another leaf.

    With so few records, noise that depends on the size of a node would reveal the move.
    """
    return _move_between_leaves([((0, 0), 1), ((0, 0), 1), ((1, 1), -1)], 1)


def _move_between_leaves(others: Sequence[Row], copies: int) -> list[Pair]:
    name = f"one of {1 + copies * len(others)} records moves between two leaves"
    counts = [copies] * len(others)
    return [replace_record(name, ((0, 0), 1), ((1, 1), -1), others, (2, 2), counts)]


def one_more(c: Claim, target: Target) -> list[Pair]:
    """Return an add-remove pair: a table of seven equal records, and a table of eight."""
    return [add_record(records([[0]], [1], [2], [7]), [0], 1, "7 equal records, and one more")]


def canaries(c: Claim, target: Target) -> list[Pair]:
    """Return the table of canaries, paired with a table that differs in one canary."""
    return canary_tables(c.neighbours)


# Pairs with the private column 0 and, in some, the public column 1 ------------------------


def _hidden(name: str, row: Row, others: Sequence[Row]) -> Pair:
    """Return a private-columns pair: the record `row` moves from bin 0 to bin 2 of column 0."""
    (_, *public), label = row
    moved = (2, *public), label
    n_bins = (3, *[2] * len(public))
    return replace_record(f"{name}, which moves", row, moved, others, n_bins, private=(0,))


def hidden_few(c: Claim, target: Target) -> list[Pair]:
    """Return three pairs of tables: a record moves alone, among equal or among other records."""
    among = [((0, 0), 1)] * 2 + [((0, 0), -1)] * 3
    beside = [((0, 1), -1), ((2, 0), 1), ((1, 0), -1)]
    return [
        _hidden("a record alone", ((0, 0), 1), []),
        _hidden("one of six equal records", ((0, 0), 1), among),
        _hidden("one of four records", ((0, 1), 1), beside),
    ]


def misleading_public_column(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables of eight records; the public column predicts the moved one wrongly.

    A boosted learner that starts from the public column gives this record most of the weight.
    """
    others = [((0, 1), 1)] * 4 + [((0, 0), -1)] * 3
    name = "one of eight records, which the public column is wrong about"
    return [replace_record(name, ((0, 1), -1), ((2, 1), -1), others, (3, 2), private=(0,))]


def flipped_label(c: Claim, target: Target) -> list[Pair]:
    """Return a pair that differs in one label: replace-one but not private-columns neighbours."""
    others = [((0, 0), -1), ((1, 0), 1), ((0, 1), -1)]
    return [replace_record("a label that flips", ((1, 1), 1), ((1, 1), -1), others, (3, 2))]


def own_answer(c: Claim, target: Target) -> list[Pair]:
    """Return a pair of tables in which a positive record moves from bin 1 to bin 0.

    Twenty other records have positive labels in bin 1 and negative labels in bin 0. So all
    teachers of PATE change their votes about the moved record from positive to negative.
    """
    others = [((i % 2,), 2 * (i % 2) - 1) for i in range(20)]
    return [
        replace_record("a record's own answer", ((1,), 1), ((0,), 1), others, (2,), private=(0,))
    ]


# Number of pairs that a function makes, if more than one: a `Claim` must state this number.
N_PAIRS: dict[MakePairs, int] = {several: 5, hidden_few: 3}
