"""The one error of releases."""

from __future__ import annotations


class ReleaseError(RuntimeError):
    """A release that is refused, or that failed; the message names the culprit and the way out."""
