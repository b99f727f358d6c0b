"""Boosted random trees of several parties, with one noisy sum per round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes, Floats, Ints, Records
from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.random_trees import DrawnTrees
from privcurve.kernels.trees.form import add_trees, ask_two_columns, bin_codes
from privcurve.learners.entries.parameters import RandomTreesParameters
from privcurve.learners.holders.boosting import BoostingPlan, boost, draw_trees, trees_of_questions
from privcurve.learners.holders.holder import Holder
from privcurve.learners.holders.sums import sums_of
from privcurve.learners.holders.transcript import Transcript
from privcurve.learners.shared.chances import clipped_log_odds
from privcurve.learners.shared.checks import all_between, check_complete, require
from privcurve.learners.shared.dealt import PartyClassifier, deal_to_holders, restate_dealt
from privcurve.learners.shared.staged import StagedClassifier
from privcurve.learners.trees import write_trees
from privcurve.privacy.calibration.holders import random_trees
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.parts import PartedRecords


@dataclass(frozen=True, eq=False)
class RandomTreesModel:
    """Complete trees: each inner node has a yes/no question, and each leaf has values."""

    # (n_trees, 2**depth − 1): the question of each inner node, numbered as in `kernels.trees.form`;
    # −1 if a node has no question. Node i has the children 2i + 1 (answer no) and 2i + 2 (answer
    # yes).
    questions: Ints
    trees: DrawnTrees
    values: Floats  # (n_trees, 2**depth, n_outputs): what each leaf adds to each score
    batch: int  # number of trees of each round
    n_bins: Ints  # (n_columns,): number of bins of each column

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

    # The text that `print` shows, with the schema's names; empty if the fit had no schema.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.describe()

    @property
    def joins_columns(self) -> bool:
        """Whether some path of a tree tests more than one column."""
        return ask_two_columns(self.trees.trees())

    def check(self, n_bins: Ints, n_classes: int) -> None:
        """Check a model read from a file.

        Raises ValueError if it does not fit columns with these numbers of bins, or the number of
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
        """Add the values of trees `start` to `stop` (exclusive) to `scores`, in place."""
        add_trees(bins, self.trees.trees().subset(start, stop), self.values[start:stop], scores)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTreesClassifier(PartyClassifier, StagedClassifier, RandomTreesParameters):
    r"""Newton boosting of random trees: only the values of the leaves depend on the records.

    Before any record is read, the questions at the nodes of all trees are drawn with public
    randomness. In each round every party computes, for each leaf of a batch of trees, the sum of
    the residuals of its records and the sum of the norms of these residuals. The server gets these
    sums with Gaussian noise and computes the values of the leaves from them. Residuals are clipped
    at ½ (with K > 2 classes, the vector of residuals at the norm 1/√2). Clipping leaves the
    decision of the exact minimiser unchanged, and halves the noise (docs/proofs.md, 'Clipped
    residuals'). Maddock, Cormode, Wang, Maple and Jha, "Federated Boosted Decision Trees with
    Differential Privacy" (CCS 2022), use such trees but release other sums.

    Parameters
    ----------
    n_trees : int
    depth : int
        Levels of each tree.
    batch : int
        Number of trees of a round. They are fitted to the same residuals, and their values are
        averaged.
    learning_rate : float
        Factor of the mean of the trees of a round. In trials, 2 was slightly better than 1 on all
        tables with two classes, and 1 was best with ten classes.
    trust : str
        ``secure_sum``: the server sees only sums over all parties, which share the noise;
        ``local``: each message of a party is private by itself; ``central``: one curator has all
        records.
    n_holders : int
        Number of parties that get the records. It has no effect with ``central``.
    n_colluding : int
        With ``secure_sum``: the number of parties that may reveal their shares of the noise to the
        server, which can then subtract these shares. To protect records from a curious party, count
        this party too, because it knows its own share.
    placement : str
        How records are dealt to parties: see :func:`privcurve.learners.holders.placement.deal`.
    epsilon, delta : float
        The budget; δ > 0.
    calibration : str
        ``proved``.
    ordered : sequence of bool, optional
        Which columns have ordered bins (a public fact). A question compares the bin of such a
        column with a threshold; for another column it tests for a single bin. By default all are
        ordered.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : RandomTreesModel
    transcript_ : Transcript
        The number of bits that each party sent, by round.
    n_features_used_ : int
        Number of distinct questions of the trees.
    n_records_ : int
        Number of training records. It is public: replace-one neighbours have equally many.
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
        """Train as the server, with parties that run in this process or elsewhere.

        Parameters
        ----------
        holders : sequence of Holder
            The parties.
        questions : Questions
            All questions that a node can have.
        drawn : ndarray
            The trees from :func:`privcurve.learners.holders.boosting.draw_trees`.
        transcript : Transcript
            It records the sizes of the parties' messages.
        done : callable, optional
            It is called with the finished share of the work.

        Returns
        -------
        tuple of RandomTreesModel and PrivacyStatement
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
