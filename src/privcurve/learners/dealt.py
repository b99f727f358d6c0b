"""What learners of several data holders share: records are dealt, each holder gets a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Records
from privcurve.holders.holder import Holder, HolderRows, LocalHolder
from privcurve.holders.placement import deal
from privcurve.holders.sums import CENTRAL
from privcurve.kernels.holder_counts import Questions
from privcurve.privacy.curator import Curator

# Numbers of a holder's seed.
SEED = 4


class Dealing(Protocol):
    """What of a learner says how its records are dealt."""

    n_holders: int
    placement: str
    classes_: NDArray[Any]

    def _trust(self) -> str: ...


def check_ordered(ordered: Sequence[bool] | None, n_columns: int) -> Sequence[bool]:
    """Give which columns have an order: by default all.

    Raises
    ------
    ValueError
        If there is not one word a column.
    """
    if ordered is None:
        return [True] * n_columns
    if len(ordered) != n_columns:
        raise ValueError(f"ordered has {len(ordered)} entries, but X has {n_columns} columns")
    return [bool(one) for one in ordered]


def bin_codes(codes: Codes, n_bins: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
    """Give the bin of each code, among those of all columns together."""
    width = int(n_bins.sum())
    dtype = np.uint16 if width <= 2**16 else np.uint32
    starts = np.cumsum(n_bins) - n_bins
    return np.asarray(codes.astype(dtype) + starts.astype(dtype))


def deal_to_holders(
    learner: Dealing,
    questions: Questions,
    records: Records,
    curator: Curator,
) -> list[Holder]:
    """Deal records, and make a holder of each part; a curator gets all of them.

    Of the generator first the placement is drawn, then a seed for each holder: what a holder
    draws does not depend on where it runs.

    Parameters
    ----------
    learner : distributed learner
    questions : Questions
    records : Records
    curator : Curator

    Returns
    -------
    list of Holder
    """
    n_holders = 1 if learner._trust() == CENTRAL else int(learner.n_holders)
    n_classes = len(learner.classes_)
    codes, classes, counts, _ = records
    coins = curator.coins
    parts = deal(codes, classes, counts, n_classes, n_holders, learner.placement, coins)
    seeds = coins.integers(2**32, size=(n_holders, SEED)).tolist()
    bins = bin_codes(codes, np.diff(questions.starts))
    return [
        make_holder(
            HolderRows(bins[rows], classes[rows], of_rows),
            questions,
            n_classes,
            curator.party(seed),
        )
        for (rows, of_rows), seed in zip(parts, seeds, strict=True)
    ]


def make_holder(rows: HolderRows, questions: Questions, n_classes: int, door: Curator) -> Holder:
    """Make a holder in this process: what a deployment replaces."""
    return LocalHolder(rows, questions, n_classes, door)
