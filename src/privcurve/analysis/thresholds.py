"""The thresholds that a vote on one column is made of, in the column's unit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from privcurve.coding import scaled

COLUMNS = ["round", "threshold", "alpha"]


def thresholds(rounds: Sequence[tuple[int, float, float]], edges: Sequence[float]) -> pd.DataFrame:
    """Give the threshold and the weight of each round.

    Parameters
    ----------
    rounds : sequence of (round, border, alpha)
        A code is called positive if its place on [−1, 1] is above the border.
    edges : sequence of float
        Of the column's bins, in its unit.

    Returns
    -------
    DataFrame
        The columns `COLUMNS`. A value at or above its threshold is called positive, one below
        it negative: it is the lower edge of the first bin above the border, so that it says of
        each record what the vote says.
    """
    n_bins = len(edges) - 1
    places = scaled(np.arange(n_bins, dtype=np.uint32)[:, None], np.array([n_bins]))[:, 0]
    rows = [
        (t, edges[int(np.searchsorted(places, border, side="right"))], alpha)
        for t, border, alpha in rounds
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
