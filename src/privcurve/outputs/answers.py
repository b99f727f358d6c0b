"""What a study's table of accuracy says in words: which learner to take, and at what price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privcurve.analysis.kinds import SHORT, UNPAID
from privcurve.analysis.selection import ACCURACY, LOSSES
from privcurve.experiments.study import Study
from privcurve.lazy import pd
from privcurve.numerals import power
from privcurve.outputs.base import OutputRequest
from privcurve.tables.table import read_table


def rankings(
    accuracy: OutputRequest,
    dataset: str,
    epsilons: Sequence[float],
    raw: OutputRequest | None = None,
) -> list[Ranking]:
    """Rank the learners of a study on a dataset, at each ε, by its table of accuracy.

    Beside them stand the models of its output `raw`, if there is one.
    """
    frame = read_table(*(one.files.frames[0] for one in (accuracy, raw) if one))
    metric = accuracy.study.metric
    return [ranking(frame, dataset, e, titles_of(accuracy.study), metric) for e in epsilons]


def full_name(title: str, calibration: str | None, delta: float) -> str:
    """Return what tells a curve from others of the same title."""
    published = ", noise as published" if calibration == "published" else ""
    return title + published + (f", δ = {power(delta)}" if delta > 0 else "")


def titles_of(study: Study) -> dict[str, str]:
    """Return the titles of a study's methods, and of what stands beside them."""
    return {**{name: arm.title for name, arm in study.arms.items()}, **REFERENCES}


MAJORITY = "majority_class"
# Of the raw columns: what nothing on codes can be compared with (outputs/price.py).
RAW = "raw"
# The same model on the codes: the difference is what coding costs.
CODES = "raw_codes"
REFERENCES = {
    RAW: "Raw columns (histogram boosting)",
    CODES: "Histogram boosting on codes",
}
DIGITS = 3
# From this share of one label on, accuracy says little of the other.
RARE = 0.9
# What stands beside the accuracy then.
BESIDE = {"balanced_accuracy": "balanced", "auc": "AUC"}


