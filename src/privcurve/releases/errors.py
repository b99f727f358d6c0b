"""The errors of releases."""

from __future__ import annotations

from pathlib import Path

from privcurve.models.errors import ModelError


class ReleaseError(RuntimeError):
    """A release that is refused, or that failed; the message names the culprit and the way out."""


class BookError(ReleaseError):
    """A release that the ledger refuses, or a ledger that can't be used; one message."""


def spent(error: BaseException, learner: str, ledger: Path) -> BaseException:
    """Return what is to be said of an error after a release has begun: that it is spent.

    Parameters
    ----------
    error : BaseException
    learner : str
    ledger : Path

    Returns
    -------
    BaseException
        The error itself, where it is none that is expected.
    """
    counts = f"The ledger, {ledger}, counts this release as spent"
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt(f"stopped. {counts}: it had begun. Another try is another release")
    if isinstance(error, OSError):
        return ReleaseError(
            f"{error} ({counts}: its model was trained. Another try is another release.)"
        )
    if isinstance(error, (ValueError, ArithmeticError, ModelError)):
        return ReleaseError(
            f"{learner} could not be trained: {error} ({counts}: that it failed may tell something "
            "of the records.)"
        )
    return error
