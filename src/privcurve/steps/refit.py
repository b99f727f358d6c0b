"""Select the best setting of an arm for each ε, and train it afresh."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from privcurve.experiments.jobs import read_selection, refit_digest, second_round
from privcurve.experiments.splits import final_splits, fresh_splits
from privcurve.steps import _common

if TYPE_CHECKING:
    from privcurve.experiments.study import Point


def main() -> None:
    """Read the command line, select and train."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.refit", description=__doc__)
    _common.add_arm_arguments(parser)
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")
    parser.add_argument("--cells", type=Path, required=True, help="folder of the arm's shards")
    parser.add_argument("--shards", type=int, required=True, help="how many there are")
    parser.add_argument("--selected", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve.analysis import selection
    from privcurve.experiments import results
    from privcurve.files import replace_file

    study, arm, trainer = _common.trainer(arguments)
    if refit_digest(study, arm, arguments.seed) != arguments.digest:
        raise _common.changed(arguments.study)

    def points_of(candidates: list[selection.Candidate]) -> list[Point]:
        chosen = {(one.key[2], setting) for one in candidates for setting in one.settings}
        return [point for point in arm.points if (point.epsilon, point.text) in chosen]

    parts = read_selection(
        (study, arm, arguments.seed),
        trainer.checksum,
        arguments.cells,
        arguments.shards,
        selection.CELL_COLUMNS,
    )
    finalists = second_round(study, arm)
    best = selection.rank(parts, finalists.settings if finalists else 1)
    if finalists:
        splits = final_splits(study.folds, finalists.draws)
        again = trainer.run(itertools.product(points_of(best), splits))
        best = selection.final(best, pd.DataFrame(again, columns=selection.CELL_COLUMNS))
    selected = selection.table(best)
    splits = fresh_splits(study.folds, study.repeats, trainer.has_test)
    rows = trainer.run(itertools.product(points_of(best), splits))
    replace_file(
        arguments.selected, lambda path: selected.to_csv(path, index=False, float_format="%.17g")
    )
    results.write_cells(rows, arguments.output, trainer.facts(arguments.digest))
    _common.report(trainer, arguments.failures)


if __name__ == "__main__":
    _common.run(main)
