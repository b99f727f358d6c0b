"""PrivGAM: attacks on the released model; its calls are tried by the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privcurve.audit.attacks.any_learner import DELTAS, sampled, whole_state
from privcurve.audit.attacks.pairs import (
    in_crowds,
)
from privcurve.audit.claim import Attack, Claim
from privcurve.privacy.budget import CERTIFIED

# On tiny data the rule would ask the intercept alone.
SOME: dict[str, Any] = {"n_steps": 3}
ONCE: dict[str, Any] = {"method": "cyclic", "n_rounds": 1, "linear": "no", "pairs": "no"}
ALONG: dict[str, Any] = {**SOME, "ordered": True, "linear": "yes"}


def _privgam() -> Iterator[Claim]:
    name = "privgam"
    # From the model alone: the score of the canary, which adds up the columns' values.
    yield sampled(name, CERTIFIED, ONCE, 6_000, in_crowds, 1e-2, epsilon=2.0)
    yield sampled(name, CERTIFIED, {**ONCE, "pairs": "yes"}, 2_000, in_crowds, 1e-2, epsilon=2.0)
    yield whole_state(name, CERTIFIED, SOME, 400)
    for delta in DELTAS:
        yield whole_state(name, CERTIFIED, {"method": "cyclic", "n_rounds": 3}, 300, delta=delta)
    yield whole_state(name, CERTIFIED, ALONG, 200, delta=1e-2)


RELEASED = {
    "model_": "made of sums with noise, choices with noise and public coins",
    "method_": "by the public rule, from public facts",
}

ATTACKS = (Attack("privgam", tuple(_privgam()), RELEASED),)
