"""Pairs of neighbours that claims are tried on, each made for a claim and a target."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from privcurve.audit.claim import Claim, MakePairs
from privcurve.audit.pairs import (
    Pair,
    Target,
    added,
    all_neighbours,
    alone,
    crossed,
    flipped_balance,
    flipped_constant,
    records,
)
from privcurve.audit.scores import rare_canary_pair
from privcurve.coding import Records
from privcurve.privacy.budget import PRIVATE_COLUMNS

# Records of the target that a slow learner is trained on.
SMALL = 200


def several(c: Claim, target: Target) -> list[Pair]:
    """Return the pairs of the recipe: what a learner spends on one, it saves on another.

    A record alone among three codes; two in columns that change places; labels that
    balance; a training error that is 0 on one side only; three codes, all rows distinct.
    """
    return [alone(3), crossed(), flipped_balance(9, 0), flipped_constant(6), three_codes()]


def three_codes() -> Pair:
    """Return five distinct records in a column of three codes; one moves to the rarest code."""
    others = [[0], [1], [1], [2]]
    sides = [records([[code], *others], [1, -1, 1, -1, -1], [3]) for code in (0, 2)]
    return Pair("tiny", "three codes, a record that moves", sides[0], sides[1])


def tiny_neighbours(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all neighbours of few records in a column of two or three bins, and constant ones."""
    for n, n_bins in ((2, 2), (3, 2), (4, 2), (2, 3), (3, 3)):
        yield from all_neighbours(n, (n_bins,))
    yield from constant_columns(c, target)


def two_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return all neighbours of 2 and 3 records in two columns of two bins."""
    return itertools.chain(all_neighbours(2, (2, 2)), all_neighbours(3, (2, 2)))


def constant_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Return the worst pairs of 1-rules (PRIVACY.md §b) for several numbers of records."""
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
    apart = np.eye(d, dtype=np.uint8).repeat(2, axis=0)
    rest = np.zeros((2, d), dtype=np.uint8)
    codes = np.concatenate([np.ones((1, d), dtype=np.uint8), apart, rest])
    counts = np.array([1, *[100] * (2 * d), 10_000, 10_000])
    others = np.tile(np.array([1, -1], dtype=np.int8), d + 1)
    sides = [records(codes, np.append(label, others), np.full(d, 2), counts) for label in (1, -1)]
    return [Pair("tiny", "a label among balanced crowds", sides[0], sides[1])]


def rare_in_part(c: Claim, target: Target) -> list[Pair]:
    """Put a canary of rare codes into the first records of the target."""
    base = target.records
    rows = slice(0, SMALL)
    part = Records(base.codes[rows], base.labels[rows], base.counts[rows], base.n_bins)
    return [rare_canary_pair(Target(f"{target.name}, {part.n} records", part))]


def torn_columns(c: Claim, target: Target) -> list[Pair]:
    """Return the tight pair of a tree's split (PRIVACY.md §c).

    A flipped label makes a child of the first column pure and a pure child of the others
    impure; the others are copies, so that their questions are as good as certain.
    """
    codes = np.zeros((3, 31), dtype=np.uint8)
    codes[0], codes[1, 0], codes[2, 1:] = 1, 1, 1
    counts = np.array([1, 1000, 1000])
    sides = [records(codes, [label, 1, -1], np.full(31, 2), counts) for label in (-1, 1)]
    return [Pair("tiny", "a flipped label that purifies a child", sides[0], sides[1])]


# Of learners with data holders: each row of a pair but one stands for so many records.
COPIES = 400


def moved_between_leaves(c: Claim, target: Target) -> list[Pair]:
    """Return many records in two bins of two columns; one moves to the other bins and label.

    So many that trees grow: on each level the record leaves one node and enters another.
    """
    return [_moved([[0, 0], [1, 1], [0, 1], [1, 0]], [1, -1, 1, -1], COPIES)]


def moved_among_few(c: Claim, target: Target) -> list[Pair]:
    """Return four records, of which one moves: noise that follows a node's size shows it."""
    return [_moved([[0, 0], [0, 0], [1, 1]], [1, 1, -1], 1)]


def _moved(others: list[list[int]], signs: list[int], copies: int) -> Pair:
    counts = [1, *([copies] * len(others))]
    sides = [
        records([row, *others], [sign, *signs], [2, 2], counts)
        for row, sign in (([0, 0], 1), ([1, 1], -1))
    ]
    name = f"one of {sum(counts)} records moves between two leaves"
    return Pair("tiny", name, sides[0], sides[1])


def one_more(c: Claim, target: Target) -> list[Pair]:
    """Return seven equal records, and eight."""
    return [added(records([[0]], [1], [2], [7]), [0], 1, "7 equal records, and one more")]


# Column 0 is private here, and column 1, if there is one, public --------------------------


def _hidden(name: str, left: Records, right: Records) -> Pair:
    return Pair("tiny", name, left, right, 0, PRIVATE_COLUMNS, (0,))


def hidden_few(c: Claim, target: Target) -> list[Pair]:
    """Return three pairs: one record alone, one among equals, one beside a public column."""
    alone = [records([[code, 0]], [1], [3, 2]) for code in (0, 2)]
    among = [records([[code, 0], *[[0, 0]] * 5], [1] * 3 + [-1] * 3, [3, 2]) for code in (0, 2)]
    beside = [
        records([[code, 1], [0, 1], [2, 0], [1, 0]], [1, -1, 1, -1], [3, 2]) for code in (0, 2)
    ]
    names = "a record alone", "one of six equal records", "one of four records"
    sides = zip(names, (alone, among, beside), strict=True)
    return [_hidden(f"{name}, which moves", *both) for name, both in sides]


def misled(c: Claim, target: Target) -> list[Pair]:
    """Return eight records of which one moves that the public column is wrong about.

    Where that column is begun with, the record has most of all weight.
    """
    others, signs = [[0, 1]] * 4 + [[0, 0]] * 3, [-1, 1, 1, 1, 1, -1, -1, -1]
    left, right = (records([[code, 1], *others], signs, [3, 2]) for code in (0, 2))
    return [_hidden("one of eight records, which the public column is wrong about", left, right)]


def flipped_label(c: Claim, target: Target) -> list[Pair]:
    """Flip a label: neighbours under replace-one, and not under private-columns."""
    sides = [records([[1, 1], [0, 0], [1, 0], [0, 1]], [y, -1, 1, -1], [3, 2]) for y in (1, -1)]
    return [Pair("tiny", "a label that flips", sides[0], sides[1])]


def own_answer(c: Claim, target: Target) -> list[Pair]:
    """Return one positive record among twenty whose label is their code; it moves.

    Its own answer goes from all teachers for it to all against it.
    """
    codes = [[i % 2] for i in range(20)]
    signs = [1, *(2 * (i % 2) - 1 for i in range(20))]
    left, right = (records([[code], *codes], signs, [2]) for code in (1, 0))
    return [_hidden("a record's own answer", left, right)]


# How many pairs each has, if more than one: of sampled claims it must be known beforehand.
N_PAIRS: dict[MakePairs, int] = {several: 5, hidden_few: 3}
