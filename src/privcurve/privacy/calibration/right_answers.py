"""Noise for a number of right answers, as those of a model on records that did not train it."""

from __future__ import annotations

import math

from privcurve.privacy.calibration.selection import SCORE_SENSITIVITY
from privcurve.privacy.curator import Call
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.mechanisms import LAPLACE, LARGEST_SCALE

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


def right_answers(epsilon: float) -> Call:
    """Return the call that answers with a number of right answers, in parts of a record.

    Parameters
    ----------
    epsilon : float
        As for :func:`right_answers_scale`.

    Returns
    -------
    Call
        For ``Curator.whole_numbers``.
    """
    scale, sensitivity = right_answers_scale(epsilon), PARTS * SCORE_SENSITIVITY
    entry = LedgerEntry(
        mechanism=LAPLACE,
        what="the number of right answers on the test part",
        noise_rate=1 / scale,
        sensitivity=sensitivity,
        epsilon=sensitivity / scale,
        source="releases.accuracy.measured",
    )
    return Call(LAPLACE, float(scale), entry)
