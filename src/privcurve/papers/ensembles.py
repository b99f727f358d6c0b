"""Grids of boosted ensembles and private forests, of which every setting is a result.

Tables of *Boosted and Differentially Private Ensembles of Decision Trees* (Nock and Henecka
2022): fold errors of each setting first, then what follows from them (docs/boosted_dp.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.experiments import study
from privcurve.files import replace_text
from privcurve.lazy import pd, stats
from privcurve.learners import registry
from privcurve.outputs.base import PAPER, TABLES, Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.tables.table import Table

WORD = "ensemble_errors"
ERRORS = "errors"
# What the tables know of a setting (privcurve.analysis.ensembles).
LEARNERS = ("bdpe", "dp_forest")


class EnsembleErrors(Output):
    """File: errors of all folds of each setting of `bdpe` and `dp_forest`; others read it."""

    word: ClassVar[str] = WORD
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000

    def check(self, asked: Asked) -> None:
        of = asked.study
        if of.select != study.ALL or not of.folds or of.repeats:
            raise ValueError(
                "it is of all runs: give the study select: all and splits: {folds: 10}"
            )
        if not any(arm.learner == LEARNERS[0] for arm in of.arms.values()):
            raise ValueError(f"the study has no learner {LEARNERS[0]}, and it is about them")

    def files(self, asked: Asked) -> Files:
        return Files(others={ERRORS: TABLES / f"{asked.place}.csv"})

    def reads(self, asked: Asked) -> Reads:
        arms = [name for name, arm in asked.study.arms.items() if arm.learner in LEARNERS]
        return Reads(tuple((dataset, arm) for dataset in asked.study.datasets for arm in arms))

    def make(self, context: Context) -> None:

        # A curve at a time: memory does not grow with the study.
        def parts() -> Iterator[pd.DataFrame]:
            for curve in context.curves:
                yield from curve.results(CELL_COLUMNS)

        defaults = {name: registry.entry(name).defaults for name in LEARNERS}
        frame = fold_errors(parts(), defaults)
        text = frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
        replace_text(context.asked.files.others[ERRORS], text)


def read_errors(context: Context) -> pd.DataFrame:
    """Read the errors of all settings."""
    path = context.others[WORD].files.others[ERRORS]
    names = dict.fromkeys(("dataset", "learner", "forest", "alpha", "leverage"), "str")
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])


RUNS = (
    "Errors are means over the ten folds of one partition, and the best of a grid on the folds "
    "that chose it: they are optimistic, as the paper's are."
)


class _Ensembles(Output):
    """A table that is made from the errors of all settings, and from printed ones."""

    selects: ClassVar[bool] = False
    options: ClassVar = {"paper": PAPER}
    printed: ClassVar[str] = ""

    def check(self, asked: Asked) -> None:
        if self.printed and not self._printed(asked).is_file():
            raise ValueError(f"there is no {self._printed(asked)}, whose numbers stand beside ours")

    def reads(self, asked: Asked) -> Reads:
        resources = (self._printed(asked),) if self.printed else ()
        return Reads(outputs=(WORD,), resources=resources)

    def _printed(self, asked: Asked) -> Path:
        return asked.printed / self.printed

    def _read_printed(self, context: Context) -> pd.DataFrame:

        return pd.read_csv(self._printed(context.asked), dtype={"alpha": "str"})

    def _write(self, context: Context, frame: pd.DataFrame, caption: str, *notes: str) -> None:

        context.write(Table(frame, caption, notes))


class EnsembleLeast(_Ensembles):
    """Table: the least error over the grid, for each dataset, ε and α, and its setting."""

    word: ClassVar[str] = "ensemble_least"

    def make(self, context: Context) -> None:

        frame = least_errors(read_errors(context))
        self._write(
            context,
            frame,
            "Least error over the grid",
            RUNS,
            "Behind: the error less that of the best α. Share spread: how far the least "
            "errors at each share of the budget for splits lie apart.",
        )


class EnsembleAlphas(_Ensembles):
    """Table: how many datasets each α wins at each ε, beside chance and the printed Table 1."""

    word: ClassVar[str] = "ensemble_alphas"
    printed: ClassVar[str] = "table1_best_alpha_by_epsilon.csv"

    def make(self, context: Context) -> None:

        frame = best_alphas(read_errors(context), self._read_printed(context), context.shuffles)
        self._write(
            context,
            frame,
            "Datasets on which each α has the least error of the grid",
            RUNS,
            "Who is equal to the best wins too. Shuffled: the same count where the three α "
            f"of each setting change places at random, over {SHUFFLES} shuffles.",
        )


class EnsembleSizes(_Ensembles):
    """Table: depth and number of trees of the least error of each dataset, beside Table 3."""

    word: ClassVar[str] = "ensemble_sizes"
    printed: ClassVar[str] = "table3_best_depth_and_trees.csv"

    def make(self, context: Context) -> None:

        frame = best_sizes(read_errors(context), self._read_printed(context))
        self._write(
            context,
            frame,
            "Size of the ensemble of the least private error",
            RUNS,
            f"Small: depth up to {SMALL_DEPTH}, {SMALL_TREES} trees. "
            "The paper does not say where it draws the line, and leaves three domains out.",
        )


class EnsembleWins(_Ensembles):
    """Table: who wins against the forests on each dataset (Table 4), beside the printed one."""

    word: ClassVar[str] = "ensemble_wins"
    printed: ClassVar[str] = "table4_wins_against_forests.csv"

    def check(self, asked: Asked) -> None:
        super().check(asked)
        if not any(arm.learner == LEARNERS[1] for arm in asked.study.arms.values()):
            raise ValueError(f"the study has no learner {LEARNERS[1]} to win against")

    def make(self, context: Context) -> None:

        found = duels(read_errors(context))
        frame = dataset_wins(found, self._read_printed(context))
        self._write(context, frame, "Runs won against the forests, of the significant ones", *_WINS)


class EnsembleWinsOverall(EnsembleWins):
    """Table: the same over all datasets, at each ε and in all, with β exact and constant."""

    word: ClassVar[str] = "ensemble_wins_overall"
    printed: ClassVar[str] = "table4_overall.csv"

    def make(self, context: Context) -> None:

        found = duels(read_errors(context))
        frame = overall_wins(found, self._read_printed(context))
        self._write(
            context,
            frame,
            "Runs won against the forests over all datasets, of the significant ones",
            *_WINS,
        )


_WINS = (
    "A run is one ε and share of the budget for splits; it is significant if Student's t-test, "
    "paired over the ten folds, rejects at the level 0.05. The forest has the same depth, and 21 "
    "trees.",
    "Leverage constant: β does not read the records; exact: it does, as printed, without noise.",
)


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
    """Return the least mean error over the grid, for each dataset, ε, clamp M and α.

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
    """Return, for each dataset, errors of shape (n_settings, n_alphas); settings of all α alone."""
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
    """Return the depth and number of trees of the least private error of each dataset (Table 3).

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
    """Return our name of a domain: a file's name has no +."""
    return domain.replace("+", "-")


LEVEL = 0.05
# Those of Table 4.
DEPTHS = (2, 4, 6)


def duels(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare each boosted setting with each forest of its depth, by Student's paired t-test.

    dataset, epsilon, alpha, leverage, n_trees, depth, tree_share, forest, `gain` (the
    forest's error less the booster's), p_value, `significant` at `LEVEL`, `won`. A fold that
    failed on either side does not count; where fewer than two are left there is no duel.
    """
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
    """Return the share of significant duels that the booster wins.

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
    """Return the wins on each dataset beside the printed ones (Table 4).

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
    """Return the wins over all datasets, at each ε and in all, beside the overall line of Table 4.

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
