"""Tabulate the errors of boosted ensembles and private forests over a grid of settings.

These are the tables of *Boosted and Differentially Private Ensembles of Decision Trees* (Nock and
Henecka 2022). The output `ensemble_errors` collects the errors of all settings on each fold; the
other outputs compute tables from these errors (papers/boosted_dp/README.md).
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.experiments import study
from privcurve.files import replace_text
from privcurve.lazy import pd, stats
from privcurve.learners import registry
from privcurve.outputs.base import TABLES, Context, Files, Output, OutputRequest, Reads
from privcurve.privacy.budget import PUBLISHED
from privcurve.stored import spoken_frame, stored_frame
from privcurve.tables.table import Table

WORD = "ensemble_errors"
ERRORS = "errors"
RUN_COLUMNS = ["dataset", "learner", "epsilon", "setting", "fold", "status", "accuracy", "measures"]
# Columns that identify a setting. `alpha`, `leverage`, `clamp` and `tree_share` are empty (- or 0)
# for forests, which have no such parameters.
SETTING = ["forest", "alpha", "leverage", "clamp", "n_trees", "depth", "tree_share"]
KEYS = ["dataset", "learner", "epsilon", *SETTING]
# Value of the column `alpha` if the paper's objective calibration chooses α.
CALIBRATED = "O.C."
ALPHAS = (CALIBRATED, "0.1", "1.0")
FORESTS = {"laplace": "RF-L", "exponential": "RF-E"}
BOOSTED, FOREST = LEARNERS = "bdpe", "dp_forest"
EXACT = "exact"
# The clamp M that the paper uses: votes of leaves lie in [−M, M].
CLAMP = 10.0
# Tolerance for ties: errors on a fold of n records are multiples of 1/n, so a smaller difference
# between two errors is a rounding error of floats.
ROUNDING = 1e-9
# The smallest ε in the paper. The published leverage β is computed from exact records. Our study
# also has smaller ε, because they show whether β reveals the records. Comparisons with the numbers
# that the paper prints leave out these smaller ε.
LEAST_EPSILON = 0.01
SMALL_DEPTH, SMALL_TREES = 3, 5
ALL, NOTHING = "all", "-"
SHUFFLES = 200
# Number of domains in the paper. Its counts over domains are compared with ours only if the study
# has as many datasets.
DOMAINS = 19
RUNS = (
    "Errors are means over the ten folds of one partition, and the best of a grid on the folds "
    "that chose it: they are optimistic, as the paper's are."
)

OF_WINS = (
    "A run is one ε and share of the budget for splits; it is significant if Student's t-test, "
    "paired over the ten folds, rejects at the level 0.01, as in the paper. The forest has the "
    "same depth, and 21 trees.",
    "Leverage constant: β does not read the records; exact: it does, as printed, without noise.",
)


class EnsembleErrors(Output):
    """File: errors of all settings of `bdpe` and `dp_forest` on each fold, for other outputs."""

    word: ClassVar[str] = WORD
    selects: ClassVar[bool] = False
    memory: ClassVar[int] = 2000

    def check(self, request: OutputRequest) -> None:
        of = request.study
        if of.select != study.ALL or not of.folds or of.repeats:
            needed = "select: all and splits: {folds: 10}"
            raise ValueError(f"study must have {needed}, because this output reads all runs")
        if not any(method.learner == BOOSTED for method in of.methods.values()):
            raise ValueError(f"study must have a learner {BOOSTED}; got none")
        seen: dict[tuple[Any, ...], str] = {}
        for method in of.methods.values():
            if method.learner in LEARNERS and method.calibration != PUBLISHED:
                raise ValueError(f"calibration must be published; got another for {method.name}")
            for point in method.points if method.learner in LEARNERS else ():
                own = {**registry.entry(method.learner).defaults, **point.setting}
                key = (method.learner, point.epsilon, *_setting(method.learner, own).values())
                if key in seen:
                    raise ValueError(
                        f"learners must differ in {', '.join(SETTING)}; got the same for "
                        f"{seen[key]} and {method.name}"
                    )
                seen[key] = method.name

    def files(self, request: OutputRequest) -> Files:
        return Files(others={ERRORS: TABLES / f"{request.place}.csv"})

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.study.methods.values()
        return Reads(request.curves_of(method for method in methods if method.learner in LEARNERS))

    def make(self, context: Context) -> None:
        # Read one curve at a time, so that memory does not grow with the study. The runs of a curve
        # may come from several jobs, one for each fold; hence `concat`.
        parts = (pd.concat(context.jobs.results(curve, RUN_COLUMNS)) for curve in context.curves)
        frame = fold_errors(parts, {name: registry.entry(name).defaults for name in LEARNERS})
        text = stored_frame(frame).to_csv(index=False, float_format="%.12g", lineterminator="\n")
        replace_text(context.request.files.others[ERRORS], text)


def read_errors(context: Context) -> pd.DataFrame:
    """Read the table of :func:`fold_errors` from the file that output `ensemble_errors` wrote."""
    path = context.others[WORD].files.others[ERRORS]
    names = dict.fromkeys(("dataset", "learner", "forest", "alpha", "leverage"), "str")
    return spoken_frame(pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""]))


class _Ensembles(Output):
    """Base class of tables that compare the errors of all settings with the paper's numbers."""

    selects: ClassVar[bool] = False
    printed: ClassVar[str] = ""
    caption: ClassVar[str]
    notes: ClassVar[tuple[str, ...]]

    def check(self, request: OutputRequest) -> None:
        path = self._printed_path(request)
        if self.printed and not path.is_file():
            raise ValueError(f"printed numbers must be in {path}; got no such file")

    def reads(self, request: OutputRequest) -> Reads:
        resources = (self._printed_path(request),) if self.printed else ()
        return Reads(outputs=(WORD,), resources=resources)

    def _printed_path(self, request: OutputRequest) -> Path:
        return request.paper / "printed" / self.printed

    def read_printed(self, context: Context) -> pd.DataFrame:
        """Read the CSV file with the numbers that the paper prints (class attribute `printed`)."""
        return pd.read_csv(self._printed_path(context.request), dtype={"alpha": "str"})

    def make(self, context: Context) -> None:
        context.write(Table(self.frame(read_errors(context), context), self.caption, self.notes))

    @abstractmethod
    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        """Return the table, computed from the errors of all settings on each fold."""


