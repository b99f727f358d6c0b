"""Pairs of neighbours that claims are tried on, each made for a claim and a target."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from privcurve.audit.claim import Claim
from privcurve.audit.pairs import (
    Pair,
    Records,
    Target,
    all_neighbours,
    alone,
    crossed,
    flipped_balance,
    flipped_constant,
    records,
)
from privcurve.audit.scores import rare_canary_pair

# Records of the target that a slow learner is trained on.
SMALL = 200


def several(c: Claim, target: Target) -> list[Pair]:
    """Give the pairs of the recipe: what a learner spends on one, it saves on another.

    A record alone among three codes; two in columns that change places; labels that
    balance; a training error that is 0 on one side only; three codes, all rows distinct.
    """
    return [alone(3), crossed(), flipped_balance(9, 0), flipped_constant(6), three_codes()]


SEVERAL = 5


def three_codes() -> Pair:
    """Give five distinct records in a column of three codes; one moves to the rarest code."""
    others = [[0], [1], [1], [2]]
    sides = [records([[code], *others], [1, -1, 1, -1, -1], [3]) for code in (0, 2)]
    return Pair("tiny", "three codes, a record that moves", sides[0], sides[1])


def tiny_neighbours(c: Claim, target: Target) -> Iterator[Pair]:
    """Give all neighbours of few records in a column of two or three bins, and constant ones."""
    for n in (2, 3, 4):
        yield from all_neighbours(n, (2,))
    yield from three_bins(c, target)
    yield from constant_columns(c, target)


def three_bins(c: Claim, target: Target) -> Iterator[Pair]:
    """Give all neighbours of 2 and 3 records in a column of three bins."""
    return itertools.chain(all_neighbours(2, (3,)), all_neighbours(3, (3,)))


def two_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Give all neighbours of 2 and 3 records in two columns of two bins."""
    return itertools.chain(all_neighbours(2, (2, 2)), all_neighbours(3, (2, 2)))


def constant_columns(c: Claim, target: Target) -> Iterator[Pair]:
    """Give the worst pairs of 1-rules (PRIVACY.md §b) for several numbers of records."""
    return map(flipped_constant, (2, 3, 4, 6, 8, 12, 20, 40))


def four_constant(c: Claim, target: Target) -> list[Pair]:
    """Give the worst pair of 1-rules at a size where its unlikely outcome can be counted."""
    return [flipped_constant(4)]


def eight_constant(c: Claim, target: Target) -> list[Pair]:
    """Give eight records whose labels are equal on one side."""
    return [flipped_constant(8)]


def nine_balanced(c: Claim, target: Target) -> list[Pair]:
    """Give nine equal records whose majority is up to the one that is flipped."""
    return [flipped_balance(9, 0)]


def crossed_columns(c: Claim, target: Target) -> list[Pair]:
    """Give two records in two columns of two bins: splits are torn, and all leaves move."""
    return [crossed()]


def alone_in_two_bins(c: Claim, target: Target) -> list[Pair]:
    """Give one record that is in one of two bins: all that teachers know is which."""
    return [alone()]


def in_crowds(c: Claim, target: Target) -> list[Pair]:
    """Give one record that shares a bin of each column with others, in each column with others.

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
    sides = [
        Records(codes, np.append(np.int8(label), others), np.full(d, 2), counts)
        for label in (1, -1)
    ]
    return [Pair("tiny", "a label among balanced crowds", sides[0], sides[1])]


def rare(c: Claim, target: Target) -> list[Pair]:
    """Put a canary of rare codes into the target."""
    return [rare_canary_pair(target)]


def rare_in_part(c: Claim, target: Target) -> list[Pair]:
    """Put a canary of rare codes into the first records of the target."""
    base = target.records
    rows = slice(0, SMALL)
    part = Records(base.codes[rows], base.signs[rows], base.n_bins, base.counts[rows])
    return [rare_canary_pair(Target(f"{target.name}, {part.n} records", part))]


def torn_columns(c: Claim, target: Target) -> list[Pair]:
    """Give the tight pair of a tree's split (PRIVACY.md §c).

    A flipped label makes a child of the first column pure and a pure child of the others
    impure; the others are copies, so that their questions are as good as certain.
    """
    codes = np.zeros((3, 31), dtype=np.uint8)
    codes[0], codes[1, 0], codes[2, 1:] = 1, 1, 1
    counts = np.array([1, 1000, 1000])
    sides = [
        Records(codes, np.array([label, 1, -1], dtype=np.int8), np.full(31, 2), counts)
        for label in (-1, 1)
    ]
    return [Pair("tiny", "a flipped label that purifies a child", sides[0], sides[1])]
