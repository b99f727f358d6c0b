"""The counts of a party: records of a node by bin and class, and answers to questions.

A *question* is a range of bins of one column; the answer of a record is yes if its bin is in the
range. An ordered column has one question for each threshold, any other column one for each bin.
Counts are integers, so they don't depend on the order of rows. Any number of classes is possible.
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

# The purity gain if a denominator of noisy counts is 0.
NO_GAIN = -1.0


class Questions(NamedTuple):
    """All questions about a record."""

    columns: Ints  # (n_questions,), not decreasing
    low: Ints  # (n_questions,): the first bin of the range, numbered through all columns
    high: Ints  # (n_questions,): the last bin of the range
    # (n_questions,): the same question as `privcurve.kernels.trees.choice` numbers it.
    numbers: Ints
    starts: Ints  # (n_columns + 1,): the first bin of each column, and the number of all bins


def list_questions(n_bins: Ints, ordered: Sequence[bool]) -> Questions:
    """Return the questions of all columns.

    An ordered column has the question "is the bin at most b?" for each bin except the last; another
    column has "is the bin b?" for each bin.
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
    """Return the bins of some columns, in the numbering through all columns."""
    return np.concatenate([np.arange(starts[j], starts[j + 1]) for j in columns])


@jit
def weighted_impurity(counts: NDArray[Any], criterion: int) -> float:
    """Return F = n·G(shares of the classes), a criterion times the number of records.

    G is the entropy (base 2), 2(1 − Σp²), 2√(q(1 − q)) for two classes, or 2(1 − max p). For two
    equal shares each of them is 1. Counts must be at least 0.
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
    """Return the rows of a node with the answer no, and the rows with the answer yes."""
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
    """Return the sum of F over both sides of each question; negative counts count as 0.

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
    """Return −(sum of F over both sides) of each question, from exact counts."""
    return -split_values(totals - yes, yes, criterion)


@jit
def family_counts(yes: Floats, totals: Floats) -> Floats:
    """Return the three families of counts of each question (NoisyCounts, appendix A.4).

    The result has the shape (n_questions, 3 · n_classes + 2): records with the answer no by class,
    records with the answer yes by class, all records by class, and all records by answer. `yes` has
    the shape (n_questions, n_classes).
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

    Negative counts count as 0. G(node) uses the counts by class, shares use the counts by side, and
    G(side) uses the joint counts. If one of these families sums to 0, J = −1.
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
