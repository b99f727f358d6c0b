"""Make the table of features used, from the fresh trainings of a study."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and write the table."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.sparsity", description=__doc__)
    _common.add_refits_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="table, without its ending")
    arguments = parser.parse_args()

    from privcurve import datasets
    from privcurve.analysis import sparsity, tables

    found = [datasets.read(folder) for folder in dict.fromkeys(arguments.data)]
    frame = sparsity.table(
        _common.read_refits(arguments), {data.name: data.domain.width for data in found}
    )
    tables.write_table(
        frame, arguments.output, sparsity.CAPTION, sparsity.NOTES, shown=sparsity.shown(frame)
    )


if __name__ == "__main__":
    _common.run(main)
