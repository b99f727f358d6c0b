"""A score against whatever varies in a study, in facets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.analysis.names import method_of
from privcurve.experiments.study import ALL, Arm
from privcurve.outputs.base import (
    LIST,
    REQUIRED,
    TEXT,
    Asked,
    Files,
    Option,
    Output,
    Reads,
)
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.schema import nearest

if TYPE_CHECKING:
    pass

SCALES = ("linear", "log", "categories")
NAMES = {"epsilon": "ε", "delta": "δ"}


class Sweep(Output):
    """Figure: fresh trainings against a parameter, a share or ε; bands are one sd."""

    word: ClassVar[str] = "sweep"
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "x": Option("a parameter that differs between arms, or epsilon", TEXT, REQUIRED),
        "y": Option("a score of a training", TEXT, "accuracy"),
        "lines": Option("one or more of method, calibration, delta, epsilon, dataset or "
                        "parameters, as a list", LIST, ("method", "calibration", "delta")),
        "panels": Option("as lines", LIST, ("dataset",)),
        "at": Option("values of what else varies, such as {epsilon: 1}", (dict,), {}),
        "learners": Option("a list of entries of the study's learners; by default all", LIST),
        "scale": Option(f"of the x axis: {', '.join(SCALES)}", TEXT, "linear"),
    }  # fmt: skip

    def check(self, asked: Asked) -> None:  # noqa: D102
        for learner in asked.options["learners"] or ():
            asked.arms_of(learner)
        if asked.options["scale"] not in SCALES:
            raise ValueError(f"scale = {asked.options['scale']!r} is not {', '.join(SCALES)}")
        x = asked.options["x"]
        arms = _arms(asked)
        known = {name for arm in arms for name in (*arm.varied, *arm.settings[0])}
        if x != "epsilon" and x not in known:
            hint = nearest(x, known)
            raise ValueError(f"no learner of it has {x!r} under 'vary' or 'fixed'{hint}")
        for arm in arms:
            values = {str(setting.get(x)) for setting in arm.settings}
            if len(values) > 1 and asked.study.select != ALL:
                raise ValueError(f"{arm.name} selects its {x} from a grid; put it under 'vary'")

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = _arms(asked)
        datasets = asked.study.datasets
        return Reads(
            tuple(itertools.product(datasets, [arm.name for arm in arms])),
            facts=[
                [[arm.name, arm.title] for arm in arms],
                [[name, dataset_title(name)] for name in datasets],
            ],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import sweep
        from privcurve.figures import sweep as drawing

        options = context.options
        axes = sweep.Axes(
            options["x"], options["y"], tuple(options["lines"]), tuple(options["panels"])
        )
        arms = {
            curve.arm.name: {"method": method_of(curve.arm.base), **curve.arm.varied}
            for curve in context.curves
        }
        frame = sweep.trainings(context.runs(), arms, axes, options["at"])
        named = frame.assign(
            line=_names(frame, axes.lines, context), panel=_names(frame, axes.panels, context)
        )
        label = NAMES.get(axes.x, axes.x.replace("_", " "))
        figure = drawing.sweep(named, axes.x, axes.y, label, options["scale"])
        context.draw(figure, sweep.points(frame, axes))


def _arms(asked: Asked) -> list[Arm]:
    wanted = asked.options["learners"]
    return [arm for arm in asked.study.arms.values() if not wanted or method_of(arm.base) in wanted]


def _names(frame: Any, keys: tuple[str, ...], context: Context) -> list[str]:
    """Name each row's line or panel: values that are the same in all rows go without saying."""
    titles = {method_of(curve.arm.base): curve.arm.base_title for curve in context.curves}
    telling = [key for key in keys if frame[key].nunique() > 1 or key in ("method", "dataset")]
    return [
        ", ".join(_name(key, value, titles) for key, value in zip(telling, row, strict=True))
        for row in frame[telling].itertuples(index=False, name=None)
    ]


def _name(key: str, value: Any, titles: Mapping[str, str]) -> str:
    if key == "method":
        return titles[value]
    if key == "dataset":
        return dataset_title(value)
    if key == "calibration":
        return str(value)
    text = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{NAMES.get(key, key.replace('_', ' '))} = {text}"
