"""Select the best setting of an arm for each ε, and train it afresh."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line, select and train."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.refit", description=__doc__)
    _common.add_arm_arguments(parser)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="the arm's shards")
    parser.add_argument("--selected", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()

    from privcurve.analysis import selection
    from privcurve.experiments import cell, results, train
    from privcurve.files import replace_file

    study, arm, trainer = _common.trainer(arguments)
    frame = results.read_cells(arguments.cells)
    asked = train.expected_keys(itertools.product(arm.points, cell.selection_splits(study.folds)))
    results.check_complete(frame, asked, f"{arguments.dataset}, {arm.name}")
    selected = selection.select(frame)
    chosen = {(row.epsilon, row.setting) for row in selected.itertuples() if row.setting}
    points = [point for point in arm.points if (point.epsilon, point.text) in chosen]
    splits = cell.fresh_splits(study.folds, study.repeats, trainer.has_test)
    rows = trainer.run(itertools.product(points, splits))
    replace_file(
        arguments.selected, lambda path: selected.to_csv(path, index=False, float_format="%.17g")
    )
    results.write_cells(rows, arguments.output)
    _common.report(trainer, arguments.failures)


if __name__ == "__main__":
    _common.run(main)
