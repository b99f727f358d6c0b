"""Train one shard of an arm of a study: every fold of its cross-validation."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and train the shard."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.train", description=__doc__)
    _common.add_curve_arguments(parser)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()

    from privcurve.experiments import results

    curve = _common.curve(arguments)
    if curve.shard_digest(arguments.shard) != arguments.digest:
        raise _common.changed(arguments.study)
    trainer = _common.trainer(curve)
    rows = trainer.run(curve.tasks(arguments.shard))
    results.write_cells(rows, arguments.output, trainer.facts(arguments.digest))
    _common.report(trainer, curve.failures(arguments.shard))


if __name__ == "__main__":
    _common.run(main)
