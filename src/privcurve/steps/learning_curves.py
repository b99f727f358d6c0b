"""Draw accuracy against ε, one panel a dataset."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and draw."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.learning_curves", description=__doc__
    )
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--accuracy", type=Path, required=True, help="the accuracy table, CSV")
    parser.add_argument("--output", type=Path, required=True, help="figure, without its ending")
    arguments = parser.parse_args()

    from privcurve.analysis import tables
    from privcurve.datasets import describe
    from privcurve.experiments import study as studies
    from privcurve.figures import learning_curves

    study = studies.load(arguments.study)
    frame = tables.read_table(arguments.accuracy)
    figure = learning_curves.learning_curves(
        frame,
        titles={arm.name: arm.title for arm in study.arms.values()},
        datasets={name: describe(name).title.partition(":")[0] for name in study.datasets},
    )
    learning_curves.save(figure, frame, arguments.output)


if __name__ == "__main__":
    _common.run(main)
