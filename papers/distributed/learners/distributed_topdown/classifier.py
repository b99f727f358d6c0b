"""Distributed DP-TopDown trees (Wang, Dick and Balcan 2020): published, and proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Records
from privcurve.holders.holder import Holder
from privcurve.holders.sums import CENTRAL, LOCAL, sums_of
from privcurve.holders.transcript import Transcript
from privcurve.kernels.holder_counts import Questions
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

# Defaults of the paper, and of the proved protocols.
N_SPLITS = 512
MOST_LEVELS = 80
LEVELS_OF_SPLITS = 3
LEAF_SHARE = 0.5
SMALLEST_WEIGHT = 0.1
SMALLEST_GAIN = 0.01


class ClassTree(TreeModel):
    """A tree whose leaves have the position of a class, of more than two."""

    def _leaf(self, tree: int, node: int, class_names: Sequence[str] | None) -> str:
        position = int(self.forest.labels[tree, node])
        return f"class {position}" if class_names is None else class_names[position]


@dataclass(kw_only=True, eq=False, repr=False)
class DistributedTopDownClassifier(PartyClassifier, Parameters):
    r"""A decision tree that several parties grow with a server, by noisy messages.

    ``published``: Algorithm 1 of Wang, Dick and Balcan (PPAI 2020). The node with the largest
    product of noisy weight and noisy gain is split next. A question is chosen by report noisy max
    on one machine (``single``), from noisy counts of all questions (``noisy_counts``), or from
    noisy counts of the questions that noisy votes of the parties select (``local_rnm``). The
    guarantee is weaker than the paper's claim: see ``privacy_``. Where the paper leaves a choice,
    this implementation does the following:

    - A1: `n_splits` counts internal nodes; a tree has at most `depth` levels of splits, 80.
    - A2: below the root a node's weight and its split each get half of its budget.
    - A3: NoisyCounts has Lap(3\|H\|/α′); the other printed scale is a typo.
    - A4: sums of noisy counts below 0 count as 0; labels' counts give G(q), sides' counts the
      shares, joint counts G of a side; where one of them is empty the gain is −1.
    - A5: on one machine a node of fewer than two records is not split, which shows (it is
      excluded from the statement); a party's vote below two records is drawn uniformly.
    - A6: with uniform budgets a chain of M splits spends (M + 1)/M of the budget: as printed.
    - A7: a question with the votes of two parties is counted twice.
    - A8: thresholds are the inner edges of the domain's bins.
    - A9: the dataset defines blocks of pixels.
    - A10: the root's split gets all of a_1, as in line 3.
    - A11: without noise the thresholds on weight and gain are kept.
    - A12: a party's counts by label have Lap(1/(LPF·α)) each, as in the authors' program; the
      proof of Corollary 16 says twice that.

    ``proved``: the same protocols grown by levels, with proved noise
    (papers/distributed/proofs.md, 'Levels'). A level has noisy histograms by bin and class of all
    columns (``noisy_counts``), or of the columns that private votes of the parties select
    (``local_rnm``); on one machine (``single``) the tree is the proved ``topdown`` with thresholds
    and 1-rules on its last level, bit for bit.

    Parameters
    ----------
    protocol : str
        ``noisy_counts``, ``local_rnm`` or ``single``.
    trust : str, optional
        Who sees what. ``local``: every message is private by itself. ``secure_sum``: the
        server sees only sums of counts, and parties share the noise (proved).
        ``central``: one trusted curator has all records (proved). By default ``local``;
        not for ``single``, which is a curator.
    n_holders : int
        Number of parties that share the records. With a curator it has no effect.
    n_colluding : int
        With ``secure_sum``: number of other parties that may use or reveal their shares of the
        noise. A party is protected from another curious party if this number is at least 1.
    placement : str
        See :func:`privcurve.holders.placement.deal`.
    criterion : str
        ``gini``, ``entropy``, ``root_gini`` (two classes) or ``zero_one``.
    budget : str, optional
        ``decay`` (2^−d) or ``uniform`` (1/`n_splits`) of published trees; ``levels`` (equal)
        or ``decay`` of proved ones. By default ``decay``, and ``levels``.
    leaf_share : float, optional
        Published: LPF, the share of ε for labels of leaves; ½ by default.
    n_splits : int, optional
        Published: M, the maximal number of splits; 512 by default.
    depth : int, optional
        The maximal number of levels of splits: by default 80 for published trees, 3 for proved
        trees.
    vote_share : float
        Proved ``local_rnm``: share of a level's budget for votes.
    smallest_weight : float
        Published: a node is split if its noisy weight is at least this over `n_splits`.
    smallest_gain : float
        Published: and if its noisy gain exceeds this number.
    epsilon, delta : float
        The budget; δ > 0 only with ``proved`` (Gaussian noise).
    calibration : str
        ``published`` or ``proved``.
    ordered : sequence of bool, optional
        Public: which columns have ordered bins. Questions about ordered columns are thresholds,
        questions about other columns are single bins. By default all columns are ordered. The
        proved ``single`` ignores this parameter: all its splits are thresholds.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : TreeModel
        The tree, readable. For more than two classes a leaf has the position of a class.
    transcript_ : Transcript
        The amount that each party sent, by round.
    n_features_used_ : int
        Distinct questions of the tree.
    n_records_ : int
        Public, because neighbours have the same number.
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
        """Coordinate parties, wherever they run."""
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
        """Grow the proved tree of one machine."""
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
