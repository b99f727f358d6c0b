"""Define the cases of the contract check and the attacks of the audit for DPBoost."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import DELTA, claim_by_answers, recipe
from privcurve.audit.attacks.pairs import one_more
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, NUMBERS
from privcurve.privacy.budget import ADD_REMOVE, PUBLISHED, REPLACE_ONE

NAME = "dpboost"
# Table sizes of the contract check. The last one gives trees of ten records, for which replacing a
# record can change a gain by half of its bound.
MANY = (1, 2, 3, 40)
# A setting with two ensembles of two trees each.
GRADIENT = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}

# Kinds of noisy answers that DPBoost releases; a test checks this on the cases below.
RELEASED = {CHOICES, NUMBERS}


def contract() -> list[Case]:
    """Return settings for the contract check; together they reach every mechanism call."""
    return [
        Case(NAME, GRADIENT, sizes=MANY),
        Case(NAME, {**GRADIENT, "chunks": "equal", "regularisation": 0.0}, sizes=MANY),
        Case(NAME, {**GRADIENT, "splits": "equality", "delta": DELTA}, sizes=MANY),
    ]


def claims() -> Iterator[Claim]:
    """Yield the privacy claims about DPBoost that the statistical audit attacks."""
    one = {"n_trees": 1, "trees_per_ensemble": 1, "max_depth": 1}
    two = {**one, "n_trees": 2, "trees_per_ensemble": 2, "learning_rate": 0.5, "chunks": "equal"}
    # This number of trainings is large enough that the attack would detect noise drawn in single
    # precision.
    yield from recipe(NAME, [two], [two], n_trainings=1_000, epsilon=2.0, coins=())
    yield claim_by_answers(NAME, PUBLISHED, one)
    # The paper scales the noise for an added record, but ignores that an added record also moves
    # other records from tree to tree. So this attack adds a record, and has many trees.
    fifty = {"n_trees": 50, "max_depth": 1, "chunks": "geometric"}
    yield claim_by_answers(
        NAME, PUBLISHED, fifty, one_more, neighbours=ADD_REMOVE, stated=REPLACE_ONE
    )
