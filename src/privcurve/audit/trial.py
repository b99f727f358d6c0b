"""Run all contract checks on one case, or on all cases of a user's own learner."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from privcurve.audit.contract import Case, Verdict, check, check_at_size
from privcurve.audit.contract_cases import cases_of
from privcurve.audit.distant import check_distant, check_in_parts
from privcurve.audit.kept_runs import check_runs
from privcurve.audit.thresholds import check_thresholds
from privcurve.experiments.contracts import Finding
from privcurve.learners import own
from privcurve.privacy.ledger import CLAIMED, DERIVED


def try_case(case: Case) -> Verdict:
    """Run all checks on a case, up to the first breach; return their joint verdict."""
    verdict = check(case)
    # `check_at_size` is slow. For learners of this project, a test runs it.
    at_size: list[Callable[[Case], Verdict]] = [check_at_size] * (case.learner in own.names())
    for more in (check_distant, check_in_parts, check_thresholds, check_runs, *at_size):
        if not verdict.breach:
            other = more(case)
            verdict.breach = other.breach
            verdict.n_pairs += other.n_pairs
    return verdict


def try_own(name: str) -> Finding:
    """Check a user's own learner on all its cases; stop at the first breach of the contract.

    A learner that wraps another package (``peer=True``) always breaks the contract, as its fit
    needs records that are not sealed.
    """
    verdicts: list[Verdict] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for case in cases_of(name):
                verdicts.append(try_case(case))
                if verdicts[-1].breach:
                    break
    except Exception as error:
        # A verdict reports an error in a fit, so this error arose outside of a fit. A learner that
        # can't be checked counts as one that breaks the contract.
        return Finding(own.BROKEN, f"it can't be tried: {type(error).__name__}: {error}")
    return of_verdicts(verdicts)


def of_verdicts(verdicts: Sequence[Verdict]) -> Finding:
    """Return the first breach in a learner's verdicts; without a breach, what was checked."""
    for verdict in verdicts:
        if verdict.breach:
            return Finding(own.BROKEN, f"{verdict.case}: {verdict.breach}")
    n_pairs = sum(verdict.n_pairs for verdict in verdicts)
    status = DERIVED if all(verdict.derived for verdict in verdicts) else CLAIMED
    return Finding(own.KEPT, f"{len(verdicts)} settings, {n_pairs:,} pairs of tables", status)
