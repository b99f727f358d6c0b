"""The errors of releases."""

from privcurve.errors import OVER_BUDGET, ExpectedError


class ReleaseError(ExpectedError, RuntimeError):
    """A release that is refused, or that failed; the message names the culprit and the way out."""


class LedgerError(ReleaseError):
    """A release that the budget ledger refuses, or a ledger that can't be used; one message."""


class BudgetError(LedgerError):
    """A release that the budget does not allow, or what deltas would add up to."""

    exit_code = OVER_BUDGET
