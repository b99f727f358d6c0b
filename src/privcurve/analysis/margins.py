"""Margins of a vote and the advantage of its rounds (thesis, Figure 5.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# A single round's advantage is noisy: the assumption fails where the mean over this many
# rounds, from one round on, is below γ.
WINDOW = 20

MARGIN_BINS = 100

ADVANTAGE, MARGIN = "advantage", "margin"


def ramp_loss(margins: NDArray[np.float64], counts: NDArray[np.int64], threshold: float) -> float:
    """Give the mean of min(1, max(0, 1 − margin/θ)).

    Parameters
    ----------
    margins : ndarray of shape (n_rows,)
    counts : ndarray of shape (n_rows,)
        Records that a row stands for.
    threshold : float
        θ, above 0.

    Returns
    -------
    float
        In [0, 1]; at least the error, and at most the share of margins below θ.
    """
    if not threshold > 0:
        raise ValueError(f"threshold = {threshold} must be above 0")
    return float(np.average(np.clip(1 - margins / threshold, 0, 1), weights=counts))


def histogram(
    margins: NDArray[np.float64], counts: NDArray[np.int64], n_bins: int = MARGIN_BINS
) -> NDArray[np.float64]:
    """Give the share of records in each of `n_bins` equal bins of [−1, 1].

    Parameters
    ----------
    margins : ndarray of shape (n_rows,)
        In [−1, 1].
    counts : ndarray of shape (n_rows,)
    n_bins : int

    Returns
    -------
    ndarray of shape (n_bins,)
        Sums to 1.
    """
    # Margins lie on a lattice that may meet the edges: rounding must not scatter them.
    places = np.floor((margins + 1) * n_bins / 2 + 1e-9).astype(np.int64)
    found = np.bincount(np.clip(places, 0, n_bins - 1), weights=counts, minlength=n_bins)
    return found / counts.sum()


def rounds_needed(density: float, advantage: float) -> int:
    """Give the rounds that the thesis' Theorem 3.0.1 asks for: 16 ln(1/κ)/γ².

    Parameters
    ----------
    density : float
        κ.
    advantage : float
        γ.
    """
    return math.ceil(16 * math.log(1 / density) / advantage**2)


def failing_round(
    advantages: NDArray[np.float64], required: float, window: int = WINDOW
) -> int | None:
    """Give the first round from which the mean advantage of `window` rounds is too small.

    Parameters
    ----------
    advantages : ndarray of shape (n_rounds,)
        Mean over runs.
    required : float
        γ, the weak learner's assumed advantage.
    window : int

    Returns
    -------
    int or None
        From 1; None if it never fails.
    """
    below = np.flatnonzero(window_means(advantages, window) < required)
    return int(below[0]) + 1 if len(below) else None


def failing_rounds(frame: pd.DataFrame, required: float) -> dict[str, int | None]:
    """Give the failing round of each calibration of a frame of :func:`advantage_frame`."""
    advantages = frame[frame["quantity"] == ADVANTAGE]
    return {
        str(name): failing_round(rows["value"].to_numpy(dtype=float), required)
        for name, rows in advantages.groupby("calibration", sort=False)
    }


def window_means(advantages: NDArray[np.float64], window: int = WINDOW) -> NDArray[np.float64]:
    """Give the mean of `window` rounds from each round on; NaN where fewer are left.

    Raises
    ------
    ValueError
        If there are fewer rounds than that at all.
    """
    if len(advantages) < window:
        raise ValueError(f"{len(advantages)} rounds are fewer than the window of {window}")
    means = np.convolve(advantages, np.full(window, 1 / window), mode="valid")
    return np.concatenate([means, np.full(window - 1, math.nan)])


def advantage_frame(calibration: str, runs: Sequence[NDArray[np.float64]]) -> pd.DataFrame:
    """Give the mean advantage of each round over runs, tidy.

    Parameters
    ----------
    calibration : str
    runs : sequence of ndarray of shape (n_rounds,)

    Returns
    -------
    DataFrame
        quantity, calibration, part, round, margin (missing), value, std (over runs; missing
        for one run), n_runs and window_mean, see :func:`window_means`.
    """
    values = np.array(runs)
    frame = _tidy(
        ADVANTAGE, calibration, "train", {"round": np.arange(1, values.shape[1] + 1)}, values
    )
    return frame.assign(window_mean=window_means(values.mean(axis=0)))


def margin_frame(
    calibration: str,
    part: str,
    runs: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> pd.DataFrame:
    """Give the mean share of records by margin over runs, tidy.

    Parameters
    ----------
    calibration, part : str
    runs : sequence of (margins, counts)

    Returns
    -------
    DataFrame
        As of :func:`advantage_frame`; `margin` is the lower edge of a bin of width
        2/`MARGIN_BINS`, `round` and `window_mean` are missing.
    """
    values = np.array([histogram(margins, counts) for margins, counts in runs])
    edges = -1 + 2 * np.arange(MARGIN_BINS) / MARGIN_BINS
    return _tidy(MARGIN, calibration, part, {"margin": edges}, values).assign(window_mean=math.nan)


def _tidy(
    quantity: str,
    calibration: str,
    part: str,
    places: Mapping[str, Any],
    values: NDArray[np.float64],
) -> pd.DataFrame:
    n_runs, n = values.shape
    std = values.std(axis=0, ddof=1) if n_runs > 1 else np.full(n, math.nan)
    missing = pd.array([pd.NA] * n, dtype="Int64")
    return pd.DataFrame(
        {
            "quantity": quantity,
            "calibration": calibration,
            "part": part,
            "round": pd.array(places["round"], dtype="Int64") if "round" in places else missing,
            "margin": places.get("margin", np.full(n, math.nan)),
            "value": values.mean(axis=0),
            "std": std,
            "n_runs": n_runs,
        }
    )
