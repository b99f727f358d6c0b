"""Hyperparameters that several learners have."""

from __future__ import annotations

from privcurve.learners.entry import Parameter
from privcurve.privacy.budget import CERTIFIED, PUBLISHED

BOTH = (PUBLISHED, CERTIFIED)

MECHANISM = Parameter("auto", choices=("auto", "permute_and_flip", "exponential"))
TREE = {
    "depth": Parameter(3, int, low=1, high=10, size=True, used_with={"n_splits": (None,)}),
    "n_splits": Parameter(None, int, low=1, high=255),
    "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
    "splits": Parameter("equality", choices=("equality", "threshold")),
    "leaves": Parameter("labels", choices=("labels", "rules")),
    "split_share": Parameter(None, float, 0, 1, open_low=True, open_high=True),
}
START = Parameter("none", choices=("none", "public"), with_public=("public",))
INPUTS = {
    "columns": Parameter(
        "all", choices=("all", "public", "private"), with_public=("public", "private")
    ),
    "encoding": Parameter("one_hot", choices=("one_hot", "scaled")),
}
C = Parameter(1.0, float, low=0, open_low=True)
