"""Do a job: train portions of a study's curves, and write its file."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from functools import cache, partial

from privcurve.steps import _common

# When this process began: before this line it has done nothing but compute.
STARTED = time.perf_counter() - time.process_time()


def main() -> None:
    """Read the command line and do the job."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.train", description=__doc__)
    _common.add_study_arguments(parser)
    parser.add_argument("--portions", nargs="+", required=True, help="dataset/arm/part-of-parts")
    arguments = parser.parse_args()

    from privcurve.experiments import study as studies
    from privcurve.experiments.curves import portion
    from privcurve.experiments.jobs import Job
    from privcurve.experiments.work import work

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    study = studies.load(arguments.study)
    # A description would be checked against its schema, which takes a tenth of a second.
    about = cache(partial(_common.coded, seed=arguments.seed))
    portions = []
    for text in arguments.portions:
        dataset, arm, part = text.split("/")
        if arm not in study.arms:
            raise _common.changed(arguments.study)
        portions.append(portion(study, about(dataset), arm, part, arguments.seed))
    job = Job(tuple(portions))
    if job.name != arguments.digest:
        raise _common.changed(arguments.study)
    work(job, STARTED)


if __name__ == "__main__":
    _common.run(main)
