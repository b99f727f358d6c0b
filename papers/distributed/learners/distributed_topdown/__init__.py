"""Define the registry entry of distributed DP-TopDown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import (
    BOTH,
    CRITERIA,
    OF_PUBLISHED,
    TRUSTS,
    HolderParameters,
    share,
)
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of
from privcurve.privacy.budget import PUBLISHED

_SHARED = ("noisy_counts", "local_rnm")


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters(HolderParameters):
    """Hyperparameters of distributed DP-TopDown."""

    protocol: str = parameter("noisy_counts", choices=("single", *_SHARED))
    trust: str | None = parameter(None, choices=TRUSTS, used_with={"protocol": _SHARED})
    criterion: str = parameter("gini", choices=CRITERIA)
    # The contract check tries only the values in `tried`. It checks proved noise, which does not
    # support `uniform`.
    budget: str | None = parameter(
        None, choices=("decay", "uniform", "levels"), tried=("decay", "levels")
    )
    leaf_share: float | None = share(None, only=OF_PUBLISHED)
    n_splits: int | None = parameter(None, int, low=1, high=10_000, only=OF_PUBLISHED)
    depth: int | None = parameter(None, int, low=1, high=80)
    vote_share: float = share(0.4, used_with={"protocol": ("local_rnm",)})
    smallest_weight: float = parameter(0.1, low=0, only=OF_PUBLISHED)
    smallest_gain: float = parameter(0.01, low=0, only=OF_PUBLISHED)


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Return the estimated seconds of a fit: a constant, a term per party and a term per row."""
    protocol, depth = setting["protocol"], setting["depth"]
    holders = 1 if protocol == "single" else int(setting["n_holders"])
    if depth is None:
        # Seconds per party. Without a given depth the estimate is for a published tree, which has
        # more nodes than a proved tree: a hundred to a thousand.
        each = {"single": 1e-1, "local_rnm": 5e-2, "noisy_counts": 1.3e-1}[protocol]
    else:
        each = (8e-5 if protocol == "local_rnm" else 3.5e-5) * 2 ** min(int(depth), 10)
    return 2e-3 + each * holders + 4e-9 * n_rows * n_columns


ENTRY = LearnerEntry(
    name="distributed_topdown",
    path="classifier:DistributedTopDownClassifier",
    version=5,
    title="Distributed DP-TopDown",
    calibrations=BOTH,
    approximate=True,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    needs=("ordered",),
    multiclass=True,
    peak=(63, 5.5),
    proof=Proof(
        "papers/distributed/proofs.md, 'Levels'",
        "tests/privacy/test_holder_sensitivity.py::test_an_added_record_changes_f_by_at_most_f1_for_any_number_of_classes",
    ),
    sees_open={PUBLISHED: "as printed, noise follows from exact sizes: refuted"},
)
