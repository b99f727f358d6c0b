"""What learners of DP-TopDown trees share: training, the readable model, votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes
from privcurve.kernels.lazybb_trees import (
    BinnedRows,
    Forest,
    TreeNoise,
    bin_rows,
    boost_trees,
    count_tree_votes,
    node_count,
)
from privcurve.learners.one_rule import DENSITY_TOLERANCE
from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.calibration import trees as calibration_trees
from privcurve.privacy.calibration.trees import TreeNoiseRates
from privcurve.privacy.mechanisms import MECHANISMS

EQUALITY = "equality"


@dataclass(frozen=True)
class TreePlan:
    """One setting of (boosted) trees: its shape, weights and noise.

    Attributes
    ----------
    depth : int
        Levels of a tree grown by levels; 0: grown best first.
    n_splits : int
        Internal nodes of a tree grown best first.
    thresholds : bool
        Whether splits may ask for thresholds.
    criterion : str
    density, learning_rate : float
        κ and λ.
    noise : TreeNoiseRates
    """

    depth: int
    n_splits: int
    thresholds: bool
    criterion: str
    density: float
    learning_rate: float
    noise: TreeNoiseRates

    @classmethod
    def make(
        cls,
        *,
        learner: str,
        n: int,
        n_rounds: int,
        density: float,
        learning_rate: float,
        depth: int,
        n_splits: int | None,
        splits: str,
        criterion: str,
        split_share: float | None,
        leaves: str,
        epsilon: float,
        delta: float,
        calibration: str,
        mechanism: str,
    ) -> TreePlan:
        """Settle a setting; see ``calibration_trees.lazybb_trees``.

        Raises
        ------
        ValueError
            If the calibration does not offer what is asked for.
        """
        if n_splits is not None and calibration != PUBLISHED:
            raise ValueError(
                f"{learner}: n_splits = {n_splits} is for calibration='published', which grows "
                "trees best first; certified trees grow by levels: give depth"
            )
        if splits != EQUALITY and calibration == PUBLISHED:
            raise ValueError(
                f"{learner}: splits = {splits!r} is for calibration='certified'; published trees "
                "ask for one code of a column"
            )
        t = 2**depth - 1 if n_splits is None else n_splits
        noise = calibration_trees.lazybb_trees(
            learner=learner, n=n, n_rounds=n_rounds, density=density,
            learning_rate=learning_rate, depth=depth, n_splits=t, criterion=criterion,
            split_share=split_share, leaves=leaves, epsilon=epsilon, delta=delta,
            calibration=calibration, mechanism=mechanism,
        )  # fmt: skip
        return cls(
            depth if noise.by_levels else 0,
            t,
            splits != EQUALITY,
            criterion,
            density,
            learning_rate,
            noise,
        )


def draw_tree_noise(plan: TreePlan, width: int, rng: np.random.Generator) -> TreeNoise:
    """Draw all random numbers of a fit; how many follows from the setting alone.

    Parameters
    ----------
    plan : TreePlan
    width : int
        All bins of all columns together.
    rng : numpy.random.Generator

    Returns
    -------
    TreeNoise
    """
    n_rounds = len(plan.noise.rates)
    n_nodes = node_count(plan.depth, plan.n_splits)
    inner = 2**plan.depth - 1 if plan.depth else plan.n_splits
    if np.isinf(plan.noise.label_rates).any():
        empty = np.zeros((n_rounds, inner, 0 if plan.depth else 1))
        return TreeNoise(empty, empty, np.zeros((n_rounds, n_nodes)))
    n_questions = 2 * width if plan.thresholds else width
    choice = MECHANISMS[plan.noise.mechanism].draw
    rules = np.zeros((n_rounds, 0, 0))
    if plan.noise.rules:
        last = 2 ** (plan.depth - 1)
        splits = choice(rng, (n_rounds, inner - last, n_questions))
        rules = choice(rng, (n_rounds, last, 2 * n_questions + 2))
        return TreeNoise(splits, rules, np.zeros((n_rounds, n_nodes)))
    splits = (
        choice(rng, (n_rounds, inner, n_questions))
        if plan.depth
        else rng.random((n_rounds, inner, 1))
    )
    labels = MECHANISMS[plan.noise.label_noise].draw(rng, (n_rounds, n_nodes))
    return TreeNoise(splits, rules, labels)


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Trees that vote: each answers −1 or +1, the score is the sum.

    Attributes
    ----------
    forest : Forest
        See :class:`privcurve.kernels.lazybb_trees.Forest`.
    n_bins : ndarray of shape (n_columns,)
    """

    forest: Forest
    n_bins: NDArray[np.int64]

    @property
    def columns(self) -> NDArray[np.int64]:
        """The column of each bin."""
        return np.repeat(np.arange(len(self.n_bins)), self.n_bins)

    @property
    def values(self) -> NDArray[np.int64]:
        """The code of each bin in its column."""
        starts = np.cumsum(self.n_bins) - self.n_bins
        return np.arange(int(self.n_bins.sum())) - np.repeat(starts, self.n_bins)

    @property
    def n_trees(self) -> int:
        """How many trees vote."""
        return len(self.forest.splits)

    @property
    def questions(self) -> NDArray[np.int64]:
        """Distinct questions of the trees."""
        found: NDArray[np.int64] = np.unique(self.forest.splits[self.forest.splits >= 0])
        return found

    def votes(self, codes: Codes) -> NDArray[np.int64]:
        """Sum the votes for each row.

        Parameters
        ----------
        codes : ndarray of unsigned integers, shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return count_tree_votes(codes, self.columns, self.values, *self.forest)

    def describe(
        self,
        bin_names: Sequence[Sequence[str]] | None = None,
        column_names: Sequence[str] | None = None,
    ) -> str:
        """Write the trees as nested questions.

        Parameters
        ----------
        bin_names : sequence of sequence of str, optional
            The name of each code of each column, such as ``dataset.domain.bin_names``.
        column_names : sequence of str, optional

        Returns
        -------
        str
        """
        columns, values = self.columns.tolist(), self.values.tolist()

        def ask(question: int) -> str:
            b = question % len(columns)
            column, code = columns[b], values[b]
            name = column_names[column] if column_names is not None else f"column {column}"
            relation = "=" if question < len(columns) else "at most"
            return f"{name} {relation} {bin_names[column][code] if bin_names is not None else code}"

        def lines(tree: int, node: int, indent: str) -> Iterator[str]:
            child = int(self.forest.children[tree, node])
            if child == 0:
                yield f"{indent}{int(self.forest.labels[tree, node]):+d}"
                return
            yield f"{indent}{ask(int(self.forest.splits[tree, node]))}?"
            for answer, to in (("yes", child + 1), ("no", child)):
                below = list(lines(tree, to, indent + "    "))
                if len(below) == 1:
                    yield f"{indent}  {answer}: {below[0].strip()}"
                else:
                    yield f"{indent}  {answer}:"
                    yield from below

        text = []
        for tree in range(self.n_trees):
            if self.n_trees > 1:
                text.append(f"tree {tree + 1}")
            text += lines(tree, 0, "")
        return "\n".join(text)

    def __str__(self) -> str:
        return self.describe()


class TreeLearner(Protocol):
    """A learner that can be trained by :func:`fit_trees`."""

    model_: TreeModel

    def _plan(self, n: int) -> TreePlan: ...

    def _adopt_trees(self, model: TreeModel, n: int, plan: TreePlan) -> None: ...


def fit_trees(
    learners: Sequence[TreeLearner],
    n_bins: NDArray[np.int64],
    codes: Codes,
    signs: NDArray[np.int8],
    counts: NDArray[np.int64],
    rngs: Sequence[np.random.Generator],
) -> None:
    """Train learners of trees on the same rows.

    Parameters
    ----------
    learners : sequence of TreeLearner
    n_bins, codes, signs, counts, rngs
        As in ``CodedClassifier._fit_batch``.

    Raises
    ------
    ArithmeticError
        If a record had more weight than the privacy proof allows; never to be seen.
    """
    n = int(counts.sum())
    rows: BinnedRows = bin_rows(codes, n_bins, signs, counts)
    for learner, rng in zip(learners, rngs, strict=True):
        plan = learner._plan(n)
        forest, largest = boost_trees(
            rows, plan.density, plan.learning_rate,
            plan.depth, plan.n_splits, plan.thresholds, plan.criterion,
            plan.noise.rates, plan.noise.label_rates, plan.noise.rules, plan.noise.normalise,
            draw_tree_noise(plan, int(n_bins.sum()), rng),
        )  # fmt: skip
        if not largest <= 1 + DENSITY_TOLERANCE:
            raise ArithmeticError(
                f"internal error in {type(learner).__name__}: a record had {largest!r} times "
                "the weight that the privacy proof allows; the model is withheld. Please "
                "report this with the parameters."
            )
        learner._adopt_trees(TreeModel(forest, n_bins), n, plan)
