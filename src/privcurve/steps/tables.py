"""Make the tables of a study from its selected settings and fresh trainings."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.tables", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--selected", type=Path, nargs="+", required=True)
    _common.add_refits_arguments(parser)
    parser.add_argument("--output", type=Path, required=True, help="folder of the tables")
    arguments = parser.parse_args()

    from privcurve.analysis import tables
    from privcurve.experiments import results
    from privcurve.experiments import study as studies

    study = studies.load(arguments.study)
    selected = tables.read_table(*arguments.selected)
    refits = _common.read_refits(arguments)
    found = set(zip(selected["dataset"], selected["arm"], strict=True))
    missing = [pair for pair in itertools.product(study.datasets, study.arms) if pair not in found]
    if missing:
        raise results.IncompleteError(f"{study.name}: nothing selected for {missing}")
    tables.write_study_tables(
        selected, refits, arguments.output, study.datasets, list(study.arms), study.repeats
    )


if __name__ == "__main__":
    _common.run(main)
