"""Draw the advantage of each round of boosting, and the margins of the vote."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from privcurve.steps import _common, _thesis

WITHOUT_NOISE = "without noise"


def main() -> None:
    """Read the command line, train and draw."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.advantage", description=__doc__
    )
    _thesis.add_study_arguments(parser)
    parser.add_argument("--data", type=Path, required=True, help="folder of the coded dataset")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--density", type=float, required=True, help="κ")
    parser.add_argument("--advantage", type=float, required=True, help="γ that is assumed")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True, help="figure, without its ending")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve import datasets
    from privcurve.analysis import margins
    from privcurve.experiments import models
    from privcurve.figures import advantage_and_margins, style

    _, arms = _thesis.arms_of(arguments)
    data = datasets.read(arguments.data)
    setting = {
        "weak_learner": "one_rule",
        "n_rounds": arguments.rounds,
        "density": arguments.density,
        "learning_rate": arguments.advantage / 4,
    }
    titles = {str(arm.calibration): f"{arm.calibration}, ε = {arguments.epsilon:g}" for arm in arms}
    runs = [(str(arm.calibration), arm, arguments.epsilon) for arm in arms]
    frames = []
    for name, arm, epsilon in [*runs, (WITHOUT_NOISE, arms[0], math.inf)]:
        advantages, found = models.round_by_round(
            data, arm, epsilon, setting, arguments.runs, arguments.seed
        )
        frames.append(margins.advantage_frame(name, advantages))
        frames += [margins.margin_frame(name, part, all_runs) for part, all_runs in found.items()]
    frame = pd.concat(frames, ignore_index=True)
    failing = margins.failing_rounds(frame, arguments.advantage)
    needed = margins.rounds_needed(arguments.density, arguments.advantage)
    print(f"rounds where the assumption fails: {failing}; rounds that the theorem needs: {needed}")
    figure = advantage_and_margins.advantage_and_margins(
        frame,
        arguments.advantage,
        failing,
        titles | {WITHOUT_NOISE: WITHOUT_NOISE},
        drawn=str(arms[0].calibration),
    )
    style.save(figure, frame, arguments.output)


if __name__ == "__main__":
    _common.run(main)
