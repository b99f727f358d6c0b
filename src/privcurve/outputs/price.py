"""Compute how much score is lost by encoding and by privacy.

The loss by encoding is the difference between models on raw columns and models on encoded data. The
loss by privacy is the difference between models on encoded data and private models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from privcurve.analysis.keys import mean, short_text
from privcurve.analysis.measures import ACCURACY, CHANCES, IN_TABLES, LOSSES, RANKS, SCORES
from privcurve.experiments import kinds
from privcurve.experiments.splits import TEST, Split, Splitter
from privcurve.experiments.study import AUC, PRICE, Study
from privcurve.lazy import pd
from privcurve.outputs.accuracy import (
    FRESH_NOTES,
    MEAN,
    all_curves,
    score_spreads,
    scores_as_text,
    scores_of_tables,
)
from privcurve.outputs.answers import (
    CODES,
    DIGITS,
    LEDGERS,
    RAW,
    Ranking,
    contracts_of,
    ranking,
    set_used_deltas,
    titles_of,
)
from privcurve.outputs.base import (
    Context,
    Files,
    Output,
    OutputRequest,
    Reads,
    description_of,
    metric_name,
)
from privcurve.outputs.comparison import compare
from privcurve.tables.table import Table, read_table, text_frame

if TYPE_CHECKING:
    from privcurve.datasets import Dataset
    from privcurve.datasets.raw import Columns

LEARNER = (
    "scikit-learn's HistGradientBoostingClassifier with its defaults, without privacy: on "
    "the raw columns (numbers unchanged, missing numbers as NaN, categories as such), and "
    "on the encoded data that private learners see. It trains on and scores the same "
    "records as they do."
)
PRICE_NOTES = (
    (
        "Lost by coding: the raw score minus the best score without privacy on encoded data. "
        "Lost by privacy: that best score minus the score of the best proved learner by rule "
        "at ε. ± is the standard error of a difference, paired over the splits and widened "
        "where these overlap; within noise: its 95 % interval by Student's t contains 0. If "
        "all repeats score one test part, both cover the noise of training alone."
    ),
    (
        "The best models are chosen by these scores. All scores are exact statistics of the "
        "records: ε covers none of them."
    ),
)
# The terminal and the page show this text below sentences of the table `price`, to explain the
# terms "raw", "lost by coding" and "lost by privacy".
KEY = """\
Raw: scikit-learn's HistGradientBoostingClassifier on the unchanged columns of the file, without
privacy. Lost by coding: the drop from there to the best model on encoded data. Lost by privacy:
the further drop to the best private learner by rule. ± is the standard error of such a drop.\
"""
# Smallest number of records of each label with which HistGradientBoostingClassifier can stop early:
# it needs one for validation and one for training.
_FEWEST_TO_STOP_EARLY = 2


class RawScores(Output):
    """Tables ``raw``: scores of a model without privacy, on raw columns and on encoded data.

    The first table has the means over the splits, the second the scores of each split.
    """

    word: ClassVar[str] = "raw"
    version: ClassVar[int] = 6
    selects: ClassVar[bool] = False
    local: ClassVar[bool] = False
    memory: ClassVar[int] = 2000

    def check(self, request: OutputRequest) -> None:
        for name in (RAW, CODES):
            if name in request.study.methods:
                raise ValueError(
                    f"the study must have no learner called {name!r}, which is the name of a "
                    "model in the tables of this output; rename the learner"
                )

    def files(self, request: OutputRequest) -> Files:
        splits = request.table.with_name(f"{request.table.name}_splits")
        return Files(tables=(request.table, splits))

    def reads(self, request: OutputRequest) -> Reads:
        study = request.study
        splits = [[s.fold, s.repeat] for name in study.datasets for s in _list_splits(study, name)]
        digests = [[name, description_of(name).digest] for name in study.datasets]
        facts = [digests, splits, study.metric]
        many = any(description_of(name).domain.n_classes > 2 for name in study.datasets)
        if study.shows(AUC) and many:
            # Tables of earlier versions lack the AUC for more than two classes. With this entry,
            # their recorded facts differ from the present ones, so that they are made again.
            facts.append(AUC)
        if (share := _find_largest_share(study)) < 1:
            facts.append(share)
        return Reads(data=study.datasets, raw=study.datasets, facts=facts)

    def make(self, context: Context) -> None:
        # scikit-learn is imported before the limit, as threadpoolctl limits only loaded thread
        # pools.
        import sklearn.ensemble  # noqa: F401
        from threadpoolctl import threadpool_limits

        # Train with one thread, because Snakemake counts one core for this job.
        with threadpool_limits(limits=1):
            rows = list(_score_all(context))
        detail = pd.DataFrame(rows)
        frame = mean_scores(detail, context.study.metric)
        texts = text_frame(frame[["dataset", "method"]])
        texts = texts.assign(**scores_as_text(frame))
        notes = (LEARNER, f"A score is a {MEAN}.", *FRESH_NOTES[1:])
        context.write(Table(frame, "Without privacy and without coding", notes, texts))
        caption = "Without privacy and without coding, split by split"
        context.write(Table(detail, caption, (LEARNER,)), context.request.files.tables[1])


class PriceOfPrivacy(Output):
    """Table ``price``: the loss of score by encoding and by privacy, as numbers and a sentence."""

    word: ClassVar[str] = PRICE
    version: ClassVar[int] = 7

    def reads(self, request: OutputRequest) -> Reads:
        reads = all_curves(request)
        words = [word for word, _ in request.study.outputs]
        titles = [[method.name, method.title] for method in request.study.methods.values()]
        return Reads(
            reads.curves,
            raw=request.study.datasets,
            outputs=("accuracy", RAW, *([LEDGERS] if LEDGERS in words else [])),
            facts=[reads.facts, titles],
        )

    def make(self, context: Context) -> None:
        splits = read_table(context.others[RAW].files.tables[1].with_suffix(".csv"))
        runs = pd.concat([context.runs(), splits.assign(epsilon=math.inf)], ignore_index=True)
        means = pd.concat([context.table_of("accuracy"), context.table_of(RAW)], ignore_index=True)
        if LEDGERS in context.others:
            means = set_used_deltas(means, context.table_of(LEDGERS))
        frame = prices(context.study, means, runs)
        texts = text_frame(frame[["dataset", "metric", "epsilon", "sentence"]])
        notes = (LEARNER, *PRICE_NOTES)
        context.write(Table(frame, "The price of coding and of privacy", notes, texts))


def sentences(price: OutputRequest, dataset: str, metric: str) -> dict[str, str]:
    """Return the sentences of the table ``price`` about a dataset and a metric, indexed by ε.

    ε is written by :func:`.keys.short_text`. `price` is the request for the output.
    """
    frame = read_table(price.files.frames[0])
    rows = frame[frame["dataset"].eq(dataset) & frame["metric"].eq(metric)]
    return dict(zip(map(short_text, rows["epsilon"]), rows["sentence"], strict=True))


def _list_splits(study: Study, dataset: str) -> list[Split]:
    return study.fresh_splits(description_of(dataset).n_test > 0)


def _find_largest_share(study: Study) -> float:
    """Return the largest share of the records on which a method of the study trains."""
    return max(method.train_share for method in study.methods.values())


def _score_all(context: Context) -> Iterator[dict[str, Any]]:
    from privcurve.datasets.raw import coded_columns, raw_columns

    for name in context.study.datasets:
        data = context.data(name)
        share = _find_largest_share(context.study)
        splits, splitter = _list_splits(context.study, name), Splitter(data, context.seed, share)
        for method, read in ((RAW, raw_columns), (CODES, coded_columns)):
            for result in scores(data, read(data), splitter, splits):
                shown = {"fold", "repeat", *scores_of_tables(context.study.metric)}
                kept = {key: value for key, value in result.items() if key in shown}
                yield {"dataset": name, "method": method, **kept}


def scores(
    data: Dataset, columns: Columns, splitter: Splitter, splits: list[Split]
) -> Iterator[dict[str, Any]]:
    """Train a model on `columns` for each split; yield its scores, fold and repeat."""
    for split in splits:
        train, scored = splitter.rows(split)
        X, y = columns.X, data.y
        if split.fold == TEST and columns.X_test is not None and data.y_test is not None:
            X, y = columns.X_test, data.y_test
        model = fit_boosting(columns.X[train], data.y[train], columns.categorical, split.repeat)
        result = score_records(model, X[scored], y[scored], data.domain.n_classes)
        yield {"fold": split.fold, "repeat": split.repeat, **result}


def fit_boosting(X: object, y: Any, categorical: tuple[bool, ...], seed: int) -> Any:
    """Fit scikit-learn's histogram gradient boosting with its defaults.

    `categorical` says for each column of `X` whether it is a category.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    many = np.unique(y, return_counts=True)[1].min() >= _FEWEST_TO_STOP_EARLY
    model = HistGradientBoostingClassifier(
        categorical_features=list(categorical),
        early_stopping="auto" if many else False,
        random_state=seed,
    )
    return model.fit(X, y)


