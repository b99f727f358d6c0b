"""Plant deliberate mistakes in DPBoost and DP bagging, which the audit must find."""

import numpy as np
from mistakes_any import (
    DP_BAGGING,
    DPBOOST,
    DPBOOST_PARAMETERS,
    breaks,
    replace_constant,
    replacement_of,
)

from privcurve.audit.contract import SENSITIVITY, Case
from privcurve.papers.thesis.learners.dp_bagging.classifier import DPBaggingClassifier
from privcurve.papers.thesis.learners.dpboost import classifier as dpboost
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import kernel


@replacement_of(DPBaggingClassifier, "_poll", SENSITIVITY, DP_BAGGING)
def votes_not_divided(original, self, *given):
    """Add up the votes of all partitions without dividing by the number of partitions."""
    return int(self.n_partitions) * original(self, *given)


replace_constant("gradients_not_filtered", dpboost, "GRADIENT_BOUND", 10.0, SENSITIVITY, DPBOOST)


@replacement_of(
    dpboost,
    "leaf_bounds",
    SENSITIVITY,
    Case("dpboost", {**DPBOOST_PARAMETERS, "learning_rate": 0.9}),
)
def leaves_not_clipped(original, n_trees, rate):
    return np.full(n_trees, 10.0)


@breaks(SENSITIVITY, DPBOOST)
def each_tree_has_all_records(patch):
    """Assign all records to each tree of an ensemble, but charge as if the trees divided them."""
    patch.setattr(dpboost, "chunk_ends", lambda n, *_: np.array([n, 2 * n]))

    shuffle = replacement_of(Curator, "shuffle")
    shuffle(
        lambda original, self, places: kernel(lambda p: np.tile(p, 2), rows=0)(
            original(self, places)
        )
    )(patch)
