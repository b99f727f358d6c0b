"""Define the registry entry of BRC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import BOTH, part, share
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE


@dataclass(kw_only=True, eq=False, repr=False)
class HalfSpaceParameters:
    """Hyperparameters of all learners that boost half-spaces."""

    n_rounds: int = parameter(25, low=1, size=True)
    largest: float = parameter(math.sqrt(2), low=1)
    smallest: float = part(math.sqrt(0.5))


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters(HalfSpaceParameters):
    """Hyperparameters of BRC."""

    intercept: str = parameter("uniform", choices=("uniform", "zero", "threshold", "em"))
    intercept_share: float = share(0.5, used_with={"intercept": ("em",)})
    estimate: str = parameter("error", choices=("error", "edge"))
    # The contract check tries only `clipped`: a private fit refuses `adaboost`, which has no noise.
    weights: str = parameter("clipped", choices=("clipped", "adaboost"), tried=("clipped",))
    algorithm: str = parameter("auto", choices=("auto", "private"))
    n_kept: int | None = parameter(None, int, low=1, tried=(1, 3))  # at most n_rounds


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    return 2e-3 + 1e-8 * float(setting["n_rounds"]) * n_rows * (1 + n_columns / 10)


ENTRY = LearnerEntry(
    name="brc",
    path="classifier:BRCClassifier",
    version=5,
    title="BRC",
    calibrations=BOTH,
    approximate=True,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    peak=(80, 8.2),
    proof=Proof(
        "papers/partial/proofs.md, 'BRC'",
        "papers/partial/tests/test_brc_sensitivity.py::test_sensitivity_bounds_the_real_dynamics",
    ),
)
