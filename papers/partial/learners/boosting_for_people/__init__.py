"""Define the registry entry of Boosting for People."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.learners.entries.parameters import BOTH
from privcurve.learners.entry import LearnerEntry, Proof, parameters_of
from privcurve.privacy.budget import PRIVATE_COLUMNS, PUBLISHED, REPLACE_ONE

from ..brc import HalfSpaceParameters


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Return the estimated seconds of a fit: the time of a logistic regression in each round."""
    return 2e-3 + 1e-7 * float(setting["n_rounds"]) * n_rows * (1 + n_columns / 10)


ENTRY = LearnerEntry(
    name="boosting_for_people",
    path="classifier:BoostingForPeopleClassifier",
    version=3,
    title="Boosting for People",
    calibrations=BOTH,
    parameters=parameters_of(HalfSpaceParameters),
    seconds=_estimate_seconds,
    neighbours=(REPLACE_ONE, PRIVATE_COLUMNS),
    peak=(0, 24.7),
    proof=Proof("papers/partial/proofs.md, 'Boosting for People'"),
    sees_open={PUBLISHED: "as printed, noise is on a number for each record"},
)
