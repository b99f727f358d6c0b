"""Noise for a number of right answers, as those of a model on records that did not train it."""

from __future__ import annotations

import math

from privcurve.privacy.calibration.selection import SCORE_SENSITIVITY
from privcurve.privacy.mechanisms import LARGEST_SCALE

# Noise is in whole parts of a record.
PARTS = 2**10


def right_answers_scale(epsilon: float) -> int:
    """Give the scale of discrete Laplace noise, in parts of a record, for replaced records.

    Parameters
    ----------
    epsilon : float
        Above 0 and finite.

    Returns
    -------
    int
        With it the number is ε-DP for ``replace-one`` neighbours (``discrete_laplace``).

    Raises
    ------
    ValueError
        If ε is so small that the sampler has no room for its noise.
    """
    if not epsilon * LARGEST_SCALE > PARTS * SCORE_SENSITIVITY:
        raise ValueError(
            f"epsilon = {epsilon:g} is so small that the noise of an accuracy has no room in 64 "
            "bits: give a larger one"
        )
    return math.ceil(PARTS * SCORE_SENSITIVITY / epsilon)
