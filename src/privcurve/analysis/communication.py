"""What data holders send, beside how good the model is that comes of it."""

from __future__ import annotations

import json
import math

import pandas as pd

from privcurve.analysis.numbers import mean, near

# What a learner measures of its messages; the largest over holders, but for the total.
MESSAGES = ("rounds", "messages", "bytes_per_holder", "bytes_down_per_holder", "bytes_total")
ABOUT = ("dataset", "method", "calibration", "delta", "epsilon")
# What is always told of a protocol.
HOLDERS = ("protocol", "trust", "n_holders")
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
        The columns `ABOUT`; those of `HOLDERS` that a learner has, and parameters that tell
        rows of a method apart; `SCORES`. What is sent is null where a learner sends nothing. A
        row of which a run has failed has no means.
    """
    absent = {name: math.nan for name in MESSAGES if name not in runs}
    there = runs[[near(found, epsilon) for found in runs["epsilon"]]].assign(**absent)
    groups = [part for _, part in there.groupby(["dataset", "arm", "setting"], sort=False)]
    about = pd.concat([part[list(ABOUT)].head(1) for part in groups], ignore_index=True)
    # Of any kind: a whole number is written as one where other methods lack the parameter.
    told = [{**_share(part), **json.loads(part["setting"].iloc[0])} for part in groups]
    parameters = pd.DataFrame(told).astype(object)
    methods = [about["dataset"], about["method"]]
    varied = parameters.map(str).groupby(methods).nunique().gt(1).any()
    telling = [str(name) for name in parameters if name in (*HOLDERS, *varied.index[varied])]
    scores = pd.DataFrame([_scores(part) for part in groups], columns=list(SCORES))
    return pd.concat([about, parameters[telling], scores], axis=1)


def _scores(runs: pd.DataFrame) -> dict[str, float]:
    """Give means over the runs of a protocol; none if one has failed."""
    failed = int((runs["status"] != "ok").sum())
    # Rounds alone are those of a booster, of which nobody hears.
    silent = failed > 0 or bool(runs[list(MESSAGES)].isna().any(axis=None))
    return {
        "accuracy": math.nan if failed else mean(runs["accuracy"]),
        "accuracy_std": math.nan if failed else float(runs["accuracy"].std(ddof=1)),
        **{name: math.nan if silent else mean(runs[name]) for name in MESSAGES},
        "n_repeats": len(runs),
        "n_failed": failed,
    }


def _share(group: pd.DataFrame) -> dict[str, object]:
    share = group.get("train_share")
    return {} if share is None else {"train_share": share.iloc[0]}
