"""Write the results of the contract check of a user's own learners, one file per learner.

:func:`.learners.own.tried` reads the files.
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
    """Result of the contract check of one learner; `why` gives the reason for the result."""

    result: str  # `KEPT`, `BROKEN` or `NOT_TRIED` of `learners.own`
    why: str
    status: str = CLAIMED  # `derived` if the privacy statements of all fits are derived


def write(name: str, finding: Finding, tried: str) -> None:
    """Write the result of the contract check of the learner `name`.

    `tried` is the :func:`digest` of the code that was checked, computed before the check: the
    learner's files may change during the check.
    """
    content: dict[str, Any] = {"learner": name, **finding._asdict()}
    content |= {"version": own.version(name), "digest": tried}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    replace_text(own.contract_file(name), f"{text}\n")


def is_current(name: str) -> bool:
    """Return whether the stored result was computed with the present code of learner and audit."""
    try:
        content = json.loads(own.contract_file(name).read_text("utf-8"))
        return bool(content["digest"] == digest(name)) and own.tried(name) == content["result"]
    except (OSError, ValueError, TypeError, KeyError):
        return False


def digest(name: str) -> str:
    """Return a digest of the learner's code and of the audit's code, which determine the result."""
    return f"{provenance.checksum(name)} {code_digest(PACKAGE / 'audit')}"
