"""Additive models, whose settings follow from a public rule."""

from __future__ import annotations

from privcurve.learners import costs
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import ADD_REMOVE, CERTIFIED, REPLACE_ONE

ENTRIES: tuple[LearnerEntry, ...] = (
    LearnerEntry(
        name="privgam",
        path="privcurve.learners.privgam:PrivGAMClassifier",
        version=3,
        title="PrivGAM",
        calibrations=(CERTIFIED,),
        approximate=True,
        parameters={
            "method": Parameter("rule", choices=("rule", "cyclic", "greedy")),
            "n_rounds": Parameter(
                10, int, low=1, size=True, used_with={"method": ("cyclic", "rule")}
            ),
            "n_steps": Parameter(None, int, low=1, used_with={"method": ("greedy", "rule")}),
            "bins": Parameter("rule", choices=("rule", "all", "few")),
            "linear": Parameter("rule", choices=("rule", "yes", "no")),
            "pairs": Parameter("rule", choices=("rule", "yes", "no")),
            "n_estimate": Parameter(None, int, low=1),
        },
        seconds=costs.privgam,
        told=("ordered",),
        neighbours=(REPLACE_ONE, ADD_REMOVE),
    ),
)
