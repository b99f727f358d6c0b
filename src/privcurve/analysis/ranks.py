"""Rank several learners over many datasets, and test their differences.

Friedman's test decides whether any learners differ. If so, Wilcoxon's signed-rank tests of all
pairs, with Holm's correction, decide which pairs differ. Nemenyi's critical difference is computed
only for figures. The method follows Demšar, JMLR 2006.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from privcurve.lazy import pd, stats

LEVEL = 0.05  # significance level of the tests
COLUMNS = [
    "epsilon", "method", "other", "mean_rank", "other_mean_rank", "p_value", "p_holm",
    "differs", "friedman_p", "critical_difference", "n_datasets",
]  # fmt: skip


def keep_complete_methods(table: pd.DataFrame) -> pd.DataFrame:
    """At each ε, return the rows of the methods that have rows for the most datasets."""
    n_datasets = table.groupby(["epsilon", "method"])["dataset"].transform("nunique")
    return table[n_datasets == n_datasets.groupby(table["epsilon"]).transform("max")]


def compare_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Test all pairs of methods at each ε.

    `table` has the columns epsilon, dataset, method, error and rank. The result has a row per pair
    and the columns `COLUMNS`; in a pair, the method with the smaller mean rank comes first. A pair
    `differs` if Friedman's test rejects and the pair's corrected p-value is below `LEVEL`. Datasets
    on which a method has no error are omitted. An ε with fewer than two methods, or with fewer than
    two remaining datasets, has no row.
    """
    rows: list[tuple[Any, ...]] = []
    ranked = table[table["rank"].notna()]
    for epsilon, part in ranked.groupby("epsilon", sort=True):
        errors = part.pivot(index="dataset", columns="method", values="error")
        # Rounding makes errors equal that differ only by rounding errors.
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
    """Return the p-value of Friedman's test or, for two methods, of Wilcoxon's test.

    `errors` has a row per dataset and a column per method. The result is 1 if all methods have
    equal errors.
    """
    columns = [errors[method].tolist() for method in errors]
    if len(columns) == 2:
        return wilcoxon([a - b for a, b in zip(*columns, strict=True)])
    if all(column == columns[0] for column in columns):
        return 1.0
    return float(stats.friedmanchisquare(*columns).pvalue)


def wilcoxon(gaps: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of paired differences.

    The p-value is exact, even with ties: all assignments of signs to the ranks are counted. Zeros
    are ranked with the other differences, but their ranks are not used (Pratt). The result is 1 if
    all differences are zero. Differences are rounded first, so that rounding errors do not affect
    ranks.
    """
    values = pd.Series(gaps, dtype=float).round(9)
    # Tied differences may have half-integer ranks; doubled ranks are integers.
    twice = (2 * values.abs().rank()).astype(int)[values != 0]
    # chances[s] is the probability that the doubled ranks of positive differences add up to s, if
    # each sign is random. The usual normal approximation gives too small p-values for few
    # differences.
    chances = np.ones(1)
    for rank in twice:
        none = np.zeros(rank)
        chances = (np.concatenate([chances, none]) + np.concatenate([none, chances])) / 2
    above = int(twice[values > 0].sum())
    smaller = min(above, int(twice.sum()) - above)
    return min(1.0, 2 * float(chances[: smaller + 1].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for several tests, in the given order; NaN stays NaN.

    If all hypotheses with a corrected p-value below α are rejected, some true hypothesis is
    rejected with probability at most α.
    """
    values = pd.Series(p_values, dtype=float).dropna().sort_values(kind="stable")
    factors = pd.Series(range(len(values), 0, -1), values.index)
    return list((factors * values).clip(upper=1).cummax().reindex(range(len(p_values))))


def critical_difference(n_methods: int, n_datasets: int, level: float = LEVEL) -> float:
    """Return Nemenyi's critical difference of mean ranks: q·√(k(k+1)/(6N)).

    k is `n_methods`, N is `n_datasets`, and q is the quantile of the studentised range at 1 −
    `level`, divided by √2.
    """
    quantile = float(stats.studentized_range.ppf(1 - level, n_methods, math.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def mean_ranks(pairs_at: pd.DataFrame) -> dict[str, float]:
    """Return the mean rank of each method, best first.

    `pairs_at` are the rows of :func:`compare_pairs` for one ε.
    """
    # In each pair, the better method comes first. The worst method is therefore never first; it is
    # the other method of the last pair.
    last = pairs_at.iloc[-1]
    means = dict(zip(pairs_at["method"], pairs_at["mean_rank"], strict=True))
    return {**means, last["other"]: last["other_mean_rank"]}


def groups_of_equals(pairs_at: pd.DataFrame) -> list[list[str]]:
    """Return the largest groups of methods with consecutive mean ranks in which no pair differs.

    `pairs_at` are the rows of :func:`compare_pairs` for one ε. Groups have at least two methods,
    and no group contains another.
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
