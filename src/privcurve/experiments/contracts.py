"""Results of the contract for a user's own learners, one file per learner, stored with the studies.

:func:`.learners.own.tried` reads them.
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
    """Result of the contract for one learner: a word of :mod:`.learners.own`, and the reason.

    Its status is ``derived`` if the statements of all fits are derived.
    """

    result: str
    why: str
    status: str = CLAIMED


def write(name: str, finding: Finding, tried: str) -> None:
    """Store the result of the contract for a learner whose :func:`digest` was `tried`."""
    content: dict[str, Any] = {"learner": name, **finding._asdict()}
    content |= {"version": own.version(name), "digest": tried}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    replace_text(own.contract_file(name), f"{text}\n")


def is_current(name: str) -> bool:
    """Return whether the file exists and belongs to the present learner and contract."""
    try:
        content = json.loads(own.contract_file(name).read_text("utf-8"))
        return bool(content["digest"] == digest(name)) and own.tried(name) == content["result"]
    except (OSError, ValueError, TypeError, KeyError):
        return False


def digest(name: str) -> str:
    """Return a digest of all that determines the result: the code of learner and contract."""
    return f"{provenance.checksum(name)} {code_digest(PACKAGE / 'audit')}"
