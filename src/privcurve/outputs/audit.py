"""What an adversary finds against what learners claim: the audits of several in one table."""

from __future__ import annotations

from typing import ClassVar

from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import LIST, Option
from privcurve.schema import nearest


class Audit(Output):
    """Table and figure ``audit``."""

    word: ClassVar[str] = "audit"
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "learners": Option("a list of private learners; by default those of the study", LIST)
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        known = audited()
        learners = self.learners(asked)
        for name in learners:
            if name not in known:
                hint = nearest(name, known)
                raise ValueError(
                    f"there is no audit of {name!r}{hint} There are those of: {', '.join(known)}."
                )
        if not learners:
            raise ValueError("the study has no private learner of this project to audit")

    def learners(self, asked: Asked) -> list[str]:
        """Give the learners whose audits are shown."""
        known = audited()
        of_study = dict.fromkeys(arm.learner for arm in asked.study.arms.values())
        return asked.options["learners"] or [name for name in of_study if name in known]

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files((asked.table,), (asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        learners = tuple(self.learners(asked))
        return Reads(audits=learners, facts=[registry.entry(name).title for name in learners])

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.audit import report
        from privcurve.figures import audit
        from privcurve.tables.table import Table

        learners = context.asked.reads.audits
        frame = report.table([pd.read_csv(context.audit(name)) for name in learners])
        context.write(Table(frame, report.CAPTION, report.notes(frame), report.shown(frame)))
        titles = {name: registry.entry(name).title for name in learners}
        claims = report.claimed(frame)
        context.draw(audit.audit(claims, titles), claims)


def audited() -> list[str]:
    """Give the learners that are audited: peers claim what others have proved, for their own."""
    entries = map(registry.entry, registry.names())
    return [one.name for one in entries if one.private and not one.peer]
