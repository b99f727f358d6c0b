"""PrivGAM's cyclic fits and stumps in plain NumPy: scores anew at each step, floating point.

Written from the formulas of docs/privgam.md alone; its constants are written out.
"""

import math

import numpy as np

SIZES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
LENGTHS = (0.05, 0.3)


def kernels(n_bins, ordered):
    """Prior covariances of variance 1."""
    if not ordered or n_bins <= 2:
        return [np.eye(n_bins)]
    bins = np.arange(n_bins)
    apart = np.abs(bins[:, None] - bins) / n_bins
    stationary = [np.exp(-apart / length) for length in LENGTHS]
    line = math.sqrt(12) * ((bins + 0.5) / n_bins - 0.5)
    return [*stationary, (stationary[-1] + np.outer(line, line)) / 2]


def smooth(z, noise, ordered):
    """Posterior mean, averaged by marginal likelihood."""
    logs, means = [], []
    for size in SIZES:
        for kernel in kernels(len(z), ordered):
            prior = size**2 * kernel
            total = prior + np.diag(noise)
            solved = np.linalg.solve(total, z)
            logs.append(-0.5 * (np.linalg.slogdet(total)[1] + z @ solved))
            means.append(prior @ solved)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return weights @ np.array(means)


def cyclic(X, y, n_bins, ordered, mu=math.inf, rng=None, n_rounds=10):
    """Fit; mu is the budget of Gaussian privacy, y is 0 or 1. Give shapes, the intercept last."""
    columns = [*X.T, np.zeros(len(y), dtype=int)]
    widths, ordered, last = [*n_bins, 1], [*ordered, False], len(n_bins)
    shapes = [np.zeros(width) for width in widths]
    running = [np.zeros((3, width)) for width in widths]

    def step(j, share, weight):
        score = sum(shape[column] for shape, column in zip(shapes, columns, strict=True))
        residual = np.minimum(np.abs(y - 1 / (1 + np.exp(-score))), 0.5)
        sums = np.zeros((2, widths[j]))
        np.add.at(sums, (y, columns[j]), residual)
        sigma = 0.0
        if math.isfinite(mu):
            sigma = math.sqrt(2) / 2 / (math.sqrt(share) * mu)
            sums += sigma * rng.normal(size=sums.shape)
        slope, curvature = sums[1] - sums[0], np.maximum(sums.sum(axis=0) / 2, 0)
        running[j] += weight * np.array(
            [slope + curvature * shapes[j], curvature, np.full(widths[j], weight * 2 * sigma**2)]
        )
        numerator, denominator, variance = running[j]
        denominator = np.maximum(denominator, 1e-3 * np.maximum(np.sqrt(variance), 1e-3))
        z = numerator / denominator
        noise = np.minimum(1e6, variance / denominator**2 + weight / denominator)
        if j == last:
            shapes[j] = z * 9 / (9 + noise)
        else:
            shapes[j] = smooth(z, noise, ordered[j])

    run(step, last, n_rounds, rng)
    return shapes


def run(step, last, n_rounds, rng):
    """Step along the intercept, which is last, and all columns, once a round."""
    for t in range(1, n_rounds + 1):
        share = math.sqrt(t) / sum(math.sqrt(k) for k in range(1, n_rounds + 1))
        share /= last + 0.2 * (1 + (t == n_rounds))
        weight = math.sqrt(t)
        step(last, 0.2 * share, weight)
        for j in range(last) if rng is None else rng.permutation(last):
            step(j, share, weight)
        if t == n_rounds:
            step(last, 0.2 * share, weight)


def all_stumps(X, n_bins, ordered):
    """What each stump says of each record: those that begin with + first, the constant last."""
    columns = zip(X.T, n_bins, ordered, strict=True)
    up = [
        np.where(column <= b if along else column == b, 1, -1)
        for column, width, along in columns
        for b in range(width)
    ]
    up.append(np.ones(len(X), dtype=int))
    return np.array([*up, *(-each for each in up)])


def stumps(X, y, n_bins, ordered, n_stumps, counts=1):
    """Choose stumps without noise, by the residuals that they follow best. Give scores."""
    said, scores = all_stumps(X, n_bins, ordered), np.zeros(len(y))
    for _ in range(n_stumps):
        residuals = counts * np.clip(y - 1 / (1 + np.exp(-scores)), -0.5, 0.5)
        scores += 2 / math.sqrt(n_stumps) * said[(said @ residuals).argmax()]
    return scores
