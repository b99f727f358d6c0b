"""The accuracy of a model that leaves: on public records for nothing, on others at a price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.datasets import Dataset
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import PARTS, right_answers


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


def measured(learner: Any, data: Dataset, epsilon: float, curator: Curator | None) -> Accuracy:
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
    curator : Curator or None
        Adds the noise; not asked if ε is 0.

    Returns
    -------
    Accuracy
    """
    assert data.y_test is not None
    n = len(data.y_test)
    right = int((learner.predict(data.X_test) == data.y_test).sum())
    parts, noise = right * PARTS, 0.0
    if epsilon:
        assert curator is not None
        call = right_answers(epsilon)
        parts = int(curator.whole_numbers(call, np.array([right * PARTS]))[0])
        noise = math.sqrt(2) * call.scale / PARTS
    value = min(max(parts / PARTS / n, 0.0), 1.0)
    return Accuracy(value, math.hypot(math.sqrt(value * (1 - value) / n), noise / n), epsilon)
