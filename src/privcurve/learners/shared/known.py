"""Who stands for the guarantee of a fit: this project, for its own learners, or another author."""

from __future__ import annotations

from typing import Any

from privcurve.learners import own
from privcurve.learners.registry import LEARNERS, is_shipped
from privcurve.privacy.ledger import AUTHORS_WORD, PrivacyStatement


def statement_as_known(learner: Any, statement: PrivacyStatement) -> PrivacyStatement:
    """Return a statement with the status ``claimed``, unless this project proves what it says.

    That is so of its own learners alone, as they are: neither of a subclass, nor of a peer, nor of
    a choice among learners of which one is a user's own.
    """
    if type(statement) is not PrivacyStatement:
        raise TypeError(
            f"{type(learner).__name__}: a fit must return a PrivacyStatement (_noise_of, "
            f"_guarantee); got {type(statement).__name__}"
        )
    if not is_shipped(type(learner)):
        tried = own.tried(learner._learner) if own.is_own(type(learner)) else own.NOT_TRIED
        return statement.as_claimed(f"{AUTHORS_WORD}; {tried}")
    for name in learner._trained_learners():
        if name not in LEARNERS:
            return statement.as_claimed(f"{name}: {AUTHORS_WORD}; {own.tried(name)}")
        if LEARNERS[name].peer:
            return statement.as_claimed("its package makes the claim, and this project no proof")
    return statement
