"""Which learner to take at an ε, in a sentence and in a few lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from privcurve.analysis.kinds import UNPAID

MAJORITY = "majority_class"
DIGITS = 3


@dataclass(frozen=True)
class Ranking:
    """The learners of a table of accuracy on one dataset at one ε.

    Attributes
    ----------
    epsilon : float
    private, free : DataFrame
        Rows of the table, best first: what was trained at this ε, and what has no privacy.
    titles : mapping of str to str
        Of the arms.
    """

    epsilon: float
    private: pd.DataFrame
    free: pd.DataFrame
    titles: Mapping[str, str]

    def name(self, row: pd.Series) -> str:
        """Give a row's learner as readers know it."""
        published = ", noise as published" if row["calibration"] == "published" else ""
        delta = f", δ = {row['delta']:g}" if row["delta"] > 0 else ""
        return f"{self.titles[row['arm']]}{published}{delta}"

    @property
    def sound(self) -> pd.DataFrame:
        """The learners that may be recommended: noise as proved, where there is any such."""
        proved = self.private[self.private["calibration"] == "certified"]
        return self.private if proved.empty else proved

    def sentence(self) -> str:
        """Say which to take, what privacy costs, and how sure that is."""
        at = f"at ε = {self.epsilon:g}"
        if self.private.empty:
            return f"{at} nothing was trained that is complete"
        best = self.sound.iloc[0]
        parts = [f"{at} take {self.name(best)}: {_score(best)}"]
        better = self.free[self.free["learner"] != MAJORITY]
        if len(better):
            parts.append(f"without privacy {better['accuracy'].iloc[0]:.{DIGITS}f}")
        majority = self.free[self.free["learner"] == MAJORITY]
        if len(majority):
            parts.append(f"majority {majority['accuracy'].iloc[0]:.{DIGITS}f}")
        if len(self.sound) > 1:
            following = self.sound.iloc[1]
            near = best["accuracy"] - following["accuracy"] <= best["accuracy_std"]
            within = "is within its error" if near else "is not within its error"
            parts.append(f"the next ({self.name(following)}) {within}")
        if best.get("kind") == UNPAID:
            parts.append("its setting was chosen on the records, which ε does not cover")
        return "; ".join(parts)

    def lines(self, most: int | None = None) -> list[str]:
        """Give a line a learner, best first, then those without privacy."""
        private = self.private if most is None else self.private.iloc[:most]
        rows = [
            (f"{place}.", self.name(row), _score(row))
            for place, (_, row) in enumerate(_rows(private), 1)
        ]
        rows += [("", f"{self.name(row)} (no privacy)", _score(row)) for _, row in _rows(self.free)]
        wide = max((len(name) for _, name, _ in rows), default=0)
        return [f"{place:>4} {name:<{wide}}  {score}" for place, name, score in rows]


def ranking(
    accuracy: pd.DataFrame, dataset: str, epsilon: float, titles: Mapping[str, str]
) -> Ranking:
    """Rank the learners of a dataset at an ε by their accuracy.

    Parameters
    ----------
    accuracy : DataFrame
        The table `accuracy` of a study.
    dataset : str
    epsilon : float
    titles : mapping of str to str
        Of the arms.

    Returns
    -------
    Ranking
        Without those whose accuracy is missing.
    """
    mine = accuracy[(accuracy["dataset"] == dataset) & accuracy["accuracy"].notna()]
    best = mine.sort_values("accuracy", ascending=False, kind="stable")
    at = np.isclose(best["epsilon"], epsilon, rtol=1e-9, atol=0)
    return Ranking(epsilon, best[at], best[np.isinf(best["epsilon"])], titles)


def _rows(frame: pd.DataFrame) -> list[tuple[object, pd.Series]]:
    return list(frame.iterrows())


def _score(row: pd.Series) -> str:
    spread = row["accuracy_std"]
    error = "" if pd.isna(spread) else f" ± {spread:.{DIGITS}f}"
    return f"{row['accuracy']:.{DIGITS}f}{error}"
