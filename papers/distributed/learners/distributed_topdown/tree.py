"""A tree during its growth by a server: questions, children and labels, without counts."""

from __future__ import annotations

import numpy as np

from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.lazybb_trees import Forest

LEAF = 0
NO_QUESTION = -1


class GrownTree:
    """A binary tree; new nodes get the next numbers."""

    def __init__(self) -> None:
        # For each node: the index of its question among the domain's questions, or NO_QUESTION; its
        # left child (the no side; the right child has the next number), or LEAF; the class of a
        # leaf.
        self.questions = [NO_QUESTION]
        self.children = [LEAF]
        self.labels = [0]

    @property
    def n_splits(self) -> int:
        """Internal nodes."""
        return len(self.questions) // 2

    @property
    def leaves(self) -> list[int]:
        """The nodes that are not split."""
        return [node for node, child in enumerate(self.children) if child == LEAF]

    def split(self, node: int, question: int) -> int:
        """Split a leaf, and return its left child."""
        left = len(self.questions)
        self.questions[node] = question
        self.children[node] = left
        self.questions += [NO_QUESTION] * 2
        self.children += [LEAF] * 2
        self.labels += [0] * 2
        return left

    def label(self, node: int, position: int) -> None:
        """Label a leaf."""
        self.labels[node] = position

    def forest(self, questions: Questions, n_classes: int) -> Forest:
        """Return the tree in the form of the kernels.

        Leaves of two classes vote −1 or +1; of more, for the position of a class.
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
