"""What a party counts: records of a node by bin and class, and answers to questions.

A *question* has a range of bins of one column; a record says yes if its bin is in the range. An
ordered column has a question for each threshold, another column one for each code. All counts
are of integers, so no order of rows changes them. There may be any number of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints, bin_starts
from privcurve.kernels.arithmetic import log2
from privcurve.kernels.jit import jit
from privcurve.kernels.trees.choice import ENTROPY, GINI, ROOT_GINI
from privcurve.kernels.trees.form import ranges

# The purity gain where noisy counts leave nothing to divide by.
NO_GAIN = -1.0


class Questions(NamedTuple):
    """What may be asked of a record."""

    columns: Ints  # (n_questions,), not decreasing
    low: Ints  # (n_questions,): the first bin of a yes, among the bins of all columns together
    high: Ints  # (n_questions,): the last one
    # (n_questions,): the same question as `privcurve.kernels.trees.choice` numbers it.
    numbers: Ints
    starts: Ints  # (n_columns + 1,): where the bins of each column begin; the last is their number


def list_questions(n_bins: Ints, ordered: Sequence[bool]) -> Questions:
    """Return the questions of all columns.

    Of an ordered one "is the code at most c" for each code but the last, else "is it c" for each.
    """
    starts = bin_starts(n_bins)
    numbers = [
        b + int(starts[-1]) * bool(ordered[j])
        for j in range(len(n_bins))
        for b in range(starts[j], starts[j + 1] - bool(ordered[j]))
    ]
    table = np.array(numbers, dtype=np.int64)
    return Questions(*ranges(table, n_bins), table, starts)


def places_of(columns: Sequence[int], starts: Ints) -> Ints:
    """Return the bins of some columns, among those of all columns together."""
    return np.concatenate([np.arange(starts[j], starts[j + 1]) for j in columns])


@jit
def weighted_impurity(counts: NDArray[Any], criterion: int) -> float:
    """Return F = n·G(shares of the classes), a criterion times the number of records.

    G is the entropy (base 2), 2(1 − Σp²), 2√(q(1 − q)) of two classes, or 2(1 − max p): at two
    even classes each of them is 1. No count is below 0.
    """
    n = 0.0
    largest = 0.0
    for count in counts:
        n += count
        largest = max(largest, float(count))
    if n <= largest:
        return 0.0
    if criterion == GINI:
        squares = 0.0
        for count in counts:
            squares += float(count) * float(count)
        return 2.0 * (n - squares / n)
    if criterion == ENTROPY:
        total = 0.0
        for count in counts:
            if count > 0:
                total -= count * log2(count / n)
        return total
    if criterion == ROOT_GINI:
        return 2.0 * np.sqrt(float(counts[0])) * np.sqrt(float(counts[1]))
    return 2.0 * (n - largest)


@jit
def part_node(
    bins: NDArray[Any], rows: Ints, column: int, low: int, high: int
) -> tuple[Ints, Ints]:
    """Return the rows of a node that say no, and those that say yes."""
    no = np.empty(len(rows), np.int64)
    yes = np.empty(len(rows), np.int64)
    n_no = 0
    n_yes = 0
    for i in rows:
        b = np.int64(bins[i, column])
        if low <= b and b <= high:
            yes[n_yes] = i
            n_yes += 1
        else:
            no[n_no] = i
            n_no += 1
    return no[:n_no].copy(), yes[:n_yes].copy()


@jit
def split_values(no: Floats, yes: Floats, criterion: int) -> Floats:
    """Return F of both sides of each question together; counts below 0 count as 0.

    `no` and `yes` are of shape (n_questions, n_classes).
    """
    values = np.empty(len(yes))
    side = np.empty(yes.shape[1])
    for q in range(len(yes)):
        for c in range(len(side)):
            side[c] = max(no[q, c], 0.0)
        values[q] = weighted_impurity(side, criterion)
        for c in range(len(side)):
            side[c] = max(yes[q, c], 0.0)
        values[q] += weighted_impurity(side, criterion)
    return values


@jit
def risks(totals: Floats, yes: Floats, criterion: int) -> Floats:
    """Return −F of both sides of each question, from exact counts."""
    return -split_values(totals - yes, yes, criterion)


@jit
def family_counts(yes: Floats, totals: Floats) -> Floats:
    """Return the three families of counts of each question (NoisyCounts, appendix A.4).

    Of shape (n_questions, 3 · n_classes + 2): by class those who say no, by class those who say
    yes, by class, by side. `yes` is of shape (n_questions, n_classes).
    """
    k = len(totals)
    families = np.empty((len(yes), 3 * k + 2))
    for q in range(len(yes)):
        n_no = 0.0
        n_yes = 0.0
        for c in range(k):
            no = totals[c] - yes[q, c]
            families[q, c] = no
            families[q, k + c] = yes[q, c]
            families[q, 2 * k + c] = totals[c]
            n_no += no
            n_yes += yes[q, c]
        families[q, 3 * k] = n_no
        families[q, 3 * k + 1] = n_yes
    return families


@jit
def family_gains(families: Floats, criterion: int) -> Floats:
    """Return J(h) = G(node) − Σ share of a side · G(side) of noisy families of counts.

    Counts below 0 count as 0. G of the node is of its counts by class, shares are of the counts
    by side, G of a side is of its joint counts; where one of them has nothing, J = −1.
    """
    k = (families.shape[1] - 2) // 3
    gains = np.empty(len(families))
    counts = np.empty(families.shape[1])
    for q in range(len(families)):
        for i in range(len(counts)):
            counts[i] = max(families[q, i], 0.0)
        n = counts[2 * k : 3 * k].sum()
        sides = counts[3 * k] + counts[3 * k + 1]
        if n <= 0.0 or sides <= 0.0:
            gains[q] = NO_GAIN
            continue
        gain = weighted_impurity(counts[2 * k : 3 * k], criterion) / n
        for side in range(2):
            share = counts[3 * k + side] / sides
            if share > 0.0:
                by_class = counts[side * k : (side + 1) * k]
                of_side = by_class.sum()
                if of_side <= 0.0:
                    gain = NO_GAIN
                    break
                gain -= share * weighted_impurity(by_class, criterion) / of_side
        gains[q] = gain
    return gains
