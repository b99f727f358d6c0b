"""List claims of other libraries' learners, to be attacked by canaries.

This attack needs no access to the noise, which other libraries draw themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privcurve.audit.attacks.any_learner import claim_by_canaries
from privcurve.audit.canaries import CANARIES
from privcurve.privacy.budget import PUBLISHED

# For each learner, hyperparameters with which models distinguish many bins, one for each canary.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "dp_ebm": {"learning_rate": 1.0, "max_bins": CANARIES},
    "dpl_random_forest": {"max_depth": 12, "n_estimators": 1},
    "dpl_decision_tree": {"max_depth": 12},
    # This library encodes unordered columns as one-hot, so that each bin has a coefficient.
    "dpl_logistic_regression": {"C": 100.0},
    "dpl_gaussian_nb": {},
}

CLAIMS = tuple(claim_by_canaries(name, PUBLISHED, setting) for name, setting in SETTINGS.items())
