"""Find the possible questions of a node of a complete tree, and choose among them with noise.

Inner node i has the children 2i + 1 (answer yes) and 2i + 2 (answer no). Bins are numbered through
all columns. Question b is about the row's bin in the column of bin b. With ``thresholds`` the
question is "is the bin at most b?"; otherwise "is the bin b?". At a node without a question
(`NO_QUESTION`) each row answers yes.

A question is possible at a node if it distinguishes two bins that can still occur there. Which bins
can occur follows from the questions above the node, not from the records.
"""

from __future__ import annotations

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.form import NO_QUESTION


@jit
def open_questions(possible: Bools, bin_starts: Ints, thresholds: bool) -> Ints:
    """Return the questions that distinguish two possible bins of a column.

    `possible`, of shape (n_bins,), says which bins can occur at the node.
    """
    numbers = np.empty(len(possible), np.int64)
    n = 0
    for j in range(len(bin_starts) - 1):
        before = n
        for b in range(bin_starts[j], bin_starts[j + 1]):
            if possible[b]:
                numbers[n] = b
                n += 1
        # Leave out questions that all rows answer with yes: the last threshold of a column, and the
        # question for the only possible bin of a column.
        if n > before and (thresholds or n == before + 1):
            n -= 1
    return numbers[:n]


@jit
def divide(
    possible: Bools, bin_starts: Ints, thresholds: bool, question: int, children: Bools, where: int
) -> None:
    """Write which bins can still occur at the two children of a node with the given question.

    `possible` says which bins can occur at the node itself. The function writes row `where` of
    `children` for the answer yes, and row `where + 1` for the answer no.
    """
    for b in range(len(possible)):
        children[where, b] = children[where + 1, b] = possible[b]
    if question == NO_QUESTION:
        return
    j = column_of(bin_starts, question)
    for b in range(bin_starts[j], bin_starts[j + 1]):
        yes = b <= question if thresholds else b == question
        if yes:
            children[where + 1, b] = False
        else:
            children[where, b] = False


@jit
def column_of(bin_starts: Ints, question: int) -> int:
    """Return the column that a question asks about."""
    return int(np.searchsorted(bin_starts, question, side="right")) - 1


@jit
def pick_best(scores: Floats, questions: Ints, scale: float, noise: Floats) -> int:
    """Return the question with the largest score/scale + noise.

    Gumbel noise gives the exponential mechanism, standard exponential noise permute-and-flip. If
    `noise` is empty, return the first question with the largest score. `scores` and `noise` have an
    entry for each bin; the function adds score/scale to `noise` in place.
    """
    best, best_score = NO_QUESTION, -np.inf
    for b in questions:
        score = scores[b]
        if len(noise) > 0:
            noise[b] += score / scale
            score = noise[b]
        if score > best_score:
            best, best_score = b, score
    return best
