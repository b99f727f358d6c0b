"""Select the best setting of an arm for each ε, and train it afresh."""

from __future__ import annotations

import argparse

from privcurve.steps import _common


def main() -> None:
    """Read the command line, select and train."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.refit", description=__doc__)
    _common.add_curve_arguments(parser)
    arguments = parser.parse_args()

    from privcurve import datasets

    curve = _common.curve(arguments)
    if curve.refit_digest != arguments.digest:
        raise _common.changed(arguments.study)
    _common.start()
    _common.select_and_train(curve, datasets.read(curve.data))


if __name__ == "__main__":
    _common.run(main)
