"""The advantage of each round of boosting, and the margins of the vote."""

from __future__ import annotations

import math
from typing import ClassVar

from privcurve.learners import registry
from privcurve.outputs.base import Asked, Files, Output, Reads
from privcurve.outputs.context import Context
from privcurve.outputs.options import COUNT, NUMBER, REQUIRED, TEXT, Option

WITHOUT_NOISE = "without noise"


class AdvantageAndMargins(Output):
    """Figure: how much better than guessing each round is, and the margins that follow.

    The learning rate is a quarter of the advantage that is assumed, as the theory asks.
    """

    word: ClassVar[str] = "advantage_and_margins"
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", TEXT, REQUIRED),
        "dataset": Option("a dataset of the study", TEXT, REQUIRED),
        "epsilon": Option("the budget of all rounds together", NUMBER, REQUIRED),
        "density": Option("κ, between 0 and 1", NUMBER, 0.5),
        "advantage": Option("γ that is assumed, between 0 and 1/2", NUMBER, 0.05),
        "rounds": Option("a number of rounds", COUNT, 1000),
        "runs": Option("a number of runs with noise", COUNT, 10),
    }

    def check(self, asked: Asked) -> None:  # noqa: D102
        asked.check_one_rules(asked.options["learner"])
        asked.check_dataset(asked.options["dataset"])

    def files(self, asked: Asked) -> Files:  # noqa: D102
        return Files(figures=(asked.figure,))

    def reads(self, asked: Asked) -> Reads:  # noqa: D102
        arms = asked.arms_of(asked.options["learner"])
        versions = [[arm.name, registry.entry(arm.learner).version] for arm in arms]
        return Reads(data=(asked.options["dataset"],), facts=versions)

    def make(self, context: Context) -> None:  # noqa: D102
        import pandas as pd

        from privcurve.analysis import margins
        from privcurve.experiments import models
        from privcurve.figures import advantage_and_margins

        options = context.options
        arms = context.asked.arms_of(options["learner"])
        data = context.data(options["dataset"])
        setting = {
            "weak_learner": "one_rule",
            "n_rounds": options["rounds"],
            "density": options["density"],
            "learning_rate": options["advantage"] / 4,
        }
        budget = options["epsilon"]
        titles = {str(arm.calibration): f"{arm.calibration}, ε = {budget:g}" for arm in arms}
        runs = [(str(arm.calibration), arm, budget) for arm in arms]
        frames = []
        for name, arm, epsilon in [*runs, (WITHOUT_NOISE, arms[0], math.inf)]:
            advantages, found = models.round_by_round(
                data, arm, epsilon, setting, options["runs"], context.seed
            )
            frames.append(margins.advantage_frame(name, advantages))
            frames += [margins.margin_frame(name, part, each) for part, each in found.items()]
        frame = pd.concat(frames, ignore_index=True)
        failing = margins.failing_rounds(frame, options["advantage"])
        needed = margins.rounds_needed(options["density"], options["advantage"])
        print(f"the assumption fails at rounds {failing}; the theorem needs {needed} rounds")
        figure = advantage_and_margins.advantage_and_margins(
            frame,
            options["advantage"],
            failing,
            titles | {WITHOUT_NOISE: WITHOUT_NOISE},
            drawn=str(arms[0].calibration),
        )
        context.draw(figure, frame)
