"""Train some small arms of a study whole: what selects, the selection, and fresh trainings."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and train one arm after the other."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.bundle", description=__doc__)
    _common.add_study_arguments(parser)
    parser.add_argument(
        "--curves", nargs="+", required=True, help="dataset/arm/number of shards, 0 or 1"
    )
    arguments = parser.parse_args()

    from privcurve import datasets
    from privcurve.experiments.bundles import Bundle
    from privcurve.experiments.splits import Splitter

    named = [text.split("/") for text in arguments.curves]
    found = _common.curves_of_study(arguments, [(d, arm, int(n)) for d, arm, n in named])
    if Bundle(tuple(found)).digest != arguments.digest:
        raise _common.changed(arguments.study)
    _common.start()
    read = cache(datasets.read)

    @cache
    def splitter(folder: Path, share: float) -> Splitter:
        return Splitter(read(folder), arguments.seed, share)

    for curve in found:
        print(f"{curve.dataset.name}, {curve.arm.name}", flush=True)
        # Arms on the same data have the same splits, most of them.
        shared = read(curve.data), splitter(curve.data, curve.arm.train_share)
        for shard in curve.shard_numbers:
            _common.train_shard(curve, shard, *shared)
        if curve.selects:
            _common.select_and_train(curve, *shared)


if __name__ == "__main__":
    _common.run(main)
