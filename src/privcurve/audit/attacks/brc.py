"""Boosting of half-spaces: real fits; their calls are tried by the contract."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import BOTH, whole_state
from privcurve.audit.attacks.hidden import flipped_label, hidden_states
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.states import sample_states
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

PARTIAL = {"public_columns": (1,)}


def beyond(learner: str, n: int) -> Claim:
    """Audit a partially private learner beyond its statement, by a flipped label."""
    return Claim(
        learner,
        "certified",
        1.0,
        flipped_label,
        0.0,
        {"n_rounds": 3, **PARTIAL},
        sample=sample_states,
        n_trainings=n,
        neighbours=REPLACE_ONE,
        stated=PRIVATE_COLUMNS,
    )


def _brc() -> Iterator[Claim]:
    for calibration in BOTH:
        yield whole_state("brc", calibration, {"n_rounds": 3}, 200)
        yield hidden_states("brc", calibration, {"n_rounds": 3, **PARTIAL}, 200)
    yield whole_state("brc", "certified", {"n_rounds": 3}, 200, delta=1e-2)
    yield beyond("brc", 800)


def _boosting_for_people() -> Iterator[Claim]:
    for calibration in BOTH:
        yield whole_state("boosting_for_people", calibration, {"n_rounds": 2}, 200)
        yield hidden_states("boosting_for_people", calibration, {"n_rounds": 2, **PARTIAL}, 200)


RELEASED = {
    "votes_": "half-spaces drawn blindly or with noise, α of noisy errors, and public classifiers",
    "estimates_": "errors with noise",
    "_roles": "which columns are public, a parameter",
}

ATTACKS = (
    Attack("brc", tuple(_brc()), RELEASED),
    Attack("boosting_for_people", tuple(_boosting_for_people()), RELEASED),
)
