"""The contract checks of learners: ``python -m privcurve.audit contract …``."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from privcurve.audit.contract import Case, Verdict
from privcurve.audit.contract_cases import CASES, candidates, cases_of
from privcurve.audit.distant import check_distant
from privcurve.audit.trial import of_verdicts, try_case
from privcurve.errors import end_with_reader
from privcurve.experiments import contracts
from privcurve.learners import own
from privcurve.learners.registry import TUNED
from privcurve.numerals import count

NOT_SEEN = (
    "The contract does not test: the theorem of the accountant that adds up the calls, the "
    "floating-point noise of choices, labels and objectives (docs/privacy.md), running time, files "
    "that a kernel writes, other neighbours than the tried ones, models of objective perturbation "
    "at which it did not compute the Jacobian, and PATE's answers about scored rows, whose noise "
    "follows from a key."
)

# A check, and the case that it checks.
Job = tuple[Callable[[Case], Verdict], Case]

# Lines around the table in docs/research/audit.md: `insert_table` replaces what is between them.
MARKS = ("<!-- largest changes -->", "<!-- end -->")


@end_with_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Check the contract of learners; return 0, 1 if a learner breaks it, 2 for bad arguments."""
    options = _parser().parse_args(arguments)
    names = options.learners or list(dict.fromkeys(case.learner for case in CASES))
    try:
        cases = [case for name in names for case in cases_of(name)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    jobs: list[Job] = [(try_case, case) for case in cases]
    if TUNED in names:
        jobs += [(partial(check_distant, sizes=()), case) for case in candidates()]
    start = time.monotonic()
    verdicts = list(_check_all(jobs, options.processes, options.table is None))
    if options.table is not None:
        old = options.table.read_text() if options.table.is_file() else ""
        options.table.write_text(insert_table(table(verdicts), old))
    for name in set(names) & set(own.names()):
        mine = [verdict for verdict in verdicts if verdict.case.learner == name]
        contracts.write(name, of_verdicts(mine), contracts.digest(name))
    broken = [verdict for verdict in verdicts if verdict.breach]
    seconds = time.monotonic() - start
    print(f"{len(verdicts) - len(broken)} of {len(verdicts)} settings keep it ({seconds:.0f} s).")
    print(NOT_SEEN)
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m privcurve.audit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    contract = commands.add_parser(
        "contract",
        help="check learners on small neighbouring tables",
        description="Train a learner on small neighbouring tables with the same answers, and check "
        "that nothing but announced mechanism calls depends on a record. By default all learners "
        "of this project.",
    )
    contract.add_argument(
        "learners", nargs="*", help="names, including your own files learners/<name>.py"
    )
    contract.add_argument(
        "--processes", type=count, default=os.cpu_count() or 1, help="default: as many as there are"
    )
    contract.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="write the largest changes seen, as Markdown; between its marks, if FILE has them",
    )
    return parser


def _check_all(jobs: Sequence[Job], processes: int, tell: bool) -> Iterable[Verdict]:
    # Check a user's own learner in this process, as worker processes have not imported its file.
    alone = processes < 2 or len(jobs) < 2 or {case.learner for _, case in jobs} & set(own.names())
    if alone:
        yield from (_report(_do(job), tell) for job in jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from (_report(verdict, tell) for verdict in pool.map(_do, jobs))


def _do(job: Job) -> Verdict:
    one, case = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one(case)


def _report(verdict: Verdict, tell: bool) -> Verdict:
    if tell:
        state = "breaks the contract after" if verdict.breach else "keeps the contract on"
        print(f"{verdict.case}: {state} {verdict.n_pairs} pairs of tables")
        if verdict.breach:
            print(f"  {verdict.breach}")
        for name, (part, entry) in verdict.largest.items():
            seen = part * entry.sensitivity
            print(f"  {name}: changes by {seen:.4g} at most, announced {entry.sensitivity:.4g}")
        sys.stdout.flush()
    return verdict


def table(verdicts: Iterable[Verdict]) -> str:
    """Return a Markdown table that compares announced and observed sensitivities.

    The observed sensitivity is the largest change of the exact values between neighbours. Each row
    is a call of a learner, in the setting with the largest ratio observed/announced.
    """
    rows: dict[tuple[str, str], tuple[float, str]] = {}
    for verdict in verdicts:
        if verdict.case.at_end:
            continue
        for name, (part, entry) in verdict.largest.items():
            why = f" ({verdict.case.idle[name]})" if part < 0.5 else ""
            seen = f"{entry.sensitivity:.4g} | {part * entry.sensitivity:.4g} | {part:.2f}{why}"
            cells = f"{entry.mechanism.replace('_', ' ')} | {seen}"
            key = verdict.case.learner, name
            rows[key] = max(rows.get(key, (-1.0, "")), (part, cells))
    lines = [
        "| learner | call | mechanism | announced | largest seen | share |",
        "|---|---|---|---|---|---|",
        *(f"| {learner} | {call} | {cells} |" for (learner, call), (_, cells) in rows.items()),
    ]
    return "\n".join(lines) + "\n"


def insert_table(text: str, document: str) -> str:
    """Return `document` with the table `text` between the `MARKS`; without marks, only `text`."""
    before, first, rest = document.partition(MARKS[0])
    if not first or MARKS[1] not in rest:
        return text
    return f"{before}{first}\n{text}{rest[rest.index(MARKS[1]) :]}"


if __name__ == "__main__":
    sys.exit(main())
