"""Train forests of random trees with noisy leaves (RF-L, RF-E), with published or proved noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, Signs
from privcurve.kernels.trees.form import Trees, bin_rows
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.chances import succession
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.tree_sums import TreeSumClassifier
from privcurve.privacy.budget import ADD_REMOVE, PROVED, PUBLISHED
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.mechanisms import NOISY_LABEL
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import kernel
from privcurve.privacy.sensitivity.counts import histogram_l1, margins_l1

from .._kernel import WeightedRows, draw_tree
from .._leaves import leaves_in, shrunk_votes
from . import Parameters

EXPONENTIAL_LEAVES = "exponential"
SIGN = "sign"

SOURCE = "papers/boosted_dp/proofs.md, 'Forests'"
SOURCE_PUBLISHED = f"Nock and Henecka §17.2; valid, of 2**depth leaves two move: {SOURCE}"
LEAVES = "the leaves of a tree"


@kernel
def label_weights(
    codes: Codes, n_bins: Ints, signs: Signs, counts: Ints, trees: Trees, starts: Ints
) -> Floats:
    """Return numbers of positive and negative records by leaf: shape (n_trees, 2, n_leaves).

    `starts` has the first bin of each column, in the numbering of bins over all columns.
    """
    bins, labels = bin_rows(codes, n_bins, signs)
    data = WeightedRows(bins, labels, counts.astype(np.float64), starts)
    n_leaves = trees.column.shape[1] + 1
    each = (leaves_in(bins, trees.subset(t, t + 1)) for t in range(len(trees.column)))
    return np.array([data.sum_by_leaf(leaves, n_leaves) for leaves in each])


@dataclass(kw_only=True, eq=False, repr=False)
class DPForestClassifier(TreeSumClassifier, PrivateClassifier, Parameters):
    r"""Random trees whose leaves vote with noise (Nock and Henecka 2022, §17.2).

    The questions of a tree are drawn uniformly, without the data. The vote of a leaf depends on the
    noisy margin :math:`D = n_+ - n_-` of its records.

    - ``calibration="published"``: RF-L (``laplace``) and RF-E (``exponential``) divide ε among all
      leaves of all trees.
    - ``calibration="proved"``: ε is divided only among trees, because replacing a record changes at
      most two leaves of a tree (papers/boosted_dp/proofs.md, 'Forests'). Moreover, a node draws
      only questions that separate two bins which its records can have.

    Parameters
    ----------
    n_trees : int
        T, the number of trees.
    depth : int
        d, the number of levels of questions.
    leaves : str
        ``laplace``: D gets Laplace noise. ``exponential``: the label of a leaf is drawn at random;
        the probability of the positive label increases with D.
    votes : str
        ``sign``: a leaf votes 1 or −1 for its label. ``shrunk``: a leaf votes D/(|D| + c), where c
        grows with the noise scale and the mean number of records per leaf (only with ``proved``
        and ``laplace``).
    epsilon : float
        ε, above 0. At ∞ the leaves have no noise; the questions are still random.
    delta : float
        Must be 0.
    calibration : str
        ``published`` or ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    splits_ : ndarray of shape (n_trees, 2**depth - 1)
        Questions, numbered as in :mod:`privcurve.kernels.trees.levels`.
    leaf_values_ : ndarray of shape (n_trees, 2**depth)
        The votes of the leaves, from −1 to 1.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.tree_sums.TreeSumClassifier`.
    """

    _learner = "dp_forest"

    def _calls(self, n: int) -> tuple[Announced, ...]:
        published, drawn = self.calibration == PUBLISHED, self.leaves == EXPONENTIAL_LEAVES
        n_leaves = 2 ** int(self.depth)
        if drawn:
            # The paper's noise and the proved noise use the same sensitivity here: the paper's
            # exponential mechanism assumes 2, and 2 is the sensitivity of the margin D.
            calls = Announced("tree {}: labels of all leaves", margins=margins_l1(), by=NOISY_LABEL)
        else:
            # The paper scales its Laplace noise for add-remove neighbours.
            l1 = histogram_l1(ADD_REMOVE) if published else margins_l1()
            calls = Announced("tree {}: margins of all leaves", l1=l1)
        return (
            replace(
                calls,
                times=int(self.n_trees),
                calls=2 * n_leaves if published and not drawn else n_leaves,
                parts=n_leaves if published else 1,
                parallel="" if published else LEAVES,
                source=SOURCE_PUBLISHED if published else SOURCE,
            ),
        )

    def _release(self, records: Records, curator: Curator) -> None:
        codes, signs, counts, _ = records
        n_trees, depth = int(self.n_trees), int(self.depth)
        starts = self._bin_starts()
        what = "labels" if self.leaves == EXPONENTIAL_LEAVES else "margins"
        self._begin(depth, records.n)
        for splits in self.splits_:
            draw_tree(starts, self.calibration == PROVED, curator.coins, splits)
        weights = label_weights(codes, self.n_bins_, signs, counts, self._trees(), starts)
        margins = weights[:, 0] - weights[:, 1]
        for t in range(n_trees):
            call = curator.call(f"tree {t + 1}: {what} of all leaves")
            self.leaf_values_[t] = self._vote(weights[t], margins[t], call, curator)
        self._count_questions()

    def _vote(self, weights: Floats, margins: Floats, call: Call, curator: Curator) -> Floats:
        """Return the noisy votes of a tree's leaves.

        `weights` are the sealed numbers of positive and negative records by leaf, and `margins` the
        numbers of positive minus negative records.
        """
        if call.mechanism == NOISY_LABEL:
            return np.where(curator.signs(call, margins), 1.0, -1.0)
        if self.calibration == PUBLISHED:
            positive, negative = curator.numbers(call, weights)
            margins = positive - negative
        else:
            margins = curator.numbers(call, margins)
        if self.votes == SIGN:
            return np.sign(margins)
        return shrunk_votes(margins, call.scale, self.n_records_)

    def _restore(self) -> None:
        super()._restore()
        # If a vote were larger than 1, `_link` would compute a probability outside [0, 1].
        require(
            (np.abs(self.leaf_values_) <= 1).all(), "the vote of a leaf is not between -1 and 1"
        )

    def _link(self, scores: Floats) -> Floats:
        return succession(scores, len(self.splits_))
