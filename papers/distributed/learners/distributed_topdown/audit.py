"""Define cases of the contract check and attacks of the audit for distributed DP-TopDown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privcurve.audit.attacks.any_learner import DELTA, claim_by_answers, claim_by_fits, recipe
from privcurve.audit.attacks.pairs import moved_among_few, moved_between_leaves, torn_columns
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, NUMBERS, SHARES
from privcurve.privacy.budget import PROVED, PUBLISHED

NAME = "distributed_topdown"
TREE = {"depth": 2, "n_holders": 2}
# One of three parties colludes, so each party adds half of the sum's Laplace noise: the two honest
# parties together then add all of it.
HALVES = {"trust": "secure_sum", "n_holders": 3, "n_colluding": 1}

# Kinds of noisy answers that the learner releases; a test checks this on the cases below.
RELEASED = {CHOICES, NUMBERS, SHARES}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call."""
    return [
        Case(NAME, {"depth": 2, "trust": "central"}),
        Case(NAME, {**TREE, "trust": "local", "delta": DELTA}),
        Case(NAME, {**TREE, **HALVES}),
        Case(NAME, {**TREE, "trust": "secure_sum", "n_colluding": 1}),
        Case(NAME, {**TREE, "protocol": "local_rnm"}),
        Case(NAME, {**TREE, "protocol": "local_rnm", "delta": DELTA}, n_classes=3),
        Case(NAME, {"depth": 2, "protocol": "single"}),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about this learner that the statistical audit attacks."""
    two = {"n_holders": 2}
    small: dict[str, Any] = {"n_splits": 2, **two}
    votes = {"protocol": "local_rnm", "trust": "secure_sum"}
    yield from recipe(NAME, [TREE, {**votes, **TREE}], [small], coins=())
    for setting in (TREE, {**votes, **TREE}):
        yield claim_by_answers(NAME, PROVED, setting, moved_between_leaves)
    voted = {"protocol": "local_rnm", "depth": 1, "vote_share": 0.99, "n_holders": 1}
    yield claim_by_answers(NAME, PROVED, voted, torn_columns)
    yield claim_by_answers(NAME, PUBLISHED, small, moved_between_leaves)
    yield claim_by_fits(NAME, PUBLISHED, {**small, "protocol": "local_rnm"}, 300)
    alone = {"protocol": "single", "n_splits": 2, "criterion": "entropy"}
    yield claim_by_answers(NAME, PUBLISHED, alone, moved_among_few)
