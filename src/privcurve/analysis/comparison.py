"""Differences of accuracy to one named arm, paired, with what chance makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from privcurve.analysis import ranks

LEVEL = 0.95
TEST = "test"
DATASET_COLUMNS = [
    "epsilon",
    "dataset",
    "arm",
    "scored_on",
    "accuracy",
    "reference_accuracy",
    "difference",
    "standard_error",
    "low",
    "high",
    "p_value",
    "p_holm",
    "n_repeats",
    "n_failed",
]
OVERALL_COLUMNS = [
    "epsilon",
    "arm",
    "n_datasets",
    "difference",
    "standard_error",
    "low",
    "high",
    "p_value",
    "p_holm",
    "mean_rank",
    "reference_mean_rank",
    "critical_difference",
    "n_above",
    "n_below",
]


def by_dataset(runs: pd.DataFrame, reference: str, arms: Sequence[str]) -> pd.DataFrame:
    """Compare arms with one of them on each dataset, at each ε.

    Parameters
    ----------
    runs : DataFrame
        Those that are results: dataset, arm, epsilon, fold, repeat, status, accuracy. Of a
        dataset, one fold and repeat has the same records in all arms.
    reference : str
        The arm that others are compared with.
    arms : sequence of str
        The others, in the order of the rows.

    Returns
    -------
    DataFrame
        `DATASET_COLUMNS`, one row for each ε at which both have been trained, dataset and arm.
        `difference` is the arm's accuracy less the reference's. Its interval is Student's, of the
        level `LEVEL`. On a test part all repeats score the same records: the standard error is
        s/√R, that of the noise of training alone. Hold-outs and folds, a share h of the records,
        overlap, and so do their training parts: s·√(1/R + h/(1 − h)) (Nadeau and Bengio 2003,
        *Inference for the generalization error*, Machine Learning 52). `p_value` is of Wilcoxon's
        signed-rank test over the repeats, `p_holm` with Holm's correction for the arms of an ε
        and dataset. An arm with a failed training lacks all of this.
    """
    known = runs[runs["epsilon"].map(math.isfinite)]
    known = known.assign(accuracy=known["accuracy"].where(known["status"] == "ok"))
    rows: list[dict[str, Any]] = []
    for (epsilon, dataset), part in known.groupby(["epsilon", "dataset"], sort=False):
        own = {
            str(arm): group.set_index(["fold", "repeat"])["accuracy"]
            for arm, group in part.groupby("arm", sort=False)
        }
        if reference not in own:
            continue
        found = [_compared(own[arm], own[reference], arm) for arm in arms if arm in own]
        for row, p_holm in zip(found, _holm(row["p_value"] for row in found), strict=True):
            rows.append({"epsilon": epsilon, "dataset": dataset, **row, "p_holm": p_holm})
    frame = pd.DataFrame(rows, columns=DATASET_COLUMNS)
    return frame.sort_values("epsilon", kind="stable", ignore_index=True)


def overall(table: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Compare arms with one of them over all datasets, at each ε.

    Parameters
    ----------
    table : DataFrame
        As of :func:`by_dataset`.
    reference : str

    Returns
    -------
    DataFrame
        `OVERALL_COLUMNS`, one row for each ε and arm. The interval is Student's over the mean
        differences of the datasets, the p-values are of Wilcoxon's test over them, with Holm's
        correction for the arms of an ε. Ranks are among the arms and the reference, the critical
        difference is Nemenyi's. `n_above` and `n_below` count datasets whose own interval lies
        above or below 0. A dataset on which an arm's accuracy is not known counts for no arm.

    Raises
    ------
    ValueError
        If at an ε fewer than two datasets have all arms.
    """
    rows: list[dict[str, Any]] = []
    for epsilon, part in table.groupby("epsilon", sort=True):
        gaps = part.pivot(index="dataset", columns="arm", values="difference").dropna()
        ranked = _ranked(part[part["dataset"].isin(gaps.index)], reference)
        pairs = ranks.pairs(ranked)
        of_pair = [_pair(pairs, reference, arm) for arm in dict.fromkeys(part["arm"])]
        corrected = _holm(pair["p_value"] for pair in of_pair)
        for pair, p_holm in zip(of_pair, corrected, strict=True):
            mine = part[(part["arm"] == pair["arm"]) & part["dataset"].isin(gaps.index)]
            values = gaps[pair["arm"]].tolist()
            rows.append(
                {
                    **{"epsilon": epsilon, "n_datasets": len(values)},
                    **_interval(values, 1 / len(values)),
                    **{**pair, "p_holm": p_holm},
                    "n_above": int((mine["low"] > 0).sum()),
                    "n_below": int((mine["high"] < 0).sum()),
                }
            )
    return pd.DataFrame(rows, columns=OVERALL_COLUMNS)


