"""Grids of boosted ensembles and private forests, of which every setting is a result.

Tables and figures of *Boosted and Differentially Private Ensembles of Decision Trees* (Nock and
Henecka 2022): fold errors of each setting first, then what follows from them (docs/boosted_dp.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CELL_COLUMNS = [
    "dataset",
    "learner",
    "epsilon",
    "setting",
    "fold",
    "status",
    "accuracy",
    "measures",
]
# What tells a setting from others; of a forest the first alone.
SETTING = ["forest", "alpha", "leverage", "clamp", "n_trees", "depth", "tree_share"]
KEYS = ["dataset", "learner", "epsilon", *SETTING]
CALIBRATED = "O.C."
ALPHAS = (CALIBRATED, "0.1", "1.0")
FORESTS = {"laplace": "RF-L", "exponential": "RF-E"}
BOOSTED, FOREST = "bdpe", "dp_forest"
EXACT = "exact"
# The paper's clamp M.
CLAMP = 10.0
# Errors of a fold are multiples of one over its records: what differs by less is rounding.
ROUNDING = 1e-9
# The least ε of the paper; below it, the study looks for a leak.
LEAST_EPSILON = 0.01
SMALL_DEPTH, SMALL_TREES = 3, 5
ALL, NOTHING = "all", "-"
SHUFFLES = 200


def fold_errors(
    parts: Iterable[pd.DataFrame], defaults: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Put the folds of each setting side by side.

    Parameters
    ----------
    parts : iterable of DataFrame
        Cells with the columns `CELL_COLUMNS`; all folds of a setting are in one part.
    defaults : mapping of str to mapping
        What a setting that does not name a parameter has, by learner.

    Returns
    -------
    DataFrame
        `KEYS`; over the folds, `error` and `error_std`, and means of `expected_depth` and
        `n_leaves`; and the errors of the folds, ``fold~1/10``, …. A setting of which a fold has
        failed lacks its mean.
    """
    found = [_one_part(part, defaults) for part in parts]
    return pd.concat(found, ignore_index=True).sort_values(KEYS, kind="stable", ignore_index=True)


