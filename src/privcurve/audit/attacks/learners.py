"""List the claims of most learners, and the attack on each claim.

1-rules (``one_rules.py``) and private selection (``tuned.py``) have additional claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from privcurve.audit.attacks.any_learner import (
    DELTA,
    claim_by_answers,
    claim_by_canaries,
    claim_by_fits,
    claim_private_columns,
)
from privcurve.audit.attacks.any_learner import recipe as any_recipe
from privcurve.audit.attacks.pairs import (
    flipped_among_many,
    in_crowds,
    misleading_public_column,
    of_three_classes,
    rare_in_part,
    torn_columns,
)
from privcurve.audit.canaries import CANARIES
from privcurve.audit.claim import Claim
from privcurve.audit.states import sample_canary_scores, sample_states
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

# `recipe` without claims to be attacked by tables of canaries: `_canaries` makes these claims.
recipe = partial(any_recipe, coins=())

PARTIAL = {"public_columns": (1,)}
STARTED = {**PARTIAL, "start": "public"}


def _linear() -> Iterator[Claim]:
    name, box = "dp_logistic_regression", {"noise": "box", "encoding": "scaled"}
    yield from recipe(name, [{"C": 0.1}, box], [{"C": 0.1}], n_trainings=150, answers=False)
    yield claim_private_columns(name, {**box, **STARTED, "columns": "private"})
    yield from recipe("dp_newton", [{"n_steps": 2}])
    yield from recipe("dp_gradient_descent", [{"n_steps": 2}])
    yield from recipe("boosted_adassp", [{"n_rounds": 2}])
    yield from recipe("dp_sgd", [{"n_epochs": 1, "batch_rate": 0.5}])
    # Attack with a pair of tables of many records: with few records, all bins would be rare, and
    # the model would not depend on the records.
    yield claim_by_fits("mst", PROVED, {"n_rounds": 2}, 900, flipped_among_many, DELTA)
    canary = rare_in_part, DELTA, sample_canary_scores
    yield claim_by_fits("mst", PROVED, {"n_rounds": 2}, 300, *canary)
    # Two fits of AIM almost never have equal fitted states, so the attack also compares scores.
    for sample in (sample_canary_scores, sample_states):
        many = flipped_among_many, DELTA, sample
        yield claim_by_fits("aim", PROVED, {"n_rounds": 2}, 900, *many)
    yield claim_by_fits("aim", PROVED, {"n_rounds": 2}, 300, *canary)


def _counts() -> Iterator[Claim]:
    """Yield claims for the noisy majority, naive Bayes and PrivGAM."""
    yield from recipe("noisy_majority")
    yield from recipe("noisy_bayes")
    for delta in (0.0, DELTA):
        yield claim_private_columns("noisy_bayes", STARTED, delta=delta)
    yield from recipe("privgam", n_trainings=200)
    three = {"n_classes": 3}
    yield claim_by_answers("privgam", PROVED, three, of_three_classes)
    yield claim_by_fits("privgam", PROVED, three, 200, of_three_classes, DELTA)
    # For the tables of `in_crowds`, the canary's score adds up all released values that depend on
    # the canary.
    scores = sample_canary_scores
    yield claim_by_fits("privgam", PROVED, {}, 6_000, in_crowds, DELTA, scores, epsilon=2.0)


def _trees() -> Iterator[Claim]:
    one: dict[str, Any] = {"depth": 1}
    yield from recipe("topdown", [one, {"depth": 2, "leaves": "rules"}], [one])
    yield claim_by_answers("topdown", PROVED, {"depth": 1, "split_share": 0.99}, torn_columns)
    trees = {"weak_learner": "topdown", "depth": 1, "n_rounds": 3, "density": 0.75}
    yield from recipe("lazybb", [trees], [trees], canary=False)
    # With a small `vote_worth`, the model's start from the public column has a large weight. So the
    # record that this column predicts wrongly affects the fit most.
    far = {"n_rounds": 2, "density": 0.25, "learning_rate": 0.5, "vote_worth": 0.05, **STARTED}
    for calibration in (PROVED, PUBLISHED):
        yield claim_private_columns("lazybb", {**STARTED, "n_rounds": 3}, by=calibration)
        yield claim_by_answers(
            "lazybb", calibration, far, misleading_public_column, neighbours=PRIVATE_COLUMNS
        )


def _holders() -> Iterator[Claim]:
    two = {"n_holders": 2}
    forest = {"n_trees": 4, "batch": 2, "depth": 1, **two}
    yield from recipe("random_trees", [{**forest, "trust": t} for t in ("secure_sum", "local")])


def _canaries() -> Iterator[Claim]:
    """Yield claims to be attacked by canaries, if models can distinguish many bins of a column."""
    settings: dict[str, dict[str, Any]] = {
        "dp_logistic_regression": {"C": 0.1},
        "noisy_bayes": {},
        "lazybb": {"n_rounds": 3, "learning_rate": 1.0, "density": 0.35},
        "topdown": {"depth": 8},
        "tuned": {"learner": "noisy_bayes"},
    }
    joint: dict[str, dict[str, Any]] = {}
    joint |= {name: {"n_steps": 2} for name in ("dp_newton", "dp_gradient_descent")}
    joint |= {"boosted_adassp": {"n_rounds": 2}, "dp_sgd": {"n_epochs": 2, "batch_rate": 0.5}}
    for name, setting in joint.items():
        settings[name] = {**setting, "n_groups": CANARIES}
    for name, setting in settings.items():
        yield claim_by_canaries(name, PROVED, setting)


CLAIMS = tuple(
    claim for some in (_linear, _counts, _trees, _holders, _canaries) for claim in some()
)