def _compared(own: pd.Series, base: pd.Series, arm: str) -> dict[str, Any]:
    """Compare the accuracies of two arms on the splits of a dataset."""
    shares = {_held_out(fold) for fold, _ in base.index}
    if len(shares) > 1 or set(own.index) != set(base.index):
        raise ValueError(f"{arm}: its runs are not of the splits that the others have")
    (share,) = shares
    row = {
        **{"arm": arm, "scored_on": "folds" if share else TEST},
        **{"n_repeats": len(own), "n_failed": int(own.isna().sum() + base.isna().sum())},
    }
    gaps = (own - base.reindex(own.index)).round(12)
    if row["n_failed"]:
        return {**row, "p_value": math.nan}
    values = gaps.tolist()
    return {
        **row,
        **{"accuracy": float(own.mean()), "reference_accuracy": float(base.mean())},
        **_interval(values, 1 / len(values) + share / (1 - share)),
        "p_value": ranks.wilcoxon(values),
    }


def _held_out(fold: str) -> float:
    """Give the share of the records that a split scores; 0 of a test part."""
    if fold == TEST:
        return 0.0
    _, folds, number = fold.partition("/")
    return 1 / int(number) if folds else float(fold.partition("@")[2])


def _interval(values: Sequence[float], factor: float) -> dict[str, float]:
    """Give mean, standard error s·√factor, and Student's interval."""
    import numpy as np
    from scipy import stats

    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return {"difference": mean, **dict.fromkeys(("standard_error", "low", "high"), math.nan)}
    error = float(np.std(values, ddof=1)) * math.sqrt(factor)
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1)) * error
    return {
        **{"difference": mean, "standard_error": error},
        **{"low": mean - reach, "high": mean + reach},
    }


def _holm(p_values: Iterator[float]) -> list[float]:
    """Correct the p-values that are known."""
    every = list(p_values)
    corrected = iter(ranks.holm([p for p in every if not math.isnan(p)]))
    return [p if math.isnan(p) else next(corrected) for p in every]


def _ranked(part: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Give the errors of the arms and the reference at one ε, as :func:`ranks.pairs` reads them."""
    base = part.drop_duplicates("dataset").assign(arm=reference)
    base = base.assign(accuracy=base["reference_accuracy"])
    both = pd.concat([base, part], ignore_index=True)
    both = both.assign(error=1 - both["accuracy"])
    return both.assign(rank=both.groupby("dataset")["error"].rank())


def _pair(pairs: pd.DataFrame, reference: str, arm: str) -> dict[str, Any]:
    """Give what is known of one arm beside the reference."""
    first = pairs[(pairs["arm"] == arm) & (pairs["other"] == reference)]
    second = pairs[(pairs["arm"] == reference) & (pairs["other"] == arm)]
    row = pd.concat([first, second]).iloc[0]
    mine, other = row["mean_rank"], row["other_mean_rank"]
    if len(second):
        mine, other = other, mine
    return {
        **{"arm": arm, "p_value": row["p_value"]},
        **{"mean_rank": mine, "reference_mean_rank": other},
        "critical_difference": row["critical_difference"],
    }
