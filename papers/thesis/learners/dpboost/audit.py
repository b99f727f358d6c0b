"""Contract cases and attacks for DPBoost."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import DELTA, claim_by_answers, recipe
from privcurve.audit.attacks.pairs import one_more
from privcurve.audit.claim import Claim
from privcurve.audit.contract import Case
from privcurve.audit.fits import CHOICES, NUMBERS
from privcurve.privacy.budget import ADD_REMOVE, PUBLISHED, REPLACE_ONE

NAME = "dpboost"
# Table sizes that give trees of ten records: there a replaced record uses half of a gain's bound.
MANY = (1, 2, 3, 40)
# Two ensembles of two trees each.
GRADIENT = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}

# The kinds of answers that a fit asks of the curator.
RELEASED = {CHOICES, NUMBERS}


def contract() -> list[Case]:
    """Return settings for the contract check, which together reach all mechanism calls."""
    return [
        Case(NAME, GRADIENT, sizes=MANY),
        Case(NAME, {**GRADIENT, "chunks": "equal", "regularisation": 0.0}, sizes=MANY),
        Case(NAME, {**GRADIENT, "splits": "equality", "delta": DELTA}, sizes=MANY),
    ]


def claims() -> Iterator[Claim]:
    """Yield the claims that the statistical audit attacks."""
    one = {"n_trees": 1, "trees_per_ensemble": 1, "max_depth": 1}
    two = {**one, "n_trees": 2, "trees_per_ensemble": 2, "learning_rate": 0.5, "chunks": "equal"}
    # From so many trainings the attack would detect noise that is drawn in single precision.
    yield from recipe(NAME, [two], [two], n_trainings=1_000, epsilon=2.0, coins=())
    yield claim_by_answers(NAME, PUBLISHED, one)
    # The published noise is for an added record, but ignores that this changes the trees' records.
    fifty = {"n_trees": 50, "max_depth": 1, "chunks": "geometric"}
    yield claim_by_answers(
        NAME, PUBLISHED, fifty, one_more, neighbours=ADD_REMOVE, stated=REPLACE_ONE
    )
