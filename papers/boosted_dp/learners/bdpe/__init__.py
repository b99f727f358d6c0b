"""Define the registry entry of BDPEα, boosted private trees with the Mα-loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privcurve.learners.entries.parameters import BOTH, OF_PROVED, OF_PUBLISHED, part, positive
from privcurve.learners.entry import LearnerEntry, Proof, parameter, parameters_of
from privcurve.privacy.budget import PROVED, PUBLISHED

_CHOSEN = {"splits": ("chosen",)}


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Hyperparameters of BDPEα."""

    n_trees: int = parameter(5, low=1, size=True)
    depth: int = parameter(3, low=1, high=10, size=True)
    alpha: float = parameter(0.0, low=0, high=1, used_with=_CHOSEN)
    alpha_decay: float = part(
        1.0, used_with={**_CHOSEN, "calibrate_alpha": ("no",)}, only=OF_PROVED
    )
    calibrate_alpha: str = parameter(
        "no",
        choices=("no", "exact", "released"),
        used_with=_CHOSEN,
        only={"exact": PUBLISHED, "released": PROVED},
    )
    boost_alpha: float = part(1.0)
    tree_share: float | None = parameter(
        None, float, low=0, high=1, open_high=True, used_with=_CHOSEN
    )
    clamp: float = positive(10.0, used_with={"votes": (None, "link")})
    splits: str = parameter("chosen", choices=("chosen", "random"), only=OF_PROVED)
    votes: str | None = parameter(
        None, choices=("link", "shrunk", "sign"), only={"shrunk": PROVED, "sign": PROVED}
    )
    step: float = positive(1.0, used_with={"votes": (None, "shrunk", "sign")})
    leverage: str | None = parameter(None, choices=("exact", "constant"), only=OF_PUBLISHED)


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    depth = int(setting["depth"])
    # Seconds for the nodes of one tree. The constant term of a node is the time for its entry in
    # the published ledger; the other term is the time to choose its question among all columns.
    # (With published noise and a small ε, rejection sampling reads fewer columns; the estimate
    # ignores this.)
    nodes = 2**depth * (1.2e-5 + 1e-7 * n_columns)
    records = 1e-9 * (8 + 0.4 * n_columns) * depth * n_rows
    return 5e-4 + float(setting["n_trees"]) * (1.5e-4 + records + nodes)


ENTRY = LearnerEntry(
    name="bdpe",
    path="classifier:BDPEClassifier",
    version=4,
    title="BDPEα",
    calibrations=BOTH,
    approximate=True,
    parameters=parameters_of(Parameters),
    seconds=_estimate_seconds,
    peak=(71, 2.6),
    proof=Proof("papers/boosted_dp/proofs.md, 'Weights'"),
    sees_open={PUBLISHED: "as printed, leverages follow from the exact margins: refuted"},
)
