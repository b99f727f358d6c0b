"""Tabulate the number of features in a learner's models (thesis, Tables 5.2 and A.1 to A.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privcurve.coding import merge_bins
from privcurve.lazy import pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads
from privcurve.tables.table import MISSING, Table, format_decimals

from ._checks import boosts_rules, check_curves

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain
    from privcurve.experiments.methods import Method


class Sparsity(Output):
    """Table ``sparsity``: features used by one learner, for each dataset, calibration and ε."""

    word: ClassVar[str] = "sparsity"
    version: ClassVar[int] = 3
    options: ClassVar = {"learner": Option("an entry of the study's learners", str)}

    def check(self, request: OutputRequest) -> None:
        check_curves(request)

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.methods_of(request.options["learner"])
        return Reads(request.curves_of(methods), data=request.study.datasets)

    def make(self, context: Context) -> None:
        methods = context.request.methods_of(context.options["learner"])
        names = context.study.datasets
        widths = {name: count_features(context.data(name).domain, methods) for name in names}
        frame = feature_table(context.runs(), widths)
        whose = ONE_RULES if boosts_rules(methods[0]) else context.options["learner"]
        context.write(Table(frame, f"Features used by {whose}", NOTES, format_table(frame)))


# Number of trainings that are averaged: five, as in the thesis.
REPEATS = 5

ONE_RULES = "LazyBB with 1-rules"
NOTES = (
    f"Features are distinct bins (columns after one-hot coding) that the model asks for: mean, "
    f"standard deviation ({REPEATS} in the denominator, as in the thesis) and percentage of all, "
    f"over the first {REPEATS} fresh trainings of the setting selected at each ε.",
    "A value is missing (–) when one of these trainings is missing or has failed.",
)


def count_features(domain: Domain, methods: Sequence[Method]) -> int:
    """Return the total number of bins, over all columns, that the methods see.

    Some learners merge bins of the numeric columns that `Domain.mixed_bins` lists. These learners
    see fewer bins than the encoded data have.
    """
    few = {few for one in methods for setting in one.settings for few in one.few_bins(setting)}
    if domain.mixed_bins is None or not few:
        return domain.width
    groups = merge_bins(np.array(domain.n_bins), domain.mixed_bins, max(few))
    return sum(int(group[-1]) + 1 for group in groups)


def feature_table(refits: pd.DataFrame, widths: Mapping[str, int]) -> pd.DataFrame:
    """Return the mean, standard deviation and percentage of features used.

    There is one row for each dataset, calibration and ε. `refits` has a row for each repeated
    training of a selected setting. `widths` maps each dataset to its total number of features.
    """
    unknown = sorted(set(refits["dataset"]) - set(widths))
    if unknown:
        raise ValueError(f"widths must have every dataset; got none for {unknown[0]!r}")
    rows = []
    for dataset, width in widths.items():
        mine = refits[(refits["dataset"] == dataset) & (refits["repeat"] <= REPEATS)]
        for (calibration, epsilon), group in mine.groupby(["calibration", "epsilon"]):
            if group["repeat"].duplicated().any():
                raise ValueError(
                    f"repeats of {dataset}, {calibration}, ε = {epsilon:g} must differ; got "
                    "one twice"
                )
            used = group.loc[group["status"] == "ok", "n_features_used"].astype(float)
            # If a training has failed, the mean is NaN, because a mean over the other trainings
            # could be biased.
            used = used if len(used) == REPEATS else used.iloc[:0]
            mean = float(used.mean())
            rows.append(
                {
                    "dataset": dataset, "calibration": calibration, "epsilon": epsilon,
                    "features_mean": mean, "features_std": float(used.std(ddof=0)),
                    "features_percent": 100 * mean / width, "n_features": width,
                    "n_repeats": REPEATS,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def format_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the columns and numbers of decimals of the thesis."""
    texts = frame[["dataset", "calibration"]].copy()
    texts["ε"] = format_decimals(frame["epsilon"], 2)
    texts["features, mean"] = format_decimals(frame["features_mean"], 1)
    texts["std"] = format_decimals(frame["features_std"], 3)
    percent = format_decimals(frame["features_percent"], 2)
    texts["of all"] = [text if text == MISSING else f"{text} %" for text in percent]
    return texts
