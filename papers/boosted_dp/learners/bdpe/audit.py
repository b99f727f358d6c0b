"""Define the cases of the contract check and the attacks of the audit for BDPEα."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.audit.attacks.any_learner import DELTA, claim_by_answers, claim_by_canaries, recipe
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, NUMBERS, STREAMS
from privcurve.privacy.budget import PROVED, PUBLISHED

NAME = "bdpe"
TWO: Mapping[str, Any] = {"n_trees": 2, "depth": 2}

# Kinds of noisy answers that BDPEα releases; a test checks this on the cases below.
RELEASED = {CHOICES, NUMBERS, STREAMS}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call of BDPEα."""
    return [
        Case(NAME, {**TWO, "step": 3.0}),
        Case(NAME, {**TWO, "alpha": 0.7, "alpha_decay": 0.5, "votes": "link", "clamp": 3.0}),
        Case(NAME, {**TWO, "alpha": 1.0, "calibrate_alpha": "released", "votes": "sign"}),
        Case(NAME, {**TWO, "splits": "random", "votes": "link"}),
        # With tree_share = 0 the splits may spend no budget, so their choice must ignore the
        # records.
        Case(NAME, {**TWO, "tree_share": 0.0}),
        Case(NAME, {**TWO, "delta": DELTA, "alpha": 0.7, "votes": "link"}),
        Case(NAME, {**TWO, "delta": DELTA, "alpha": 1.0, "calibrate_alpha": "released"}),
        Case(NAME, {**TWO, "delta": DELTA, "votes": "sign"}),
        Case(NAME, {**TWO, "delta": DELTA, "votes": "sign", "splits": "random"}),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about BDPEα that the statistical audit attacks."""
    oc: dict[str, Any] = {**TWO, "alpha": 1.0}
    proved = [
        {**oc, "votes": "link"},
        {**oc, "calibrate_alpha": "released"},
        {**TWO, "splits": "random"},
        {**TWO, "votes": "sign"},
    ]
    published = [{**oc, "calibrate_alpha": "exact"}]
    yield from recipe(NAME, proved, published, coins=())
    constant = {"n_trees": 1, "depth": 1, "alpha": 1.0, "leverage": "constant"}
    yield claim_by_answers(NAME, PUBLISHED, constant)
    yield claim_by_canaries(NAME, PROVED, {"n_trees": 2, "depth": 8, "votes": "sign"})
