"""The numbers that a paper prints, beside ours."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from privcurve.outputs.base import PRINTED, Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import REQUIRED, TEXT, Option

if TYPE_CHECKING:
    import pandas as pd

# What can be compared: the file of printed numbers, and the output that has ours.
TABLES = {"sparsity": "sparsity", "rademacher": "rademacher", "model_card": "model_card"}


class Printed(Output):
    """Table: each number of ``resources/printed/<paper>/`` with ours, in standard errors."""

    word: ClassVar[str] = "printed"
    memory: ClassVar[int] = 2000
    options: ClassVar = {
        "paper": Option("a folder of resources/printed", TEXT, REQUIRED),
        "learner": Option("an entry of the study's learners", TEXT, REQUIRED),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.arms_of(asked.options["learner"])
        if not _files(asked):
            known = sorted(path.name for path in PRINTED.glob("*") if path.is_dir())
            raise ValueError(
                f"{asked.printed} has no printed numbers; there are those of: {', '.join(known)}"
            )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = [arm.name for arm in asked.arms_of(asked.options["learner"])]
        files = _files(asked)
        return Reads(
            tuple(itertools.product(asked.study.datasets, arms)),
            cells=True,
            data=asked.study.datasets,
            outputs=tuple(word for name, word in TABLES.items() if name in files),
            resources=tuple(files.values()),
        )

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.analysis import printed as comparison
        from privcurve.tables.table import Table

        selected = context.selected()
        files = _files(context.asked)

        def printed(name: str) -> pd.DataFrame:
            return comparison.comparable(pd.read_csv(files[name], dtype="str"), selected)

        parts = []
        if "sparsity" in files:
            ours = context.table_of("sparsity")
            parts.append(comparison.compare_sparsity(printed("sparsity"), ours))
        if "model_card" in files:
            votes = pd.read_csv(context.others["model_card"].files.others["votes"])
            parts.append(
                comparison.compare_card(printed("model_card"), printed("model_accuracy"), votes)
            )
        if "rademacher" in files:
            ours = context.table_of("rademacher")
            parts.append(comparison.compare_rademacher(printed("rademacher"), ours))
        if "settings" in files:
            settings = printed("settings")
            cells = pd.concat(
                comparison.of_settings(part, settings, selected)
                for part in context.cells(comparison.CELL_COLUMNS)
            )
            parts.append(comparison.compare_settings(settings, selected, cells))
        frame = comparison.in_order(parts)
        shown = comparison.shown(frame)
        context.write(Table(frame, comparison.CAPTION, comparison.NOTES, shown))


def _files(asked: Asked) -> dict[str, Path]:
    return {path.stem: path for path in sorted(asked.printed.glob("*.csv"))}
