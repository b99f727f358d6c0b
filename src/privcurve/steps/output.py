"""Make one output of a study: a table, a figure, or both."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from privcurve.numerals import amount
from privcurve.steps import _common


def main() -> None:
    """Read the command line and make the output."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.output", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--output", required=True, help="its word")
    parser.add_argument("--options", type=json.loads, default={}, help="in JSON")
    _common.add_seed_argument(parser)
    parser.add_argument("--seconds-per-job", type=amount, required=True)
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")
    arguments = parser.parse_args()

    from privcurve.outputs import record
    from privcurve.outputs.base import ask, studies_of
    from privcurve.outputs.registry import OUTPUTS
    from privcurve.workflow import reading

    named = studies_of(arguments.options.get("tables") or ())
    plan = reading.of_one(arguments.study, arguments.seed, arguments.seconds_per_job, named)
    study = plan.studies[arguments.study.stem]
    request = ask(OUTPUTS, study, arguments.output, arguments.options, str(arguments.study))
    if plan.digest(request) != arguments.digest:
        raise _common.changed(arguments.study)
    context = plan.context(request)
    request.output.make(context)
    record.write(
        request.record,
        arguments.digest,
        request.files.all,
        record.datasets_of(request),
        raw=request.reads.raw,
        complete=context.is_complete,
    )


if __name__ == "__main__":
    _common.run(main)
