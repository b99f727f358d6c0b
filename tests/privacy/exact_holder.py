"""A data holder of a test, which says how likely each of its votes is."""

import math

import numpy as np

from privcurve.holders.holder import LocalHolder
from privcurve.kernels.holder_counts import split_values
from privcurve.kernels.trees.choice import CRITERIA


class ExactHolder(LocalHolder):
    def __init__(self, rows, questions, n_classes):
        super().__init__(rows, questions, n_classes, (0,))

    def chances(self, node, ballot):
        """Return the log-chance of each question of a certified vote."""
        totals, yes = self._count(node)
        scores = -ballot.rate * split_values(totals - yes, yes, CRITERIA.index(ballot.criterion))
        scores -= scores.max()
        return scores - math.log(np.exp(scores).sum())
