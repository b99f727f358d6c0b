"""Define the registry entry of the DP forest of random trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import BOTH, OF_PROVED
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Hyperparameters of the DP forest."""

    n_trees: int = parameter(7, low=1, size=True)
    depth: int = parameter(4, low=1, high=10, size=True)
    leaves: str = parameter("laplace", choices=("laplace", "exponential"))
    votes: str = parameter(
        "sign", choices=("sign", "shrunk"), used_with={"leaves": ("laplace",)}, only=OF_PROVED
    )


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    depth = int(setting["depth"])
    nodes = 1e-8 * 2**depth * (10 + n_columns)
    return 5e-4 + float(setting["n_trees"]) * (3e-5 + 1e-8 * depth * n_rows + nodes)


ENTRY = LearnerEntry(
    name="dp_forest",
    path="classifier:DPForestClassifier",
    version=4,
    title="DP forest of random trees",
    calibrations=BOTH,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    peak=(59, 2.5),
    proof=Proof("papers/boosted_dp/proofs.md, 'Forests'"),
)
