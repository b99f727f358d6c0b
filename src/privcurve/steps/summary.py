"""Print how far each study is: runs done, failed and to do, and the time left."""

from __future__ import annotations

import argparse
import os

from privcurve.numerals import count
from privcurve.steps import _common


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.summary", description=__doc__)
    _common.add_configuration_arguments(parser)
    parser.add_argument("--cores", type=count, default=os.cpu_count(), help="that share the work")
    arguments = parser.parse_args()

    from privcurve.experiments import jobs, summary
    from privcurve.workflow.reading import studies_folder

    configuration = _common.configuration(arguments)
    below = studies_folder(configuration, arguments.config)
    # What is configured, and what was asked for by name.
    begun = [path.stem for path in sorted(below.glob("*.yaml"))]
    begun = [name for name in begun if jobs.begun(name)]
    names = dict.fromkeys([*configuration["studies"], *begun])
    studies = {
        name: summary.progress(study)
        for name, study in _common.jobs_of_studies(
            arguments.config, {**configuration, "studies": list(names)}
        ).items()
    }
    print(summary.table(studies, arguments.cores))


if __name__ == "__main__":
    _common.run(main)
