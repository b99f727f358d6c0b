"""Private selection of another learner's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import CERTIFIED

# Where the learner is a user's own, whose cost this table does not know.
_SECONDS = 0.1


def entries(others: Iterable[LearnerEntry]) -> tuple[LearnerEntry, ...]:
    """Return the entry: its cost follows from those of the learners that it may choose settings of.

    Parameters
    ----------
    others : iterable of LearnerEntry
    """
    known = {entry.name: entry for entry in others}

    def seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
        """Return the cost of the expected runs, with settings in the middle of the axes."""
        name, tried = setting["learner"], setting["settings"]
        middle: dict[str, Any] = {}
        if isinstance(tried, Mapping):
            middle = {axis: values[len(values) // 2] for axis, values in tried.items()}
        elif tried:
            middle = dict(tried[len(tried) // 2])
            name = middle.pop("learner", name)
        each = known[name].cost(middle, n_rows, n_columns) if name in known else _SECONDS
        return 5e-3 + float(setting["expected_runs"]) * each

    return (
        LearnerEntry(
            name="tuned",
            path="privcurve.learners.tuned:TunedClassifier",
            title="Tuned, paid",
            calibrations=(CERTIFIED,),
            approximate=True,
            parameters={
                "learner": Parameter("lazybb", structure="the name of a learner"),
                "settings": Parameter(
                    None, structure="a mapping of parameters to lists of values, or settings"
                ),
                "eta": Parameter(1.0, float, low=-1, high=10, open_low=True),
                "expected_runs": Parameter(5.0, float, low=1, high=1000),
                "score_share": Parameter(0.05, float, 0, 1, open_low=True, open_high=True),
            },
            seconds=seconds,
            told=("ordered",),
        ),
    )
