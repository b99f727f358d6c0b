"""Rank learners, and say which learner to use and how certain this is.

The terminal, the HTML page and the report of a study show the same rankings and sentences. Methods
that are the same mechanism have one row in a ranking (:func:`drop_twins`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from privcurve.analysis.measures import ACCURACY, LOSSES, TEST
from privcurve.experiments.kinds import NOT_COVERED, SHORT
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.learners import own
from privcurve.numerals import power
from privcurve.outputs.base import OutputRequest, description_of, metric_name
from privcurve.privacy.ledger import CLAIMED
from privcurve.tables.table import MISSING, read_table

LEDGERS = "ledgers"


def rankings(
    outputs: Mapping[str, OutputRequest],
    dataset: str,
    epsilons: Sequence[float],
    metric: str | None = None,
) -> list[Ranking]:
    """Rank the learners of a study on a dataset, at each of `epsilons`.

    The ranking is by `metric`, by default the study's metric. `outputs` are the study's outputs,
    indexed by `Output.word`. The function reads the table ``accuracy`` and, where they exist, the
    tables of the outputs `raw` (models on raw columns) and `ledgers` (the δ that models used).
    """
    request = outputs[ACCURACY]
    study, others = request.study, [outputs[word] for word in (RAW,) if word in outputs]
    frame = read_table(*(one.files.frames[0] for one in (request, *others)))
    if LEDGERS in outputs:
        frame = set_used_deltas(frame, read_table(outputs[LEDGERS].files.frames[0]))
    shared = (titles_of(study), metric or study.metric, description_of(dataset).n_rows)
    tried = contracts_of(study)
    return [ranking(frame, dataset, epsilon, *shared, tried) for epsilon in epsilons]


def titles_of(study: Study) -> dict[str, str]:
    """Return the titles of a study's methods and of the reference models, by name.

    If the methods have different neighbouring relations, each title names its relation, as the same
    ε under two relations is not the same guarantee. The title of a user's own learner contains the
    result of its contract check.
    """
    methods = study.methods.items()
    differ = len({method.relation for _, method in methods} - {None}) > 1
    titles = {
        name: method.label(
            f"{method.title} ({method.relation})" if differ and method.relation else method.title
        )
        for name, method in methods
    }
    # The titles of the study override REFERENCES: a study without the output `raw` may have a
    # learner that is called `raw`.
    return REFERENCES | titles


def contracts_of(study: Study) -> dict[str, str]:
    """Return the result of the contract check by method, for methods with a user's own learner."""
    return {name: method.contract for name, method in study.methods.items() if method.contract}


def broken_of(contracts: Mapping[str, str]) -> list[str]:
    """Return the methods in `contracts` whose learner broke the contract: they are not ranked."""
    return [method for method, finding in contracts.items() if finding == own.BROKEN]


MAJORITY = "majority_class"
# Name of the model on raw columns. `coded_models` leaves this model out, as outputs/price.py
# compares it with models on encoded data.
RAW = "raw"
# Name of the same kind of model on encoded data. The cost of encoding is the score of `RAW` minus
# the score of this model.
CODES = "raw_codes"
REFERENCES = {RAW: "Raw columns (histogram boosting)", CODES: "Histogram boosting on encoded data"}
DIGITS = 3
# A label is rare if all labels except the most frequent one have less than this share of the
# records. Accuracy then says little about the rare labels.
RARE = 0.2
# Scores that are reported next to the accuracy if a label is rare, with their short names.
BESIDE = {"auc": "AUC", "log_loss": "log-loss", "balanced_accuracy": "balanced"}
# Two scores are level if they differ by at most this many standard errors of their difference. The
# scores count as independent: they cannot be paired, as the table has no rows of single splits.
LEVEL = 2.0
# A sentence names at most this many learners that are level with the best one.
MOST_LEVEL = 3


