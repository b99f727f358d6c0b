"""The contract of a learner: ``python -m privcurve.audit contract <learner> …``."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from privcurve.audit.contract import Case, Verdict, check
from privcurve.audit.contract_cases import CASES, cases_of
from privcurve.learners import own
from privcurve.numerals import count

NOT_SEEN = (
    "What the contract can't see: the theorem of the accountant that adds up the calls "
    "(docs/privacy.md), floating-point arithmetic where noise is continuous, time, and neighbours "
    "that it did not try; of objective perturbation, models at which it did not take the Jacobian; "
    "of PATE, answers about scored rows, whose noise follows from a key."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check learners against the contract; return 1 if one breaks it, 2 for bad arguments."""
    options = _parser().parse_args(arguments)
    cases = list(CASES)
    if options.learners:
        try:
            cases = [case for name in options.learners for case in cases_of(name)]
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
    start = time.monotonic()
    verdicts = list(_checked(cases, options.processes, options.table is None))
    if options.table is not None:
        options.table.write_text(table(verdicts))
    broken = [verdict for verdict in verdicts if verdict.broken]
    seconds = time.monotonic() - start
    print(f"{len(verdicts) - len(broken)} of {len(verdicts)} settings keep it ({seconds:.0f} s).")
    print(NOT_SEEN)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m privcurve.audit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    contract = commands.add_parser(
        "contract",
        help="check learners on all small neighbours",
        description="Train a learner on small neighbouring tables with the same answers, and check "
        "that nothing but announced mechanism calls depends on a record. By default all learners "
        "of this project.",
    )
    contract.add_argument(
        "learners", nargs="*", help="names, those of your own files learners/<name>.py too"
    )
    contract.add_argument(
        "--processes", type=count, default=os.cpu_count() or 1, help="default: as many as there are"
    )
    contract.add_argument(
        "--table", type=Path, metavar="FILE", help="write the largest changes seen, as Markdown"
    )
    return parser


def _checked(cases: Sequence[Case], processes: int, tell: bool) -> Iterable[Verdict]:
    # A learner of one's own is a module of its file, which other processes have not read.
    alone = processes < 2 or len(cases) < 2 or {case.learner for case in cases} & set(own.names())
    if alone:
        yield from (_told(_check(case), tell) for case in cases)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from (_told(verdict, tell) for verdict in pool.map(_check, cases))


def _check(case: Case) -> Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check(case)


def _told(verdict: Verdict, tell: bool) -> Verdict:
    if tell:
        state = "breaks" if verdict.broken else "keeps"
        print(f"{verdict.case}: {state} the contract on {verdict.n_pairs} pairs of neighbours")
        for broken in verdict.broken:
            print(f"  {broken}")
        for name, (part, entry) in verdict.largest.items():
            seen = part * entry.sensitivity
            print(f"  {name}: changes by {seen:.4g} at most, announced {entry.sensitivity:.4g}")
        sys.stdout.flush()
    return verdict


def table(verdicts: Iterable[Verdict]) -> str:
    """Write the largest change of each call's exact values, beside what is announced."""
    lines = [
        "| learner | setting | call | mechanism | announced | largest seen | share |",
        "|---|---|---|---|---|---|---|",
    ]
    for verdict in verdicts:
        setting = str(verdict.case).partition("(")[2][:-1] or "defaults"
        for name, (part, entry) in verdict.largest.items():
            cells = (
                verdict.case.learner,
                setting,
                name,
                entry.mechanism.replace("_", " "),
                f"{entry.sensitivity:.4g}",
                f"{part * entry.sensitivity:.4g}",
                f"{part:.2f}" + (f" ({verdict.case.idle[name]})" if part < 0.5 else ""),
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
