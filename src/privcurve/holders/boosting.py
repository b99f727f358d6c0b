"""The server of random trees: it needs only one sum over the parties for each batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.holders.holder import Holder
from privcurve.holders.sums import Sums, ring_unit
from privcurve.holders.transcript import Transcript
from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.random_trees import DrawnTrees
from privcurve.kernels.trees.form import NO_QUESTION, ranges
from privcurve.privacy.mechanisms import GAUSSIAN
from privcurve.privacy.sensitivity.counts import LARGEST_UNIT

# Values of leaves are clipped to this, before the learning rate.
LARGEST_VALUE = 2.0


class BoostingPlan(NamedTuple):
    """The public facts of random trees, which are drawn independently of the records.

    There are n records; a round has `batch` trees, σ of the noise of every number is `scale`, and
    `whats` names the leaves of each batch in the ledger (empty without privacy).
    """

    n_classes: int
    n: int
    trees: DrawnTrees
    batch: int
    learning_rate: float
    scale: float
    whats: tuple[str, ...] = ()


def draw_trees(questions: Questions, n_trees: int, depth: int, rng: np.random.Generator) -> Ints:
    """Draw the questions of complete trees: a column uniformly, then one of its questions.

    Returns shape (n_trees, 2**depth − 1): indices into `questions`, or −1 if the domain has none.
    The generator is public, and its stream is separate from all noise.
    """
    shape = n_trees, 2**depth - 1
    if len(questions.columns) == 0:
        return np.full(shape, -1)
    _, first, number = np.unique(questions.columns, return_index=True, return_counts=True)
    column = rng.integers(len(first), size=shape)
    return np.asarray(first[column] + np.floor(rng.random(shape) * number[column]).astype(np.int64))


def trees_of_questions(questions: Questions, drawn: Ints) -> DrawnTrees:
    """Return drawn trees in the form of the kernels."""
    numbers = np.append(questions.numbers, NO_QUESTION)[drawn]
    return DrawnTrees(*ranges(numbers, np.diff(questions.starts)), LARGEST_UNIT)


def boost(
    holders: Sequence[Holder],
    plan: BoostingPlan,
    sums: Sums,
    transcript: Transcript,
    done: Callable[[float], None] | None = None,
) -> Floats:
    """Return the values of the leaves of random trees, by Newton steps on noisy sums.

    Each round has a batch of trees: a party sends, for each leaf, the sum of its records' clipped
    residuals and the sum of their sizes. For two classes half of the second sum is the curvature;
    the value of a leaf is −G/(max(H, 0) + λ), clipped to ±2, where λ is 1 plus two standard
    deviations of the noise of H. The values of a batch are averaged. The result, of shape (n_trees,
    n_leaves, n_outputs), is each leaf's contribution to the score. `done` is called with the
    finished share of the trees.
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
    """Return the factor that makes Σ‖g‖ an estimate of the curvature of one score."""
    return 0.5 if n_classes == 2 else 1 / n_classes
