"""A score against whatever varies in a study, in facets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.analysis.names import NONE, method_of
from privcurve.analysis.numbers import near
from privcurve.experiments.study import ALL, Arm
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.learning_curves import dataset_title
from privcurve.outputs.options import LIST, REQUIRED, TEXT, Option
from privcurve.schema import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from privcurve.analysis.sweep import Axes

LOG = "log"
SCALES = ("linear", LOG, "categories")
COMPARED = ("all", "dataset", "none")
NAMES = {"epsilon": "ε", "delta": "δ"}
# What tells trainings apart beside parameters and shares.
TELLING = (
    *("method", "calibration", "delta", "epsilon", "dataset", "neighbours"),
    *("arm", "learner", "setting", "fold", "repeat"),
)


class Sweep(Output):
    """Figure: fresh trainings against a parameter, a share or ε; bands are one sd."""

    word: ClassVar[str] = "sweep"
    version: ClassVar[int] = 2
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "x": Option("a parameter that differs between arms, or epsilon", TEXT, REQUIRED),
        "y": Option("a score of a training, or what its learner measures", TEXT, "accuracy"),
        "lines": Option("one or more of method, calibration, delta, epsilon, dataset or "
                        "parameters, as a list", LIST, ("method", "calibration", "delta")),
        "panels": Option("as lines", LIST, ("dataset",)),
        "at": Option("values of what else varies, such as {epsilon: 1}; null: of methods that have "
                     "none", (dict,), {}),
        "learners": Option("a list of entries of the study's learners; by default all", LIST),
        "levels": Option("a list of entries of learners that have no such parameter: they are "
                         "horizontal lines", LIST, ()),
        "scale": Option(f"of the x axis: {', '.join(SCALES)}; on a log axis of epsilon, inf is a "
                        "horizontal line", TEXT, "linear"),
        "compare": Option("which panels share their y axis: all, those of a dataset, or none; one "
                          f"of {', '.join(COMPARED)}", TEXT, COMPARED[0]),
        "note": Option("a line above the panels, of what the figure lacks", TEXT),
    }  # fmt: skip

    def check(self, asked: Asked) -> None:  # noqa: D102
        levels = asked.options.get("levels", ())
        for learner in (*(asked.options["learners"] or ()), *levels):
            asked.arms_of(learner)
        for option, words in (("scale", SCALES), ("compare", COMPARED)):
            if asked.options.get(option, words[0]) not in words:
                raise ValueError(f"{option} = {asked.options[option]!r} is not {', '.join(words)}")
        x = asked.options["x"]
        shown = asked.wanted_arms(*levels)
        arms = [arm for arm in shown if method_of(arm.base) not in levels]
        known = {name for arm in arms for name in (*arm.varied, *arm.settings[0])}
        if x != "epsilon" and x not in known:
            hint = nearest(x, known)
            raise ValueError(f"no learner of it has {x!r} under 'vary' or 'fixed'{hint}")
        for arm in arms:
            values = {str(setting.get(x)) for setting in arm.settings}
            if len(values) > 1 and asked.study.select != ALL:
                raise ValueError(f"{arm.name} selects its {x} from a grid; put it under 'vary'")
        self._check_telling(asked.options, shown)
        at = asked.options["at"]
        if not any(all(_is_there(arm, name, at[name]) for name in at) for arm in arms):
            raise ValueError(f"at = {dict(at)}: no curve has these values")

    def _check_telling(self, options: Mapping[str, Any], arms: list[Arm]) -> None:
        """Refuse words under lines, panels and at that tell no trainings of these arms apart."""
        known = [name for arm in arms for name in (*arm.varied, *arm.settings[0])]
        for option in ("lines", "panels", "at"):
            for name in options[option]:
                if name not in (*TELLING, *known):
                    hint = nearest(name, [*TELLING, *known])
                    raise ValueError(
                        f"{option}: {name!r} is none of {', '.join(TELLING[:5])}, and no learner "
                        f"of it has it under 'vary' or 'fixed'{hint}"
                    )

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = asked.wanted_arms(*asked.options.get("levels", ()))
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

        options = context.options
        axes = sweep.Axes(
            options["x"], options["y"], tuple(options["lines"]), tuple(options["panels"])
        )
        arms = context.arms()
        label = NAMES.get(axes.x, axes.x.replace("_", " "))
        runs = context.runs()
        flat = [arms[name]["method"] in options.get("levels", ()) for name in runs["arm"]]
        levels = runs[flat]
        frame = sweep.trainings(runs.drop(levels.index), arms, axes, options["at"])
        whole = _named(frame, axes, context)
        parts = [(whole, axes)]
        if options.get("scale") == LOG and axes.x == "epsilon":
            # Without noise there is no place on the axis: a level of the same line.
            endless = whole["epsilon"].map(math.isinf)
            if 0 < endless.sum() < len(endless):
                parts = [(part.reset_index(drop=True), axes) for _, part in whole.groupby(endless)]
        if len(levels):
            parts.append(_leveled(levels, arms, axes, whole, context))
        figure, points = self._drawn(parts, label, options)
        context.draw(figure, points)

    def _drawn(
        self, parts: list[tuple[pd.DataFrame, Axes]], label: str, options: Mapping[str, Any]
    ) -> tuple[Figure, pd.DataFrame]:
        """Give the figure of trainings with an x, and of levels, and what it shows."""
        import pandas as pd

        from privcurve.analysis import sweep
        from privcurve.figures import sweep as drawing

        (frame, axes), *flat = parts
        levels = pd.concat([part for part, _ in flat], ignore_index=True) if flat else None
        figure = drawing.sweep(frame, axes.x, axes.y, label, options["scale"], levels)
        if options["note"]:
            drawing.note(figure, options["note"])
        # A level may stand in several panels.
        own = [
            (part.drop(columns=["panel", "group"]).drop_duplicates(), its) for part, its in parts
        ]
        return figure, pd.concat([sweep.points(*one) for one in own], ignore_index=True)


def _is_there(arm: Arm, name: str, wanted: Any) -> bool:
    """Whether trainings of an arm may have a value that `at` wants."""
    own: dict[str, Sequence[Any]] = {
        "method": (method_of(arm.base),),
        "calibration": (arm.calibration,),
        "delta": (arm.delta,),
        "epsilon": arm.epsilons,
    }
    if name in TELLING and name not in own:
        return True
    settings = [{**setting, **arm.varied}.get(name) for setting in arm.settings]
    values = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    return any(_is_same(one, value) for one in own.get(name, settings) for value in values)


def _is_same(one: Any, other: Any) -> bool:
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    return bool(one == other or (numbers and near(one, other)))


def _named(frame: pd.DataFrame, axes: Axes, context: Context) -> pd.DataFrame:
    """Give trainings with their line, their panel, and the panels that this is compared with."""
    panels = _names(frame, axes.panels, frame, context)
    compared = context.options.get("compare", COMPARED[0])
    groups = {"none": panels, "dataset": frame.get("dataset")}.get(compared)
    names = _names(frame, axes.lines, frame, context)
    # Where nothing tells lines apart, each is of its method.
    methods = _names(frame, ("method",), frame, context)
    lines = [name or method for name, method in zip(names, methods, strict=True)]
    group = compared if groups is None else groups
    return frame.assign(line=lines, panel=panels, group=group)


def _leveled(
    runs: pd.DataFrame,
    arms: Mapping[str, Mapping[str, Any]],
    axes: Axes,
    frame: pd.DataFrame,
    context: Context,
) -> tuple[pd.DataFrame, Axes]:
    """Give the trainings of learners that have no x, in each panel of their dataset."""
    from privcurve.analysis import sweep

    telling = ("method", *(key for key in axes.lines if key != "method"))
    shared = tuple(key for key in axes.panels if key == "dataset")
    own = sweep.Axes(axes.x, axes.y, telling, shared).without_x()
    levels, own = sweep.levels(runs, arms, own, context.options["at"])
    # That a level is without noise, its dotted line says.
    told = levels.replace({"epsilon": math.inf}, NONE) if "epsilon" in own.lines else levels
    lines = _names(told, own.lines, frame, context)
    panels = frame[[*shared, "panel", "group"]].drop_duplicates()
    named = levels.assign(line=lines).merge(panels, how="inner" if shared else "cross")
    return named, own


def _names(
    frame: pd.DataFrame, keys: tuple[str, ...], whole: pd.DataFrame, context: Context
) -> list[str]:
    """Name each row's line or panel: what is the same in all rows of the whole is not said."""
    titles = {method_of(curve.arm.base): curve.arm.base_title for curve in context.curves}
    telling = [key for key in keys if whole[key].nunique() > 1 or key in ("method", "dataset")]
    return [
        # What a method lacks is not said of it.
        ", ".join(
            _name(key, value, titles)
            for key, value in zip(telling, row, strict=True)
            if key == "method" or value != NONE
        )
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
