"""Put the numbers that the thesis prints beside ours."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common, _thesis


def main() -> None:
    """Read the command line and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.comparison", description=__doc__
    )
    _thesis.add_study_arguments(parser)
    parser.add_argument("--printed", type=Path, required=True, help="folder of printed numbers")
    parser.add_argument("--sparsity", type=Path, required=True, help="our table, CSV")
    parser.add_argument("--rademacher", type=Path, required=True, help="our table, CSV")
    parser.add_argument("--votes", type=Path, required=True, help="CSV of the model card")
    _thesis.add_selected_argument(parser)
    # Of each curve, like --arms: its data, what it must be made for, and its cross-validation.
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="coded datasets")
    parser.add_argument("--digests", nargs="+", required=True, help="of fresh trainings")
    parser.add_argument("--shards", type=int, nargs="+", required=True, help="how many in each")
    parser.add_argument("--output", type=Path, required=True, help="table, without its ending")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve import datasets
    from privcurve.analysis import printed as comparison
    from privcurve.analysis import tables
    from privcurve.experiments.jobs import Curve

    study, arms = _thesis.arms_of(arguments)
    curves = [
        Curve(study, datasets.describe(data.name), arm, shards, arguments.seed)
        for arm, data, shards in zip(arms, arguments.data, arguments.shards, strict=True)
    ]
    if [curve.refit_digest for curve in curves] != arguments.digests:
        raise _common.changed(arguments.study)
    selected = tables.read_table(*arguments.selected)

    def printed(name: str) -> pd.DataFrame:
        rows = pd.read_csv(arguments.printed / f"{name}.csv", dtype="str")
        return comparison.comparable(rows, selected)

    cells = pd.concat(
        comparison.of_settings(part, printed("settings"), selected)
        for curve in curves
        for part in curve.selection(comparison.CELL_COLUMNS)
    )
    frame = comparison.in_order(
        [
            comparison.compare_sparsity(printed("sparsity"), tables.read_table(arguments.sparsity)),
            comparison.compare_card(
                printed("model_card"), printed("model_accuracy"), tables.read_table(arguments.votes)
            ),
            comparison.compare_rademacher(
                printed("rademacher"), tables.read_table(arguments.rademacher)
            ),
            comparison.compare_settings(printed("settings"), selected, cells),
        ]
    )
    tables.write_table(
        frame, arguments.output, comparison.CAPTION, comparison.NOTES, shown=comparison.shown(frame)
    )


if __name__ == "__main__":
    _common.run(main)
