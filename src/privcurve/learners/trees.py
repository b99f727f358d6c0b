"""DP-TopDown trees: a learner of one tree, and the trees as weak learners of LazyBB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Ints, Records
from privcurve.kernels.lazybb_trees import (
    BinnedRows,
    Forest,
    TreeNoise,
    boost_trees,
    node_count,
)
from privcurve.kernels.trees.form import Trees, add_trees, ask_two_columns, bin_codes, ranges
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import TopDownParameters
from privcurve.learners.shared.checks import all_between, require
from privcurve.learners.shared.tree_sums import bins_kernel
from privcurve.learners.shared.voting import VotingClassifier, with_weight_check
from privcurve.privacy.calibration.trees import TreeNoiseRates, lazybb_trees
from privcurve.privacy.curator import Curator, call_of

EQUALITY = "equality"

grow_trees = with_weight_check(boost_trees)


@dataclass(frozen=True)
class TreePlan:
    """The settings of a fit of trees: size, density κ, learning rate λ, and calibrated noise.

    With `depth` 0, trees grow best first until they have `n_splits` internal nodes; otherwise they
    grow level by level, with `depth` levels of splits.
    """

    depth: int
    n_splits: int
    thresholds: bool
    criterion: str
    density: float
    learning_rate: float
    noise: TreeNoiseRates

    @classmethod
    def make(cls, *, depth: int, n_splits: int | None, splits: str, **setting: Any) -> TreePlan:
        """Return the plan for these hyperparameters, with calibrated noise.

        `setting` has all other parameters of `lazybb_trees`. Raises ValueError if the calibration
        does not support the hyperparameters.
        """
        t = 2**depth - 1 if n_splits is None else n_splits
        noise = lazybb_trees(depth=depth, n_splits=t, **setting)
        return cls(
            depth if noise.by_levels else 0,
            t,
            splits != EQUALITY,
            setting["criterion"],
            setting["density"],
            setting["learning_rate"],
            noise,
        )


def tree_noise(plan: TreePlan, width: int, curator: Curator) -> TreeNoise:
    """Draw all noise of a fit. The shape of the noise depends only on the plan and public facts.

    `width` is the number of bins of all columns together.
    """
    noise, depth = plan.noise, plan.depth
    n_rounds = len(noise.rates)
    n_nodes = node_count(depth, plan.n_splits)
    inner = 2**depth - 1 if depth else plan.n_splits
    no_labels = np.zeros((n_rounds, n_nodes))
    if np.isinf(noise.label_rates).any():
        empty = np.zeros((n_rounds, inner, 0 if depth else 1))
        return TreeNoise(empty, empty, no_labels)
    n_questions = 2 * width if plan.thresholds else width
    # The ledger of each round: an entry per level (or per split), then an entry for the leaves.
    rounds = np.array(noise.statement.ledger, dtype=object).reshape(n_rounds, -1)
    steps = [[call_of(entry, noise.mechanism) for entry in steps] for steps in rounds[:, :-1]]
    if depth:
        # All nodes of a level share the level's entry; node i is on the level ⌊log2(i + 1)⌋.
        steps = [
            [levels[(k + 1).bit_length() - 1] for k in range(2 ** len(levels) - 1)]
            for levels in steps
        ]
    last = [call_of(entry, noise.mechanism if noise.rules else noise.label_noise)
            for entry in rounds[:, -1]]  # fmt: skip
    rules = np.zeros((n_rounds, 0, 0))
    if noise.rules:
        n_last = 2 ** (depth - 1)
        splits = curator.noise(steps, (n_rounds, inner - n_last, n_questions))
        rules = curator.noise(last, (n_rounds, n_last, 2 * n_questions + 2))
        return TreeNoise(splits, rules, no_labels)
    if depth:
        splits = curator.noise(steps, (n_rounds, inner, n_questions))
    else:
        splits = curator.uniform(steps, (n_rounds, inner, 1))
    return TreeNoise(splits, rules, curator.noise(last, no_labels.shape))


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Trees that vote: each predicts −1 or +1, and the score of a row is the sum of the votes."""

    forest: Forest
    n_bins: Ints  # (n_columns,): number of bins of each column

    @property
    def n_rounds(self) -> int:
        """The number of trees."""
        return len(self.forest.splits)

    @property
    def questions(self) -> Ints:
        """The distinct questions of the trees, as sorted numbers: see `kernels.trees.form`."""
        return np.unique(self.forest.splits[self.forest.splits >= 0])

    @property
    def n_features_used(self) -> int:
        """The number of distinct questions of the trees."""
        return len(self.questions)

    def tally(self, codes: Codes, start: int = 0, stop: int | None = None) -> Ints:
        """Return the sum of the votes of trees `start` to `stop` (exclusive) for each row."""
        labels = self.forest.labels[start:stop, :, None]
        votes = np.zeros((len(codes), 1), dtype=np.int64)
        add_trees(bin_codes(codes, self.n_bins), self.trees(start, stop), labels, votes)
        return votes[:, 0]

    def trees(self, start: int = 0, stop: int | None = None) -> Trees:
        """Return trees `start` to `stop` (exclusive) in the form that prediction uses."""
        splits, children = self.forest.splits[start:stop], self.forest.children[start:stop]
        return Trees(*ranges(splits, self.n_bins), children)

    @property
    def joins_columns(self) -> bool:
        """Whether some path of a tree tests more than one column."""
        return ask_two_columns(self.trees())

    def measures(self) -> dict[str, float]:
        """Return the numbers of rounds, distinct questions, nodes and leaves, and the depth.

        Numbers of nodes and leaves are sums over all trees; the depth is the depth of the deepest
        tree.
        """
        parents = self.forest.children > 0
        inner = int(parents.sum())
        depth = np.zeros(self.forest.children.shape, dtype=np.int64)
        # Children come after their parent, so one pass finds all depths.
        for node in range(parents.shape[1]):
            for tree in np.flatnonzero(parents[:, node]):
                child = self.forest.children[tree, node]
                depth[tree, child : child + 2] = depth[tree, node] + 1
        return {
            "rounds": self.n_rounds,
            "questions": self.n_features_used,
            "nodes": 2 * inner + self.n_rounds,
            "leaves": inner + self.n_rounds,
            "depth": int(depth.max()),
        }

    def check(self, n_bins: Ints, labels: Sequence[int] = (-1, 1)) -> Forest:
        """Check a model read from a file, and return its trees.

        Raises ValueError if the trees do not fit columns with `n_bins` bins, if a leaf has another
        label than `labels` (or 0), or if a branch does not end.
        """
        splits, children, leaves = self.forest
        require(np.array_equal(self.n_bins, n_bins), "its trees belong to other columns")
        shapes = splits.shape == children.shape == leaves.shape
        require(shapes and splits.ndim == 2 and splits.size, "its trees have no nodes")
        known_questions = all_between(splits, -1, 2 * int(n_bins.sum()))
        require(known_questions, "its trees ask about columns or codes that do not exist")
        # A model file could have a cycle. If children come after their parent, every branch ends.
        inner, node = children != 0, np.arange(splits.shape[1])
        ends = ((children > node) & (children < len(node) - 1)) | ~inner
        require(ends.all(), "its trees have branches that do not end")
        known_labels = np.isin(leaves[~inner], (0, *labels)).all() and not leaves[inner].any()
        require(known_labels, "its trees have leaves without a label")
        return self.forest

    def _leaf(self, tree: int, node: int, class_names: Sequence[str] | None) -> str:
        """Return the label of a leaf as text."""
        return f"{int(self.forest.labels[tree, node]):+d}"

    def describe(
        self,
        bin_names: Sequence[Sequence[str]] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str:
        """Write the trees as nested questions; see :func:`write_trees`."""
        splits, children, _ = self.forest
        leaf = partial(self._leaf, class_names=class_names)
        return write_trees(splits, children, leaf, self.n_bins, bin_names)

    # The text that `print` shows, with the schema's names; empty if the fit had no schema.
    words: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.words or self.describe()


def write_trees(
    splits: Ints,
    children: Ints,
    leaf: Callable[[int, int], str],
    n_bins: Ints,
    bin_names: Sequence[Sequence[str]] | None,
) -> str:
    """Write trees as nested questions.

    Parameters
    ----------
    splits, children : ndarray of shape (n_trees, n_nodes)
        The arrays of :class:`privcurve.kernels.lazybb_trees.Forest`.
    leaf : callable
        ``leaf(tree, node)`` returns the text of a leaf.
    n_bins : ndarray of shape (n_columns,)
    bin_names : sequence of sequences of str, or None
        A condition for each bin of each column, as in ``dataset.domain.bin_names``:
        30 <= age < 40.
    """
    starts, width = np.cumsum(n_bins) - n_bins, int(n_bins.sum())

    def ask(question: int) -> str:
        b = question % width
        column = int(np.searchsorted(starts, b, side="right")) - 1
        code = b - int(starts[column])
        if bin_names is not None:
            return bin_names[column][code] + (" or below" if question >= width else "")
        return f"column {column} {'=' if question < width else 'at most'} {code}"

    def lines(tree: int, node: int, indent: str) -> Iterator[str]:
        child = int(children[tree, node])
        if child == 0:
            yield f"{indent}{leaf(tree, node)}"
            return
        yield f"{indent}{ask(int(splits[tree, node]))}?"
        for answer, to in (("yes", child + 1), ("no", child)):
            below = list(lines(tree, to, indent + "    "))
            if len(below) == 1:
                yield f"{indent}  {answer}: {below[0].strip()}"
            else:
                yield f"{indent}  {answer}:"
                yield from below

    text = []
    for tree in range(len(splits)):
        if len(splits) > 1:
            text.append(f"tree {tree + 1}")
        text += lines(tree, 0, "")
    return "\n".join(text)


class TopDownTrees:
    """DP-TopDown trees, see :class:`~privcurve.learners.shared.voting.WeakLearner`."""

    def prepare(self, records: Records) -> BinnedRows:
        """Convert records to the kernel's rows, in which bins are numbered through all columns."""
        codes, signs, counts, n_bins = records
        bins, labels = bins_kernel(codes, n_bins, signs)
        return BinnedRows(bins, labels, counts, n_bins)

    def plan(self, learner: Any, setting: Mapping[str, Any]) -> TreePlan:
        """Return the plan of a setting, with calibrated noise."""
        return TreePlan.make(
            depth=int(learner.depth),
            n_splits=None if learner.n_splits is None else int(learner.n_splits),
            splits=learner.splits,
            criterion=learner.criterion,
            split_share=None if learner.split_share is None else float(learner.split_share),
            leaves=learner.leaves,
            **setting,
        )

    def train(
        self, rows: BinnedRows, plan: TreePlan, curator: Curator, begin: Ints | None = None
    ) -> Forest:
        """Grow one tree privately in each round, and return all trees."""
        return grow_trees(
            rows, plan.density, plan.learning_rate,
            plan.depth, plan.n_splits, plan.thresholds, plan.criterion,
            plan.noise.rates, plan.noise.label_rates, plan.noise.rules, plan.noise.normalise,
            tree_noise(plan, int(rows.n_bins.sum()), curator), begin,
        )  # fmt: skip

    def attributes(self, released: Forest, n_bins: Ints) -> Mapping[str, Any]:
        """Return the only fitted attribute of the trees, `model_`."""
        return {"model_": TreeModel(released, n_bins)}


TOP_DOWN_TREES = TopDownTrees()


@dataclass(kw_only=True, eq=False, repr=False)
class TopDownTreeClassifier(VotingClassifier, PrivateClassifier, TopDownParameters):
    """A decision tree whose splits and labels are chosen privately.

    With ``proved``, the tree grows level by level. Each node of a level makes its own private
    choice; as the nodes have disjoint records, all these choices cost no more than one
    (docs/proofs.md, 'Levels of a tree'). With ``published``, the tree grows best first: each split
    is one private choice among all pairs of a leaf and a question.

    Parameters
    ----------
    depth : int
        Number of levels of splits.
    n_splits : int, optional
        Number of internal nodes; only with ``published``. By default as many as a complete tree of
        `depth` has.
    splits : str
        ``equality``: a split asks whether a column has a given bin. ``threshold``: a split may also
        ask whether the bin is at most a threshold, which suits columns with ordered bins; only with
        ``proved``.
    criterion : str
        ``gini``, ``entropy``, ``root_gini`` or ``zero_one``. The noise is proportional to how
        much one of the n records can change a score. Compared with ``gini``, the noise of
        ``zero_one`` is half as large, the noise of ``entropy`` about (log₂ n + 1.4)/4 times, and
        the noise of ``root_gini`` √n/2 times as large. With ``published``, only ``gini``.
    split_share : float, optional
        Share of the budget for the splits; the rest is for the leaves. Only with ``proved``; for
        the default see ``privacy.calibration.trees.lazybb_trees``.
    leaves : str
        ``labels``: the noisy margin of each leaf determines its label. ``rules``: each node of the
        last level makes one private choice of a question and the labels of both answers, by their
        error; this needs less noise. Only with ``proved``.
    epsilon : float
        ε of the whole fit, above 0; infinite: no noise.
    delta : float
        δ; 0 for pure differential privacy. With ``published`` it must be 0.
    calibration : str
        ``proved`` (docs/proofs.md, 'LazyBB: trees') or ``published`` (thesis, Theorem 4.2.2).
    mechanism : str
        The mechanism that chooses splits: ``exponential``, ``permute_and_flip`` (only with
        ``proved`` and δ = 0), or ``auto``: permute-and-flip where it is supported.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : TreeModel
        The tree; ``print`` shows it as text.
    n_features_used_, n_records_
        See :class:`~privcurve.learners.shared.voting.VotingClassifier`.
    privacy_ : PrivacyStatement
        What the fit guarantees, with every mechanism call.

    Examples
    --------
    >>> import numpy as np
    >>> from privcurve.learners.trees import TopDownTreeClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> y = np.array([0, 0, 0, 1])
    >>> tree = TopDownTreeClassifier(depth=2, epsilon=float("inf"), n_bins=2).fit(X, y)
    >>> tree.predict(X)
    array([0, 0, 0, 1])
    """

    _learner = "topdown"
    _released: ClassVar[Mapping[str, Any]] = {"model_": TreeModel}

    @property
    def _weak_learner(self) -> TopDownTrees:
        return TOP_DOWN_TREES