class EnsembleLeast(_Ensembles):
    """Table: the smallest error over the grid for each dataset, ε and α, with its setting."""

    word: ClassVar[str] = "ensemble_least"
    caption: ClassVar[str] = "Least error over the grid"
    notes: ClassVar = (
        RUNS,
        "Behind: the error less that of the best α. Share spread: how far the least "
        "errors at each share of the budget for splits lie apart.",
    )

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        return least_errors(errors)


class EnsembleAlphas(_Ensembles):
    """Table: the number of datasets on which each α has the smallest error, at each ε.

    The table also has the numbers that the paper prints. To show what chance alone gives, it has
    the numbers after random permutations of the errors of the α.
    """

    word: ClassVar[str] = "ensemble_alphas"
    version: ClassVar[int] = 2
    printed: ClassVar[str] = "table1_best_alpha_by_epsilon.csv"
    caption: ClassVar[str] = "Datasets on which each α has the least error of the grid"
    notes: ClassVar = (
        RUNS,
        "Who is equal to the best wins too. Shuffled: the same count where the three α "
        f"of each setting change places at random, over {SHUFFLES} shuffles.",
    )

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        return best_alphas(errors, self.read_printed(context), context.shuffle_seed)


class EnsembleSizes(_Ensembles):
    """Table: depth and number of trees of the best ensemble on each dataset, ours and printed."""

    word: ClassVar[str] = "ensemble_sizes"
    version: ClassVar[int] = 2
    printed: ClassVar[str] = "table3_best_depth_and_trees.csv"
    caption: ClassVar[str] = "Size of the ensemble of the least private error"
    notes: ClassVar = (
        RUNS,
        f"Small: depth up to {SMALL_DEPTH}, {SMALL_TREES} trees. "
        "The paper does not say where it draws the line, and leaves three domains out.",
    )

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        return best_sizes(errors, self.read_printed(context))


