"""Compute statistics over the datasets of the arena; this module calls a dataset a table.

The statistics are mean scores, differences to a reference method, and the smallest differences that
tests can detect.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privcurve.analysis import ranks
from privcurve.analysis.measures import RANKED, cost, error_factor, share_held_out
from privcurve.lazy import pd

# Number of bootstrap samples for a confidence interval, and the interval's level.
RESAMPLES, LEVEL = 10_000, 0.95
# A method wins or loses a table if its mean difference exceeds this many standard errors.
STANDARD_ERRORS = 2.0
WINS, EVEN, LOSSES = "wins", "level", "losses"

# Columns that identify a split. Runs of two methods on the same split are compared as a pair.
PLACE = ["dataset", "fold", "split"]
MEAN_COLUMNS = [
    *("epsilon", "method", "n_datasets", "n_splits", *RANKED),
    *(f"lost_{measure}" for measure in RANKED),
    *("seconds", "memory"),
]
COLUMNS = [
    *("measure", "epsilon", "method", "reference", "n_datasets", "difference", "low", "high"),
    *(WINS, EVEN, LOSSES, "p_value", "p_holm", "least_p"),
]


def mean_scores(runs: pd.DataFrame, free: str) -> pd.DataFrame:
    """Return the mean scores of each method over tables, at each ε.

    Each table counts once, by the mean over its splits. `free` is a method without privacy;
    ``lost_<measure>`` is how much better `free` is than the method, on average. `n_splits` is the
    smallest number of splits of a table, `seconds` the mean duration of a fit, and `memory` the
    largest peak memory of a process in MiB.
    """
    of_table = table_means(runs)
    best = of_table[of_table["method"] == free].set_index("dataset")
    rows = []
    for (epsilon, method), part in of_table.groupby(["epsilon", "method"], sort=False):
        row = {"epsilon": epsilon, "method": method, "n_datasets": len(part)}
        row |= {"n_splits": int(part["n_splits"].min()), "seconds": _mean(part["seconds"])}
        row |= {measure: _mean(part[measure]) for measure in RANKED}
        for measure in RANKED if len(best) else ():
            above = best[measure].reindex(part["dataset"]).to_numpy() - part[measure].to_numpy()
            sign = cost(pd.Series([1.0, 0.0]), measure).diff().iloc[1]
            row[f"lost_{measure}"] = _mean(sign * above)
        rows.append({**row, "memory": part["memory"].max()})
    frame = pd.DataFrame(rows, columns=MEAN_COLUMNS)
    return frame.sort_values(["epsilon", "auc"], ascending=[True, False], ignore_index=True)


def find_references(runs: pd.DataFrame, learner: str) -> dict[str, str]:
    """Return, for each private method, the method of `learner` to compare it with.

    The two methods have the same neighbouring relation, and either both have δ > 0 or neither has.
    The result omits the methods of `learner` and methods without such a counterpart.
    """
    first = runs[runs["epsilon"].map(math.isfinite)].drop_duplicates("method")
    terms = dict(
        zip(first["method"], zip(first["neighbours"], first["delta"] > 0, strict=True), strict=True)
    )
    of_learner = {terms[name]: name for name in first.loc[first["learner"] == learner, "method"]}
    return {
        method: of_learner[place]
        for method, place in terms.items()
        if place in of_learner and method not in of_learner.values()
    }


def compare(runs: pd.DataFrame, references: Mapping[str, str]) -> pd.DataFrame:
    """Compare methods with their references over the tables, by each measure, at each ε.

    `references` maps methods to their references. `difference` is the mean over tables of how much
    better the method is than its reference, on the splits that both have. `low` and `high` are the
    ends of the bootstrap interval of `difference` over tables. A table is a win or a loss if its
    mean difference exceeds `STANDARD_ERRORS` standard errors, which cover the draw of the records
    (:func:`.measures.error_factor`); otherwise the table is level. A table with one split has no
    standard error and is not counted. `p_value` is from the exact Wilcoxon test over tables;
    `p_holm` has Holm's correction for all methods of a measure and ε. `least_p` is the smallest
    possible `p_holm`: its value if the method is better on every table and no other method has a
    smaller p-value.
    """
    rows: list[dict[str, Any]] = []
    split = {method: part for method, part in runs.groupby("method", sort=False)}
    for measure in RANKED:
        scores = {
            method: part.assign(error=cost(part[measure], measure)).set_index(["epsilon", *PLACE])
            for method, part in split.items()
            if part[measure].notna().all()
        }
        for epsilon in sorted(filter(math.isfinite, set(runs["epsilon"]))):
            compared = []
            for method, reference in references.items():
                if method in scores and reference in scores:
                    gaps = (scores[reference]["error"] - scores[method]["error"]).dropna()
                    if epsilon in gaps.index.get_level_values(0):
                        place = {"measure": measure, "epsilon": epsilon, "method": method}
                        row = _compare_tables(gaps.xs(epsilon))
                        compared.append({**place, "reference": reference, **row})
            corrected = ranks.holm([row["p_value"] for row in compared])
            for row, p_holm in zip(compared, corrected, strict=True):
                least = min(1.0, len(compared) * 2.0 ** (1 - row["n_datasets"]))
                rows.append({**row, "p_holm": p_holm, "least_p": least})
    return pd.DataFrame(rows, columns=COLUMNS)


def _compare_tables(gaps: pd.Series) -> dict[str, Any]:
    """Return a row of :func:`compare`; `gaps` has the difference on each split.

    The index of `gaps` has the levels `PLACE`.
    """
    means, counts = [], dict.fromkeys((WINS, EVEN, LOSSES), 0)
    for _, part in gaps.groupby(level="dataset", sort=True):
        values = part.round(12).tolist()
        means.append(math.fsum(values) / len(values))
        if len(values) > 1:
            share = share_held_out(part.index.get_level_values("fold")[0])
            sure = STANDARD_ERRORS * float(np.std(values, ddof=1))
            sure *= error_factor(len(values), share)
            counts[EVEN if abs(means[-1]) <= sure else WINS if means[-1] > 0 else LOSSES] += 1
    low, high = bootstrap(means)
    row = {"n_datasets": len(means), "difference": math.fsum(means) / len(means)}
    return {**row, "low": low, "high": high, **counts, "p_value": ranks.wilcoxon(means)}


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a bootstrap interval for the mean of `values`, at the level `LEVEL`.

    Equal values give equal results, as the random numbers have a fixed seed.
    """
    given = np.asarray(values, dtype=np.float64)
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, len(given), (RESAMPLES, len(given)))
    means = np.sort(given[draws].mean(axis=1).round(12))
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return float(means[tail]), float(means[-1 - tail])


