"""Define the registry entry of PATE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import BOTH
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of
from privcurve.privacy.budget import PRIVATE_COLUMNS, PROVED, PUBLISHED

_KEPT = "its teachers are exact and stay with the data owner; answers come after the fit"


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Hyperparameters of PATE."""

    n_teachers: int = parameter(50, low=1, size=True)
    # A fit needs at least as many answers as records. So the contract check tries only values that
    # are not below the number of records in its tables.
    n_answers: int | None = parameter(None, int, low=1, tried=(10, 30))


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Return the estimated seconds of a fit: each teacher is trained, and votes on each row."""
    answers = n_rows * (1 + n_columns / 10)
    return 1e-2 + float(setting["n_teachers"]) * (3e-4 + 1e-8 * answers) + 1e-7 * answers


ENTRY = LearnerEntry(
    name="pate",
    path="classifier:PATEClassifier",
    version=3,
    title="PATE",
    calibrations=BOTH,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    neighbours=(PRIVATE_COLUMNS,),
    proof=Proof(
        "papers/partial/proofs.md, 'PATE'",
        "papers/partial/tests/test_pate.py::test_margins_of_neighbours",
    ),
    sees_open={PROVED: _KEPT, PUBLISHED: _KEPT},
)
