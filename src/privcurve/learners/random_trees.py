"""Boosted random trees of several parties, with one noisy sum per round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Floats, Ints, Records
from privcurve.holders.boosting import BoostingPlan, boost, draw_trees, trees_of_questions
from privcurve.holders.holder import Holder
from privcurve.holders.sums import sums_of
from privcurve.holders.transcript import Transcript
from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.random_trees import DrawnTrees
from privcurve.kernels.trees.form import add_trees, ask_two_columns, bin_codes
from privcurve.learners.entries.parameters import RandomTreesParameters
from privcurve.learners.shared.chances import clipped_log_odds
from privcurve.learners.shared.checks import all_between, check_complete, require
from privcurve.learners.shared.dealt import PartyClassifier, deal_to_holders, restate_dealt
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.learners.trees import write_trees
from privcurve.parts import PartedRecords
from privcurve.privacy.calibration.holders import random_trees
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement


@dataclass(frozen=True, eq=False)
class RandomTreesModel:
    """Complete trees: their questions, and what their leaves add to the scores."""

    # (n_trees, 2**depth − 1): numbered as in `privcurve.kernels.trees.choice`; −1 for a node
    # without a question. The children of node i are 2i + 1 (no) and 2i + 2 (yes).
    questions: Ints
    trees: DrawnTrees
    values: Floats  # (n_trees, 2**depth, n_outputs)
    batch: int  # trees of a round
    n_bins: Ints  # (n_columns,)

    def describe(
        self,
        bin_names: Sequence[Sequence[str]] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str:
        """Write the trees as nested questions; see :func:`write_trees`."""
        n_inner = self.questions.shape[1]
        children = np.where(self.questions < 0, 0, 2 * np.arange(n_inner) + 1)
        children = np.pad(children, ((0, 0), (0, n_inner + 1)))

        def leaf(tree: int, node: int) -> str:
            values = self.values[tree, max(node - n_inner, 0)]
            texts = [f"{value:+.4f}" for value in values]
            if class_names is not None:
                texts = [f"{name} {text}" for name, text in zip(class_names, texts, strict=True)]
            return " ".join(texts)

        return write_trees(self.questions, children, leaf, self.n_bins, bin_names)

    # The model in words with the names of a schema, if it was fitted with one.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.describe()

    @property
    def joins_columns(self) -> bool:
        """Whether a tree asks about a column below another one."""
        return ask_two_columns(self.trees.trees())

    def check(self, n_bins: Ints, n_classes: int) -> None:
        """Check a model read from a file.

        Raises ValueError if it does not fit columns with these numbers of codes, or the number of
        classes.
        """
        shape, questions = self.trees.columns.shape, self.questions
        check_complete(shape)
        alike = {part.shape for part in (*self.trees[:3], questions)} == {shape}
        same_columns = alike and np.array_equal(self.n_bins, n_bins)
        inside = same_columns and all_between(self.trees.columns, 0, len(n_bins))
        inside = inside and all_between(questions, -1, 2 * int(n_bins.sum()))
        require(inside, "its trees belong to other columns")
        leaves = shape[0], shape[1] + 1, DrawnTrees.n_outputs(n_classes)
        require(self.values.shape == leaves, "its leaves do not fit its trees and classes")
        require(self.batch > 0, "a round must have trees")

    def add_to(
        self, scores: Floats, bins: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> None:
        """Add the trees from `start` to `stop` (exclusive) to the scores of rows of bins."""
        add_trees(bins, self.trees.trees().subset(start, stop), self.values[start:stop], scores)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTreesClassifier(PartyClassifier, StagedClassifier, RandomTreesParameters):
    r"""Newton boosting of random trees: only the values of leaves see the records.

    Before any record is read, the questions of all trees are drawn from a public stream. In
    each round every holder adds up, in each leaf of a batch of trees, the residuals of its
    records and their sizes, with Gaussian noise; the server turns the sums into values of
    the leaves. Residuals are clipped at ½ (of K > 2 classes their vectors at 1/√2), where the
    decision stays right and the noise is half of what whole residuals take (docs/proofs.md,
    'Clipped residuals'). Trees of this kind, with another release, are in Maddock, Cormode,
    Wang, Maple and Jha, "Federated Boosted Decision Trees with Differential Privacy" (CCS
    2022).

    Parameters
    ----------
    n_trees : int
    depth : int
        Levels of each tree.
    batch : int
        Trees of a round: they see the same scores, and their values are averaged.
    learning_rate : float
        What the mean of a round's trees is multiplied by. On all tables of two classes that
        were tried 2 was better than 1 by 0.002 to 0.006, of ten classes 1 was best.
    trust : str
        ``secure_sum``: the server sees sums alone and parties share the noise;
        ``local``: each message is private by itself; ``central``: one curator.
    n_holders : int
        Among whom the records are dealt. A curator has all of them, whatever it is.
    n_colluding : int
        With ``secure_sum``: how many other parties may use or tell their shares of the noise. A
        party is protected from another curious one if that one is among them.
    placement : str
        See :func:`privcurve.holders.placement.deal`.
    epsilon, delta : float
        The budget; δ > 0.
    calibration : str
        ``proved``.
    ordered : sequence of bool, optional
        Public: which columns have codes with an order. Trees ask these for thresholds, and
        other columns for single codes. By default all are ordered.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : RandomTreesModel
    transcript_ : Transcript
        How much each holder sent, by round.
    n_features_used_ : int
        Distinct questions of the trees.
    n_records_ : int
        Public, for neighbours have equally many.
    """

    _learner = "random_trees"
    _released: ClassVar[Mapping[str, Any]] = {"model_": RandomTreesModel}

    delta: float = 1e-5

    def _fit_one(self, records: Records | PartedRecords, curator: Curator) -> PrivacyStatement:
        self.n_records_ = records.n
        holders, questions = deal_to_holders(self, records, curator)
        drawn = draw_trees(questions, int(self.n_trees), int(self.depth), curator.coins)
        self.transcript_ = Transcript(len(holders))
        self.model_, statement = self.grow(
            holders, questions, drawn, self.transcript_, curator.report
        )
        numbers = np.unique(self.model_.questions)
        self.n_features_used_ = int((numbers >= 0).sum())
        return restate_dealt(self, len(holders), statement)

    def grow(
        self,
        holders: Sequence[Holder],
        questions: Questions,
        drawn: Ints,
        transcript: Transcript,
        done: Callable[[float], None] | None = None,
    ) -> tuple[RandomTreesModel, PrivacyStatement]:
        """Coordinate parties, wherever they run.

        `drawn` are the trees of :func:`privcurve.holders.boosting.draw_trees`; `done` is called
        with the finished share.
        """
        n_classes = len(self.classes_)
        sums = sums_of(self.trust, len(holders), int(self.n_colluding))
        batch = min(int(self.batch), len(drawn))
        noise = random_trees(
            n_trees=len(drawn),
            batch=batch,
            n_classes=n_classes,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            trust=self.trust,
            n_colluding=int(self.n_colluding),
        )
        n = sum(holder.size for holder in holders)
        trees = trees_of_questions(questions, drawn)
        whats = tuple(entry.what for entry in noise.statement.ledger)
        plan = BoostingPlan(
            n_classes, n, trees, batch, float(self.learning_rate), noise.scale, whats
        )
        values = boost(holders, plan, sums, transcript, done)
        numbers = np.append(questions.numbers, -1)[drawn]
        model = RandomTreesModel(numbers, trees, values, batch, self.n_bins_)
        return model, noise.statement

    def _trust(self) -> str:
        return self.trust

    def _restore(self) -> None:
        self.model_.check(self.n_bins_, len(self.classes_))

    def _scores(self, codes: Codes) -> Floats:
        bins = bin_codes(codes, self.n_bins_)
        scores = np.zeros((len(bins), self.model_.values.shape[2]))
        self.model_.add_to(scores, bins)
        return self._class_scores(scores)

    def _stages(self, codes: Codes) -> Iterator[Floats]:
        bins = bin_codes(codes, self.n_bins_)
        scores = np.zeros((len(bins), self.model_.values.shape[2]))
        for start in range(0, len(self.model_.values), self.model_.batch):
            self.model_.add_to(scores, bins, start, start + self.model_.batch)
            yield self._class_scores(scores.copy())

    def _link(self, scores: Floats) -> Floats:
        return clipped_log_odds(scores) if scores.ndim == 1 else scores

    def _class_scores(self, scores: Floats) -> Floats:
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _measures(self) -> dict[str, float]:
        n_trees, n_leaves = self.model_.values.shape[:2]
        shape = {"n_nodes": n_trees * (2 * n_leaves - 1), "tree_depth": n_leaves.bit_length() - 1}
        return {**shape, **self.transcript_.measures()}
