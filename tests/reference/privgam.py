"""Fit PrivGAM in plain NumPy: with single records, floating point, and NumPy's noise.

The module follows docs/privgam.md; `decoder.py` in this folder has the network.
"""

import itertools
import math

import decoder
import numpy as np


def logistic(scores):
    return 1 / (1 + np.exp(-scores))


def shared_out(chances, labels, norm):
    """Return the clipped residual of each record, and its shares of the other classes.

    The residual and the shares are clipped as one vector: its L1 norm is at most 1, or its L2 norm
    at most 1/√2. `chances` has the shape (n_records, n_classes).
    """
    rows = np.arange(len(labels))
    others = chances.copy()
    others[rows, labels] = 0.0
    residual = others.sum(axis=1)
    parts = others / residual[:, None]
    longest = 1.0 if norm == 1 else math.sqrt(0.5)
    residual = np.minimum(
        residual, longest / np.linalg.norm(np.column_stack([np.ones(len(parts)), parts]), norm, 1)
    )
    return residual, residual[:, None] * parts


def sums_of(X, y, widths, scores, norm):
    """Return sums by bin: the residuals of each class's records, and the shares of other classes.

    The shape is (2, n_scores, n_bins).
    """
    n_scores, starts = scores.shape[1], np.cumsum(widths) - widths
    sums = np.zeros((2, n_scores, sum(widths)))
    if n_scores == 1:
        chance = logistic(scores[:, 0])
        residuals = np.minimum(np.abs(y - chance), 0.5)
        for column, start in zip(X.T, starts, strict=True):
            np.add.at(sums[:, 0], (1 - y, start + column), residuals)
        return sums
    chances = logistic(scores)
    own, parts = shared_out(chances / chances.sum(axis=1, keepdims=True), y, norm)
    for column, start in zip(X.T, starts, strict=True):
        np.add.at(sums[0], (y, start + column), own)
        for k in range(n_scores):
            np.add.at(sums[1, k], start + column, parts[:, k])
    return sums


def fit(X, y, widths, ordered, n_classes, network, expected, laplace=False, noise=0.0, rng=None):
    """Return the intercepts, and the scores of all bins: (n_scores, n_bins).

    `y` has positions of classes, and `X` bins. `expected` and `noise` are standard deviations, at
    the full budget, of the noise on a sum of residuals of at most ½: the network reads `expected`,
    and the noise that is added has `noise`.
    """
    widths, d = np.array(widths), len(widths)
    rng = rng or np.random.default_rng(0)
    n, starts = len(y), np.cumsum(widths) - widths
    n_scores = 1 if n_classes == 2 else n_classes
    norm = 1 if laplace else 2
    m = n / (expected * math.sqrt(2 * d))
    n_releases = 3 if m < 100 else 6 if m < 600 else 12
    # After the last trained stage, releases use its weights and its shares of the budget again.
    which = [min(t, len(network.stages) - 1) for t in range(n_releases)]
    z = (math.log(n / expected) - 5) / 2
    powers, of_totals = (
        table[which] @ np.array([1, z, z * z, math.log(d) - 2])
        for table in (network.shares, network.totals)
    )
    shares = 1e-3 + (1 - 1e-3 * len(powers)) * np.exp(powers) / np.exp(powers).sum()
    parts = 1e-3 + (1 - 2e-3) * logistic(of_totals)
    scores, intercepts = np.zeros((n_scores, sum(widths))), np.zeros(n_scores)
    states = [None] * n_scores
    for t, (place, share, part) in enumerate(zip(which, shares, parts, strict=True)):
        times = (2.0 if laplace else math.sqrt(2)) if t and n_scores > 1 else 1.0
        if t == 0:
            exact = np.zeros((n_classes, sum(widths)))
            for column, start in zip(X.T, starts, strict=True):
                np.add.at(exact, (y, start + column), 0.5)
        else:
            of_rows = scores[:, starts + X].sum(axis=2).T + intercepts
            exact = sums_of(X, y, widths, of_rows, norm)
        # Release the sums of all columns, and then the totals. A record changes a total as much as
        # it changes the sums of one column.
        answers, columns = [], d if laplace else math.sqrt(d)
        for values, cost, ratio in (
            (exact, share * (1 - part), 1.0),
            (exact[..., : widths[0]].sum(axis=-1), share * part, 1 / columns),
        ):
            size = times * ratio / (cost if laplace else math.sqrt(cost))
            draw, unit = (rng.laplace, math.sqrt(0.5)) if laplace else (rng.normal, 1.0)
            released = values + draw(scale=noise * size * unit, size=values.shape)
            if t == 0 and not answers:
                counts = np.maximum(released.sum(axis=0), 0.0)
            if t == 0:
                own = released[-n_scores:]
                others, more = released.sum(axis=0) - own, math.sqrt(n_classes - 1)
            else:
                (own, others), more = released, 1.0
            answers.append((own, others, (expected * size, expected * size * more)))
        (own, others, deviations), (own_total, others_total, total_deviations) = answers
        for k in range(n_scores):
            states[k], scores[k], intercepts[k] = decoder.stage(
                network.stages[place], own[k], others[k], deviations,
                (own_total[k], others_total[k]), total_deviations,
                widths, ordered, laplace, states[k], scores[k], intercepts[k],
            )  # fmt: skip
    # Move the mean of each column's scores, weighted by the released counts, to the intercept.
    for start, width in zip(starts, widths, strict=True):
        weights = counts[start : start + width]
        means = scores[:, start : start + width] @ weights / max(weights.sum(), 1e-300)
        scores[:, start : start + width] -= means[:, None]
        intercepts = intercepts + means
    return intercepts, scores


def column_score(y, codes, n_bins, ordered):
    """Return the score of a column by trying all classes and all sets of its bins.

    In an ordered column, the sets are the first bins.
    """
    if ordered:
        sets = [range(k) for k in range(n_bins + 1)]
    else:
        sets = [s for k in range(n_bins + 1) for s in itertools.combinations(range(n_bins), k)]
    best = 0.0
    for label in np.unique(y):
        for bins in sets:
            is_class, is_in = np.equal(y, label), np.isin(codes, bins)
            moved = (is_class - is_class.mean()) * (is_in - is_in.mean())
            best = max(best, abs(moved.sum()))
    return best
