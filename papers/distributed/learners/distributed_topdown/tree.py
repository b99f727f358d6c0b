"""The tree that a server grows: questions, children and labels of its nodes, without counts."""

from __future__ import annotations

import numpy as np

from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.lazybb_trees import Forest

LEAF = 0
NO_QUESTION = -1


class GrownTree:
    """A binary tree that begins as a single leaf; nodes are numbered as they are created."""

    def __init__(self) -> None:
        # For each node: the position of its question in `Questions`, or NO_QUESTION; its child for
        # the answer no (the child for yes has the next number), or LEAF; and, for a leaf, the
        # position of its class.
        self.questions = [NO_QUESTION]
        self.children = [LEAF]
        self.labels = [0]

    @property
    def n_splits(self) -> int:
        """The number of internal nodes."""
        return len(self.questions) // 2

    @property
    def leaves(self) -> list[int]:
        """The nodes without children."""
        return [node for node, child in enumerate(self.children) if child == LEAF]

    def split(self, node: int, question: int) -> int:
        """Split a leaf by a question, and return its left child (answer no)."""
        left = len(self.questions)
        self.questions[node] = question
        self.children[node] = left
        self.questions += [NO_QUESTION] * 2
        self.children += [LEAF] * 2
        self.labels += [0] * 2
        return left

    def label(self, node: int, position: int) -> None:
        """Set the class of a leaf, as a position."""
        self.labels[node] = position

    def forest(self, questions: Questions, n_classes: int) -> Forest:
        """Return the tree in the form that models store.

        With two classes the labels of leaves are −1 and +1, with more the positions of classes.
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
