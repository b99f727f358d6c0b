"""Registry entry of BDPEα."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.learners.entries.parameters import BOTH, OF_PROVED, OF_PUBLISHED, part, positive
from privcurve.learners.entry import LearnerEntry, Parameter, Proof
from privcurve.privacy.budget import PROVED, PUBLISHED

_CHOSEN = {"splits": ("chosen",)}


def _estimate_seconds(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Return the estimated seconds of a fit of boosted trees."""
    depth = int(setting["depth"])
    # Each node has an entry in the ledger. Chosen questions read all columns, and published ones at
    # small ε only a few.
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
    parameters={
        "n_trees": Parameter(5, int, low=1, size=True),
        "depth": Parameter(3, int, low=1, high=10, size=True),
        "alpha": Parameter(0.0, float, low=0, high=1, used_with=_CHOSEN),
        "alpha_decay": part(1.0, used_with={**_CHOSEN, "calibrate_alpha": ("no",)}, only=OF_PROVED),
        "calibrate_alpha": Parameter(
            "no",
            choices=("no", "exact", "released"),
            used_with=_CHOSEN,
            only={"exact": PUBLISHED, "released": PROVED},
        ),
        "boost_alpha": part(1.0),
        "tree_share": Parameter(None, float, low=0, high=1, open_high=True, used_with=_CHOSEN),
        "clamp": positive(10.0, used_with={"votes": (None, "link")}),
        "splits": Parameter("chosen", choices=("chosen", "random"), only=OF_PROVED),
        "votes": Parameter(
            None,
            choices=("link", "shrunk", "sign"),
            only={"shrunk": PROVED, "sign": PROVED},
        ),
        "step": positive(1.0, used_with={"votes": (None, "shrunk", "sign")}),
        "leverage": Parameter(None, choices=("exact", "constant"), only=OF_PUBLISHED),
    },
    seconds=_estimate_seconds,
    peak=(71, 2.6),
    proof=Proof("papers/boosted_dp/proofs.md, 'Weights'"),
    sees_open={PUBLISHED: "as printed, leverages follow from the exact margins: refuted"},
)
