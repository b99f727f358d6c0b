"""A score against whatever varies in a study, in facets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.outputs.base import (
    LIST,
    REQUIRED,
    TEXT,
    Asked,
    Context,
    Files,
    Option,
    Output,
    Reads,
    method_of,
)
from privcurve.outputs.learning_curves import dataset_title

if TYPE_CHECKING:
    pass

SCALES = ("linear", "log", "categories")
NAMES = {"epsilon": "ε", "delta": "δ"}


class Sweep(Output):
    """Figure: fresh trainings against a parameter, ε, a share or a round; bands are one sd."""

    word: ClassVar[str] = "sweep"
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
        if x not in ("epsilon", "train_share", "round") and not any(
            x in setting for name in _arms(asked) for setting in asked.study.arms[name].settings
        ):
            raise ValueError(f"no learner of it has {x!r} under 'fixed', 'grid' or 'vary'")
        for name in _arms(asked):
            values = {str(s.get(x)) for s in asked.study.arms[name].settings}
            if len(values) > 1:
                raise ValueError(
                    f"{name} selects its {x} from a grid: a sweep asks for 'vary' in place of it"
                )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = [asked.study.arms[name] for name in _arms(asked)]
        datasets = asked.study.datasets
        return Reads(
            tuple(itertools.product(datasets, [arm.name for arm in arms])),
            facts=[
                [[arm.name, arm.title] for arm in arms],
                [[name, dataset_title(name)] for name in datasets],
                asked.study.repeats,
            ],
        )

    def make(self, context: Context) -> None:  # noqa: D102
        from privcurve.analysis import sweep
        from privcurve.figures import sweep as drawing

        options = context.options
        axes = sweep.Axes(
            options["x"], options["y"], tuple(options["lines"]), tuple(options["panels"])
        )
        arms = {curve.arm.name: curve.arm for curve in context.curves}
        methods = {name: method_of(name) for name in arms}
        frame = sweep.trainings(context.refits(), methods, axes, options["at"])
        named = frame.assign(
            line=_names(frame, axes.lines, context), panel=_names(frame, axes.panels, context)
        )
        label = NAMES.get(axes.x, axes.x.replace("_", " "))
        figure = drawing.sweep(named, axes.x, axes.y, label, options["scale"])
        context.draw(figure, sweep.points(frame, axes, context.study.repeats))


def _arms(asked: Asked) -> list[str]:
    wanted = asked.options["learners"]
    return [name for name in asked.study.arms if not wanted or method_of(name) in wanted]


def _names(frame: Any, keys: tuple[str, ...], context: Context) -> list[str]:
    """Name each row's line or panel: values that are the same in all rows go without saying."""
    titles = {method_of(curve.arm.name): curve.arm.title for curve in context.curves}
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
