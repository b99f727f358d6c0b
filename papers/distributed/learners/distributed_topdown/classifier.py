"""Train distributed DP-TopDown trees (Wang, Dick and Balcan 2020), as published and as proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Records
from privcurve.kernels.holder_counts import Questions
from privcurve.learners.holders.holder import Holder
from privcurve.learners.holders.sums import CENTRAL, LOCAL, sums_of
from privcurve.learners.holders.transcript import Transcript
from privcurve.learners.shared.dealt import PartyClassifier, deal_to_holders, restate_dealt
from privcurve.learners.trees import TopDownTreeClassifier, TreeModel
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement

from . import Parameters
from .best_first import BestFirstPlan, grow_best_first
from .by_levels import LevelsPlan, grow_by_levels
from .noise import (
    DECAY,
    LEVELS,
    LOCAL_RNM,
    SINGLE,
    level_holders,
    published_holders,
)
from .tree import GrownTree

# Defaults of the paper: N_SPLITS is its M (the maximum number of splits), MOST_LEVELS the maximum
# depth, and LEAF_SHARE its LPF (the share of ε for leaves). LEVELS_OF_SPLITS is the default depth
# of the proved protocols.
N_SPLITS = 512
MOST_LEVELS = 80
LEVELS_OF_SPLITS = 3
LEAF_SHARE = 0.5


class ClassTree(TreeModel):
    """A tree for more than two classes; a leaf's label is a position in the list of classes."""

    def _leaf(self, tree: int, node: int, class_names: Sequence[str] | None) -> str:
        position = int(self.forest.labels[tree, node])
        return f"class {position}" if class_names is None else class_names[position]


