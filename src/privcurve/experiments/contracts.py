"""Files with the results of the contract check of a user's own learners, one per learner.

They are written here and read by :func:`.learners.own.tried`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from privcurve.experiments import provenance
from privcurve.files import replace_text
from privcurve.learners import own
from privcurve.privacy.ledger import CLAIMED
from privcurve.sources import PACKAGE, code_digest


class Finding(NamedTuple):
    """Result of the contract check of one learner."""

    result: str  # a constant of `learners.own`: KEPT, BROKEN or NOT_TRIED
    why: str
    status: str = CLAIMED  # `derived` if the statements of all fits are derived


def write(name: str, finding: Finding, tried: str) -> None:
    """Store the result of the contract check of a learner.

    `tried` is the learner's :func:`digest` before the check: its files may change meanwhile.
    """
    content: dict[str, Any] = {"learner": name, **finding._asdict()}
    content |= {"version": own.version(name), "digest": tried}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    replace_text(own.contract_file(name), f"{text}\n")


def is_current(name: str) -> bool:
    """Return whether a learner's result exists and was found with the present code."""
    try:
        content = json.loads(own.contract_file(name).read_text("utf-8"))
        return bool(content["digest"] == digest(name)) and own.tried(name) == content["result"]
    except (OSError, ValueError, TypeError, KeyError):
        return False


def digest(name: str) -> str:
    """Return a digest of the code that determines the result: of the learner and the auditor."""
    return f"{provenance.checksum(name)} {code_digest(PACKAGE / 'audit')}"
