"""Audit one learner: search for a larger ε than it claims."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line, audit, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.audit", description=__doc__)
    parser.add_argument("--learner", required=True, help="its name in the registry")
    parser.add_argument("--data", type=Path, required=True, help="folder of the coded dataset")
    _common.add_seed_argument(parser)
    parser.add_argument("--output", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--record", type=Path, required=True, help="says what it was made for")
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")
    arguments = parser.parse_args()

    from privcurve import datasets
    from privcurve.audit import run
    from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
    from privcurve.audit.pairs import Target, records
    from privcurve.files import replace_file
    from privcurve.learners import own
    from privcurve.outputs import record
    from privcurve.privacy import seeds

    claims = {**ATTACKS, **own.claims()}
    if arguments.learner not in claims:
        raise SystemExit(f"error: {run.missing(arguments.learner)}")
    dataset = datasets.read(arguments.data)
    seeds.check(arguments.seed, dataset.name, datasets.is_public(dataset.name, dataset.origin))
    target = Target(dataset.name, records(dataset.X, dataset.y, dataset.domain.n_bins))
    frame = run.run(claims[arguments.learner], target, arguments.seed, COMPARISONS)
    # Twelve digits: the last bits of an exponential differ between machines.
    replace_file(
        arguments.output, lambda path: frame.to_csv(path, index=False, float_format="%.12g")
    )
    record.write(arguments.record, arguments.digest, [arguments.output], [dataset.name])
    print(frame["verdict"].value_counts().to_string())


if __name__ == "__main__":
    _common.run(main)
