"""Deal records to parties; records that are equal may go to different parties."""

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

# Placement `sizes`: the first party has SPREAD times as many records as the last one.
SPREAD = 16.0

# Placement `label`: parameter of the Dirichlet distribution by which each class is divided among
# the parties; a small parameter gives unequal shares.
CONCENTRATION = 0.5


class Holding(NamedTuple):
    """The records of one party, as distinct rows with counts."""

    rows: Ints  # indices of the distinct rows, in increasing order
    counts: Ints  # number of the party's records that are equal to each of these rows


class Draws(NamedTuple):
    """The random numbers of a placement, which become public."""

    order: Ints  # a permutation of all records; empty for a single party
    # Placement `label`: for each class, the share that each party gets. Other placements: empty.
    shares: tuple[Floats, ...]


def draw_placement(
    n: int, n_classes: int, n_holders: int, placement: str, rng: np.random.Generator
) -> Draws:
    """Draw the random numbers by which :func:`deal` distributes `n` records.

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
    """Return the records of each party; with more parties than records, some parties get none.

    Parameters
    ----------
    codes, classes, counts
        For each row: its bins, the position of its class, and its number of records.
    placement : str
        ``random``: at random; numbers of records are equal up to one record. ``sizes``: at random;
        numbers decrease geometrically, and the first party has 16 times as many records as the
        last. ``label``: each class is divided by its own shares, from a Dirichlet(½) distribution.
        ``column``: in the order of the first column. The placements ``label`` and ``column`` depend
        on exact records: replacing one record may move other records to another party.
    draws : Draws
        The result of :func:`draw_placement`.
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
    """Return the index at which each party's records end, except for the last party."""
    shares = np.ones(n_holders)
    if placement == SIZES:
        places = np.arange(n_holders) / (n_holders - 1)
        shares = arithmetic.exps(-arithmetic.log(SPREAD) * places)
    ends = np.rint(n * np.cumsum(shares)[:-1] / shares.sum())
    return ends.astype(np.int64)


def _make_part(records: Ints, n_rows: int) -> Holding:
    """Return the distinct rows in `records`, and the number of records of each row.

    If there are few records and many rows, the function sorts the records, which is faster than
    counting over all rows.
    """
    if n_rows > 8 * len(records):
        return Holding(*np.unique(records, return_counts=True))
    counts = np.bincount(records, minlength=n_rows)
    rows = np.flatnonzero(counts)
    return Holding(rows, counts[rows])