class EnsembleDomains(_Ensembles):
    """Table: the size of each dataset, and the number of settings that Theorem 13 covers.

    Theorem 13 of the paper assumes Td ≤ log m, for T trees of depth d and m records.
    """

    word: ClassVar[str] = "ensemble_domains"
    printed: ClassVar[str] = "table2_domains.csv"
    caption: ClassVar[str] = "Domains, and the settings that Theorem 13 is about"
    notes: ClassVar = (
        "Theorem 13 supposes Td ≤ log m (natural; T trees of depth d, m records), and an ε that "
        "log(m)/√m is small beside. Settings: pairs of T and d of the grid, and how many "
        "of them it is about. Best: Td of the least private error, over log m.",
    )

    def reads(self, request: OutputRequest) -> Reads:
        return replace(super().reads(request), data=request.study.datasets)

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        shapes = {name: context.data(name).X.shape for name in context.study.datasets}
        return domains(errors, shapes, self.read_printed(context))


class EnsembleWins(_Ensembles):
    """Table: how often the booster beats the forests, by dataset, beside the paper's Table 4."""

    word: ClassVar[str] = "ensemble_wins"
    version: ClassVar[int] = 2
    printed: ClassVar[str] = "table4_wins_against_forests.csv"
    caption: ClassVar[str] = "Runs won against the forests, of the significant ones"
    notes: ClassVar = OF_WINS

    def check(self, request: OutputRequest) -> None:
        super().check(request)
        if not any(method.learner == FOREST for method in request.study.methods.values()):
            raise ValueError(f"study must have a learner {FOREST} for the comparison; got none")

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        return dataset_wins(compare_with_forests(errors), self.read_printed(context))


class EnsembleWinsOverall(EnsembleWins):
    """Table: how often the booster beats the forests over all datasets, for each leverage and ε."""

    word: ClassVar[str] = "ensemble_wins_overall"
    printed: ClassVar[str] = "table4_overall.csv"
    caption: ClassVar[str] = (
        "Runs won against the forests over all datasets, of the significant ones"
    )

    def frame(self, errors: pd.DataFrame, context: Context) -> pd.DataFrame:
        return overall_wins(compare_with_forests(errors), self.read_printed(context))


def fold_errors(
    parts: Iterable[pd.DataFrame], defaults: Mapping[str, Mapping[str, object]]
) -> pd.DataFrame:
    """Return a table with one row for each setting and one column for the error on each fold.

    The error of fold 1 of 10 is in the column ``fold~1/10``. The columns `KEYS` identify the
    setting. `error` and `error_std` are the mean and standard deviation of the error over the
    folds; they are NaN if the fit of a fold failed. `expected_depth` and `n_leaves` are means over
    the folds. `parts` are tables of runs, one run per row; `defaults` maps a learner to the default
    values of its parameters.
    """
    frames = [_one_part(part, defaults) for part in parts]
    return pd.concat(frames, ignore_index=True).sort_values(KEYS, kind="stable", ignore_index=True)


def _one_part(runs: pd.DataFrame, defaults: Mapping[str, Mapping[str, object]]) -> pd.DataFrame:
    error = (1 - runs["accuracy"]).where(runs["status"] == "ok")
    measures = [json.loads(text) if isinstance(text, str) else {} for text in runs["measures"]]
    sizes = ["expected_depth", "n_leaves"]
    measured = {name: [run.get(name, math.nan) for run in measures] for name in sizes}
    runs = runs.assign(error=error, **measured)
    keys = ["dataset", "learner", "epsilon", "setting"]
    folds = runs.pivot(index=keys, columns="fold", values="error")
    order = sorted(folds, key=lambda name: int(str(name).partition("/")[0]))
    folds = folds[order].rename(columns=lambda name: f"fold~{name}")
    means = folds.mean(axis=1, skipna=False).to_frame("error")
    means["error_std"] = folds.std(axis=1, ddof=1, skipna=False)
    frame = means.join(runs.groupby(keys, sort=False)[sizes].mean()).join(folds).reset_index()
    given = zip(frame["learner"], map(json.loads, frame["setting"]), strict=True)
    settings = pd.DataFrame([_setting(name, {**defaults[name], **own}) for name, own in given])
    return pd.concat([frame[keys[:3]], settings[SETTING], frame.drop(columns=keys)], axis=1)


