"""Add up clipped gradients of a network with one-hot inputs and at most one hidden layer."""

from __future__ import annotations

import math

import numpy as np

from privcurve.coding import Codes, Floats, Ints
from privcurve.kernels.arithmetic import compiled, exp, expit


@compiled
def _activate(
    codes: Codes, inputs: Ints, first: Floats, second: Floats, hidden: Floats, scores: Floats
) -> None:
    """Write the hidden units and the scores of one record; without a hidden layer, only scores."""
    within = hidden if len(second) else scores
    within[:] = first[len(first) - 1]
    for j in range(len(codes)):
        place = inputs[j, codes[j]]
        for k in range(len(within)):
            within[k] += first[place, k]
    if len(second):
        for k in range(len(hidden)):
            hidden[k] = 2.0 * expit(2.0 * hidden[k]) - 1.0
        scores[:] = second[len(second) - 1]
        for k in range(len(hidden)):
            for c in range(len(scores)):
                scores[c] += hidden[k] * second[k, c]


@compiled
def _blame(label: int, scores: Floats, residuals: Floats) -> None:
    """Write the residuals y − p of one record, or e_y − p if there is a score per class.

    y is the class, p its predicted probability (or the probabilities of all classes), and e_y the
    unit vector of the class.
    """
    if len(scores) == 1:
        residuals[0] = (1.0 if label > 0 else 0.0) - expit(scores[0])
        return
    most, total = scores.max(), 0.0
    for c in range(len(scores)):
        residuals[c] = exp(scores[c] - most)
        total += residuals[c]
    for c in range(len(scores)):
        residuals[c] = (1.0 if c == label else 0.0) - residuals[c] / total


@compiled
def add_gradients(
    codes: Codes,
    labels: Ints,
    counts: Ints,
    inputs: Ints,
    first: Floats,
    second: Floats,
    clip: float,
    unit: float,
) -> tuple[Ints, Ints]:
    """Return the sums of the records' clipped gradients of the log-likelihood, in integer units.

    Parameters
    ----------
    codes, labels, counts : ndarray
        The rows: bins of each column, positions of classes, and numbers of records.
    inputs : ndarray of shape (n_columns, largest number of bins)
        For each column and bin, the position of the input that is 1 if the column has this bin.
    first, second : ndarray
        The weights of the layers, with a row for each input; the last row has the constants.
        Without a hidden layer `second` has no rows.
    clip : float
        The largest L2 norm of a record's gradient with respect to all weights; gradients with a
        larger norm are scaled down to it.
    unit : float
        Each entry of a record's gradient is rounded towards 0 to an integer multiple of this unit,
        so that no norm grows.

    Returns
    -------
    tuple of ndarray of int64
        The sums for `first` and for `second`, of their shapes.
    """
    n_hidden = max(len(second) - 1, 0)
    n_scores = second.shape[1] if n_hidden else first.shape[1]
    hidden, scores, residuals = np.zeros(n_hidden), np.zeros(n_scores), np.zeros(n_scores)
    within = np.zeros(first.shape[1])
    first_sums = np.zeros(first.shape, dtype=np.int64)
    second_sums = np.zeros(second.shape, dtype=np.int64)
    ones = codes.shape[1] + 1
    # Scale down a little more than needed: by more than the rounding errors of the norm and of the
    # products.
    slack = 1.0 - 64.0 * (ones + n_hidden + n_scores) * 2.0**-52
    for i in range(len(codes)):
        _activate(codes[i], inputs, first, second, hidden, scores)
        _blame(labels[i], scores, residuals)
        squares = 0.0
        if n_hidden:
            squares = 1.0
            for k in range(n_hidden):
                squares += hidden[k] * hidden[k]
                slope = 0.0
                for c in range(n_scores):
                    slope += residuals[c] * second[k, c]
                within[k] = slope * (1.0 - hidden[k] * hidden[k])
            total = 0.0
            for c in range(n_scores):
                total += residuals[c] * residuals[c]
            squares *= total
        else:
            within[:] = residuals
        for k in range(len(within)):
            squares += ones * (within[k] * within[k])
        norm = math.sqrt(squares)
        if not norm < np.inf:
            continue
        per = slack * min(1.0, clip / norm) / unit if norm > 0.0 else 0.0
        for k in range(len(within)):
            units = counts[i] * np.int64(per * within[k])
            first_sums[len(first) - 1, k] += units
            for j in range(codes.shape[1]):
                first_sums[inputs[j, codes[i, j]], k] += units
        for c in range(n_scores if n_hidden else 0):
            second_sums[n_hidden, c] += counts[i] * np.int64(per * residuals[c])
            for k in range(n_hidden):
                second_sums[k, c] += counts[i] * np.int64(per * residuals[c] * hidden[k])
    return first_sums, second_sums


@compiled
def network_scores(codes: Codes, inputs: Ints, first: Floats, second: Floats) -> Floats:
    """Return the network's scores of each row of bins, shape (n_rows, n_scores)."""
    n_hidden = max(len(second) - 1, 0)
    n_scores = second.shape[1] if n_hidden else first.shape[1]
    scores, hidden = np.zeros((len(codes), n_scores)), np.zeros(n_hidden)
    for i in range(len(codes)):
        _activate(codes[i], inputs, first, second, hidden, scores[i])
    return scores