def _one_part(cells: pd.DataFrame, defaults: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    error = (1 - cells["accuracy"]).where(cells["status"] == "ok")
    said = {text: json.loads(text) for text in cells["measures"].dropna().unique()}
    measured = [said.get(text, {}) for text in cells["measures"]]
    told = cells.assign(
        error=error,
        **{
            name: [one.get(name, math.nan) for one in measured]
            for name in ("expected_depth", "n_leaves")
        },
    )
    keys = ["dataset", "learner", "epsilon", "setting"]
    groups = told.groupby(keys, sort=False)
    folds = told.pivot(index=keys, columns="fold", values="error")
    order = sorted(folds, key=lambda name: int(str(name).partition("/")[0]))
    folds = folds[order].rename(columns=lambda name: f"fold~{name}")
    frame = groups[["expected_depth", "n_leaves"]].mean().join(folds)
    names = list(folds.columns)
    frame.insert(0, "error", frame[names].mean(axis=1, skipna=False))
    frame.insert(1, "error_std", frame[names].std(axis=1, ddof=1, skipna=False))
    frame = frame.reset_index()
    settings = [
        _setting(learner, {**defaults[learner], **json.loads(text)})
        for learner, text in zip(frame["learner"], frame["setting"], strict=True)
    ]
    frame = frame.drop(columns="setting")
    for place, name in enumerate(SETTING):
        frame.insert(3 + place, name, [setting[name] for setting in settings])
    return frame


def _setting(learner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {"n_trees": int(given["n_trees"]), "depth": int(given["depth"])}
    if learner == FOREST:
        nothing = {"alpha": NOTHING, "leverage": NOTHING, "clamp": 0.0, "tree_share": 0.0}
        return {"forest": FORESTS[given["leaves"]], **nothing, **sizes}
    calibrated = given["calibrate_alpha"] == EXACT
    return {
        "forest": NOTHING,
        "alpha": CALIBRATED if calibrated else f"{float(given['alpha']):.1f}",
        "leverage": given["leverage"] or EXACT,
        "clamp": float(given["clamp"]),
        # A half is what the learner takes by itself.
        "tree_share": 0.5 if given["tree_share"] is None else float(given["tree_share"]),
        **sizes,
    }


def boosted(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the published booster: β exact, one clamp M."""
    kept = (frame["learner"] == BOOSTED) & (frame["leverage"] == EXACT)
    return frame[kept & ((frame["clamp"] == CLAMP) | np.isinf(frame["epsilon"]))]


def of_paper(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the ε of the paper."""
    return frame[np.isfinite(frame["epsilon"]) & (frame["epsilon"] >= LEAST_EPSILON)]


def least_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the least mean error over the grid, for each dataset, ε, clamp M and α.

    Parameters
    ----------
    frame : DataFrame
        As of :func:`fold_errors`.

    Returns
    -------
    DataFrame
        dataset, epsilon, clamp, alpha, error, error_std, its setting (the first of equals),
        `behind` the best α of the first three, and `share_spread`: the largest less the smallest
        of the least errors over the values of `tree_share`. Where a setting has failed there is no
        row.
    """
    rows = []
    mine = frame[(frame["learner"] == BOOSTED) & (frame["leverage"] == EXACT)]
    for _, part in mine.groupby(["dataset", "epsilon", "clamp"], sort=True):
        for alpha in [a for a in ALPHAS if a in set(part["alpha"])]:
            own = part[part["alpha"] == alpha]
            if own["error"].isna().any():
                continue
            row = own.sort_values("error", kind="stable").iloc[0]
            by_share = own.groupby("tree_share")["error"].min()
            spread = by_share.max() - by_share.min() if len(by_share) > 1 else math.nan
            names = ["dataset", "epsilon", "clamp", "alpha", "error", "error_std", *SETTING[4:]]
            rows.append(
                {
                    **{name: row[name] for name in names},
                    "behind": row["error"] - part["error"].min(),
                    "share_spread": spread,
                }
            )
    return pd.DataFrame(rows)


def best_alphas(frame: pd.DataFrame, printed: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Count the datasets that each α wins, at each ε (Table 1).

    Parameters
    ----------
    frame : DataFrame
        As of :func:`fold_errors`.
    printed : DataFrame
        epsilon, alpha, n_domains_best.
    seed : int
        Of the shuffles.

    Returns
    -------
    DataFrame
        A row an ε and α: `n_best` (who is equal to the best wins too), `lead` over the next α,
        `printed`, and the mean and the 95 % quantile of `n_best` over `SHUFFLES` shuffles of the
        α within each setting, where no α is better than another.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, len(frame)]))
    mine = boosted(frame)
    known = {
        (float(e), str(a)): n
        for e, a, n in printed[["epsilon", "alpha", "n_domains_best"]].itertuples(index=False)
    }
    rows = []
    for epsilon, part in of_paper(mine).groupby("epsilon", sort=True):
        alphas = [a for a in ALPHAS if a in set(part["alpha"])]
        errors = _by_alpha(part, alphas)
        counts = _counts(errors, len(alphas))
        shuffled = np.array(
            [
                _counts([rng.permuted(one, axis=1) for one in errors], len(alphas))
                for _ in range(SHUFFLES)
            ]
        )
        for place, alpha in enumerate(alphas):
            rivals = [int(n) for i, n in enumerate(counts) if i != place]
            rows.append(
                {
                    **{"epsilon": epsilon, "alpha": alpha, "n_best": int(counts[place])},
                    "lead": int(counts[place]) - max(rivals, default=0),
                    "printed": known.get((float(str(epsilon)), alpha), math.nan),
                    "shuffled_mean": float(shuffled[:, place].mean()),
                    "shuffled_95": float(np.quantile(shuffled[:, place], 0.95)),
                    "n_datasets": len(errors),
                }
            )
    return pd.DataFrame(rows)


def _by_alpha(part: pd.DataFrame, alphas: Sequence[str]) -> list[NDArray[np.float64]]:
    """Give, for each dataset, errors of shape (n_settings, n_alphas); settings of all α alone."""
    found = []
    for _, own in part.groupby("dataset", sort=True):
        wide = own.pivot(index=SETTING[4:], columns="alpha", values="error")
        wide = wide.reindex(columns=list(alphas)).dropna()
        if len(wide):
            found.append(wide.to_numpy(dtype=float))
    return found


def _counts(errors: Sequence[NDArray[np.float64]], n_alphas: int) -> NDArray[np.int64]:
    counts = np.zeros(n_alphas, dtype=np.int64)
    for one in errors:
        least = one.min(axis=0)
        counts += least <= least.min() + ROUNDING
    return counts


def best_sizes(frame: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Give the depth and number of trees of the least private error of each dataset (Table 3).

    Parameters
    ----------
    frame : DataFrame
        As of :func:`fold_errors`.
    printed : DataFrame
        depth and n_trees (``small`` or ``big``), domain.

    Returns
    -------
    DataFrame
        dataset, error, epsilon, alpha, depth, n_trees, tree_share, the two sizes, and the printed
        ones: a depth up to `SMALL_DEPTH`, `SMALL_TREES` trees are small.
    """
    cells: dict[str, str] = {}
    for depth, n_trees, domain in printed[["depth", "n_trees", "domain"]].itertuples(index=False):
        cells.setdefault(our_name(domain), f"{depth} d, {n_trees} T")
    rows = []
    for dataset, part in of_paper(boosted(frame)).groupby("dataset", sort=False):
        row = part.sort_values("error", kind="stable").iloc[0]
        sizes = "{} d, {} T".format(
            "small" if row["depth"] <= SMALL_DEPTH else "big",
            "small" if row["n_trees"] <= SMALL_TREES else "big",
        )
        names = ("error", "epsilon", "alpha", "depth", "n_trees", "tree_share")
        rows.append(
            {"dataset": dataset, **{name: row[name] for name in names}, "sizes": sizes,
             "printed": cells.get(str(dataset))}
        )  # fmt: skip
    return pd.DataFrame(rows)


def our_name(domain: str) -> str:
    """Give our name of a domain: a file's name has no +."""
    return domain.replace("+", "-")


def profile_shares(frame: pd.DataFrame, majority: dict[str, float], at: float) -> pd.DataFrame:
    """Say how errors are spread over a grid: what a profile shows, in numbers.

    Parameters
    ----------
    frame : DataFrame
        As of :func:`fold_errors`.
    majority : dict of str to float
        The error of the majority class, for each dataset.
    at : float
        An error.

    Returns
    -------
    DataFrame
        dataset, privacy (``private``: all finite ε of 0.01 and more; ``none``), alpha, n_trees (or
        ``all``), n_runs, the share of them with an error up to `at`, the least, median and largest
        error, and that of the majority class.
    """
    rows = []
    mine = boosted(frame)
    for (dataset, alpha), part in mine.groupby(["dataset", "alpha"], sort=False):
        for privacy, own in (
            ("none", part[np.isinf(part["epsilon"])]),
            ("private", of_paper(part)),
        ):
            groups = [(ALL, own), *own.groupby("n_trees", sort=True)]
            for n_trees, one in groups:
                if one.empty or one["error"].isna().any():
                    continue
                rows.append(
                    {
                        **{"dataset": dataset, "privacy": privacy, "alpha": alpha},
                        **{"n_trees": str(n_trees), "n_runs": len(one)},
                        "share": float((one["error"] <= at + ROUNDING).mean()),
                        **{"least": one["error"].min(), "median": one["error"].median()},
                        **{"largest": one["error"].max(), "majority": majority[str(dataset)]},
                    }
                )
    return pd.DataFrame(rows)
