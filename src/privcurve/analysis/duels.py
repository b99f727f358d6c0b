"""Boosted ensembles against private forests: who wins (Nock and Henecka 2022, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from privcurve.analysis.ensembles import (
    ALL,
    BOOSTED,
    CLAMP,
    EXACT,
    FOREST,
    LEAST_EPSILON,
    our_name,
)

LEVEL = 0.05
# Those of Table 4.
DEPTHS = (2, 4, 6)


def duels(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare each boosted setting with each forest of its depth, by Student's paired t-test.

    Parameters
    ----------
    frame : DataFrame
        As of :func:`privcurve.analysis.ensembles.fold_errors`.

    Returns
    -------
    DataFrame
        dataset, epsilon, alpha, leverage, n_trees, depth, tree_share, forest, `gain` (the
        forest's error less the booster's), p_value, `significant` at `LEVEL`, `won`. A fold that
        failed on either side does not count; where fewer than two are left there is no duel.
    """
    from scipy import stats

    folds = [name for name in map(str, frame.columns) if name.startswith("fold~")]
    keys = ["dataset", "epsilon", "depth"]
    forests = frame.loc[frame["learner"] == FOREST, [*keys, "forest", *folds]]
    mine = frame[
        (frame["learner"] == BOOSTED) & (frame["clamp"] == CLAMP) & np.isfinite(frame["epsilon"])
    ]
    both = mine.drop(columns="forest").merge(forests, on=keys, suffixes=("", "~forest"))
    gaps = both[[f"{name}~forest" for name in folds]].to_numpy() - both[folds].to_numpy()
    n_pairs = np.isfinite(gaps).sum(axis=1)
    fought = n_pairs > 1
    both, gaps, n_pairs = both[fought], gaps[fought], n_pairs[fought]
    gain = np.nanmean(gaps, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = gain / (np.nanstd(gaps, axis=1, ddof=1) / np.sqrt(n_pairs))
    p_value = 2 * stats.t.sf(np.abs(t), n_pairs - 1)
    # Where all folds are equal there is no difference; where all gaps are, there is no doubt.
    found = both[[*keys, "alpha", "leverage", "n_trees", "tree_share", "forest"]].copy()
    found["gain"] = gain
    found["p_value"] = np.where(np.isnan(t), 1.0, p_value)
    found["significant"] = found["p_value"] < LEVEL
    found["won"] = found["significant"] & (found["gain"] > 0)
    return found


def win_shares(found: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Give the share of significant duels that the booster wins.

    Parameters
    ----------
    found : DataFrame
        As of :func:`duels`.
    by : sequence of str
        Columns that tell groups apart.

    Returns
    -------
    DataFrame
        `by`, n_runs, n_significant, n_wins, `percent_wins` of the significant ones (missing if
        there is none), and `share_not_significant`.
    """
    groups = found.groupby(list(by), sort=True)
    frame = groups.agg(
        n_runs=("won", "size"), n_significant=("significant", "sum"), n_wins=("won", "sum")
    ).reset_index()
    significant = frame["n_significant"].where(frame["n_significant"] > 0)
    frame["percent_wins"] = (100 * frame["n_wins"] / significant).astype(float)
    frame["share_not_significant"] = 1 - frame["n_significant"] / frame["n_runs"]
    return frame


def dataset_wins(found: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Give the wins on each dataset beside the printed ones (Table 4).

    Parameters
    ----------
    found : DataFrame
        As of :func:`duels`.
    printed : DataFrame
        domain, depth, n_trees, forest, alpha, percent_wins.

    Returns
    -------
    DataFrame
        As of :func:`win_shares`, of β exact, by dataset, depth, n_trees, forest and alpha, with
        `printed`.
    """
    by = ["dataset", "depth", "n_trees", "forest", "alpha"]
    mine = found[(found["leverage"] == EXACT) & (found["epsilon"] >= LEAST_EPSILON)]
    mine = mine[mine["depth"].isin(DEPTHS)]
    theirs = printed.rename(columns={"domain": "dataset", "percent_wins": "printed"})
    theirs = theirs.assign(dataset=theirs["dataset"].map(our_name))
    return win_shares(mine, by).merge(theirs[[*by, "printed"]], on=by, how="left")


def overall_wins(found: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Give the wins over all datasets, at each ε and in all, beside the overall line of Table 4.

    Parameters
    ----------
    found : DataFrame
        As of :func:`duels`.
    printed : DataFrame
        n_trees, forest, alpha, percent_wins.

    Returns
    -------
    DataFrame
        As of :func:`win_shares`, by leverage, epsilon (``all`` of the paper's, or one), n_trees,
        forest and alpha, with `printed` where the paper has it.
    """
    by = ["n_trees", "forest", "alpha"]
    found = found[found["depth"].isin(DEPTHS)]
    paper = found[found["epsilon"] >= LEAST_EPSILON]
    whole = win_shares(paper, ["leverage", *by]).assign(epsilon=ALL)
    each = win_shares(found, ["leverage", "epsilon", *by])
    each["epsilon"] = each["epsilon"].map("{:g}".format)
    theirs = printed.rename(columns={"percent_wins": "printed"})[[*by, "printed"]]
    theirs = theirs.assign(leverage=EXACT, epsilon=ALL)
    frame = pd.concat([whole, each], ignore_index=True)
    keys = ["leverage", "epsilon", *by]
    return frame[[*keys, *[c for c in frame if c not in keys]]].merge(theirs, on=keys, how="left")