@dataclass(kw_only=True, eq=False, repr=False)
class DistributedTopDownClassifier(PartyClassifier, Parameters):
    r"""A decision tree that a server grows from noisy messages of several parties.

    With ``calibration="published"`` the learner runs Algorithm 1 of Wang, Dick and Balcan (PPAI
    2020). The next node to split has the largest product of noisy weight and noisy gain. Its
    question is chosen by report noisy max on one machine (``single``), from noisy counts of all
    questions (``noisy_counts``), or from noisy counts of the questions for which the parties vote
    with noise (``local_rnm``). The guarantee is weaker than the paper's claim: see ``privacy_``. In
    the paper's notation, α is ε, LPF is the share of ε for leaves, H is the set of questions, G is
    the criterion, a_d is the budget of a node at depth d, and α′ is the part of a_d for a split.
    Where the paper is ambiguous, this implementation does the following:

    - A1: `n_splits` limits the number of internal nodes, `depth` the number of levels of splits.
    - A2: below the root, the weight of a node and its split each get half of the node's budget.
    - A3: the noise of NoisyCounts is Lap(3\|H\|/α′); the paper's other scale is a typo.
    - A4: a negative sum of noisy counts counts as 0. G of the node uses the counts by class, the
      shares of the sides use the counts by side, and G of a side uses the joint counts. If counts
      in a denominator add up to 0, the gain is −1.
    - A5: on one machine a node with fewer than two records is not split. The tree thus reveals that
      the node is small, and the privacy statement excludes this leak. A party with fewer than two
      records at a node votes at random.
    - A6: with uniform budgets a chain of M splits spends (M + 1)/M of the budget, as in the paper.
    - A7: if two parties vote for the same question, its counts are collected twice.
    - A8: thresholds are the inner edges of the domain's bins.
    - A9: blocks of pixels are columns of the dataset; the learner does not compute them.
    - A10: the root's split gets all of a_1, as in line 3 of the algorithm.
    - A11: `smallest_weight` and `smallest_gain` apply at ε = ∞, too.
    - A12: a party's counts of labels have the noise Lap(1/(LPF·α)), as in the authors' program;
      the proof of Corollary 16 has twice this scale.

    With ``calibration="proved"`` the protocols are the same, but trees grow level by level and have
    proved noise (papers/distributed/proofs.md, 'Levels'). On each level the parties send noisy
    histograms by bin and class: of all columns (``noisy_counts``), or of the columns for which the
    parties vote with noise (``local_rnm``). On one machine (``single``) the tree equals, bit for
    bit, the tree of the proved learner ``topdown`` with ``splits="threshold", leaves="rules"``.

    Parameters
    ----------
    protocol : str
        ``noisy_counts``, ``local_rnm`` or ``single``.
    trust : str, optional
        ``local`` (the default): each message of a party is private by itself. ``secure_sum``: the
        server sees only sums of counts over all parties, and each party adds a share of the noise
        of a sum (only with ``proved``). ``central``: one trusted curator has all records (only with
        ``proved``). Leave the parameter out with ``single``, which always has a curator.
    n_holders : int
        Number of parties among which the records are divided. With a curator it has no effect.
    n_colluding : int
        With ``secure_sum``: the number of parties that may reveal, or subtract, their shares of the
        noise. Count a curious party too, because it knows its own share.
    placement : str
        How records are dealt to parties: see :func:`privcurve.learners.holders.placement.deal`.
    criterion : str
        ``gini``, ``entropy``, ``root_gini`` (two classes) or ``zero_one``.
    budget : str, optional
        How the budget for splits is divided among levels. ``decay``: level d gets a share in
        proportion to 2^−d (the default of ``published``). ``uniform``: the share of a level is
        1/`n_splits` (only with ``published``). ``levels``: all levels get equal shares (only with
        ``proved``; it is the default).
    leaf_share : float, optional
        Only with ``published``: LPF, the share of ε for the labels of leaves; ½ by default.
    n_splits : int, optional
        Only with ``published``: M, the maximum number of splits; 512 by default.
    depth : int, optional
        The maximum number of levels of splits: by default 80 for published trees, 3 for proved
        trees.
    vote_share : float
        With ``proved`` and ``local_rnm``: the share of a level's budget for votes.
    smallest_weight : float
        Only with ``published``: a node is split only if its noisy share of the records is at least
        this number divided by `n_splits`.
    smallest_gain : float
        Only with ``published``: a node is split only if its noisy gain exceeds this number.
    epsilon, delta : float
        The budget; δ > 0 only with ``proved`` (Gaussian noise).
    calibration : str
        ``published`` or ``proved``.
    ordered : sequence of bool, optional
        For each column, whether its bins are ordered (a public fact). A question about an ordered
        column compares the bin with a threshold; a question about another column asks for one bin.
        By default all columns are ordered. The proved ``single`` ignores this parameter: all its
        splits are thresholds.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : TreeModel
        The tree; ``print`` shows it as text. With more than two classes, the label of a leaf is
        the position of a class.
    transcript_ : Transcript
        The number of bits that each party sent, by round.
    n_features_used_ : int
        Number of distinct questions of the tree.
    n_records_ : int
        Number of training records. It is public, because it is equal for replace-one neighbours.
    """

    _learner = "distributed_topdown"
    _released: ClassVar[Mapping[str, Any]] = {"model_": TreeModel}

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        self.n_records_ = records.n
        if self.protocol == SINGLE and self.calibration == PROVED:
            return self._fit_topdown(records, curator)
        holders, questions = deal_to_holders(self, records, curator)
        transcript = Transcript(len(holders))
        tree, statement = self.grow(holders, questions, transcript)
        model = TreeModel if len(self.classes_) == 2 else ClassTree
        forest = tree.forest(questions, len(self.classes_))
        self._adopt(model(forest, self.n_bins_), transcript)
        return restate_dealt(self, len(holders), statement)

    def grow(
        self, holders: Sequence[Holder], questions: Questions, transcript: Transcript
    ) -> tuple[GrownTree, PrivacyStatement]:
        """Grow a tree as the server of parties, which may run in this process or in others.

        `questions` are the possible questions about the columns; `transcript` records the sizes of
        the parties' messages. Returns the tree and its privacy statement.
        """
        sizes = [holder.size for holder in holders]
        shape = questions, len(self.classes_), sum(sizes), self.criterion
        if self.criterion == "root_gini" and len(self.classes_) > 2:
            raise ValueError(
                "criterion must be 'gini', 'entropy' or 'zero_one' for more than two classes; "
                "got 'root_gini'"
            )
        if self.calibration == PUBLISHED:
            return self._grow_published(holders, shape, transcript)
        depth = LEVELS_OF_SPLITS if self.depth is None else int(self.depth)
        sums = sums_of(self._trust(), len(holders), int(self.n_colluding))
        noise = level_holders(
            depth=depth,
            votes=self.protocol == LOCAL_RNM,
            vote_share=float(self.vote_share),
            budget=LEVELS if self.budget is None else self.budget,
            criterion=self.criterion,
            n=max(sizes),
            n_columns=len(self.n_bins_),
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            trust=self._trust(),
            n_colluding=int(self.n_colluding),
        )
        plan = LevelsPlan(*shape, depth, noise)
        return grow_by_levels(holders, plan, sums, transcript), noise.statement

    def _grow_published(
        self,
        holders: Sequence[Holder],
        shape: tuple[Questions, int, int, str],
        transcript: Transcript,
    ) -> tuple[GrownTree, PrivacyStatement]:
        if self.trust not in (None, LOCAL):
            raise ValueError(
                f"trust must be 'local' for calibration='published'; got {self.trust!r}: in the "
                "published protocols each party adds all noise to each of its messages"
            )
        n_splits = N_SPLITS if self.n_splits is None else int(self.n_splits)
        noise = published_holders(
            protocol=self.protocol,
            criterion=self.criterion,
            budget=DECAY if self.budget is None else self.budget,
            leaf_share=LEAF_SHARE if self.leaf_share is None else float(self.leaf_share),
            n_splits=n_splits,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
        )
        depth = MOST_LEVELS if self.depth is None else int(self.depth)
        least = float(self.smallest_weight), float(self.smallest_gain)
        plan = BestFirstPlan(*shape, n_splits, depth, *least, noise)
        return grow_best_first(holders, plan, transcript), noise.statement

    def _fit_topdown(self, records: Records, curator: Curator) -> PrivacyStatement:
        """Train with protocol ``single`` and proved noise, by the learner ``topdown``."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"protocol 'single' must have two classes if proved; got {len(self.classes_)}: "
                "use protocol='noisy_counts' with trust='central'"
            )
        if self.budget not in (None, LEVELS):
            raise ValueError(
                f"budget must be 'levels' for the proved protocol 'single'; got {self.budget!r}"
            )
        tree = TopDownTreeClassifier(
            depth=LEVELS_OF_SPLITS if self.depth is None else int(self.depth),
            splits="threshold",
            criterion=self.criterion,
            leaves="rules",
            epsilon=self.epsilon,
            delta=self.delta,
        )
        tree.n_bins_ = self.n_bins_
        signs = (2 * records.labels - 1).astype(np.int8)
        tree._fit_batch([tree], records._replace(labels=signs), [curator])
        self._adopt(tree.model_, Transcript(1))
        return replace(tree._fitted_statement, learner=self._learner)

    def _trust(self) -> str:
        if self.protocol == SINGLE:
            return CENTRAL
        return LOCAL if self.trust is None else self.trust

    def _adopt(self, model: TreeModel, transcript: Transcript) -> None:
        self.model_ = model
        self.n_features_used_ = model.n_features_used
        self.transcript_ = transcript

    def _restore(self) -> None:
        if len(self.classes_) == 2:
            self.model_.check(self.n_bins_)
        else:
            forest = self.model_.check(self.n_bins_, range(len(self.classes_)))
            self.model_ = ClassTree(forest, self.n_bins_)

    def _scores(self, codes: Codes) -> Floats:
        votes = self.model_.tally(codes)
        if len(self.classes_) == 2:
            return votes.astype(np.float64)
        return np.eye(len(self.classes_))[votes]

    def _measures(self) -> dict[str, float]:
        size = self.model_.measures()
        shape = {"n_nodes": size["nodes"], "tree_depth": size["depth"]}
        return {**shape, **self.transcript_.measures()}
