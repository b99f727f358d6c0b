"""The accuracy of a model that leaves: on public records for nothing, on others at a price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privcurve.datasets import Dataset
from privcurve.privacy.calibration.selection import PARTS, right_answers_scale

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Accuracy:
    """A share of right answers on the test part.

    Attributes
    ----------
    value : float
    error : float
        Standard error: of the spread of records, and of the noise where there is any.
    epsilon : float
        What it has cost; 0 on public records.
    """

    value: float
    error: float
    epsilon: float


def measured(
    learner: Any, data: Dataset, epsilon: float, rng: np.random.Generator | None
) -> Accuracy:
    """Measure the accuracy on the test part.

    To replace one record of the test part changes the number of right answers by 1 at most; one of
    the training part changes it through the model alone, which is paid for. So the number with its
    noise is ε-DP beside the model, for ``replace-one`` neighbours. (A record stays in its part, so
    the larger of both ε would do: PRIVACY.md §0, L4. They are added up nevertheless, since the same
    people may be in both.)

    Parameters
    ----------
    learner : fitted learner
    data : Dataset
        With a test part.
    epsilon : float
        0: without noise.
    rng : numpy.random.Generator or None
        Draws the noise; not looked at if ε is 0.

    Returns
    -------
    Accuracy
    """
    assert data.y_test is not None
    n = len(data.y_test)
    right = float((learner.predict(data.X_test) == data.y_test).sum())
    noise = 0.0
    if epsilon:
        from privcurve.privacy.discrete import discrete_laplace

        assert rng is not None
        scale = right_answers_scale(epsilon)
        right += int(discrete_laplace(rng, scale, 1)[0]) / PARTS
        noise = math.sqrt(2) * scale / PARTS
    value = min(max(right / n, 0.0), 1.0)
    return Accuracy(value, math.hypot(math.sqrt(value * (1 - value) / n), noise / n), epsilon)
