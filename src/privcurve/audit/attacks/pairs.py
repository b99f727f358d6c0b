"""Pairs of neighbours that claims are tried on, each made for a claim and a target."""

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

# Records of the target on which slow learners are trained.
SMALL = 200


def several(c: Claim, target: Target) -> list[Pair]:
    """Return the pairs of the recipe: what a learner spends on one, it saves on another.

    A record alone among three codes; two in columns that change places; labels that
    balance; a training error that is 0 on one side only; three codes, all rows distinct.
    """
    flips = flipped_balance(9, 0), flipped_constant(6)
    return [lone_record(3), cross_columns(), *flips, three_codes()]


def three_codes() -> Pair:
    """Return five distinct records in a column of three codes; one moves to the rarest code."""
    others = [((0,), -1), ((1,), 1), ((1,), -1), ((2,), -1)]
    return replace_record("three codes, a record that moves", ((0,), 1), ((2,), 1), others, (3,))


def of_three_classes(c: Claim, target: Target) -> list[Pair]:
    """Return four records of three classes; one moves to another code and class."""
    others = [((0,), 0), ((1,), 1), ((2,), 2)]
    name = "three classes, a record that moves"
    return [replace_record(name, ((0,), 0), ((2,), 1), others, (3,))]


def tiny_neighbours(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all neighbours of few records in a column of two or three bins, and constant ones."""
    for n, n_bins in ((2, 2), (3, 2), (4, 2), (2, 3), (3, 3)):
        yield from all_neighbours(n, (n_bins,))
    yield from constant_columns(c, target)


def two_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all neighbours of 2 and 3 records in two columns of two bins."""
    return itertools.chain(all_neighbours(2, (2, 2)), all_neighbours(3, (2, 2)))


def constant_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return the worst pairs of 1-rules (docs/proofs.md, 'LazyBB: 1-rules'), by size."""
    return map(flipped_constant, (2, 3, 4, 6, 8, 12, 20, 40))


def four_constant(c: Claim, target: Target) -> list[Pair]:
    """Return the worst pair of 1-rules at a size where its unlikely outcome can be counted."""
    return [flipped_constant(4)]


def in_crowds(c: Claim, target: Target) -> list[Pair]:
    """Return one record that shares a bin of each column with others, in each column with others.

    The crowds are balanced and so large that sums of them are known in spite of noise, and the
    rest is so large that an intercept is: of each column's bin nothing is open but the label of
    the one record, so the columns' values add up what all releases tell of it.
    """
    d = 3
    apart = [*np.eye(d, dtype=int).tolist(), [0] * d]
    others = [(codes, label) for codes in apart for label in (1, -1)]
    counts = [10] * (2 * d) + [1_000] * 2
    one, name = [1] * d, "a label among balanced crowds"
    return [replace_record(name, (one, 1), (one, -1), others, [2] * d, counts)]


def rare_in_part(c: Claim, target: Target) -> list[Pair]:
    """Replace the first of some records of the target by the rarest codes, with either label."""
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
    """Return records with a flipped label, so many that no count is small beside its noise."""
    return [flipped_balance(400, 0)]


def torn_columns(c: Claim, target: Target) -> list[Pair]:
    """Return the tight pair of a tree's split (docs/proofs.md, 'LazyBB: trees').

    A flipped label makes a child of the first column pure and a pure child of the others
    impure; the others are copies, so that their questions are as good as certain.
    """
    one, others = [1] * 31, [([1] + [0] * 30, 1), ([0] + [1] * 30, -1)]
    name = "a flipped label that purifies a child"
    return [replace_record(name, (one, -1), (one, 1), others, [2] * 31, [1000, 1000])]


# Records for which each other row of a pair stands, for learners with data holders.
COPIES = 400


def moved_between_leaves(c: Claim, target: Target) -> list[Pair]:
    """Return many records in two bins of two columns; one moves to the other bins and label.

    So many that trees grow: on each level the record leaves one node and enters another.
    """
    return _move_between_leaves([((0, 0), 1), ((1, 1), -1), ((0, 1), 1), ((1, 0), -1)], COPIES)


def moved_among_few(c: Claim, target: Target) -> list[Pair]:
    """Return four records, of which one moves: noise that follows a node's size shows it."""
    return _move_between_leaves([((0, 0), 1), ((0, 0), 1), ((1, 1), -1)], 1)


def _move_between_leaves(others: Sequence[Row], copies: int) -> list[Pair]:
    name = f"one of {1 + copies * len(others)} records moves between two leaves"
    counts = [copies] * len(others)
    return [replace_record(name, ((0, 0), 1), ((1, 1), -1), others, (2, 2), counts)]


def one_more(c: Claim, target: Target) -> list[Pair]:
    """Return seven equal records, and eight."""
    return [add_record(records([[0]], [1], [2], [7]), [0], 1, "7 equal records, and one more")]


def canaries(c: Claim, target: Target) -> list[Pair]:
    """Return a table of canaries whose coins are guessed, and the same with one that differs."""
    return canary_tables(c.neighbours)


# Column 0 is private here, and column 1, if there is one, public --------------------------


def _hidden(name: str, row: Row, others: Sequence[Row]) -> Pair:
    """Make a pair of which a record moves from the code 0 in column 0 to the code 2."""
    (_, *public), label = row
    moved = (2, *public), label
    n_bins = (3, *[2] * len(public))
    return replace_record(f"{name}, which moves", row, moved, others, n_bins, private=(0,))


def hidden_few(c: Claim, target: Target) -> list[Pair]:
    """Return three pairs: one record alone, one among equals, one beside a public column."""
    among = [((0, 0), 1)] * 2 + [((0, 0), -1)] * 3
    beside = [((0, 1), -1), ((2, 0), 1), ((1, 0), -1)]
    return [
        _hidden("a record alone", ((0, 0), 1), []),
        _hidden("one of six equal records", ((0, 0), 1), among),
        _hidden("one of four records", ((0, 1), 1), beside),
    ]


def misleading_public_column(c: Claim, target: Target) -> list[Pair]:
    """Return eight records of which one moves that the public column is wrong about.

    Where that column is begun with, the record has most of all weight.
    """
    others = [((0, 1), 1)] * 4 + [((0, 0), -1)] * 3
    name = "one of eight records, which the public column is wrong about"
    return [replace_record(name, ((0, 1), -1), ((2, 1), -1), others, (3, 2), private=(0,))]


def flipped_label(c: Claim, target: Target) -> list[Pair]:
    """Flip a label: neighbours under replace-one, and not under private-columns."""
    others = [((0, 0), -1), ((1, 0), 1), ((0, 1), -1)]
    return [replace_record("a label that flips", ((1, 1), 1), ((1, 1), -1), others, (3, 2))]


def own_answer(c: Claim, target: Target) -> list[Pair]:
    """Return one positive record among twenty whose label is their code; it moves.

    Its own answer goes from all teachers for it to all against it.
    """
    others = [((i % 2,), 2 * (i % 2) - 1) for i in range(20)]
    return [
        replace_record("a record's own answer", ((1,), 1), ((0,), 1), others, (2,), private=(0,))
    ]


# Number of pairs, if more than one: for sampled claims it must be known beforehand.
N_PAIRS: dict[MakePairs, int] = {several: 5, hidden_few: 3}
