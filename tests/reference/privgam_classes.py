"""PrivGAM's cyclic fit of more than two classes in plain NumPy: matrices, floating point.

Written from the formulas of docs/privgam.md alone; what two classes have too is that program's.
"""

import math

import numpy as np

from privgam import SIZES, kernels, run


def shared_out(scores, labels, norm):
    """The clipped residual of each record, and what each other class has of it.

    The residual and its parts are one vector, of a length of 1 (sum) or 1/√2 (Euclid) at most.
    """
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
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


def sums_of(scores, labels, column, width, norm):
    """Q and S: what other classes' records give to a class, and its own; by class and bin."""
    n_classes = scores.shape[1]
    residual, parts = shared_out(scores, labels, norm)
    sums = np.zeros((2, n_classes, width))
    np.add.at(sums[1], (labels, column), residual)
    for k in range(n_classes):
        np.add.at(sums[0, k], column, parts[:, k])
    return sums


def smooth(z, noise, ordered):
    """Posterior means of all classes, sizes and kinds of prior shared."""
    logs, means = [], []
    for size in SIZES:
        for kernel in kernels(z.shape[1], ordered):
            prior, log, mean = size**2 * kernel, 0.0, []
            for values, variances in zip(z, noise, strict=True):
                total = prior + np.diag(variances)
                solved = np.linalg.solve(total, values)
                log -= 0.5 * (np.linalg.slogdet(total)[1] + values @ solved)
                mean.append(prior @ solved)
            logs.append(log)
            means.append(mean)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return np.tensordot(weights, means, 1)


def cyclic(X, y, n_bins, ordered, n_classes, mu=math.inf, rng=None, n_rounds=10):
    """Fit; y are positions of classes. Give values by class and bin, the intercept's last.

    Without a first release of all columns at once, as where n·μ is large.
    """
    norm = 2 if math.isfinite(mu) else 1
    columns = [*X.T, np.zeros(len(y), dtype=int)]
    widths, ordered, last = [*n_bins, 1], [*ordered, False], len(n_bins)
    shapes = [np.zeros((n_classes, width)) for width in widths]
    running = [np.zeros((3, n_classes, width)) for width in widths]

    def step(j, share, weight):
        scores = sum(shape.T[column] for shape, column in zip(shapes, columns, strict=True))
        sums = sums_of(scores, y, columns[j], widths[j], norm)
        sigma = 0.0
        if math.isfinite(mu):
            sigma = 1 / (math.sqrt(share) * mu)
            sums += sigma * rng.normal(size=sums.shape)
        slope, curvature = sums[1] - sums[0], np.maximum(sums.sum(axis=0) / 2, 0)
        slope -= slope.mean(axis=0)
        variance = 2 * sigma**2 * (1 - 1 / n_classes)
        running[j] += weight * np.array(
            [slope + curvature * shapes[j], curvature, np.full(slope.shape, weight * variance)]
        )
        numerator, denominator, variance = running[j]
        denominator = np.maximum(denominator, 1e-3 * np.maximum(np.sqrt(variance), 1e-3))
        z = numerator / denominator
        noise = np.minimum(1e6, variance / denominator**2 + weight / denominator)
        mean = z * 9 / (9 + noise) if j == last else smooth(z, noise, ordered[j])
        shapes[j] = mean - mean.mean(axis=0)

    run(step, last, n_rounds, rng)
    return shapes
