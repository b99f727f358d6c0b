"""What an audit of any learner is made of: the recipe, and the score of a canary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike, NDArray

from privcurve.audit.attacks.pairs import (
    SEVERAL,
    alone_in_two_bins,
    eight_constant,
    several,
)
from privcurve.audit.claim import Claim, LearnerSampler, MakePairs
from privcurve.audit.scores import sample_canary_scores
from privcurve.audit.states import sample_states
from privcurve.privacy.budget import CERTIFIED, PUBLISHED
from privcurve.privacy.mechanisms import MECHANISMS

BOTH = (PUBLISHED, CERTIFIED)
DELTAS = (1e-5, 1e-2)


def chances_of(mechanism: str) -> Callable[[ArrayLike, float], NDArray[Any]]:
    """Give the exact chances of what a mechanism chooses, by scores and rate."""
    chances = MECHANISMS[mechanism].probabilities
    assert chances is not None
    return chances


def whole_state(
    learner: str,
    calibration: str,
    setting: Mapping[str, Any],
    n_trainings: int,
    *,
    epsilon: float = 1.0,
    delta: float = 0.0,
    sample: LearnerSampler = sample_states,
) -> Claim:
    """Audit any learner by all that real fits leave on the model, on several pairs."""
    return Claim(
        learner,
        calibration,
        epsilon,
        several,
        delta,
        setting,
        sample=sample,
        n_trainings=n_trainings,
        n_pairs=SEVERAL,
    )


def many_parts(
    learner: str,
    calibration: str,
    setting: Mapping[str, Any],
    n_trainings: int,
    *,
    epsilon: float = 2.0,
) -> Claim:
    """Audit a learner whose parts divide the records, with so many parts that they add up.

    A record that one part has, and one that all have, look nearly alike in any one of them: what
    tells is the sum of all. One pair shows it, a record that is alone.
    """
    whole = whole_state(learner, calibration, setting, n_trainings, epsilon=epsilon)
    return replace(whole, pairs=alone_in_two_bins, n_pairs=1)


def sampled(
    learner: str,
    calibration: str,
    setting: Mapping[str, Any],
    n_trainings: int,
    pairs: MakePairs = eight_constant,
    delta: float = 0.0,
    sample: LearnerSampler = sample_canary_scores,
    epsilon: float = 1.0,
) -> Claim:
    """Audit any learner by real fits on one pair: by its score of the canary, or otherwise."""
    return Claim(
        learner,
        calibration,
        epsilon,
        pairs,
        delta,
        setting,
        sample=sample,
        n_trainings=n_trainings,
    )
