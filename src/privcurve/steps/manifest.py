"""Write what a run was made with and what it cost."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and write the manifest."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.manifest", description=__doc__)
    _common.add_configuration_arguments(parser)
    parser.add_argument(
        "--benchmarks", type=Path, nargs="*", default=[], help="files benchmarks/<rule>/… or .tsv"
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    arguments = parser.parse_args()

    from privcurve.experiments import manifest
    from privcurve.files import replace_text

    configuration = _common.configuration(arguments)
    studies = _common.jobs_of_studies(arguments.config, configuration)
    content = manifest.manifest(configuration, studies, arguments.benchmarks)
    replace_text(arguments.output, json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    _common.run(main)
