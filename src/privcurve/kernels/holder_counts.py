"""Count a party's records by question and class, and score the splits of a node.

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

# The purity gain is set to this number where noisy counts in a denominator add up to 0.
NO_GAIN = -1.0


class Questions(NamedTuple):
    """All questions about the bins of a record, in the order of the columns."""

    columns: Ints  # (n_questions,): the column of each question
    low: Ints  # (n_questions,): the first bin of the range, numbered through all columns
    high: Ints  # (n_questions,): the last bin of the range
    # (n_questions,): the number of each question, as in `privcurve.kernels.trees.form`.
    numbers: Ints
    starts: Ints  # (n_columns + 1,): the first bin of each column, then the number of all bins


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
    """Return the numbers of the bins of the given columns, numbered through all columns."""
    return np.concatenate([np.arange(starts[j], starts[j + 1]) for j in columns])


@jit
def weighted_impurity(counts: NDArray[Any], criterion: int) -> float:
    """Return F = n·G(p): the impurity of records, times their number n = Σ counts.

    With the shares p of the classes, G is 2(1 − Σp²) for Gini; the entropy to base 2; 2√(p₀p₁) for
    the root of Gini (two classes); and 2(1 − max p) for the zero-one error. Each is 1 for two equal
    shares. Counts must be at least 0.
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
    """Split a node by the question "is the bin of `column` from `low` to `high`?".

    Returns the rows with the answer no, and the rows with the answer yes.
    """
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
    """Return for each question the sum of F (see `weighted_impurity`) over both children.

    `no` and `yes`, of shape (n_questions, n_classes), have the children's noisy counts by class.
    Negative counts are replaced by 0.
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
    """Return the score of each question: minus the sum of F over both children, from exact counts.

    `totals` has the counts of the node by class; `yes`, of shape (n_questions, n_classes), the
    counts of records with the answer yes.
    """
    return -split_values(totals - yes, yes, criterion)


@jit
def family_counts(yes: Floats, totals: Floats) -> Floats:
    """Return the three families of counts of each question that the paper's NoisyCounts releases.

    They are the joint counts by answer and class, the counts by class, and the counts by answer
    (papers/distributed, appendix A.4). The result has shape (n_questions, 3 · n_classes + 2): the
    answer no by class, the answer yes by class, all records by class, all records by answer. `yes`,
    of shape (n_questions, n_classes), counts the records with the answer yes by class; `totals`
    counts all records by class.
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
    """Return the purity gain of each question, from the noisy counts of :func:`family_counts`.

    The gain is J(h) = G(node) − Σ share of a child · G(child), for the impurity G that
    :func:`weighted_impurity` defines. G(node) uses the counts by class, the shares use the counts
    by answer, and G(child) uses the joint counts. Negative counts are replaced by 0. If counts in a
    denominator add up to 0, the gain is `NO_GAIN`.
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