def score_records(model: Any, X: Any, y: Any, n_classes: int) -> dict[str, float | None]:
    """Return the scores of a fitted model on the records `X` with labels `y`."""
    from privcurve.coding import class_labels
    from privcurve.experiments import metrics

    counts = np.ones(len(y), dtype=np.int64)
    proba = model.predict_proba(X)
    # A label without training records has no column in `proba`; its probability is 0.
    chances = np.zeros((len(y), n_classes))
    chances[:, np.searchsorted(class_labels(n_classes), model.classes_)] = proba
    two = n_classes == len((False, True))
    values = model.decision_function(X) if two else chances
    given = {SCORES: values, RANKS: values, CHANCES: chances}
    return metrics.measure_all(given, y, counts)


def mean_scores(detail: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the mean scores over the splits, as rows of the table ``accuracy`` with ε = ∞.

    `detail` has a row for each dataset, method and split.
    """
    rows = []
    for (dataset, method), part in detail.groupby(["dataset", "method"], sort=False):
        place = {"dataset": dataset, "method": method, "learner": method, "calibration": None}
        budget = {"delta": 0.0, "epsilon": math.inf, "kind": kinds.NOT_PRIVATE}
        scored_on = {"scored_on": "test" if part["fold"].eq(TEST).all() else "folds"}
        scores = {name: mean(part[name]) for name in IN_TABLES} | score_spreads(part, metric)
        outcome = {"n_repeats": len(part), "n_failed": 0, "status": "ok", "error": None}
        rows.append({**place, **budget, **scored_on, **scores, **outcome})
    return pd.DataFrame(rows)


def prices(study: Study, means: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the losses by encoding and by privacy: a row per dataset, ε and metric.

    `means` has the rows of the tables ``accuracy`` and ``raw``, and `runs` the scores of the same
    models on each split. In the result, `coding` and `privacy` are the losses; further columns have
    their standard errors and whether they are within noise, and `sentence` states the losses. A
    dataset has no row if the model on raw columns or all models on encoded data are missing.
    """
    epsilons = sorted(e for e in set(means["epsilon"]) if math.isfinite(e))
    points = itertools.product(study.datasets, epsilons, IN_TABLES)
    rows = filter(None, (_find_price(study, means, runs, *point) for point in points))
    return pd.DataFrame(list(rows), columns=COLUMNS)


COLUMNS = [
    "dataset", "epsilon", "metric", "raw", "coded_by", "coded", "coding", "coding_error",
    "coding_in_noise", "private_by", "private", "privacy", "privacy_error",
    "privacy_in_noise", "sentence",
]  # fmt: skip


def _find_price(
    study: Study, means: pd.DataFrame, runs: pd.DataFrame, dataset: str, epsilon: float, metric: str
) -> dict[str, Any] | None:
    tried = contracts_of(study)
    place = ranking(means, dataset, epsilon, titles_of(study), metric, contracts=tried)
    of_raw = place.free[place.free["learner"] == RAW]
    if of_raw.empty or place.coded_models.empty:
        return None
    raw, coded = of_raw.iloc[0], place.coded_models.iloc[0]
    private = place.private
    sound = private[private["calibration"].eq("proved") & private["kind"].eq(kinds.RULE)]
    row: dict[str, Any] = {"dataset": dataset, "epsilon": epsilon, "metric": metric}
    row |= {"raw": float(raw[metric]), "coded_by": place.name(coded), "coded": float(coded[metric])}
    row |= _compare_models("coding", raw, coded, runs, metric)
    if len(sound):
        best = sound.iloc[0]
        row |= {"private_by": place.name(best), "private": float(best[metric])}
        row |= _compare_models("privacy", coded, best, runs, metric)
    return {**row, "sentence": sentence(row, place)}


def _compare_models(
    what: str, before: pd.Series, after: pd.Series, runs: pd.DataFrame, metric: str
) -> dict[str, Any]:
    """Return how much worse the model `after` is than the model `before`, paired by split.

    The keys are `what` for the loss, `what` + "_error" for its standard error, and `what` +
    "_in_noise" for whether its 95 % interval contains 0.
    """
    first, second = (_select_scores(runs, row, metric) for row in (before, after))
    sign = -1 if metric in LOSSES else 1
    gap = compare(sign * first, sign * second, metric)
    return {
        what: gap.get("difference", math.nan),
        f"{what}_error": gap.get("standard_error", math.nan),
        f"{what}_in_noise": gap.get("low", math.nan) <= 0 <= gap.get("high", math.nan),
    }


def _select_scores(runs: pd.DataFrame, row: pd.Series, metric: str) -> pd.Series:
    """Return the scores of the model in `row` on each split."""
    is_model = runs["dataset"].eq(row["dataset"]) & runs["method"].eq(row["method"])
    at = np.isclose(runs["epsilon"], row["epsilon"], rtol=1e-9, atol=0)
    # The scores of `raw` come from a table with six decimals. All scores are rounded to six
    # decimals, so that equal scores compare as equal.
    return runs[is_model & at].set_index(["fold", "repeat"])[metric].astype(float).round(6)


def sentence(row: Mapping[str, object], place: Ranking) -> str:
    """Return a sentence on what encoding and privacy cost, without a full stop."""
    digits = DIGITS + (place.metric == ACCURACY and place.has_rare_label)
    what = "" if place.metric == ACCURACY else f"{metric_name(place.metric)} "
    parts = [
        f"raw {what}{row['raw']:.{digits}f}",
        f"lost by coding {_write_loss(row, 'coding', digits)} "
        f"({row['coded_by']}: {row['coded']:.{digits}f})",
    ]
    if "private" in row:
        parts.append(
            f"lost by privacy at ε = {row['epsilon']:g}: {_write_loss(row, 'privacy', digits)} "
            f"({row['private_by']}: {row['private']:.{digits}f})"
        )
    return "; ".join(parts)


def _write_loss(row: Mapping[str, Any], what: str, digits: int) -> str:
    lost, error = row[what], row[f"{what}_error"]
    spread = "" if math.isnan(error) else f" ± {error:.{digits}f}"
    # Adding 0.0 turns −0.000 into 0.000.
    text = f"{round(lost, digits) + 0.0:.{digits}f}".replace("-", "−")
    return f"{text}{spread}{', within noise' if row[f'{what}_in_noise'] else ''}"
