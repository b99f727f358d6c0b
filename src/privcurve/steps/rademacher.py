"""Estimate the Rademacher complexity of 1-rules, and bound the accuracy of boosted ones."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common, _thesis


def main() -> None:
    """Read the command line, estimate, train and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.rademacher", description=__doc__
    )
    _thesis.add_study_arguments(parser)
    _thesis.add_selected_argument(parser)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="coded datasets")
    parser.add_argument("--accuracy", type=Path, required=True, help="the study's table, CSV")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--draws", type=int, required=True, help="sign vectors of an estimate")
    parser.add_argument("--output", type=Path, required=True, help="table, without its ending")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve import datasets
    from privcurve.analysis import rademacher, tables
    from privcurve.experiments import models

    study, arms = _thesis.arms_of(arguments)
    selected = tables.read_table(*arguments.selected)
    rows = []
    for folder in arguments.data:
        data = datasets.read(folder)
        X, _, counts = datasets.distinct(data.X, data.y)
        rng = models.stream("rademacher", data, arguments.seed)
        found = rademacher.estimate(X, data.domain.n_bins, counts, arguments.draws, rng)
        print(f"{data.name}: {found}", flush=True)
        for arm in arms:
            point = models.selected_point(arm, selected, data.name, arguments.epsilon)
            for model in models.inspect(data, arm, point, study.repeats, arguments.seed):
                margins = model.margins(model.train)
                bound = rademacher.bound(margins, model.train.counts, found)
                rows.append(
                    rademacher.row(
                        data.name, arm.name, arm.calibration, point.epsilon, found, bound
                    )
                )
    frame = rademacher.table(pd.DataFrame(rows), tables.read_table(arguments.accuracy))
    tables.write_table(
        frame,
        arguments.output,
        rademacher.CAPTION,
        rademacher.notes(frame),
        shown=rademacher.shown(frame),
    )


if __name__ == "__main__":
    _common.run(main)
