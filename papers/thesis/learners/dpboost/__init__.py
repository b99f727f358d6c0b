"""Define the registry entry of DPBoost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import BOTH, part
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Hyperparameters of DPBoost."""

    n_trees: int = parameter(50, low=1, size=True)
    trees_per_ensemble: int = parameter(50, low=1)
    max_depth: int = parameter(6, low=1, high=12, size=True)
    # The contract check does not try the value 1, because all trees but the first are 0 then.
    learning_rate: float = part(0.1, tried=(1e-3, 1 - 1e-3))
    regularisation: float = parameter(0.1, low=0)
    chunks: str = parameter("geometric", choices=("geometric", "equal"))
    splits: str = parameter("threshold", choices=("threshold", "equality"))


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    n_trees = float(setting["n_trees"])
    each = min(n_trees, float(setting["trees_per_ensemble"]))
    depth = int(setting["max_depth"])
    # Seconds of one tree. `nodes`: to draw noise and compute gains. `records`: to count the tree's
    # records in histograms, and to add up their scores by all earlier trees. The `each` trees of an
    # ensemble divide the records, so a tree has n_rows/each records.
    nodes = 3e-6 * 2**depth * n_columns / 14
    records = (2e-9 * n_columns + 4e-9 * n_trees / 4) * depth * n_rows / each
    return 5e-3 + n_trees * (nodes + records)


ENTRY = LearnerEntry(
    name="dpboost",
    path="classifier:DPBoostClassifier",
    version=4,
    title="DPBoost",
    calibrations=BOTH,
    approximate=True,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    peak=(60, 2.4),
    proof=Proof(
        "papers/thesis/proofs.md, 'DPBoost'",
        "papers/thesis/tests/test_dpboost_proofs.py::test_the_range_of_a_replacement_is_approached",
    ),
)
