"""All learners against one: paired differences of accuracy, with intervals and tests."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from privcurve.analysis import kinds
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.error_table import arm_titles, private
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import LIST, REQUIRED, TEXT, Option
from privcurve.schema import nearest

if TYPE_CHECKING:
    import pandas as pd

PAIRED = (
    "A difference is the accuracy of a learner less that of {reference}, of fresh trainings paired "
    "by dataset, fold and repeat: above 0 it is ahead. Brackets are 95 % intervals by Student's t."
)
SAME_RECORDS = (
    "On {datasets} all repeats train on the same records and score the same test part: an interval "
    "there covers the noise of training alone, and says nothing of other records."
)
OTHER_RECORDS = (
    "On {datasets} each repeat scores other records, but repeats share most of the records that "
    "they train on, and some that they score. The standard error is widened for that (Nadeau and "
    "Bengio 2003: 1/R + h/(1 − h) in place of 1/R, where the share h is held out), so that an "
    "interval covers the noise of training and the draw of the records."
)
OVER_REPEATS = (
    "Wilcoxon's p-values of a dataset take its repeats as independent, which they are as to noise "
    "alone; Holm's correction is for the learners of a dataset and ε."
)
OVER_DATASETS = (
    "Over datasets, intervals and Wilcoxon's signed-rank test are of the mean differences, each "
    "dataset counted once: they cover the choice of datasets, as far as these are a sample of any. "
    "Holm's correction is for the learners of an ε. Mean ranks differ if they are further "
    "apart than Nemenyi's critical difference."
)


class Comparison(Output):
    """Tables and figure: differences to a named arm, paired over repeats and datasets."""

    word: ClassVar[str] = "comparison"
    options: ClassVar = {
        "arm": Option("the arm that the others are compared with", TEXT, REQUIRED),
        "others": Option("a list of arms; by default all others that have an ε", LIST),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        known = private(asked)
        for arm in (asked.options["arm"], *(asked.options["others"] or ())):
            if arm not in known:
                hint = nearest(arm, known)
                raise ValueError(
                    f"no arm {arm!r} that has an ε{hint} There are: {', '.join(known)}."
                )
        if asked.options["arm"] in (asked.options["others"] or ()):
            raise ValueError(f"others: {asked.options['arm']} is not compared with itself")
        if not others(asked):
            raise ValueError("a comparison needs two arms that have an ε")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        tables = [asked.table]
        if len(asked.study.datasets) > 1:
            tables.append(asked.table.with_name(f"{asked.table.name}_datasets"))
        return Files(tables=tuple(tables), figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = [asked.options["arm"], *others(asked)]
        datasets = asked.study.datasets
        titles = [
            list(arm_titles(asked).items()),
            [[name, dataset_title(name)] for name in datasets],
        ]
        return Reads(tuple(itertools.product(datasets, arms)), facts=[arms, titles])

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import comparison
        from privcurve.figures.comparison import comparison as drawing
        from privcurve.tables.table import Table

        asked, arms = context.asked, context.study.arms
        reference, titles = asked.options["arm"], arm_titles(asked)
        each = comparison.by_dataset(context.runs(), reference, others(asked))
        each.insert(list(each).index("arm") + 1, "kind", kinds.column(each, arms))
        notes = (PAIRED.format(reference=titles[reference]), *_covered(each), *kinds.NOTES)
        caption = f"Accuracy beside {titles[reference]}, on each dataset"
        detail = Table(each, caption, (*notes, OVER_REPEATS), _shown(each, titles))
        if len(asked.files.tables) == 1:
            context.write(detail)
            context.draw(drawing(each, each, titles, titles[reference]), each)
            return
        detail.write(asked.files.tables[1])
        whole = comparison.overall(each, reference)
        whole.insert(list(whole).index("arm") + 1, "kind", kinds.column(whole, arms))
        caption = (
            f"Accuracy beside {titles[reference]}, over {len(context.study.datasets)} datasets"
        )
        context.write(Table(whole, caption, (*notes, OVER_DATASETS), _shown(whole, titles)))
        context.draw(drawing(whole, each, titles, titles[reference]), whole)


def others(asked: Asked) -> list[str]:
    """Give the arms that are compared, in the order of the study."""
    wanted = asked.options["others"] or private(asked)
    return [name for name in private(asked) if name in wanted and name != asked.options["arm"]]


def _covered(each: pd.DataFrame) -> list[str]:
    """Say what intervals cover, of each way in which datasets were scored."""
    found = []
    for scored_on, text in (("test", SAME_RECORDS), ("folds", OTHER_RECORDS)):
        mine = each.loc[each["scored_on"] == scored_on, "dataset"]
        if len(mine):
            found.append(text.format(datasets=", ".join(dict.fromkeys(mine))))
    return found


def _shown(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Give either table as a reader wants it."""
    from privcurve.tables.table import MISSING, decimals, shown

    keys = [name for name in ("epsilon", "dataset") if name in frame]
    texts = shown(frame[keys])
    texts["learner"] = [titles[arm] for arm in frame["arm"]]
    texts["kind"] = list(frame["kind"])
    if "accuracy" in frame:
        texts["accuracy"] = decimals(frame["accuracy"], 4)
    texts["difference"] = [
        MISSING if mean != mean else f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        for mean, low, high in zip(frame["difference"], frame["low"], frame["high"], strict=True)
    ]
    for name, column in (("p (Wilcoxon)", "p_value"), ("p (Holm)", "p_holm")):
        values = decimals(frame[column], 4)
        texts[name] = ["< 0.0001" if text == "0.0000" else text for text in values]
    if "mean_rank" in frame:
        texts["mean rank"] = decimals(frame["mean_rank"], 2)
        texts["that of the other"] = decimals(frame["reference_mean_rank"], 2)
        texts["critical difference"] = decimals(frame["critical_difference"], 2)
        texts["datasets above / below 0"] = [
            f"{above} / {below} of {n}"
            for above, below, n in zip(
                frame["n_above"], frame["n_below"], frame["n_datasets"], strict=True
            )
        ]
    else:
        good = frame["n_repeats"] - frame["n_failed"]
        texts["repeats"] = [f"{n} of {m}" for n, m in zip(good, frame["n_repeats"], strict=True)]
    return texts
