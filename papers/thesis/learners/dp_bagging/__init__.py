"""Define the registry entry of DP bagging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import PenaltyParameters
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of
from privcurve.privacy.budget import PROVED


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters(PenaltyParameters):
    """Hyperparameters of DP bagging."""

    n_teachers: int = parameter(300, low=1, size=True)
    n_partitions: int = parameter(10, low=1, size=True)
    n_queries: int = parameter(300, low=1, size=True)


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    teachers, queries = setting["n_teachers"], setting["n_queries"]
    rows_read = 10 * n_rows + float(teachers) * float(queries)
    return 0.01 + 2.2e-9 * float(setting["n_partitions"]) * rows_read * n_columns


ENTRY = LearnerEntry(
    name="dp_bagging",
    path="classifier:DPBaggingClassifier",
    version=3,
    title="DP bagging",
    calibrations=(PROVED,),
    approximate=True,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    peak=(41, 4.0),
    proof=Proof("papers/thesis/proofs.md, 'DP bagging'"),
)
