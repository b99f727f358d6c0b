"""Registry entry of BRC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from privcurve.learners.entries.parameters import BOTH, part, share
from privcurve.learners.entry import LearnerEntry, Parameter, Proof
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

HALF_SPACES = {
    "n_rounds": Parameter(25, int, low=1, size=True),
    "largest": Parameter(math.sqrt(2), float, low=1),
    "smallest": part(math.sqrt(0.5)),
}


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Return the estimated seconds of boosting random classifiers."""
    return 2e-3 + 1e-8 * float(setting["n_rounds"]) * n_rows * (1 + n_columns / 10)


ENTRY = LearnerEntry(
    name="brc",
    path="classifier:BRCClassifier",
    version=5,
    title="BRC",
    calibrations=BOTH,
    approximate=True,
    parameters={
        **HALF_SPACES,
        "intercept": Parameter("uniform", choices=("uniform", "zero", "threshold", "em")),
        "intercept_share": share(0.5, used_with={"intercept": ("em",)}),
        "estimate": Parameter("error", choices=("error", "edge")),
        # AdaBoost's weights have no noise: a private fit refuses them.
        "weights": Parameter("clipped", choices=("clipped", "adaboost"), tried=("clipped",)),
        "algorithm": Parameter("auto", choices=("auto", "private")),
        "n_kept": Parameter(None, int, low=1, tried=(1, 3)),  # at most n_rounds
    },
    seconds=_estimate_seconds,
    neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    peak=(80, 8.2),
    proof=Proof(
        "papers/partial/proofs.md, 'BRC'",
        "papers/partial/tests/test_brc_sensitivity.py::test_sensitivity_bounds_the_real_dynamics",
    ),
)
