"""The tables of boosted private ensembles, beside what their paper prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from privcurve.outputs import ensemble_errors
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import PAPER

if TYPE_CHECKING:
    import pandas as pd

RUNS = (
    "Errors are means over the ten folds of one partition, and the best of a grid on the folds "
    "that chose it: they are optimistic, as the paper's are."
)


class _Ensembles(Output):
    """A table that is made from the errors of all settings, and from printed ones."""

    selects: ClassVar[bool] = False
    options: ClassVar = {"paper": PAPER}
    printed: ClassVar[str] = ""

    def check(self, asked: Asked) -> None:
        if self.printed and not self._printed(asked).is_file():
            raise ValueError(f"there is no {self._printed(asked)}, whose numbers stand beside ours")

    def files(self, asked: Asked) -> Files:
        return Files(tables=(asked.table,))

    def reads(self, asked: Asked) -> Reads:
        resources = (self._printed(asked),) if self.printed else ()
        return Reads(outputs=(ensemble_errors.WORD,), resources=resources)

    def _printed(self, asked: Asked) -> Path:
        return asked.printed / self.printed

    def _read_printed(self, context: Context) -> pd.DataFrame:
        import pandas as pd

        return pd.read_csv(self._printed(context.asked), dtype={"alpha": "str"})

    def _write(self, context: Context, frame: pd.DataFrame, caption: str, *notes: str) -> None:
        from privcurve.tables.table import Table

        context.write(Table(frame, caption, notes))


class EnsembleLeast(_Ensembles):
    """Table: the least error over the grid, for each dataset, ε and α, and its setting."""

    word: ClassVar[str] = "ensemble_least"

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ensembles

        frame = ensembles.least_errors(ensemble_errors.read(context))
        self._write(
            context,
            frame,
            "Least error over the grid",
            RUNS,
            "Behind: the error less that of the best α. Share spread: how far the least "
            "errors at each share of the budget for splits lie apart.",
        )


class EnsembleAlphas(_Ensembles):
    """Table: how many datasets each α wins at each ε, beside chance and the printed Table 1."""

    word: ClassVar[str] = "ensemble_alphas"
    printed: ClassVar[str] = "table1_best_alpha_by_epsilon.csv"

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ensembles

        frame = ensembles.best_alphas(
            ensemble_errors.read(context), self._read_printed(context), context.shuffles
        )
        self._write(
            context,
            frame,
            "Datasets on which each α has the least error of the grid",
            RUNS,
            "Who is equal to the best wins too. Shuffled: the same count where the three α "
            f"of each setting change places at random, over {ensembles.SHUFFLES} shuffles.",
        )


class EnsembleSizes(_Ensembles):
    """Table: depth and number of trees of the least error of each dataset, beside Table 3."""

    word: ClassVar[str] = "ensemble_sizes"
    printed: ClassVar[str] = "table3_best_depth_and_trees.csv"

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import ensembles

        frame = ensembles.best_sizes(ensemble_errors.read(context), self._read_printed(context))
        self._write(
            context,
            frame,
            "Size of the ensemble of the least private error",
            RUNS,
            f"Small: depth up to {ensembles.SMALL_DEPTH}, {ensembles.SMALL_TREES} trees. "
            "The paper does not say where it draws the line, and leaves three domains out.",
        )


class EnsembleWins(_Ensembles):
    """Table: who wins against the forests on each dataset (Table 4), beside the printed one."""

    word: ClassVar[str] = "ensemble_wins"
    printed: ClassVar[str] = "table4_wins_against_forests.csv"

    def check(self, asked: Asked) -> None:  # noqa: D102
        super().check(asked)
        if not any(arm.learner == ensemble_errors.LEARNERS[1] for arm in asked.study.arms.values()):
            raise ValueError(
                f"the study has no learner {ensemble_errors.LEARNERS[1]} to win against"
            )

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import duels

        found = duels.duels(ensemble_errors.read(context))
        frame = duels.dataset_wins(found, self._read_printed(context))
        self._write(context, frame, "Runs won against the forests, of the significant ones", *_WINS)


class EnsembleWinsOverall(EnsembleWins):
    """Table: the same over all datasets, at each ε and in all, with β exact and constant."""

    word: ClassVar[str] = "ensemble_wins_overall"
    printed: ClassVar[str] = "table4_overall.csv"

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import duels

        found = duels.duels(ensemble_errors.read(context))
        frame = duels.overall_wins(found, self._read_printed(context))
        self._write(
            context,
            frame,
            "Runs won against the forests over all datasets, of the significant ones",
            *_WINS,
        )


_WINS = (
    "A run is one ε and share of the budget for splits; it is significant if Student's t-test, "
    "paired over the ten folds, rejects at the level 0.05. The forest has the same depth, and 21 "
    "trees.",
    "Leverage constant: β does not read the records; exact: it does, as printed, without noise.",
)
