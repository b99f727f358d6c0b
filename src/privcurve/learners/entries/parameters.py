"""Hyperparameters shared by several learners, and constructors of parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from privcurve.learners.entry import ANY, Parameter
from privcurve.privacy.budget import ADD_REMOVE, PROVED, PUBLISHED, REPLACE_ONE

BOTH = (PUBLISHED, PROVED)
OF_PUBLISHED, OF_PROVED = {ANY: PUBLISHED}, {ANY: PROVED}

# Best numbers of mixed bins per column: FEW for learners that ask about single bins, SOME for
# learners with a number per bin; from public tables (docs/research/coding.md).
FEW, SOME = 8, 12


def positive(default: float | None, **more: Any) -> Parameter:
    """Return a parameter that is a number > 0."""
    return Parameter(default, float, low=0, open_low=True, **more)


def share(default: float | None, **more: Any) -> Parameter:
    """Return a parameter that is a share in (0, 1)."""
    return Parameter(default, float, 0, 1, open_low=True, open_high=True, **more)


def part(default: float, **more: Any) -> Parameter:
    """Return a parameter that is a share in (0, 1]."""
    return Parameter(default, float, 0, 1, open_low=True, **more)


MECHANISM = Parameter("auto", choices=("auto", "permute_and_flip", "exponential"))
TREE = {
    "depth": Parameter(3, int, low=1, high=10, size=True, used_with={"n_splits": (None,)}),
    "n_splits": Parameter(None, int, low=1, high=255, only=OF_PUBLISHED),
    "criterion": Parameter("gini", choices=("gini", "entropy", "root_gini", "zero_one")),
    "splits": Parameter("equality", choices=("equality", "threshold"), only=OF_PROVED),
    "leaves": Parameter("labels", choices=("labels", "rules")),
    "split_share": share(None),
}
START = Parameter("none", choices=("none", "public"), with_public=("public",))
INPUTS = {
    "columns": Parameter(
        "all", choices=("all", "public", "private"), with_public=("public", "private")
    ),
    "encoding": Parameter("one_hot", choices=("one_hot", "scaled")),
}
C = positive(1.0)

BOOSTED_TREE = {
    name: replace(parameter, used_with={**parameter.used_with, "weak_learner": ("topdown",)})
    for name, parameter in TREE.items()
}

# The values of a record determine its party.
BY_VALUE = (
    "records are dealt to parties by their values, so that one replaced record may move, and "
    "change what several parties send"
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

# Shared by the learners with Gaussian noise on sums of all columns at once.
GAUSSIAN: dict[str, Any] = {
    "calibrations": (PROVED,),
    "approximate": True,
    "pure": False,
    "takes": ("ordered",),
    "neighbours": (REPLACE_ONE, ADD_REMOVE),
}
GROUPS = Parameter(16, int, low=2)