def most_against(n_tables: int, n_methods: int, level: float = ranks.LEVEL) -> int | None:
    """Return the largest rank sum of lost tables with which a method differs significantly.

    A method loses the tables on which it is worse than its reference. The test is the exact
    Wilcoxon test with Holm's correction for `n_methods` methods; the method is assumed to have the
    smallest p-value of all. The result is None if no sum is small enough.
    """
    # chances[s] is the probability that the ranks of lost tables add up to s under the null
    # hypothesis.
    chances = np.ones(1)
    for rank in range(1, n_tables + 1):
        none = np.zeros(rank)
        chances = (np.concatenate([chances, none]) + np.concatenate([none, chances])) / 2
    small = np.flatnonzero(2 * np.cumsum(chances) * n_methods < level)
    return int(small[-1]) if len(small) else None


def least_tables(n_methods: int, level: float = ranks.LEVEL) -> int:
    """Return the smallest number of tables with which a method can differ significantly.

    With this number of tables, the method must be better on every table (or worse on every table),
    and must have the smallest p-value of `n_methods` methods.
    """
    return next(n for n in itertools.count(1) if n_methods * 2.0 ** (1 - n) < level)


def table_means(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean scores over the splits of each table, for each method and ε."""
    groups = runs.groupby(["epsilon", "method", "dataset"], sort=False)
    means = groups[[*RANKED, "seconds"]].agg(_mean)
    return means.assign(n_splits=groups.size(), memory=groups["memory"].max()).reset_index()


def _mean(values: Any) -> float:
    numbers = [float(value) for value in values]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
