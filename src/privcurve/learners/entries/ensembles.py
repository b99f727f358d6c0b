"""Nock and Henecka 2022: boosted private trees, and the private forests they are compared with."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entries.parameters import BOTH
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import CERTIFIED

_CHOSEN = {"splits": ("chosen",)}

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="bdpe",
        path="privcurve.learners.bdpe:BDPEClassifier",
        version=1,
        title="BDPEα",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "n_trees": Parameter(5, int, low=1, size=True),
            "depth": Parameter(3, int, low=1, high=10, size=True),
            "alpha": Parameter(0.0, float, low=0, high=1, used_with=_CHOSEN),
            "alpha_decay": Parameter(
                1.0, float, low=0, high=1, open_low=True,
                used_with={**_CHOSEN, "calibrate_alpha": ("no",)},
            ),
            "calibrate_alpha": Parameter(
                "no", choices=("no", "exact", "released"), used_with=_CHOSEN
            ),
            "boost_alpha": Parameter(1.0, float, low=0, high=1, open_low=True),
            "tree_share": Parameter(None, float, low=0, high=1, open_high=True, used_with=_CHOSEN),
            "clamp": Parameter(
                10.0, float, low=0, open_low=True, used_with={"votes": (None, "link")}
            ),
            "splits": Parameter("chosen", choices=("chosen", "random")),
            "votes": Parameter(None, choices=("link", "shrunk", "sign")),
            "step": Parameter(
                1.0, float, low=0, open_low=True, used_with={"votes": (None, "shrunk", "sign")}
            ),
            "leverage": Parameter(None, choices=("exact", "constant")),
        },
        seconds=costs.boosted_ensemble,
    ),
    LearnerEntry(
        name="dp_forest",
        path="privcurve.learners.dp_forest:DPForestClassifier",
        version=1,
        title="DP forest of random trees",
        calibrations=BOTH,
        approximate=False,
        parameters={
            "n_trees": Parameter(7, int, low=1, size=True),
            "depth": Parameter(4, int, low=1, high=10, size=True),
            "leaves": Parameter("laplace", choices=("laplace", "exponential")),
            "votes": Parameter(
                "sign", choices=("sign", "shrunk"), used_with={"leaves": ("laplace",)}
            ),
        },
        seconds=costs.random_forest,
    ),
    LearnerEntry(
        name="noisy_majority",
        path="privcurve.learners.noisy_majority:NoisyMajorityClassifier",
        version=1,
        title="Noisy majority",
        calibrations=(CERTIFIED,),
        approximate=False,
        parameters={},
        seconds=costs.majority,
    ),
)  # fmt: skip
