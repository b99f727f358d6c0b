"""Distribute records to parties: one by one, even if a row represents several."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.lazy import arithmetic
from privcurve.privacy.draws import dirichlet

RANDOM = "random"
SIZES = "sizes"
LABEL = "label"
COLUMN = "column"
PLACEMENTS = (RANDOM, SIZES, LABEL, COLUMN)

# Under `sizes`: the number of the first party's records, divided by the last party's.
SPREAD = 16.0

# Under `label`: the parameter of the Dirichlet distribution of a class over the parties.
CONCENTRATION = 0.5


class Holding(NamedTuple):
    """The share of one party: distinct rows, increasing, and the records of each."""

    rows: Ints
    counts: Ints


class Draws(NamedTuple):
    """The public coins of a placement."""

    order: Ints  # of all records; empty for a single party
    shares: tuple[Floats, ...]  # under `label`: for each class, by party


def draw_placement(
    n: int, n_classes: int, n_holders: int, placement: str, rng: np.random.Generator
) -> Draws:
    """Draw the coins that distribute `n` records.

    Raises ValueError for an unknown placement.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}; got {placement!r}")
    if n_holders == 1:
        return Draws(np.empty(0, dtype=np.int64), ())
    order = rng.permutation(n)
    by_class = n_classes if placement == LABEL else 0
    return Draws(order, tuple(dirichlet(rng, n_holders, CONCENTRATION) for _ in range(by_class)))


def deal(
    codes: Codes, classes: Ints, counts: Ints, n_holders: int, placement: str, draws: Draws
) -> list[Holding]:
    """Distribute records to parties; if there are more parties than records, some get none.

    Rows are given with the positions of their classes and the numbers of their records. The
    placement is one of: ``random``: at random, equal numbers up to one; ``sizes``: at random, with
    geometrically decreasing numbers, the first 16 times the last; ``label``: each class by shares
    of its own Dirichlet(½) distribution; ``column``: in the order of the first column. The last two
    read records: a replaced record may move, and move others.
    """
    if n_holders == 1:
        return [Holding(np.arange(len(counts)), counts)]
    records = np.repeat(np.arange(len(counts)), counts)[draws.order]
    if placement == LABEL:
        by_class = []
        for c, shares in enumerate(draws.shares):
            mine = records[classes[records] == c]
            ends = np.rint(len(mine) * np.cumsum(shares)[:-1]).astype(np.int64)
            by_class.append(np.split(mine, ends))
        parts = [np.concatenate(shares) for shares in zip(*by_class, strict=True)]
        return [_make_part(part, len(counts)) for part in parts]
    if placement == COLUMN:
        records = records[np.argsort(codes[records, 0], kind="stable")]
    ends = _place_ends(len(records), n_holders, placement)
    return [_make_part(part, len(counts)) for part in np.split(records, ends)]


def _place_ends(n: int, n_holders: int, placement: str) -> Ints:
    """Return where the records of each party end, except the last."""
    shares = np.ones(n_holders)
    if placement == SIZES:
        places = np.arange(n_holders) / (n_holders - 1)
        shares = arithmetic.exps(-arithmetic.log(SPREAD) * places)
    ends = np.rint(n * np.cumsum(shares)[:-1] / shares.sum())
    return ends.astype(np.int64)


def _make_part(records: Ints, n_rows: int) -> Holding:
    """Return the distinct rows of records, by sorting if that is faster than counting."""
    if n_rows > 8 * len(records):
        return Holding(*np.unique(records, return_counts=True))
    counts = np.bincount(records, minlength=n_rows)
    rows = np.flatnonzero(counts)
    return Holding(rows, counts[rows])
