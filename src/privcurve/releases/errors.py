"""The errors of releases."""

from privcurve.errors import OVER_BUDGET, ExpectedError


class ReleaseError(ExpectedError, RuntimeError):
    """A release is refused or has failed; the message names the culprit and the remedy."""


class LedgerError(ReleaseError):
    """The budget ledger refuses a release, or can't be used."""


class BudgetError(LedgerError):
    """The budget can't pay for a release, or the deltas of all releases would reach 1."""

    exit_code = OVER_BUDGET