def set_used_deltas(accuracy: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Return the table ``accuracy`` with the δ that the models used, where `ledgers` has it.

    The used δ may be smaller than the δ of the budget.
    """
    place = ["dataset", "method", "epsilon"]
    of_models = ledgers[[*place, "delta_used"]].astype({"epsilon": float})
    used = accuracy[place].merge(of_models, "left", place)["delta_used"]
    return accuracy.assign(delta=used.set_axis(accuracy.index).fillna(accuracy["delta"]))


def drop_twins(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return the table ``accuracy`` with one row for each mechanism.

    A method that gets a δ > 0 but does not use it draws the same random numbers as the same method
    with δ = 0, so that all their scores are equal. Of rows with equal scores, the row with the
    smallest δ remains.
    """
    scores = accuracy.select_dtypes("number").drop(columns="delta", errors="ignore").round(9)
    method = accuracy["method"].map(lambda name: re.sub("~delta=[^~]*", "", name))
    rows = scores.assign(dataset=accuracy["dataset"], method=method)
    order = accuracy["delta"].sort_values(kind="stable").index
    return accuracy[~rows.loc[order].duplicated().reindex(accuracy.index)]


@dataclass(frozen=True)
class Ranking:
    """Learners on one dataset at one ε, ranked by a metric of the table ``accuracy``.

    `private` are the table's rows of learners trained at this ε, and `free` its rows of learners
    without privacy; both are sorted, best first, and have a column `error`, the standard error of
    the metric's mean. `failed` are the rows, at this ε or without privacy, that have a failed
    training. `contracts` has the result of the contract check by method, for a user's own learners;
    methods that broke the contract have no row.
    """

    epsilon: float
    private: pd.DataFrame
    free: pd.DataFrame
    titles: Mapping[str, str]
    metric: str
    n_records: int | None
    failed: pd.DataFrame
    contracts: Mapping[str, str] = field(default_factory=dict)

    def name(self, row: pd.Series) -> str:
        """Return the title of a row's learner; with calibration and δ if they are not the default.

        Calibration and δ distinguish learners with the same title.
        """
        published = ", noise as published" if row["calibration"] == "published" else ""
        delta = f", δ = {power(row['delta'])}" if row["delta"] > 0 else ""
        return f"{self.titles[row['method']]}{published}{delta}"

    def marked_name(self, row: pd.Series) -> str:
        """Return the row's `name`, marked if ε does not cover the choice of hyperparameters."""
        return self.name(row) + (
            f" ({SHORT[NOT_COVERED]})" if row.get("kind") == NOT_COVERED else ""
        )

    @property
    def eligible(self) -> pd.DataFrame:
        """The rows of `private` that can be recommended: the first group that is not empty.

        The groups are (1) learners with proved noise whose ε covers the choice of hyperparameters,
        (2) all learners with proved noise, (3) all private learners. A user's own learner counts as
        proved if it kept the contract.
        """
        untried = [method for method, finding in self.contracts.items() if finding != own.KEPT]
        proved = self.private[self.private["calibration"] == "proved"]
        proved = proved[~proved["method"].isin(untried)]
        covered = proved[~_is_not_covered(proved)]
        return next((rows for rows in (covered, proved) if len(rows)), self.private)

    @property
    def majority(self) -> pd.Series | None:
        """The row of the classifier that always predicts the most frequent label, or None."""
        rows = self.free[self.free["learner"] == MAJORITY]
        return rows.iloc[0] if len(rows) else None

    @property
    def coded_models(self) -> pd.DataFrame:
        """The rows of models without privacy that were trained on encoded data."""
        return self.free[~self.free["learner"].isin([MAJORITY, RAW])]

    @property
    def has_rare_label(self) -> bool:
        """Whether one label is so frequent that accuracy says little about the other labels."""
        return self.majority is not None and bool(self.majority[ACCURACY] > 1 - RARE)

    def sentence(self) -> str:
        """Return the recommendation at this ε as a sentence without a full stop.

        The sentence names the best eligible learner and its score, the scores without privacy,
        learners that are level with the best, reservations, and learners without a rank.
        """
        at = f"at ε = {self.epsilon:g}"
        if self.private.empty:
            return "{at} no learner has complete trainings".join(
                [f"{at} nothing was trained that is complete", *self._failures()]
            )
        best, n = self.eligible.iloc[0], len(self.eligible)
        if self.majority is not None and self._is_level(best, self.majority):
            return f"{at} {self._say_nothing_helps(best, self.majority)}"
        flattered = f", the best of {n} and so slightly optimistic" if n > 1 else ""
        score = f"{metric_name(self.metric)} {self.score(best)}"
        parts = [f"{at} take {self.name(best)}: {score}{flattered}"]
        if len(self.coded_models):
            parts.append(f"without privacy {self._write_number(self.coded_models.iloc[0])}")
        if self.majority is not None:
            parts.append(f"always the most frequent label {self._write_number(self.majority)}")
        level = [self.name(row) for _, row in self.eligible.iloc[1:].iterrows()
                 if self._is_level(best, row)]  # fmt: skip
        if level:
            more = len(level) - MOST_LEVEL
            # Names are joined by "and": some titles contain a comma.
            named = " and ".join([*level[:MOST_LEVEL], *([f"{more} more"] if more > 0 else [])])
            parts.append(f"level with it within two standard errors: {named}")
        return "; ".join([*parts, *self._reservations(best), *self._failures()])

    def _say_nothing_helps(self, best: pd.Series, majority: pd.Series) -> str:
        """Return the sentence for an ε at which no learner beats the constant prediction."""
        of = "" if self.n_records is None else f"with {self.n_records:,} records "
        n = len(self.eligible)
        who = f"{self.name(best)}, the best of {n}," if n > 1 else self.name(best)
        parts = [
            (
                f"{of}nothing is better than always predicting the most frequent label "
                f"({self._write_number(majority)}): {who} has {self.score(best)}"
            )
        ]
        if self.metric != "auc" and self.eligible.get("auc", pd.Series(dtype=float)).notna().any():
            ranks = self.eligible.sort_values("auc", ascending=False, kind="stable").iloc[0]
            parts.append(
                f"the best AUC is {ranks['auc']:.{DIGITS}f} ({self.name(ranks)}; guessing has 0.5)"
            )
        delta = " or" if (self.private["delta"] > 0).any() else ", a δ above 0 or"
        more = f"a larger ε{delta} more records could change that"
        return "; ".join([*parts, more, *self._failures()])

    @property
    def failed_methods(self) -> list[str]:
        """Return the methods that are not ranked at this ε because a training failed."""
        at = np.isclose(self.failed["epsilon"], self.epsilon, rtol=1e-9, atol=0)
        return self.failed.loc[at, "method"].tolist()

    def _failures(self) -> list[str]:
        """Return phrases on learners without a rank, due to a failed training or a broken contract.

        Phrases on a broken contract are the same at every ε.
        """
        rows = [row for _, row in self.failed.iterrows()]
        free = {True: " (no privacy)", False: ""}
        names = " and ".join(self.name(row) + free[math.isinf(row["epsilon"])] for row in rows)
        failures = [f"not ranked because trainings failed: {names}"] if names else []
        broken = " and ".join(self.titles[method] for method in broken_of(self.contracts))
        return failures + ([f"not ranked: {broken}"] if broken else [])

    def _reservations(self, best: pd.Series) -> list[str]:
        """Return reservations about the recommendation of the learner `best`, as phrases.

        If the ε of `best` is not proved, or does not cover the choice of its hyperparameters, the
        phrase says so. Otherwise, if learners whose ε does not cover the choice have a higher score
        than `best`, the phrase names the best of these learners.
        """
        if best.get("kind") == NOT_COVERED:
            return ["its hyperparameters were chosen without privacy"]
        # Titles of a user's own learners contain their status (`Method.label`).
        if f"({CLAIMED}; " in self.titles[best["method"]]:
            return ["its author claims this ε"]
        if best["calibration"] == "published":
            return ["its noise is as published, which this project does not prove"]
        above = self.private.loc[: best.name]
        above = above[_is_not_covered(above) & (above["calibration"] == "proved")]
        return [
            (
                f"{self.name(row)} has {self._write_number(row)} with hyperparameters chosen "
                "without privacy"
            )
            for _, row in above.iloc[:1].iterrows()
        ]

    def lines(self, most: int | None = None, *, free: bool = True) -> list[str]:
        """Return a line per private learner, best first, then a line per learner without privacy.

        Only the first `most` private learners have a line; without `free`, learners without privacy
        have none.
        """
        private = self.private if most is None else self.private.iloc[:most]
        rows = [
            (f"{place}.", self.marked_name(row), self._scores(row))
            for place, (_, row) in enumerate(private.iterrows(), 1)
        ]
        rows += [
            ("", f"{self.name(row)} (no privacy)", self._scores(row))
            for _, row in (self.free if free else self.free.iloc[:0]).iterrows()
        ]
        wide = max((len(name) for _, name, _ in rows), default=0)
        return [f"{place:>4} {name:<{wide}}  {score}" for place, name, score in rows]

    def remark(self) -> str:
        """Return a remark that accuracy says little on this dataset; empty if no label is rare."""
        if self.majority is None or not self.has_rare_label:
            return ""
        use = " Rank by AUC or log-loss: --metric auc." if self.metric == ACCURACY else ""
        return (
            f"{self.majority[ACCURACY]:.2%} of the records have one label: predicting it always "
            f"has that accuracy and finds none of the others, so accuracy does not help here.{use}"
        )

    @property
    def _digits(self) -> int:
        # If a label is rare, all accuracies are close to 1: show one more digit to distinguish
        # them.
        return DIGITS + (self.metric == ACCURACY and self.has_rare_label)

    def _write_number(self, row: pd.Series) -> str:
        return f"{row[self.metric]:.{self._digits}f}"

    def score(self, row: pd.Series, name: str | None = None) -> str:
        """Write a row's score `name` (default: the metric) as mean ± standard error."""
        name = name or self.metric
        digits = self._digits if name == self.metric else DIGITS
        if pd.isna(row[name]):
            return MISSING
        error = row.get(f"{name}_error", math.nan)
        return f"{row[name]:.{digits}f}" + ("" if pd.isna(error) else f" ± {error:.{digits}f}")

    def _scores(self, row: pd.Series) -> str:
        """Write a row's score by the metric; if a label is rare, add accuracy and `BESIDE`."""
        others = (ACCURACY, *BESIDE) if self.has_rare_label else ()
        beside = [
            f"{short_metric_name(name)} "
            + (MISSING if pd.isna(row[name]) else f"{row[name]:.{DIGITS + (name == ACCURACY)}f}")
            for name in others
            if name in row and name != self.metric
        ]
        return "  ".join([self.score(row), *beside])

    def _is_level(self, best: pd.Series, other: pd.Series) -> bool:
        """Return whether `best` is better than `other` by at most `LEVEL` standard errors."""
        sign = -1 if self.metric in LOSSES else 1
        gap = sign * (best[self.metric] - other[self.metric])
        errors = np.nan_to_num([best["error"], other["error"]])
        return bool(gap <= LEVEL * math.hypot(*errors))


def ranking(
    accuracy: pd.DataFrame,
    dataset: str,
    epsilon: float,
    titles: Mapping[str, str],
    metric: str = ACCURACY,
    n_records: int | None = None,
    contracts: Mapping[str, str] | None = None,
) -> Ranking:
    """Rank the learners on a dataset at an ε by `metric`; rows without this score have no rank.

    `accuracy` is the table ``accuracy``. `contracts` comes from :func:`contracts_of`; learners that
    broke the contract are not ranked.
    """
    tried = dict(contracts or {})
    broken = broken_of(tried)
    of_data = accuracy[(accuracy["dataset"] == dataset) & ~accuracy["method"].isin(broken)]
    mine = drop_twins(of_data[of_data[metric].notna()])
    mine = mine.assign(error=mine.get(f"{metric}_error", math.nan))
    best = mine.sort_values(metric, ascending=metric in LOSSES, kind="stable")
    frames = best, of_data
    at, any_at = (np.isclose(rows["epsilon"], epsilon, rtol=1e-9, atol=0) for rows in frames)
    free = best[np.isinf(best["epsilon"])]
    any_at |= np.isinf(of_data["epsilon"])
    # Failed rows are not passed to `drop_twins`, which compares scores: failed rows have none.
    failed = of_data[any_at & of_data.get("status", pd.Series("", of_data.index)).eq("failed")]
    return Ranking(epsilon, best[at], free, titles, metric, n_records, failed, tried)


def full_sentence(text: str) -> str:
    """Return `text` with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def errors_key(metric: str, scored_on: Iterable[str]) -> str:
    """Return sentences that explain the number after ± in scores by `metric`.

    `scored_on` are the values in the column ``scored_on`` of the table: "test" or "folds".
    """
    covers = "widened because the parts that score overlap (Nadeau and Bengio 2003)"
    if TEST in (ways := {*scored_on}):
        elsewhere = f", elsewhere {covers}" if len(ways) > 1 else ""
        covers = f"of the noise of training alone where all repeats score one test part{elsewhere}"
    return (
        f"The number after ± is the standard error of the mean {metric_name(metric)} over the "
        f"repeats, {covers}. The best of several scores is slightly optimistic."
    )


def _is_not_covered(frame: pd.DataFrame) -> pd.Series:
    return frame.get("kind", pd.Series("", frame.index)) == NOT_COVERED


def short_metric_name(metric: str) -> str:
    """Return a short name of a metric for readers, such as ``AUC``."""
    return BESIDE.get(metric, metric_name(metric))