def _setting(learner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {"n_trees": int(given["n_trees"]), "depth": int(given["depth"])}
    if learner == FOREST:
        nothing = {"alpha": NOTHING, "leverage": NOTHING, "clamp": 0.0, "tree_share": 0.0}
        return {"forest": FORESTS[given["leaves"]], **nothing, **sizes}
    calibrated = given["calibrate_alpha"] == EXACT
    return {
        "forest": NOTHING,
        "alpha": CALIBRATED if calibrated else str(float(given["alpha"])),
        "leverage": given["leverage"] or EXACT,
        "clamp": float(given["clamp"]),
        # A tree_share of None means one half (`TREE_SHARE` of the learner).
        "tree_share": 0.5 if given["tree_share"] is None else float(given["tree_share"]),
        **sizes,
    }


def keep_published(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the booster as published: exact β, and clamp M = `CLAMP` unless ε = ∞."""
    is_published = (frame["learner"] == BOOSTED) & (frame["leverage"] == EXACT)
    return frame[is_published & ((frame["clamp"] == CLAMP) | np.isinf(frame["epsilon"]))]


def keep_paper(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose ε is finite and at least the smallest ε of the paper."""
    return frame[np.isfinite(frame["epsilon"]) & (frame["epsilon"] >= LEAST_EPSILON)]


def least_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest mean error over the grid, for each dataset, ε, clamp M and α.

    Each row has the setting with this error (the first one, if several settings have it). `behind`
    is the error minus the smallest error of any α. `share_spread` shows how much `tree_share`
    matters: for each value of `tree_share`, take the smallest error; `share_spread` is the largest
    minus the smallest of these errors. An α has no row if a fit with this α has failed.
    """
    rows = []
    mine = frame[(frame["learner"] == BOOSTED) & (frame["leverage"] == EXACT)]
    names = ["dataset", "epsilon", "clamp", "alpha", "error", "error_std", *SETTING[4:]]
    for _, part in mine.groupby(["dataset", "epsilon", "clamp"], sort=True):
        for alpha in ALPHAS:
            own = part[part["alpha"] == alpha]
            if own.empty or own["error"].isna().any():
                continue
            best = own.sort_values("error", kind="stable").iloc[0]
            by_share = own.groupby("tree_share")["error"].min()
            spread = by_share.max() - by_share.min() if len(by_share) > 1 else math.nan
            behind = best["error"] - part["error"].min()
            rows.append({**best[names], "behind": behind, "share_spread": spread})
    return pd.DataFrame(rows)


def best_alphas(frame: pd.DataFrame, printed: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Count the datasets on which each α has the smallest error, at each ε (Table 1).

    There is one row for each ε and α. `n_best` is the count; if several α have the smallest error,
    the dataset counts for each of them. `lead` is the count minus the largest count of another α.
    The column `printed` is the paper's count; it is NaN unless the study has all datasets of the
    paper. A shuffle permutes at random the errors of the α that have the same dataset, depth,
    number of trees and `tree_share`. `shuffled_mean` and `shuffled_95` are the mean and the 95 %
    quantile of `n_best` over `SHUFFLES` shuffles; they show which counts chance alone gives.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, len(frame)]))
    columns = printed[["epsilon", "alpha", "n_domains_best"]].itertuples(index=False)
    theirs = {(float(e), str(a)): n for e, a, n in columns}
    rows = []
    for epsilon, part in keep_paper(keep_published(frame)).groupby("epsilon", sort=True):
        alphas = [a for a in ALPHAS if a in set(part["alpha"])]
        errors = _by_alpha(part, alphas)
        counts = _counts(errors, len(alphas))
        shuffles = ([rng.permuted(table, axis=1) for table in errors] for _ in range(SHUFFLES))
        shuffled = np.array([_counts(some, len(alphas)) for some in shuffles])
        for place, alpha in enumerate(alphas):
            rivals = np.delete(counts, place)
            rows.append(
                {
                    "epsilon": epsilon,
                    "alpha": alpha,
                    "n_best": int(counts[place]),
                    "lead": int(counts[place]) - int(max(rivals, default=0)),
                    "printed": theirs.get((float(str(epsilon)), alpha), math.nan)
                    if len(errors) == DOMAINS
                    else math.nan,
                    "shuffled_mean": float(shuffled[:, place].mean()),
                    "shuffled_95": float(np.quantile(shuffled[:, place], 0.95)),
                    "n_datasets": len(errors),
                }
            )
    return pd.DataFrame(rows)


def _by_alpha(part: pd.DataFrame, alphas: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return, for each dataset, an array of errors of shape (n_settings, n_alphas).

    A setting is a number of trees, a depth and a `tree_share`. The array leaves out a setting if
    the error of an α is missing.
    """
    wide = part.pivot(index=["dataset", *SETTING[4:]], columns="alpha", values="error")
    wide = wide.reindex(columns=list(alphas)).dropna()
    return [own.to_numpy(dtype=float) for _, own in wide.groupby("dataset", sort=True)]


def _counts(errors: Sequence[NDArray[np.float64]], n_alphas: int) -> NDArray[np.int64]:
    counts = np.zeros(n_alphas, dtype=np.int64)
    for one in errors:
        least = one.min(axis=0)
        counts += least <= least.min() + ROUNDING
    return counts


def best_sizes(frame: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return, for each dataset, the private setting with the smallest error (Table 3).

    `sizes` says whether the depth is small (at most `SMALL_DEPTH`) or big, and whether the number
    of trees is small (at most `SMALL_TREES`) or big. The column `printed` has the paper's sizes;
    `as_printed` is 1 if `sizes` equals `printed`, else 0. A dataset has no row if a fit on it has
    failed.
    """
    theirs: dict[str, str] = {}
    for depth, n_trees, domain in printed[["depth", "n_trees", "domain"]].itertuples(index=False):
        theirs.setdefault(our_name(domain), f"{depth} d, {n_trees} T")
    names = ["dataset", "error", "epsilon", "alpha", "depth", "n_trees", "tree_share"]
    rows = []
    for dataset, part in keep_paper(keep_published(frame)).groupby("dataset", sort=False):
        if part["error"].isna().any():
            continue
        row = part.sort_values("error", kind="stable").iloc[0]
        depth = "small" if row["depth"] <= SMALL_DEPTH else "big"
        n_trees = "small" if row["n_trees"] <= SMALL_TREES else "big"
        sizes = f"{depth} d, {n_trees} T"
        printed_sizes = theirs.get(str(dataset))
        same = None if printed_sizes is None else int(sizes == printed_sizes)
        rows.append({**row[names], "sizes": sizes, "printed": printed_sizes, "as_printed": same})
    columns = [*names, "sizes", "printed", "as_printed"]
    return pd.DataFrame(rows, columns=columns).astype({"as_printed": "Int64"})


def domains(
    frame: pd.DataFrame, shapes: Mapping[str, tuple[int, ...]], printed: pd.DataFrame
) -> pd.DataFrame:
    """Return our and the printed numbers of records and features of each dataset (Table 2).

    `shapes` maps a dataset to its numbers of records and features. Theorem 13 assumes Td ≤ log m
    for T trees of depth d and m records. `n_settings` counts the pairs (T, d) in the published
    booster's grid, `n_within` the pairs that satisfy this assumption. `best_by_log_m` is Td/log m
    of the private setting with the smallest error, or NaN if a fit has failed.
    """
    theirs = {our_name(str(row["domain"])): row for row in printed.to_dict("records")}
    mine = keep_paper(keep_published(frame))
    rows = []
    for dataset, part in mine.groupby("dataset", sort=False):
        m, n = shapes[str(dataset)]
        sizes = part[["n_trees", "depth"]].drop_duplicates().prod(axis=1)
        best = part.sort_values("error", kind="stable").iloc[0]
        best_size = best["n_trees"] * best["depth"] if part["error"].notna().all() else math.nan
        their = theirs.get(str(dataset), {})
        rows.append({
            "dataset": dataset, "n_records": m, "n_features": n,
            "printed_records": their.get("n_records"),
            "printed_features": their.get("n_features"),
            "log_m": math.log(m), "log_m_by_root": math.log(m) / math.sqrt(m),
            "n_settings": len(sizes), "n_within": int((sizes <= math.log(m)).sum()),
            "share_within": float((sizes <= math.log(m)).mean()),
            "best_by_log_m": float(best_size / math.log(m)),
        })  # fmt: skip
    whole_numbers = dict.fromkeys(("printed_records", "printed_features"), "Int64")
    return pd.DataFrame(rows).astype(whole_numbers)


def our_name(domain: str) -> str:
    """Return our name of a domain of the paper: `-` replaces `+`, which file names can't have."""
    return domain.replace("+", "-")


# The significance level of the t-tests in the paper's Table 4.
LEVEL = 0.01
# The depths of the trees in the paper's Table 4.
DEPTHS = (2, 4, 6)


def compare_with_forests(frame: pd.DataFrame) -> pd.DataFrame:
    """Compare each boosted setting with each forest of the same depth, by Student's paired t-test.

    `gain` is the forest's error minus the booster's error, averaged over the folds. `significant`
    says whether the test, paired by fold, rejects at `LEVEL`; `won` marks significant comparisons
    with a positive gain. Folds on which either fit failed are left out, and so are comparisons that
    have fewer than two folds left.
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
    # If the difference of the two errors is the same on all folds, t is 0/0 = NaN (no difference,
    # so p is 1) or ±∞ (p is 0).
    p_value = np.where(np.isnan(t), 1.0, 2 * stats.t.sf(np.abs(t), n_pairs - 1))
    fights = both[[*keys, "alpha", "leverage", "n_trees", "tree_share", "forest"]]
    fights = fights.assign(gain=gain, p_value=p_value, significant=p_value < LEVEL)
    return fights.assign(won=fights["significant"] & (fights["gain"] > 0))


def win_shares(fights: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the percentage of significant comparisons that the booster wins (`percent_wins`).

    There is one row for each combination of values of the columns `by`. The percentage is NaN if no
    comparison is significant. The table also has the numbers of comparisons, of significant
    comparisons, and of wins.
    """
    groups = fights.groupby(list(by), sort=True)
    frame = groups.agg(
        n_runs=("won", "size"), n_significant=("significant", "sum"), n_wins=("won", "sum")
    ).reset_index()
    significant = frame["n_significant"].where(frame["n_significant"] > 0)
    frame["percent_wins"] = (100 * frame["n_wins"] / significant).astype(float)
    frame["share_not_significant"] = 1 - frame["n_significant"] / frame["n_runs"]
    return frame


def dataset_wins(fights: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`win_shares` of the booster with exact β, by dataset and setting (Table 4).

    The column `printed` has the paper's percentages of wins.
    """
    by = ["dataset", "depth", "n_trees", "forest", "alpha"]
    mine = fights[(fights["leverage"] == EXACT) & (fights["epsilon"] >= LEAST_EPSILON)]
    mine = mine[mine["depth"].isin(DEPTHS)]
    theirs = printed.rename(columns={"domain": "dataset", "percent_wins": "printed"})
    theirs = theirs.assign(dataset=theirs["dataset"].map(our_name))
    return win_shares(mine, by).merge(theirs[[*by, "printed"]], on=by, how="left")


def overall_wins(fights: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`win_shares` of the booster over all datasets, for each ε and over all ε.

    The rows over all ε leave out ε below the smallest ε of the paper. The column `printed` has the
    paper's percentages of wins over all ε, with exact β.
    """
    by = ["n_trees", "forest", "alpha"]
    keys = ["leverage", "epsilon", *by]
    fights = fights[fights["depth"].isin(DEPTHS)]
    paper = fights[fights["epsilon"] >= LEAST_EPSILON]
    total = win_shares(paper, ["leverage", *by]).assign(epsilon=ALL)
    each = win_shares(fights, ["leverage", "epsilon", *by])
    each["epsilon"] = each["epsilon"].map("{:g}".format)
    theirs = printed.rename(columns={"percent_wins": "printed"})[[*by, "printed"]]
    theirs = theirs.assign(leverage=EXACT, epsilon=ALL)
    frame = pd.concat([total, each], ignore_index=True)
    return frame[[*keys, *[c for c in frame if c not in keys]]].merge(theirs, on=keys, how="left")
