"""Trees of several data holders."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entries.parameters import BOTH
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import CERTIFIED

SHARED = ("noisy_counts", "local_rnm")
# Who has a record follows from what is in it.
BY_VALUE = (
    "records are dealt to holders by their values, so that one replaced record may move, and "
    "change what several holders send"
)
HOLDERS = {
    "n_holders": Parameter(4, int, low=1, high=1000),
    "n_colluding": Parameter(0, int, low=0, high=999, used_with={"trust": ("secure_sum",)}),
    "placement": Parameter(
        "random",
        choices=("random", "sizes", "label", "column"),
        unproved={"label": BY_VALUE, "column": BY_VALUE},
    ),
}
TRUSTS = ("central", "local", "secure_sum")

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="distributed_topdown",
        path="privcurve.learners.distributed_topdown:DistributedTopDownClassifier",
        version=2,
        title="Distributed DP-TopDown",
        calibrations=BOTH,
        approximate=True,
        parameters={
            "protocol": Parameter("noisy_counts", choices=("single", *SHARED)),
            "trust": Parameter(None, choices=TRUSTS, used_with={"protocol": SHARED}),
            **HOLDERS,
            "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
            "budget": Parameter(None, choices=("decay", "uniform", "levels")),
            "leaf_share": Parameter(None, float, 0, 1, open_low=True, open_high=True),
            "n_splits": Parameter(None, int, low=1, high=10_000),
            "depth": Parameter(None, int, low=1, high=80),
            "vote_share": Parameter(
                0.4,
                float,
                0,
                1,
                open_low=True,
                open_high=True,
                used_with={"protocol": ("local_rnm",)},
            ),
            "smallest_weight": Parameter(0.1, float, low=0),
            "smallest_gain": Parameter(0.01, float, low=0),
        },
        seconds=costs.distributed_topdown,
        needs=("ordered",),
        multiclass=True,
    ),
    LearnerEntry(
        name="random_trees",
        path="privcurve.learners.random_trees:RandomTreesClassifier",
        version=1,
        title="Random trees",
        calibrations=(CERTIFIED,),
        approximate=True,
        pure=False,
        parameters={
            "n_trees": Parameter(100, int, low=1, high=10_000, size=True),
            "depth": Parameter(4, int, low=1, high=12, size=True),
            "batch": Parameter(5, int, low=1),
            "learning_rate": Parameter(1.0, float, low=0, open_low=True),
            "trust": Parameter("secure_sum", choices=TRUSTS),
            **HOLDERS,
        },
        seconds=costs.random_trees,
        needs=("ordered",),
        multiclass=True,
    ),
)
