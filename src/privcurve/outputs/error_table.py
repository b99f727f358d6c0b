"""The error of each learner on each dataset, at each ε; who wins, and how often."""

from __future__ import annotations

from typing import ClassVar

from privcurve.analysis import kinds
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES, whole
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import TEXT, Option
from privcurve.schema import nearest


class ErrorTable(Output):
    """Table: errors of fresh trainings, a row a dataset; the best in bold; wins, ties, losses."""

    word: ClassVar[str] = "error_table"
    version: ClassVar[int] = 3
    options: ClassVar = {
        "baseline": Option("the arm that others win against; by default the first", TEXT),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        given, arms = asked.options["baseline"], asked.study.arms
        if given is not None and given not in arms:
            raise ValueError(
                f"baseline: no arm {given!r}{nearest(given, arms)} There are: {', '.join(arms)}."
            )
        if baseline(asked) not in private(asked):
            raise ValueError(f"baseline: {baseline(asked)} has no ε: others have nothing to beat")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        read = whole(asked.study)
        titles = [arm.title for arm in asked.study.arms.values()]
        return Reads(read.curves, data=read.data, facts=[read.facts, titles])

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import domains
        from privcurve.tables.table import Table

        study, base = context.study, baseline(context.asked)
        frame = domains.error_table(context.runs(), study.datasets, list(study.arms), base)
        frame.insert(list(frame).index("learner") + 1, "kind", kinds.column(frame, study.arms))
        titles = arm_titles(context.asked)
        shown = domains.shown(frame, titles, base)
        context.write(
            Table(
                frame,
                "Error of each learner on each dataset, at each ε",
                (
                    f"Wins, ties and losses are against {titles[base]}, by two standard errors of "
                    "the difference, paired by fold and repeat; the least private error of a row "
                    "is in bold; ranks are those of private learners.",
                    *SELECTION_NOTES[1:],
                    *kinds.NOTES,
                    *FRESH_NOTES[1:],
                    *context.data_notes(),
                ),
                shown,
            )
        )


def baseline(asked: Asked) -> str:
    """Give the arm that others are compared with."""
    return str(asked.options["baseline"] or next(iter(asked.study.arms)))


def private(asked: Asked) -> list[str]:
    """Give the arms that have an ε."""
    return [name for name, arm in asked.study.arms.items() if arm.calibration is not None]


def arm_titles(asked: Asked) -> dict[str, str]:
    """Give the titles of arms, with the calibration, δ and kind where these tell some apart."""
    arms = asked.study.arms
    of = {name: kinds.kind(arm) for name, arm in arms.items()}
    mixed = len({arm.delta > 0 for arm in arms.values() if arm.calibration}) > 1
    titles = {}
    for name, arm in arms.items():
        alike = {other.calibration for other in arms.values() if other.title == arm.title}
        said = [arm.title]
        if len(alike) > 1:
            said.append(str(arm.calibration))
        if mixed and arm.delta > 0:
            said.append(f"δ = {arm.delta:g}")
        if of[name] in kinds.SHORT and kinds.RULE in of.values():
            said.append(kinds.SHORT[of[name]])
        titles[name] = ", ".join(said)
    return titles
