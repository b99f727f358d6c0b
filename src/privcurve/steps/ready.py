"""Check that a study can be trained on its coded datasets, before any training."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line, check, and list the datasets."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.ready", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="coded datasets")
    parser.add_argument("--output", type=Path, required=True, help="text file to write")
    arguments = parser.parse_args()

    from privcurve import datasets
    from privcurve.experiments import ready
    from privcurve.experiments import study as studies
    from privcurve.files import replace_text

    study = studies.load(arguments.study)
    lines, faults = [], []
    for folder in arguments.data:
        data = datasets.read_coded(folder)
        try:
            ready.check(study, data)
        except ValueError as error:
            faults.append(f"{arguments.study}: {data.name}: {error}")
        lines.append(f"{data.name} {data.checksum}\n")
    if faults:
        raise studies.StudyError("\n".join(faults))
    replace_text(arguments.output, "".join(lines))


if __name__ == "__main__":
    _common.run(main)
