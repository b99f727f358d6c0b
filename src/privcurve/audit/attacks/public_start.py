"""Learners that start at public columns: logistic regression with box noise, and LazyBB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import BOTH, whole_state
from privcurve.audit.attacks.hidden import hidden_neighbours, hidden_states
from privcurve.audit.attacks.one_rules import one_rule_distribution
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.fits import untrained
from privcurve.audit.pairs import Records
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.public_part import PublicStart
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS

STARTED = {"start": "public", "public_columns": (1,)}


def started(
    learner: str,
    setting: Mapping[str, Any],
    n: int,
    delta: float = 0.0,
    calibration: str = CERTIFIED,
) -> Claim:
    """Audit the whole state of fits that begin at a public column."""
    return hidden_states(learner, calibration, {**STARTED, **setting}, n, delta)


def _box() -> Iterator[Claim]:
    name, setting = "dp_logistic_regression", {"noise": "box", "encoding": "scaled"}
    yield whole_state(name, CERTIFIED, setting, 300)
    yield started(name, {**setting, "columns": "private"}, 300)


def started_distribution(learner: LazyBBClassifier, side: Records) -> NDArray[np.float64]:
    """Give the probability of all picks of private columns, from margins by public ones."""
    blank = untrained(learner, side)
    blank.start_ = PublicStart.of(side.codes, side.signs, side.counts, blank._roles(), side.n_bins)
    seen = Records(blank._seen(side.codes), side.signs, blank._seen_bins(), side.counts)
    return one_rule_distribution(blank, seen, blank._begin(side.codes, side.signs))


# Two records tell little about their labels: a vote is worth so little that many are begun with.
FAR_APART = {"n_rounds": 2, "density": 0.25, "learning_rate": 0.5, "vote_worth": 0.05}


def _lazybb() -> Iterator[Claim]:
    for calibration in BOTH:
        yield Claim(
            "lazybb",
            calibration,
            1.0,
            hidden_neighbours,
            0.0,
            {**STARTED, **FAR_APART},
            distribution=started_distribution,
            neighbours=PRIVATE_COLUMNS,
        )
        yield started("lazybb", {"n_rounds": 3}, 1_000, calibration=calibration)


START = "log-odds by public columns: exact, and the same for neighbours"

ATTACKS = (
    Attack("dp_logistic_regression", tuple(_box()), {"start_": START}),
    Attack("lazybb", tuple(_lazybb()), {"start_": START}),
)
