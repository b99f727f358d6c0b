"""Store the tree that a server grows: questions, children and labels of nodes, without counts."""

from __future__ import annotations

import numpy as np

from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.lazybb_trees import Forest

LEAF = 0
NO_QUESTION = -1


class GrownTree:
    """A binary tree that begins as a single leaf; nodes are numbered in order of creation."""

    def __init__(self) -> None:
        # Each list has one entry per node: the position of its question in `Questions`, or
        # NO_QUESTION; the number of its left child (answer no), or LEAF; and the class of a leaf.
        # The right child (answer yes) has the next number after the left child.
        self.questions = [NO_QUESTION]
        self.children = [LEAF]
        self.labels = [0]

    @property
    def n_splits(self) -> int:
        """Number of nodes with a question."""
        return len(self.questions) // 2

    @property
    def leaves(self) -> list[int]:
        """Numbers of the nodes without children."""
        return [node for node, child in enumerate(self.children) if child == LEAF]

    def split(self, node: int, question: int) -> int:
        """Add a question and two children to a leaf; return the left child (answer no)."""
        left = len(self.questions)
        self.questions[node] = question
        self.children[node] = left
        self.questions += [NO_QUESTION] * 2
        self.children += [LEAF] * 2
        self.labels += [0] * 2
        return left

    def label(self, node: int, position: int) -> None:
        """Set the class of a leaf; `position` is the class's position in the list of classes."""
        self.labels[node] = position

    def forest(self, questions: Questions, n_classes: int) -> Forest:
        """Return the tree as a :class:`Forest` of one tree, which model files can store.

        The label of a leaf is −1 or 1 with two classes, else the position of its class.
        """
        children = np.array([self.children], dtype=np.int64)
        chosen = np.array([self.questions], dtype=np.int64)
        numbers = np.append(questions.numbers, NO_QUESTION)
        labels = np.array([self.labels], dtype=np.int8)
        if n_classes == 2:
            labels = 2 * labels - 1
        return Forest(
            numbers[chosen], children, np.where(children == LEAF, labels, 0).astype(np.int8)
        )
