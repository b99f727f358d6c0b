"""The errors of releases."""

from __future__ import annotations


class ReleaseError(RuntimeError):
    """A release that is refused, or that failed; the message names the culprit and the way out."""


class LedgerError(ReleaseError):
    """A release that the budget ledger refuses, or a ledger that can't be used; one message."""


class BudgetError(LedgerError):
    """A release that the budget does not allow, or what deltas would add up to."""
