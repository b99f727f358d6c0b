"""Train one shard of an arm of a study: every fold of its cross-validation."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from privcurve.experiments.jobs import shard_digest, shard_points
from privcurve.experiments.splits import selection_splits
from privcurve.steps import _common


def main() -> None:
    """Read the command line and train the shard."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.train", description=__doc__)
    _common.add_arm_arguments(parser)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")
    parser.add_argument("--output", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()

    from privcurve.experiments import results

    study, arm, trainer = _common.trainer(arguments)
    found = shard_digest(study, arm, arguments.shard, arguments.shards, arguments.seed)
    if found != arguments.digest:
        raise _common.changed(arguments.study)
    points = shard_points(arm, arguments.shard, arguments.shards)
    splits = selection_splits(study.folds)
    rows = trainer.run(itertools.product(points, splits))
    results.write_cells(rows, arguments.output, trainer.facts(arguments.digest))
    _common.report(trainer, arguments.failures)


if __name__ == "__main__":
    _common.run(main)
