"""Private logistic regression: real fits; its call is tried by the contract."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import BOTH, sampled, whole_state
from privcurve.audit.attacks.pairs import rare_in_part
from privcurve.audit.claim import Attack, Claim


def _dp_logistic_regression() -> Iterator[Claim]:
    name = "dp_logistic_regression"
    for calibration in BOTH:
        yield sampled(name, calibration, {"C": 0.01}, 600)
        yield sampled(name, calibration, {"C": 0.1}, 300, rare_in_part)
        yield whole_state(name, calibration, {"C": 0.1}, 200)


RELEASED = {
    "coef_": "the minimum of the perturbed objective",
    "intercept_": "the minimum of the perturbed objective",
}

ATTACKS = (Attack("dp_logistic_regression", tuple(_dp_logistic_regression()), RELEASED),)
