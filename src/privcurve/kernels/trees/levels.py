"""Complete trees that are grown level by level: which questions a node may ask, and a choice.

Inner node i has the children 2i + 1 and 2i + 2; yes goes to the first. A question has the number
of a bin b: "is the bin in its column at most b?" (``thresholds``), or "is it b?". Without a
question (`NO_QUESTION`) every row answers yes.

Which questions a node has follows from those above it alone: those that tell apart two codes that
can still occur there. Nothing depends on which codes do occur.
"""

from __future__ import annotations

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.form import NO_QUESTION


@jit
def open_questions(possible: Bools, bin_starts: Ints, thresholds: bool) -> Ints:
    """Return the questions that tell two possible codes of their column apart."""
    numbers = np.empty(len(possible), np.int64)
    n = 0
    for j in range(len(bin_starts) - 1):
        before = n
        for b in range(bin_starts[j], bin_starts[j + 1]):
            if possible[b]:
                numbers[n] = b
                n += 1
        # All rows answer yes at the last threshold, and at a column's only possible code.
        if n > before and (thresholds or n == before + 1):
            n -= 1
    return numbers[:n]


@jit
def divide(
    possible: Bools, bin_starts: Ints, thresholds: bool, question: int, children: Bools, where: int
) -> None:
    """Write which codes can still occur in the two children of a node."""
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
    """Return the column of a question."""
    return int(np.searchsorted(bin_starts, question, side="right")) - 1


@jit
def pick_best(scores: Floats, questions: Ints, scale: float, noise: Floats) -> int:
    """Pick the question of largest score, the first of equals.

    With noise (not an empty array), that of largest score/scale + noise, which is changed in
    place: Gumbel gives the exponential mechanism, standard exponential permute-and-flip.
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
