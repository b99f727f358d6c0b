"""What data holders send, beside how good the model is that comes of it."""

from __future__ import annotations

import json
import math

import pandas as pd

# What a learner measures of its messages; the largest over holders, but for the total.
MESSAGES = ("rounds", "messages", "bytes_per_holder", "bytes_down_per_holder", "bytes_total")
ABOUT = ("dataset", "method", "calibration", "delta", "epsilon")
SCORES = ("accuracy", "accuracy_std", *MESSAGES, "n_repeats", "n_failed")

CAPTION = "Messages of each protocol, and the accuracy that they buy"
NOTES = (
    "Means over repeats; accuracy ± one standard deviation. Bytes up and down are those of the "
    "holder that sends, or gets, most.",
    "Payload alone: 8 bytes a number where each message is private by itself (local), 4 bytes "
    "where only sums are seen (secure_sum: fixed point in a ring of 2^32), 2 bytes a vote. "
    "Exchange of keys, framing and encryption are not counted.",
    "A method without messages (–) needs all records in one place.",
)


def communication(runs: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Give one row a protocol: its rounds, its bytes, its accuracy at one ε.

    Parameters
    ----------
    runs : DataFrame
        As of :func:`privcurve.analysis.sweep.described`.
    epsilon : float

    Returns
    -------
    DataFrame
        The columns `ABOUT`, those parameters that tell rows apart, `accuracy`, `accuracy_std`,
        the columns `MESSAGES` (null where a learner sends none), `n_repeats` and `n_failed`. A row
        of which a run has failed has no means.
    """
    absent = {name: math.nan for name in MESSAGES if name not in runs}
    there = runs[[_near(found, epsilon) for found in runs["epsilon"]]].assign(**absent)
    rows = []
    for (_, _, setting), group in there.groupby(["dataset", "arm", "setting"], sort=False):
        failed = group["status"] != "ok"
        # Rounds alone are those of a booster, of which nobody hears.
        silent = bool(failed.any() or group[list(MESSAGES)].isna().any(axis=None))
        parameters = {**_varied(group), **json.loads(str(setting))}
        rows.append(
            {
                **{name: group[name].iloc[0] for name in ABOUT},
                **parameters,
                "accuracy": math.nan if failed.any() else _mean(group["accuracy"]),
                "accuracy_std": math.nan if failed.any() else float(group["accuracy"].std(ddof=1)),
                **{name: math.nan if silent else _mean(group[name]) for name in MESSAGES},
                "n_repeats": len(group),
                "n_failed": int(failed.sum()),
            }
        )
    frame = pd.DataFrame(rows)
    others = [name for name in frame if name not in (*ABOUT, *SCORES)]
    telling = [name for name in others if frame[name].map(str).nunique() > 1]
    return frame[[*ABOUT, *telling, *SCORES]]


def _varied(group: pd.DataFrame) -> dict[str, object]:
    share = group.get("train_share")
    return {} if share is None else {"train_share": share.iloc[0]}


def _near(value: float, wanted: float) -> bool:
    return f"{value:.12g}" == f"{wanted:.12g}"


def _mean(values: pd.Series) -> float:
    return math.fsum(values) / len(values)
