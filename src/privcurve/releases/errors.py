"""The errors of releases."""

from __future__ import annotations


class ReleaseError(RuntimeError):
    """A release that is refused, or that failed; the message names the culprit and the way out."""


class BookError(ReleaseError):
    """A release that the ledger refuses, or a ledger that can't be used; one message."""
