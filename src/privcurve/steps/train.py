"""Train one shard of an arm of a study: every fold of its cross-validation."""

from __future__ import annotations

import argparse

from privcurve.numerals import count
from privcurve.steps import _common


def main() -> None:
    """Read the command line and train the shard."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.train", description=__doc__)
    _common.add_curve_arguments(parser)
    parser.add_argument("--shard", type=count, required=True)
    arguments = parser.parse_args()

    from privcurve import datasets

    curve = _common.curve(arguments)
    if curve.shard_digest(arguments.shard) != arguments.digest:
        raise _common.changed(arguments.study)
    _common.start()
    _common.train_shard(curve, arguments.shard, datasets.read(curve.data))


if __name__ == "__main__":
    _common.run(main)
