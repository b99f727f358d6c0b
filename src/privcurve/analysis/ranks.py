"""Mean ranks of several learners over many datasets, and tests of their differences.

Friedman's test decides whether any learners differ. If so, Wilcoxon's signed-rank test of each pair
decides which, with Holm's correction. Nemenyi's critical difference is for figures. After Demšar,
JMLR 2006.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from privcurve.lazy import pd, stats

LEVEL = 0.05
COLUMNS = [
    "epsilon", "method", "other", "mean_rank", "other_mean_rank", "p_value", "p_holm",
    "differs", "friedman_p", "critical_difference", "n_datasets",
]  # fmt: skip


def keep_complete_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods that have all datasets of their ε."""
    n_datasets = table.groupby(["epsilon", "method"])["dataset"].transform("nunique")
    return table[n_datasets == n_datasets.groupby(table["epsilon"]).transform("max")]


def compare_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Test all pairs of methods at each ε of a table of epsilon, dataset, method, error and rank.

    Return a row per pair, with the smaller mean rank first and the columns `COLUMNS`. A pair
    `differs` if Friedman's test rejects and the pair's corrected p-value is below `LEVEL`. Datasets
    that lack a method's error are left out. An ε with fewer than two methods, or fewer than two
    complete datasets, has no row.
    """
    rows: list[tuple[Any, ...]] = []
    ranked = table[table["rank"].notna()]
    for epsilon, part in ranked.groupby("epsilon", sort=True):
        errors = part.pivot(index="dataset", columns="method", values="error")
        # Errors that differ only by rounding are equal.
        errors = errors[list(dict.fromkeys(part["method"]))].dropna().round(9)
        if min(errors.shape) < 2:
            continue
        n, k = errors.shape
        means = errors.rank(axis=1).mean().sort_values(kind="stable")
        friedman = _compute_friedman(errors)
        pairs = list(itertools.combinations(means.index, 2))
        p_values = [wilcoxon((errors[a] - errors[b]).tolist()) for a, b in pairs]
        shared = (friedman, critical_difference(k, n), n)
        for (a, b), p, p_holm in zip(pairs, p_values, holm(p_values), strict=True):
            differs = bool(friedman < LEVEL and p_holm < LEVEL)
            rows.append((epsilon, a, b, means[a], means[b], p, p_holm, differs, *shared))
    return pd.DataFrame(rows, columns=COLUMNS)


def _compute_friedman(errors: pd.DataFrame) -> float:
    """Return Friedman's p-value, or Wilcoxon's for two methods; 1 if all errors are equal."""
    columns = [errors[method].tolist() for method in errors]
    if len(columns) == 2:
        return wilcoxon([a - b for a, b in zip(*columns, strict=True)])
    if all(column == columns[0] for column in columns):
        return 1.0
    return float(stats.friedmanchisquare(*columns).pvalue)


def wilcoxon(gaps: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of paired differences.

    It is exact, even with ties: it counts all assignments of signs to the ranks. Zeros have ranks
    but no sign (Pratt). It is 1 if all differences are zero. Differences that differ only by
    rounding are equal.
    """
    values = pd.Series(gaps, dtype=float).round(9)
    # Doubled, as ranks of ties may be halves.
    twice = (2 * values.abs().rank()).astype(int)[values != 0]
    # The probability of each sum of positive ranks. The normal approximation is too confident for
    # few ranks.
    chances = np.ones(1)
    for rank in twice:
        none = np.zeros(rank)
        chances = (np.concatenate([chances, none]) + np.concatenate([none, chances])) / 2
    above = int(twice[values > 0].sum())
    smaller = min(above, int(twice.sum()) - above)
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values of several tests with Holm's correction, in the order given; NaN stays NaN.

    Rejecting all p-values below a level makes any error with at most this probability.
    """
    values = pd.Series(p_values, dtype=float).dropna().sort_values(kind="stable")
    factors = pd.Series(range(len(values), 0, -1), values.index)
    return list((factors * values).clip(upper=1).cummax().reindex(range(len(p_values))))


def critical_difference(n_methods: int, n_datasets: int, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of the mean ranks of k methods over N datasets.

    q·√(k(k+1)/(6N)); q is the quantile of the studentised range over √2.
    """
    quantile = float(stats.studentized_range.ppf(1 - level, n_methods, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def mean_ranks(pairs_at: pd.DataFrame) -> dict[str, float]:
    """Return the mean ranks of methods, best first, from rows of one ε of :func:`compare_pairs`."""
    # Each method except the last comes first in some pair.
    last = pairs_at.iloc[-1]
    means = dict(zip(pairs_at["method"], pairs_at["mean_rank"], strict=True))
    return {**means, last["other"]: last["other_mean_rank"]}


def groups_of_equals(pairs_at: pd.DataFrame) -> list[list[str]]:
    """Return the largest groups of consecutive ranks at one ε without a differing pair.

    Groups have two methods or more, and no group contains another.
    """
    means = mean_ranks(pairs_at)
    order = list(means)
    differing = pairs_at.loc[pairs_at["differs"], ["method", "other"]]
    apart = set(map(frozenset, differing.itertuples(index=False)))
    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and all(
            frozenset((order[end + 1], order[i])) not in apart for i in range(start, end + 1)
        ):
            end += 1
        if end > start and not any(a <= start and end <= b for a, b in runs):
            runs.append((start, end))
    return [order[a : b + 1] for a, b in runs]
