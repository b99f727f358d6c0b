"""Implement a party of random trees whose records are partitioned and do not fit into memory."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, Records
from privcurve.kernels.random_trees import DrawnTrees
from privcurve.kernels.trees.form import add_leaves, bin_codes, find_leaves
from privcurve.learners.holders.holder import HolderRows, leaf_sums
from privcurve.learners.holders.sums import MessageNoise
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import PartedRecords, Totals

# Number of rows that are processed at once; it limits the memory for their bins and residuals.
CHUNK = 65_536


class Round(NamedTuple):
    """The trees of a finished boosting round, and their leaves' contributions to the scores."""

    trees: DrawnTrees
    values: Floats


class LeafRows:
    """Rows of one part of the records, with their scores after the rounds so far."""

    def __init__(self, records: Records, n_classes: int) -> None:
        self._records, self._n_classes = records, n_classes
        n_outputs = DrawnTrees.n_outputs(n_classes)
        self._scores = np.zeros((len(records.labels), n_outputs))
        self._n_rounds = 0

    def leaves(self, rounds: tuple[Round, ...], trees: DrawnTrees) -> Ints:
        """Return the sums of residuals in the leaves of `trees`, in units of `trees.unit`.

        `rounds` are all finished rounds. The method first updates the scores with the trees of
        all rounds that finished since its last call.
        """
        codes, labels, counts, n_bins = self._records
        n_inner = trees.columns.shape[1]
        total = np.zeros(0, dtype=np.int64)
        for start in range(0, len(labels), CHUNK):
            chunk = slice(start, start + CHUNK)
            bins = bin_codes(np.ascontiguousarray(codes[chunk]), n_bins)
            for past in rounds[self._n_rounds :]:
                leaves = find_leaves(bins, past.trees.trees()) - n_inner
                add_leaves(leaves, past.values, self._scores[chunk])
            # With two classes, convert the labels −1 and 1 to the class positions 0 and 1.
            classes = np.maximum(labels[chunk], 0).astype(np.int64)
            rows = HolderRows(bins, classes, counts[chunk])
            _, sums = leaf_sums(rows, self._scores[chunk], trees, self._n_classes)
            total = sums if start == 0 else total + sums
        self._n_rounds = len(rounds)
        return total


class PartedHolder:
    """A party with the interface `Holder` for random trees, whose records are in parts.

    It adds up the sums over all parts, and then adds the noise once.
    """

    def __init__(self, records: PartedRecords, n_classes: int, curator: Curator) -> None:
        self.size = records.n
        self.curator = curator
        self._rows = Totals(records, partial(LeafRows, n_classes=n_classes))
        self._rounds: list[Round] = []

    def leaves(self, trees: DrawnTrees, release: MessageNoise) -> NDArray[Any]:
        """Return the noisy sums of residuals in the leaves of `trees`."""
        self._trees = trees
        exact = self._rows.ask("leaves", tuple(self._rounds), trees)
        return release.message(exact * trees.unit, self.curator)

    def move(self, values: Floats) -> None:
        """Store the values of the last trees' leaves, which the next `leaves` adds to scores."""
        self._rounds.append(Round(self._trees, values))
