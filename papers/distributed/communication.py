"""Tabulate the messages of each protocol of a study, and the accuracy of its models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import ClassVar

from privcurve.analysis.keys import is_near, mean, method_of
from privcurve.experiments.study import Method
from privcurve.lazy import pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads, dataset_title
from privcurve.tables.table import Table, format_decimals, format_means, text_frame


class Communication(Output):
    """Table ``communication``: rounds, messages, bytes per party, and accuracy at one ε."""

    word: ClassVar[str] = "communication"
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "epsilon": Option("the ε of the models", float, 1),
        "learners": Option("a list of entries of the study's learners; by default all", list, None),
    }

    def check(self, request: OutputRequest) -> None:
        for learner in request.options["learners"] or ():
            request.check_epsilon(learner, request.options["epsilon"])
        if not _methods(request):
            raise ValueError(
                f"epsilon must be an ε of a learner; got {request.options['epsilon']:g}"
            )

    def reads(self, request: OutputRequest) -> Reads:
        methods = _methods(request)
        titles = [[method.name, method.base_title] for method in methods]
        return Reads(request.curves_of(methods), facts=[titles, request.dataset_titles()])

    def make(self, context: Context) -> None:
        frame = communication(context.described_runs(), context.options["epsilon"])
        titles = {method_of(curve.method.base): curve.method.base_title for curve in context.curves}
        context.write(Table(frame, CAPTION, NOTES, format_table(frame, titles)))


def format_table(frame: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return the table for readers: titles of methods replace names, and bytes are integers."""
    texts = pd.DataFrame({"dataset": [dataset_title(name) for name in frame["dataset"]]})
    texts["method"] = frame["entry"].map(titles)
    texts["calibration"] = frame["calibration"]
    texts["δ"] = [f"{delta:g}" for delta in frame["delta"]]
    texts = texts.join(text_frame(frame[[name for name in frame if name not in (*ABOUT, *SCORES)]]))
    texts["accuracy"] = format_means(frame["accuracy"], frame["accuracy_std"])
    for name in MESSAGES:
        texts[name.replace("_", " ")] = format_decimals(frame[name], 0)
    return texts


def _methods(request: OutputRequest) -> list[Method]:
    """Return the methods of the requested learners, but only methods trained at the requested ε."""
    epsilon = request.options["epsilon"]
    return [method for method in request.wanted_methods() if epsilon in method.epsilons]


# Measures of the messages of a fit. A measure per party is the maximum over the parties.
MESSAGES = ("rounds", "messages", "bytes_per_holder", "bytes_down_per_holder", "bytes_total")
ABOUT = ("dataset", "entry", "calibration", "delta", "epsilon")
# Parameters of a protocol that the table always shows; it shows others only if they vary.
HOLDERS = ("protocol", "trust", "n_holders")
SCORES = ("accuracy", "accuracy_std", *MESSAGES, "n_repeats", "n_failed")

CAPTION = "Messages of each protocol, and the accuracy that they buy"
NOTES = (
    "Means over repeats; accuracy ± one standard deviation. Bytes up and down are those of the "
    "holder that sends, or gets, most.",
    "Payload alone: 8 bytes a number where each message is private by itself (local), 4 bytes "
    "where only sums are seen (secure_sum: fixed point in a ring of 2^32), 2 bytes a vote. "
    "Exchange of keys, framing and encryption are not counted.",
    "A method without messages (–) needs all records in one place.",
)


def communication(runs: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Return one row for each protocol, with its messages and accuracy at one ε.

    `runs` has one run per row, and a column for each measure. The result has the columns `ABOUT`,
    columns of parameters, and the columns `SCORES`. It shows the parameters in `HOLDERS`, and every
    other parameter in which protocols of one study entry differ. Measures of messages are NaN if a
    learner sends no messages. If a run of a protocol has failed, all means of this protocol are
    NaN.
    """
    absent = {name: math.nan for name in MESSAGES if name not in runs}
    there = runs[[is_near(value, epsilon) for value in runs["epsilon"]]].assign(**absent)
    groups = [part for _, part in there.groupby(["dataset", "method", "setting"], sort=False)]
    about = pd.concat([part[list(ABOUT)].head(1) for part in groups], ignore_index=True)
    # Columns of parameters get the type `object`, which keeps integers. With a numeric type,
    # integers would become floats if some protocol lacks the parameter (NaN).
    settings = [{**_share(part), **json.loads(part["setting"].iloc[0])} for part in groups]
    parameters = pd.DataFrame(settings).astype(object)
    methods = [about["dataset"], about["entry"]]
    varied = parameters.map(str).groupby(methods).nunique().gt(1).any()
    telling = [str(name) for name in parameters if name in (*HOLDERS, *varied.index[varied])]
    scores = pd.DataFrame([_scores(part) for part in groups], columns=list(SCORES))
    return pd.concat([about, parameters[telling], scores], axis=1)


def _scores(runs: pd.DataFrame) -> dict[str, float]:
    """Return the means over the runs of one protocol; they are NaN if a run has failed."""
    good = runs["status"] == "ok"
    # A learner that lacks one of the measures of messages sends no messages. For example, boosting
    # on one machine has only the measure `rounds`, its number of boosting rounds.
    silent = not good.all() or bool(runs[list(MESSAGES)].isna().any(axis=None))
    scores = runs["accuracy"] if good.all() else runs["accuracy"].iloc[:0]
    accuracy = {"accuracy": mean(scores), "accuracy_std": float(scores.std(ddof=1))}
    messages = {name: math.nan if silent else mean(runs[name]) for name in MESSAGES}
    return {**accuracy, **messages, "n_repeats": len(runs), "n_failed": int((~good).sum())}


def _share(group: pd.DataFrame) -> dict[str, object]:
    share = group.get("train_share")
    return {} if share is None else {"train_share": share.iloc[0]}
