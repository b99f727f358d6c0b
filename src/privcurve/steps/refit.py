"""Select the best setting of an arm for each ε, and train it afresh."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line, select and train."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.refit", description=__doc__)
    _common.add_curve_arguments(parser)
    parser.add_argument("--selected", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()

    from privcurve.experiments import refit, results
    from privcurve.files import replace_file

    curve = _common.curve(arguments)
    if curve.refit_digest != arguments.digest:
        raise _common.changed(arguments.study)
    trainer = _common.trainer(curve)
    selected, rows = refit.select_and_train(curve, trainer)
    replace_file(
        arguments.selected, lambda path: selected.to_csv(path, index=False, float_format="%.17g")
    )
    results.write_cells(rows, arguments.output, trainer.facts(arguments.digest))
    _common.report(trainer, curve.failures())


if __name__ == "__main__":
    _common.run(main)
