"""A page to look at: curves, a slider for ε that ranks, settings, and what the audit found."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from privcurve.files import replace_text
from privcurve.outputs.answers import RAW
from privcurve.outputs.base import OF, Asked, Files, Option, Output, Reads, about, dataset_title
from privcurve.outputs.context import Context
from privcurve.outputs.page import assemble, data
from privcurve.privacy.budget import LOOKED

RESULTS = Path("results")
# Of each study the page needs the first, and has the others where the study has them.
ACCURACY, SETTINGS, LEDGERS, PRICE = "accuracy", "selected_settings", "ledgers", "price"
TABLES = (ACCURACY, SETTINGS, LEDGERS, RAW, PRICE)
AUDIT = "audit"
# That of all learners, which is no study's.
RUN_AUDIT = f"{OF}{AUDIT}"


class Leaderboard(Output):
    """Page ``leaderboard``: one HTML file that asks for nothing from any network."""

    word: ClassVar[str] = "leaderboard"
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "tables": Option(
            "a list of tables, each <study>/accuracy, <study>/selected_settings, "
            "<study>/ledgers, <study>/raw or <study>/price, or /audit, that of all learners; by "
            "default those of the study",
            list,
            None,
        )
    }

    def check(self, asked: Asked) -> None:
        names = asked.options["tables"] or ()
        for name in names:
            study, slash, word = str(name).partition(OF)
            if name == RUN_AUDIT:
                continue
            if not (study and slash and word in TABLES):
                raise ValueError(f"tables: {name!r} is not <study>/<{' or '.join(TABLES)}>")
            first = f"{study}{OF}{ACCURACY}"
            if first not in names:
                raise ValueError(f"tables: without {first} nothing of {study} is shown; add it")

    def files(self, asked: Asked) -> Files:
        return Files(others={"page": (RESULTS / asked.place).with_suffix(".html")})

    def reads(self, asked: Asked) -> Reads:
        mine = [word for word, _ in asked.study.outputs if word in (*TABLES, AUDIT)]
        names = asked.options["tables"] or dict.fromkeys((ACCURACY, *mine))
        return Reads(outputs=tuple(names), facts=[assemble.sources(), version("plotly")])

    def facts(self, context: Context) -> Any:
        """Return the titles that stand on the page, of all studies, and whose records it shows."""
        return [
            [
                asked.study.name,
                asked.study.title,
                {name: arm.title for name, arm in asked.study.arms.items()},
                {name: about(name).title for name in asked.study.datasets},
            ]
            for _, asked in _studies(context)
        ] + _private(context)

    def make(self, context: Context) -> None:
        studies = []
        for prefix, asked in _studies(context):
            tables = {
                word: context.others[prefix + word].files.frames[0]
                for word in TABLES
                if prefix + word in context.others
            }
            titles = {name: dataset_title(name) for name in asked.study.datasets}
            studies.append(data.of_study(asked.study, titles, tables))
        audits = [context.others[name] for name in (RUN_AUDIT, AUDIT) if name in context.others]
        audit = audits[0].files.frames[0] if audits else None
        page = assemble.page(data.page_data(studies, audit), LOOKED if _private(context) else "")
        replace_text(context.asked.files.others["page"], page)


def _studies(context: Context) -> list[tuple[str, Asked]]:
    """Return what stands before the word of a study's tables, and its table of accuracy."""
    return [
        (name.removesuffix(ACCURACY), asked)
        for name, asked in context.others.items()
        if name.rpartition(OF)[2] == ACCURACY
    ]


def _private(context: Context) -> list[str]:
    """Return the datasets on the page whose records are private."""
    shown = dict.fromkeys(name for _, asked in _studies(context) for name in asked.study.datasets)
    return [name for name in shown if not about(name).public_benchmark]


def page_tables(outputs: Iterable[Asked]) -> list[str]:
    """Return the words of a study's outputs that a page shows; none without its accuracy."""
    words = [one.output.word for one in outputs]
    return [word for word in TABLES if word in words] if ACCURACY in words else []
