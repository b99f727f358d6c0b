"""List proved learners, each with one fixed setting.

A comparison trains these learners by default, and a release can choose among them. The settings
were fixed beforehand, mostly as in the study `frontier`, and do not depend on any user's records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.learners import registry

RULES: Mapping[str, Any] = {"leaves": "rules", "splits": "threshold", "criterion": "zero_one"}
TREES: Mapping[str, Any] = {"weak_learner": "topdown", **RULES}
LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "privgam": {"learner": "privgam"},
    "lazybb_trees": {
        "learner": "lazybb",
        "title": "LazyBB, trees of rules",
        "fixed": {**TREES, "depth": 1, "n_rounds": 9, "learning_rate": 0.25, "density": 0.3},
    },
    "tree_of_rules": {
        "learner": "topdown",
        "title": "One tree of rules",
        "fixed": {**RULES, "depth": 1},
    },
    "tree_of_rules_2": {
        "learner": "topdown",
        "title": "One tree of rules, two levels",
        "fixed": {**RULES, "depth": 2},
    },
    "dp_lr": {"learner": "dp_logistic_regression", "fixed": {"C": 0.01}},
    "noisy_bayes": {"learner": "noisy_bayes"},
    "random_trees": {
        "learner": "random_trees",
        "title": "Boosted random trees",
        "fixed": {"trust": "central", "n_holders": 1, "n_trees": 100, "depth": 4},
    },
    "noisy_majority": {"learner": "noisy_majority"},
}

# The default learner of a release: it supports any δ, many classes, and partitioned records.
DEFAULT = "privgam"


def title(spec: Mapping[str, Any]) -> str:
    """Return the title of an item of `LEARNERS`, or its learner's title if the item has none."""
    return spec.get("title", registry.entry(spec["learner"]).title)


def name_of(learner: str, setting: Mapping[str, object]) -> str:
    """Return the title of the item of `LEARNERS` with this learner and setting.

    If there is no such item, return the title of the learner.
    """
    for spec in LEARNERS.values():
        if spec["learner"] == learner and spec.get("fixed", {}) == setting:
            return title(spec)
    return registry.entry(learner).title


def suitable_learners(
    specs: Mapping[str, Mapping[str, Any]], n_classes: int, delta: float
) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """Return the items of `specs` that support `n_classes` and `delta`; for others, the reasons.

    A learner that supports only δ = 0 counts as suitable, and is trained with δ = 0.
    """
    suitable: dict[str, Mapping[str, Any]] = {}
    left_out = []
    for label, spec in specs.items():
        entry = registry.entry(spec["learner"])
        budget = {"delta": entry.delta_passed(delta)} if entry.private else {}
        if why := entry.refuses(n_classes=n_classes, **budget):
            left_out.append(f"{title(spec)}: {why}")
        else:
            suitable[label] = spec
    return suitable, left_out