@dataclass(frozen=True)
class Ranking:
    """The learners of a table of accuracy on one dataset at one ε, ranked by a metric.

    `private` and `free` are rows of the table, best first: what was trained at this ε, and what has
    no privacy.
    """

    epsilon: float
    private: pd.DataFrame
    free: pd.DataFrame
    titles: Mapping[str, str]
    metric: str = ACCURACY

    def name(self, row: pd.Series) -> str:
        """Return a row's learner as readers know it."""
        return full_name(self.titles[row["arm"]], row["calibration"], row["delta"])

    @property
    def sound(self) -> pd.DataFrame:
        """The learners that may be recommended.

        Noise as proved, and settings that were not chosen on the records for nothing; where there
        is no such learner, noise as proved; where there is none, all.
        """
        proved = self.private[self.private["calibration"] == "certified"]
        covered = proved[~_unpaid(proved)]
        return next((rows for rows in (covered, proved) if len(rows)), self.private)

    @property
    def majority(self) -> pd.Series | None:
        """What is reached by always giving the more frequent label."""
        rows = self.free[self.free["learner"] == MAJORITY]
        return rows.iloc[0] if len(rows) else None

    @property
    def on_codes(self) -> pd.DataFrame:
        """The models without privacy that have learned from the codes."""
        return self.free[~self.free["learner"].isin([MAJORITY, RAW])]

    @property
    def rare(self) -> bool:
        """Return whether one label is so frequent that accuracy says little of the other."""
        return self.majority is not None and bool(self.majority[ACCURACY] >= RARE)

    def sentence(self) -> str:
        """Say which to take, what privacy costs, and how sure that is."""
        at = f"at ε = {self.epsilon:g}"
        if self.private.empty:
            return f"{at} nothing was trained that is complete"
        best = self.sound.iloc[0]
        what = "" if self.metric == ACCURACY else f"{_called(self.metric)} "
        parts = [f"{at} take {self.name(best)}: {what}{self._score(best)}"]
        better = self.on_codes
        if len(better):
            parts.append(f"without privacy {self._number(better.iloc[0])}")
        if self.majority is not None:
            beaten = "" if not self._near(best, self.majority) else ", which it does not surpass"
            parts.append(f"majority {self._number(self.majority)}{beaten}")
        if len(self.sound) > 1:
            following = self.sound.iloc[1]
            within = "is" if self._near(best, following) else "is not"
            parts.append(f"the next ({self.name(following)}) {within} within its error")
        if best.get("kind") == UNPAID:
            parts.append("its setting was chosen on the records, which ε does not cover")
        else:
            parts += [
                f"{self.name(row)} has {self._number(row)} with a setting that was chosen on the "
                "records, which ε does not cover"
                for row in self._ahead(best)
            ]
        return "; ".join(parts)

    def advice(self, dataset: str) -> str:
        """Say with which learner to start, and what it reaches; nothing if none was trained."""
        if self.private.empty:
            return ""
        best = self.sound.iloc[0]
        reached = f"{_called(self.metric)} {self._number(best)} on {dataset}"
        beside = [
            f"{self._number(row)} {how}"
            for row, how in (
                (self.on_codes.iloc[0] if len(self.on_codes) else None, "without privacy"),
                (self.majority, "by always giving the more frequent label"),
            )
            if row is not None
        ]
        compared = f" ({', '.join(beside)})" if beside else ""
        return f"Start with {self.name(best)}: at ε = {self.epsilon:g} it has {reached}{compared}"

    def lines(self, most: int | None = None) -> list[str]:
        """Return a line a learner, best first, then those without privacy."""
        private = self.private if most is None else self.private.iloc[:most]
        rows = [
            (f"{place}.", f"{self.name(row)}{_price(row)}", self._scores(row))
            for place, (_, row) in enumerate(_rows(private), 1)
        ]
        rows += [
            ("", f"{self.name(row)} (no privacy)", self._scores(row)) for _, row in _rows(self.free)
        ]
        wide = max((len(name) for _, name, _ in rows), default=0)
        return [f"{place:>4} {name:<{wide}}  {score}" for place, name, score in rows]

    def remark(self) -> str:
        """Say that accuracy tells little, where one label is rare; otherwise nothing."""
        if self.majority is None or not self.rare or self.metric != ACCURACY:
            return ""
        return (
            f"{self.majority[ACCURACY]:.2%} of the records have one label: to give it always has "
            "that accuracy and finds none of the others. Balanced accuracy and AUC tell more."
        )

    def _ahead(self, best: pd.Series) -> list[pd.Series]:
        """Return the best learner tuned outside the budget, if it is ahead of another one."""
        above = self.private.loc[: best.name]
        above = above[_unpaid(above) & (above["calibration"] == "certified")]
        return [row for _, row in _rows(above.iloc[:1])]

    @property
    def _digits(self) -> int:
        # Where a label is rare, learners differ in later ones.
        return DIGITS + (self.metric == ACCURACY and self.rare)

    def _number(self, row: pd.Series) -> str:
        return f"{row[self.metric]:.{self._digits}f}"

    def _score(self, row: pd.Series) -> str:
        spread = row[f"{self.metric}_std"]
        error = "" if pd.isna(spread) else f" ± {spread:.{self._digits}f}"
        return f"{self._number(row)}{error}"

    def _scores(self, row: pd.Series) -> str:
        """Write what ranks and, where a label is rare, what tells more."""
        others = [name for name in (ACCURACY, *BESIDE) if name != self.metric and self.rare]
        beside = [
            f"{_called(name)} {row[name]:.{DIGITS + (name == ACCURACY)}f}"
            for name in others
            if name in row
        ]
        return "  ".join([self._score(row), *beside])

    def _near(self, best: pd.Series, other: pd.Series) -> bool:
        """Return whether another score is within the error of the best, or better."""
        sign = -1 if self.metric in LOSSES else 1
        gap = sign * (best[self.metric] - other[self.metric])
        return bool(gap <= best[f"{self.metric}_std"])


def ranking(
    accuracy: pd.DataFrame,
    dataset: str,
    epsilon: float,
    titles: Mapping[str, str],
    metric: str = ACCURACY,
) -> Ranking:
    """Rank the learners of a dataset at an ε, without those whose score is missing."""
    mine = accuracy[(accuracy["dataset"] == dataset) & accuracy[metric].notna()]
    best = mine.sort_values(metric, ascending=metric in LOSSES, kind="stable")
    at = np.isclose(best["epsilon"], epsilon, rtol=1e-9, atol=0)
    return Ranking(epsilon, best[at], best[np.isinf(best["epsilon"])], titles, metric)


def _rows(frame: pd.DataFrame) -> list[tuple[object, pd.Series]]:
    return list(frame.iterrows())


def _unpaid(frame: pd.DataFrame) -> pd.Series:
    return frame.get("kind", pd.Series("", frame.index)) == UNPAID


def _price(row: pd.Series) -> str:
    """Say of a learner that it was tuned outside the budget."""
    return f" ({SHORT[UNPAID]})" if row.get("kind") == UNPAID else ""


def _called(metric: str) -> str:
    return BESIDE.get(metric, metric.replace("_", " "))
