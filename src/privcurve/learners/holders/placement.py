"""Distribute records to parties; records that share one row may go to different parties."""

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

# Placement `label`: the parameter of the Dirichlet distribution of each class over the parties.
CONCENTRATION = 0.5


class Holding(NamedTuple):
    """The records of one party."""

    rows: Ints  # indices of distinct rows, increasing
    counts: Ints  # the number of the party's records in each of these rows


class Draws(NamedTuple):
    """The random numbers of a placement, which are public."""

    order: Ints  # a permutation of all records; empty for a single party
    # Placement `label`: for each class, the share of each party; else empty.
    shares: tuple[Floats, ...]


def draw_placement(
    n: int, n_classes: int, n_holders: int, placement: str, rng: np.random.Generator
) -> Draws:
    """Draw the random numbers that distribute `n` records.

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
        Codes of each row, the position of its class, and the number of its records.
    placement : str
        ``random``: at random, in equal numbers (up to one record). ``sizes``: at random, in
        geometrically decreasing numbers; the first party has 16 times the records of the last.
        ``label``: each class by shares of its own Dirichlet(½) distribution. ``column``: in the
        order of the first column. ``label`` and ``column`` depend on exact records: replacing one
        record may move others to another party.
    draws : Draws
        From :func:`draw_placement`.
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
    """Return the index at which the records of each party end, without the last party."""
    shares = np.ones(n_holders)
    if placement == SIZES:
        places = np.arange(n_holders) / (n_holders - 1)
        shares = arithmetic.exps(-arithmetic.log(SPREAD) * places)
    ends = np.rint(n * np.cumsum(shares)[:-1] / shares.sum())
    return ends.astype(np.int64)


def _make_part(records: Ints, n_rows: int) -> Holding:
    """Return the distinct rows of `records`, and how often each occurs.

    If there are few records and many rows, the function sorts the records, which is faster than
    counting all rows.
    """
    if n_rows > 8 * len(records):
        return Holding(*np.unique(records, return_counts=True))
    counts = np.bincount(records, minlength=n_rows)
    rows = np.flatnonzero(counts)
    return Holding(rows, counts[rows])
