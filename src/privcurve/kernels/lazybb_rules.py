"""LazyBB over 1-rules (thesis, Algorithms 1 and 2): the loop over rounds.

A literal is a classifier that tests for one bin. With bins numbered through all columns, bin ``b``
has the literals 2b (+1 for rows in the bin, else −1) and 2b + 1 (its negation). The last two
literals are the constants +1 and −1. The error of a literal is the weight μ of the rows that it
classifies wrongly; one signed histogram, Σ μ·y over the rows in each bin, determines the errors of
all literals. Weights are integers (see :mod:`privcurve.kernels.projection`), so errors are exact,
and a fit has the same bits for any order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Bools, Floats, Ints, Signs, bin_starts
from privcurve.kernels.jit import jit
from privcurve.kernels.packing import PackedRows
from privcurve.kernels.projection import Weighing, project, weighing
from privcurve.kernels.trees.choice import pick_least

# A bin number that no row has. `_vote` treats a constant literal as the literal of this empty bin.
NO_CODE = np.uint32(2**32 - 1)


def boost(
    rows: PackedRows,
    positive: Bools,
    counts: Ints,
    density: float,
    learning_rate: float,
    rates: Floats,
    normalise: bool,
    noise: Floats | None,
    begin: Ints | None = None,
) -> tuple[Ints, float]:
    """Pick in each round the literal with the best noisy error.

    Parameters
    ----------
    rows : PackedRows
    positive : ndarray of bool, shape (n_rows,)
        Whether the label is +1.
    counts : ndarray of shape (n_rows,)
        Number of records of each row.
    density, learning_rate : float
        κ and λ.
    rates : ndarray of shape (n_rounds,)
        η_t, which multiplies the error. If all are infinite, each round picks the first literal
        with the smallest error.
    normalise : bool
        Whether errors are relative to the total weight |μ| (as published), or to κn
        (docs/proofs.md, 'LazyBB: first rounds').
    noise : ndarray of shape (n_rounds, n_literals), or None
        Noise that is added to −η_t·error: Gumbel noise gives the exponential mechanism, standard
        exponential noise gives permute-and-flip. Scores are added in place. None if and only if the
        rates are infinite.
    begin : ndarray of shape (n_rows,), optional
        The margin of each row before the first round, in votes; 0 by default.

    Returns
    -------
    picks : ndarray of shape (n_rounds,)
        The picked literals.
    largest : float
        The largest result of ``project`` in any round. The privacy proof needs at most 1.
    """
    if noise is None:
        noise = np.empty((0, 0))
    # `_boost` reads scores, and converts them to margins (label · score) itself. So convert the
    # margins in `begin` to scores.
    signed = None if begin is None else np.where(positive, begin, -begin)
    weighed = weighing(counts, signed, density, learning_rate, normalise)
    # Numba would compile the kernel again for a read-only array such as a plan's rates: copy it.
    picks, largest = _boost(rows, positive, counts, weighed, rates.copy(), noise)
    return picks, float(largest)


@jit
def _boost(
    rows: PackedRows, positive: Bools, counts: Ints, weighed: Weighing, rates: Floats, noise: Floats
) -> tuple[Ints, float]:
    levels, spread, step, density, learning_rate, unit, normalise = weighed
    n_rows = len(counts)
    n_rounds = len(rates)
    # The state of a row is its level before the first round (see `start_levels`) plus `step` for
    # each vote for +1. The states of rows with a negative label are larger by `side`, so that one
    # table look-up gives the weight with the sign of the label.
    side = spread + step * n_rounds + 1
    state = np.empty(n_rows, np.uint32)
    histogram = np.zeros(2 * side, np.int64)
    n = 0
    for i in range(n_rows):
        state[i] = levels[i] + (0 if positive[i] else side)
        histogram[state[i]] += counts[i]
        n += counts[i]
    signed = np.zeros(2 * side, np.int64)
    correct = np.zeros(side, np.int64)
    weights = np.zeros(side, np.int64)
    sums = np.zeros(rows.group_starts[-1], np.int64)
    bins = np.zeros(rows.bin_starts[-1], np.int64)
    errors = np.empty(2 * len(bins) + 2, np.int64)
    picks = np.zeros(n_rounds, np.int64)
    largest = 0.0
    for t in range(n_rounds):
        last = spread + step * t
        for k in range(last + 1):
            correct[k] = histogram[k] + histogram[side + last - k]
        largest = max(largest, project(correct, last, density, learning_rate, unit, weights))
        positive_weight = 0
        negative_weight = 0
        for k in range(last + 1):
            signed[k] = weights[k]
            signed[side + last - k] = -weights[k]
            positive_weight += histogram[k] * weights[k]
            negative_weight += histogram[side + last - k] * weights[k]
        _add_rows(rows.cells, state, counts, signed, sums)
        _sum_by_bin(sums, rows, bins)
        for literal in range(len(errors)):
            errors[literal] = literal_error(bins, positive_weight, negative_weight, literal)
        if np.isinf(rates[t]):
            picks[t] = np.argmin(errors)
        else:
            total = density * n * unit
            if normalise:
                total = float(positive_weight + negative_weight)
            picks[t] = pick_least(errors, rates[t] / total, noise[t])
        _vote(rows, picks[t], state, counts, histogram, step)
    return picks, largest


@jit
def _add_rows(
    cells: NDArray[Any], state: NDArray[np.uint32], counts: Ints, signed: Ints, sums: Ints
) -> None:
    sums[:] = 0
    n_rows, n_groups = cells.shape
    even = n_groups - n_groups % 2
    for i in range(n_rows):
        weight = signed[state[i]] * counts[i]
        # Update two groups at a time: a loop over single groups takes twice as long.
        for g in range(0, even, 2):
            sums[cells[i, g]] += weight
            sums[cells[i, g + 1]] += weight
        if even < n_groups:
            sums[cells[i, even]] += weight


@jit
def _sum_by_bin(sums: Ints, rows: PackedRows, bins: Ints) -> None:
    bins[:] = 0
    for j in range(len(rows.groups)):
        group = rows.groups[j]
        start = rows.group_starts[group]
        for k in range(rows.group_starts[group + 1] - start):
            bins[rows.cell_bins[j, k]] += sums[start + k]


@jit
def literal_error(bins: Ints, positive_weight: int, negative_weight: int, literal: int) -> int:
    """Return the total weight of the rows that a literal classifies wrongly.

    `bins` has Σ μ·y over the rows in each bin, for the weight μ and the label y = ±1 of a row.
    `positive_weight` and `negative_weight` are Σ μ over the rows of each label.
    """
    b = literal >> 1
    # The literal "in bin b" is right for positive rows in the bin and negative rows outside.
    # The constant +1 is this literal for a bin that contains all rows.
    inside = bins[b] if b < len(bins) else positive_weight - negative_weight
    if literal & 1 == 0:
        return positive_weight - inside
    return negative_weight + inside


@jit
def _vote(
    rows: PackedRows,
    literal: int,
    state: NDArray[np.uint32],
    counts: Ints,
    histogram: Ints,
    step: int,
) -> None:
    bin_starts = rows.bin_starts
    b = literal >> 1
    j = 0
    code = NO_CODE
    negated = literal & 1 == 1
    if b < bin_starts[-1]:
        while bin_starts[j + 1] <= b:
            j += 1
        code = np.uint32(b - bin_starts[j])
    else:
        negated = not negated
    column = rows.columns[j]
    for i in range(len(state)):
        state[i] += np.uint32(step * ((column[i] == code) != negated))
    histogram[:] = 0
    for i in range(len(state)):
        histogram[state[i]] += counts[i]


@jit
def count_votes(codes: NDArray[Any], bin_starts: Ints, table: Ints, offset: int) -> Ints:
    """Return each row's sum of votes: `offset` plus the sum of `table[b]` over the row's bins b."""
    n_rows, n_columns = codes.shape
    votes = np.empty(n_rows, np.int64)
    for i in range(n_rows):
        total = offset
        for j in range(n_columns):
            total += table[bin_starts[j] + codes[i, j]]
        votes[i] = total
    return votes


def vote_table(picks: Ints, n_bins: int) -> tuple[Ints, int]:
    """Convert picked literals to the `table` of votes by bin and the `offset` of `count_votes`."""
    signs = 1 - 2 * (picks & 1)
    in_bin = picks < 2 * n_bins
    table = np.zeros(n_bins, dtype=np.int64)
    # A literal votes +1 in its bin and −1 elsewhere, which is −1 for all rows plus 2 in the bin.
    np.add.at(table, picks[in_bin] >> 1, 2 * signs[in_bin])
    offset = int(signs[~in_bin].sum() - signs[in_bin].sum())
    return table, offset


def round_scores(
    codes: NDArray[Any],
    n_bins: Ints,
    signs: Signs,
    counts: Ints,
    picks: Ints,
    density: float,
    learning_rate: float,
    normalise: bool,
    begin: Ints | None = None,
) -> Floats:
    """Return the errors of all literals in the round that follows some picks.

    The errors determine the exact distribution of the next pick. Only tests and audits use this
    function; it computes errors in another way than :func:`boost`.

    Parameters
    ----------
    codes, n_bins, signs, counts
        Rows, numbers of bins of the columns, labels −1 or +1, and number of records of each row.
    picks : ndarray of shape (n_earlier_rounds,)
        Literals picked so far.
    density, learning_rate : float
        κ and λ.
    normalise, begin
        As for :func:`boost`.

    Returns
    -------
    ndarray of shape (n_literals,)
    """
    starts = bin_starts(n_bins)
    picks = np.asarray(picks, dtype=np.int64)
    votes = count_votes(codes, starts, *vote_table(picks, int(starts[-1])))
    weighed = weighing(counts, begin, density, learning_rate, normalise)
    first, spread, step, _, rate, unit, _ = weighed
    levels, last = first + step * ((len(picks) + signs * votes) // 2), spread + step * len(picks)
    histogram = np.bincount(levels, weights=counts, minlength=last + 1).astype(np.int64)
    weights = np.zeros(last + 1, dtype=np.int64)
    project(histogram, last, density, rate, unit, weights)
    mass = weights[levels] * counts
    bins = np.zeros(starts[-1], dtype=np.int64)
    for j in range(codes.shape[1]):
        np.add.at(bins, starts[j] + codes[:, j].astype(np.int64), mass * signs)
    of_label = int(mass[signs > 0].sum()), int(mass[signs < 0].sum())
    errors = [literal_error(bins, *of_label, literal) for literal in range(2 * len(bins) + 2)]
    total = float(sum(of_label)) if normalise else density * int(counts.sum()) * unit
    return np.array(errors, dtype=np.float64) / total
