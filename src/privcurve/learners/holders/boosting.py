"""Train random trees on a server, from one sum over the parties for each batch of trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.random_trees import DrawnTrees
from privcurve.kernels.trees.form import NO_QUESTION, ranges
from privcurve.learners.holders.holder import Holder
from privcurve.learners.holders.sums import Sums, ring_unit
from privcurve.learners.holders.transcript import Transcript
from privcurve.privacy.mechanisms import GAUSSIAN
from privcurve.privacy.sensitivity.counts import LARGEST_UNIT

# Values of leaves are clipped to [−LARGEST_VALUE, LARGEST_VALUE] before the learning rate
# multiplies them: noise in leaves with few records could give huge values.
LARGEST_VALUE = 2.0


class BoostingPlan(NamedTuple):
    """Public facts of a fit of random trees; the trees are drawn independently of the records."""

    n_classes: int
    n: int  # number of records
    trees: DrawnTrees
    batch: int  # number of trees in each round
    learning_rate: float
    scale: float  # standard deviation of the noise of each released sum
    whats: tuple[str, ...] = ()  # name of each batch's ledger entry; empty at ε = ∞


def draw_trees(questions: Questions, n_trees: int, depth: int, rng: np.random.Generator) -> Ints:
    """Draw the question of each inner node of complete trees.

    A node draws a column, then one of the column's questions, both uniformly. The result has the
    shape (n_trees, 2**depth − 1): positions in `questions`, or −1 if the domain has no question.
    The trees become public, so no noise may be drawn from `rng`.
    """
    shape = n_trees, 2**depth - 1
    if len(questions.columns) == 0:
        return np.full(shape, -1)
    _, first, number = np.unique(questions.columns, return_index=True, return_counts=True)
    column = rng.integers(len(first), size=shape)
    return np.asarray(first[column] + np.floor(rng.random(shape) * number[column]).astype(np.int64))


def trees_of_questions(questions: Questions, drawn: Ints) -> DrawnTrees:
    """Convert trees drawn by :func:`draw_trees` to the type that the kernels need."""
    numbers = np.append(questions.numbers, NO_QUESTION)[drawn]
    return DrawnTrees(*ranges(numbers, np.diff(questions.starts)), LARGEST_UNIT)


def boost(
    holders: Sequence[Holder],
    plan: BoostingPlan,
    sums: Sums,
    transcript: Transcript,
    done: Callable[[float], None] | None = None,
) -> Floats:
    """Return the contribution of each leaf to the scores, of shape (n_trees, n_leaves, n_outputs).

    Each round trains a batch of trees by one Newton step. For each leaf, a party sends the sum of
    its records' clipped residuals, and the sum of the norms of these residuals. G is the first sum
    over all parties; the curvature H is the second sum over all parties times
    :func:`curvature_share`. The value of a leaf is −G/(max(H, 0) + λ), clipped to ±`LARGEST_VALUE`,
    where λ is 1 plus two standard deviations of the noise of H. A leaf contributes its value times
    the learning rate, divided by the number of trees in the batch.

    `done`, if given, is called after each batch with the share of the trees that are finished.
    """
    trees = plan.trees
    release = sums.release(GAUSSIAN, plan.scale, plan.n, LARGEST_UNIT)
    unit = min(LARGEST_UNIT, max(release.unit, ring_unit(plan.n)))
    share = curvature_share(plan.n_classes)
    least = 1 + 2 * share * plan.scale * math.sqrt(sums.excess)
    batches = []
    for k, start in enumerate(range(0, len(trees.columns), plan.batch)):
        if plan.whats:
            release = release._replace(what=plan.whats[k])
        of_batch = slice(start, start + plan.batch)
        chosen = DrawnTrees(
            trees.columns[of_batch], trees.low[of_batch], trees.high[of_batch], unit
        )
        transcript.begin_round()
        messages = (holder.leaves(chosen, release) for holder in holders)
        total = transcript.collect(messages, sums, release)
        curvature = share * np.maximum(total[:, :, -1:], 0.0)
        values = np.clip(-total[:, :, :-1] / (curvature + least), -LARGEST_VALUE, LARGEST_VALUE)
        values *= plan.learning_rate / len(values)
        for holder in holders:
            holder.move(values)
        transcript.tell(values.size, 64)
        batches.append(values)
        if done is not None:
            done((start + len(values)) / len(trees.columns))
    return np.concatenate(batches)


def curvature_share(n_classes: int) -> float:
    """Return the c for which c · Σ‖residual‖ estimates the loss's second derivative in a score."""
    return 0.5 if n_classes == 2 else 1 / n_classes
