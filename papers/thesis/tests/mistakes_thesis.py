"""Mistakes in DPBoost and in DP bagging."""

import numpy as np
from mistakes_any import BAGGING, BOOSTED, GRADIENT, breaks, constant, mistake

from privcurve.audit.contract import SENSITIVITY, Case
from privcurve.papers.thesis.learners.dp_bagging.classifier import DPBaggingClassifier
from privcurve.papers.thesis.learners.dpboost import classifier as dpboost
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import kernel


@mistake(DPBaggingClassifier, "_poll", SENSITIVITY, BAGGING)
def votes_not_divided(own, self, *given):
    """The votes of all partitions are added, but not divided by the number of partitions."""
    return int(self.n_partitions) * own(self, *given)


constant("gradients_not_filtered", dpboost, "GRADIENT_BOUND", 10.0, SENSITIVITY, BOOSTED)


@mistake(dpboost, "leaf_bounds", SENSITIVITY, Case("dpboost", {**GRADIENT, "learning_rate": 0.9}))
def leaves_not_clipped(own, n_trees, rate):
    return np.full(n_trees, 10.0)


@breaks(SENSITIVITY, BOOSTED)
def each_tree_has_all_records(patch):
    """Each tree of an ensemble gets all records, but is charged as if the trees shared them."""
    patch.setattr(dpboost, "chunk_ends", lambda n, *_: np.array([n, 2 * n]))

    shuffle = mistake(Curator, "shuffle")
    shuffle(lambda own, self, places: kernel(lambda p: np.tile(p, 2), rows=0)(own(self, places)))(
        patch
    )
