"""Define PrivGAM's network, which decodes noisy sums, in JAX for training.

``privcurve.kernels.decoder`` runs the same network in a fit. Here, numbers are float32, and the
arrays of a table are padded to a fixed number of columns and bins (`columns`, `bins`); masks are 1
for real columns and bins, and 0 for padding.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from privcurve.kernels.decoder import (
    FAR,
    HEADS,
    N_COLUMN,
    N_COMMON,
    N_FEATURES,
    N_OUT,
    N_WINDOWS,
    WINDOWS,
)
from privcurve.learners.additive.decoder import LEAST_SHARE

Array: TypeAlias = jax.Array
Weights = dict[str, Any]
# Two pairs for a class: the noisy sums of residuals of the records in the class and of all other
# records; and the standard deviations of the noise in both.
Answers = tuple[tuple[Array, Array], tuple[Array, Array]]

WIDTH = 48  # length of a bin's state (H in the kernel)
STAGES = 4  # number of sets of weights, one per release; later releases use the last one
BLOCKS = 2
# Name, number of inputs, and scale of the initial weights of each layer of a block.
LAYERS = (
    *(("l", WIDTH, 1.0), ("r", WIDTH, 1.0), ("l4", WIDTH, 0.5), ("r4", WIDTH, 0.5)),
    *(("c", WIDTH, 1.0), ("m", WIDTH, 1.0), ("m2", WIDTH, 0.5)),
    *(("q", 2 * WIDTH + N_COLUMN, 1.0), ("k", 2 * WIDTH + N_COLUMN, 1.0)),
    *(("v", 2 * WIDTH + N_COLUMN, 1.0), ("o", WIDTH, 0.5), ("u", 2 * WIDTH + N_COLUMN, 0.5)),
)


def init(key: Array) -> Weights:
    """Draw the initial weights."""
    keys = iter(jax.random.split(key, 400))

    def dense(inputs: int, outputs: int, scale: float = 1.0) -> Weights:
        weights = jax.random.normal(next(keys), (inputs, outputs)) * scale / np.sqrt(inputs)
        return {"w": weights, "b": jnp.zeros(outputs)}

    shares = jnp.zeros((STAGES, 4)).at[0, 0].set(0.8)
    return {
        "shares": shares.at[:, 1].set(jnp.array([-0.3, 0.1, 0.2, 0.2])),
        "totals": jnp.zeros((STAGES, 4)).at[:, :2].set(jnp.array([-2.5, -0.5])),
        "rounds": [
            {
                "in": dense(N_FEATURES + (WIDTH if t else 0), WIDTH),
                "g": dense(N_COMMON, WIDTH),
                "blocks": [
                    {name: dense(inputs, WIDTH, scale) for name, inputs, scale in LAYERS}
                    for _ in range(BLOCKS)
                ],
                "out": dense(WIDTH, N_OUT, 0.1),
                "int": dense(WIDTH, 2, 0.1),
            }
            for t in range(STAGES)
        ],
    }


def apply(layer: Weights, x: Array) -> Array:
    """Return the outputs of a dense layer."""
    return x @ layer["w"] + layer["b"]


def normalise(x: Array) -> Array:
    """Shift and scale `x` along its last axis to mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def sum_windows(sums: Array, ordered: Array, mask: Array) -> Array:
    """Return sums over windows of several widths around each bin: (n_windows, columns, bins).

    In unordered columns, bins have no neighbours: each window has only the bin itself.
    """
    up_to = jnp.pad(jnp.cumsum(sums * mask, 1), ((0, 0), (1, 0)))
    n_bins = sums.shape[1]
    at = np.arange(n_bins)
    windows = []
    for width in WINDOWS:
        low, high = np.maximum(at - width // 2, 0), np.minimum(at + width // 2 + 1, n_bins)
        within = up_to[:, high] - up_to[:, low]
        windows.append(jnp.where(ordered[:, None] > 0, within, sums * mask))
    return jnp.stack(windows)


def shares_of(
    weights: Weights, n_releases: int, log_ratio: Array, log_columns: Array
) -> tuple[Array, Array]:
    """Return each release's share of the budget for sums by bin, and its share for totals.

    Both arrays have the shape (n_releases,). `log_ratio` is the logarithm of the number of records
    divided by the noise, and `log_columns` is the logarithm of the number of columns.
    ``Network.shares_of`` of the library does the same.
    """
    which, z = np.minimum(np.arange(n_releases), STAGES - 1), (log_ratio - 5) / 2
    terms = jnp.stack([1.0, z, z * z, log_columns - 2])
    powers, of_totals = (weights[name][which] @ terms for name in ("shares", "totals"))
    shares = LEAST_SHARE + (1 - n_releases * LEAST_SHARE) * jax.nn.softmax(powers)
    totals = shares * (LEAST_SHARE + (1 - 2 * LEAST_SHARE) * jax.nn.sigmoid(of_totals))
    return shares - totals, totals


def total_of(answers: Answers, totals: Answers, k: int, n_bins: Array, d: Array) -> Any:
    """Estimate the total of a class's records (`k` = 0) or of all other records (`k` = 1).

    Returns the mean of the noisy total and of the sum of the noisy bins, weighted by precision, and
    the standard deviation of this mean.
    """
    by_bin, deviation, total, own_deviation = (pair[k] for pair in (*answers, *totals))
    precision, own_precision = d * d / (n_bins * deviation * deviation), 1 / own_deviation**2
    together = precision + own_precision
    mean = (precision * by_bin.sum() / d + own_precision * total) / together
    return jnp.maximum(mean, 0.5 / jnp.sqrt(together)), 1 / jnp.sqrt(together)


def stage(
    layers: Weights,
    answers: Answers,
    totals: Answers,
    state: tuple[Array | None, Array, Array],
    table: Weights,
) -> tuple[Array, Array, Array]:
    """Return the states and scores of bins, and the intercept, after a release.

    Parameters
    ----------
    layers : dict
        The weights of this release.
    answers, totals : tuple
        `Answers`: noisy sums by bin, of shape (columns, bins), and noisy totals.
    state : tuple
        States (columns, bins, WIDTH), scores (columns, bins) and intercept before this release; the
        states are None before the first release.
    table : dict
        `mask` (of bins), `columns` (the mask of columns), `ordered` (whether a column is ordered),
        `n_bins` (of each column), `d` (the number of columns) and `laplace` (whether noise is
        Laplace noise).
    """
    ((own, others), (s1, s0)), (h, scores, intercept) = answers, state
    mask, present, ordered = table["mask"], table["columns"], table["ordered"]
    n_bins, d, laplace = table["n_bins"], table["d"], table["laplace"]
    columns, bins = own.shape
    own, others = own * mask, others * mask
    answers = (own, others), (s1, s0)
    # Estimate the totals; compute the log-odds of the class, and the ratio of totals to noise.
    deviation = jnp.sqrt((s1 * s1 + s0 * s0) / 2)
    n_all, log_d = mask.sum(), jnp.log(d * 1.0)
    (up, up_error), (down, down_error) = (total_of(answers, totals, k, n_all, d) for k in range(2))
    total, q = up + down, up / (up + down)
    odds = jnp.clip(jnp.log(up / down), -5, 5)
    level = jnp.log(total / deviation)
    variance = s1 * s1 * (1 - q) ** 2 + s0 * s0 * q * q
    # Compute the features of each bin.
    w1, w0, counts = (sum_windows(x, ordered, mask) for x in (own, others, mask))
    counts = jnp.maximum(counts, 1.0)
    added = 2 * (deviation + 0.5) * jnp.sqrt(counts)
    ratios = jnp.log((jnp.maximum(w1, 0) + added * q) / (jnp.maximum(w0, 0) + added * (1 - q)))
    ratios = ratios - jnp.log(q / (1 - q))
    of_records = jnp.maximum(w1 + w0, 0) * q * (1 - q) / 2
    signals = (w1 * (1 - q) - w0 * q) / jnp.sqrt(variance * counts + of_records + 0.05)
    z = (own * (1 - q) - others * q) / jnp.sqrt(variance)
    both = own + others
    mass = jnp.maximum(both, 0)
    place = jnp.arange(bins)[None] / jnp.maximum(n_bins[:, None] - 1, 1)
    log_bins = jnp.log(n_bins + 1.0) - 2
    ones = jnp.ones((columns, bins))
    features = [
        *(*ratios, *jnp.arcsinh(signals), jnp.arcsinh(z), jnp.arcsinh(both / deviation)),
        *(jnp.log(deviation / jnp.maximum(both, deviation)), jnp.log1p(mass) / 3 - 1),
        *(jnp.log1p(mass * n_bins[:, None] / total), place, 4 * (place - 0.5) ** 2 - 1),
        *(ones * ordered[:, None], ones * log_bins[:, None], ones * odds / 2),
        *(ones * jnp.log(deviation) / 2, ones * (level - 4) / 2, ones * (log_d - 2)),
        *(ones * laplace, scores, ratios[0] * jnp.tanh(jnp.abs(z) / 3)),
    ]
    x = jnp.stack(features, -1)
    fresh = jax.nn.silu(apply(layers["in"], x if h is None else jnp.concatenate([x, h], -1)))
    h = fresh if h is None else h + fresh
    # Compute the features of the table, which all bins share, and the features of each column.
    spread = jnp.log(jnp.hypot(up_error, down_error) / total)
    common = [odds / 2, spread, jnp.log(total) / 3 - 2, jnp.log(deviation) / 2, (level - 4) / 2]
    common += [log_d - 2, intercept / 3, (present * ordered).sum() / d]
    common += [jnp.log(n_all / d) - 2, laplace * 1.0]
    g = jax.nn.silu(apply(layers["g"], jnp.stack(common)))
    share = mass * mask + 1e-3 * deviation * mask
    share = share / (share.sum(1, keepdims=True) + 1e-9)
    energy = (z * z * mask).sum(1) / jnp.maximum(mask.sum(1), 1)
    distance = (share * ratios[0] * ratios[0]).sum(1)
    of_columns = [jnp.arcsinh(energy), jnp.sqrt(distance + 1e-6), ordered, log_bins]
    for block in layers["blocks"]:
        normal = normalise(h)
        means = [(share[..., None] * power).sum(1) for power in (normal, normal * normal)]
        rows = jnp.concatenate([*means, jnp.stack(of_columns, -1)], -1)
        query, key, value = (apply(block[name], rows).reshape(columns, HEADS, -1) for name in "qkv")
        agreement = (query[:, None] * key[None]).sum(-1) / np.sqrt(WIDTH / HEADS)
        chances = jax.nn.softmax(jnp.where(present[None, :, None] > 0, agreement, -1e9), 1)
        context = jnp.einsum("ijh,jhc->ihc", chances, value).reshape(columns, WIDTH)
        mixed = apply(block["u"], rows) + apply(block["o"], context) + normalise(g)[None]
        masked = normal * mask[..., None]
        near = sum(
            apply(block[name], shifted(masked, by))
            for name, by in (("l", 1), ("r", -1), ("l4", FAR), ("r4", -FAR))
        )
        change = apply(block["c"], normal) + ordered[:, None, None] * near + mixed[:, None, :]
        h = h + jax.nn.silu(change)
        h = h + apply(block["m2"], jax.nn.silu(apply(block["m"], normalise(h))))
        g = g + (present[:, None] * mixed).sum(0) / d
    # The scores change by a weighted mean of the windows' estimates, plus a term that the network
    # chooses freely.
    out = apply(layers["out"], normalise(h))
    parts = jax.nn.softmax(out[..., 2 : 2 + N_WINDOWS], -1)
    step = sum(
        parts[..., w]
        * ratios[w]
        * jnp.tanh(jnp.abs(signals[w]) * jnp.exp(out[..., 2 + N_WINDOWS + w]) / 2)
        for w in range(N_WINDOWS)
    )
    step = (1.5 * jax.nn.sigmoid(out[..., 0]) * step + 0.5 * out[..., 1]) * mask
    step = step - (share * step).sum(1, keepdims=True) * present[:, None]
    ends = apply(layers["int"], normalise(g))
    intercept = intercept + jax.nn.sigmoid(ends[0] + 1) * odds + 0.5 * ends[1]
    return h, scores + step * mask, intercept


def shifted(x: Array, by: int) -> Array:
    """Shift an array by `by` bins along its second axis, and fill the gap with 0."""
    n_bins = x.shape[1]
    if by > 0:
        return jnp.pad(x, ((0, 0), (by, 0), (0, 0)))[:, :n_bins]
    return jnp.pad(x, ((0, 0), (0, -by), (0, 0)))[:, -by:]


def draw_noise(key: Array, shape: tuple[int, ...], laplace: Array) -> Array:
    """Draw Gaussian or Laplace noise of standard deviation 1."""
    one, other = jax.random.split(key)
    return jnp.where(
        laplace > 0, jax.random.laplace(one, shape) / np.sqrt(2.0), jax.random.normal(other, shape)
    )


def clipped(chances: Array, labels: Array, laplace: Array) -> Array:
    """Return the clipped absolute residuals of records if there are more than two classes.

    The result has the shape (n_classes, n_records). A residual is 1 − p for the record's class, and
    p for any other class, where p is the predicted probability. The residuals of a record are
    scaled down to an L1 norm of at most 1 (for Laplace noise) or an L2 norm of at most 1/√2
    (Gaussian).
    """
    own = jnp.take_along_axis(chances, labels[None], 0)
    hot = jax.nn.one_hot(labels, len(chances), axis=0)
    v = jnp.where(hot > 0, 1 - own, chances)
    size = jnp.where(laplace > 0, v.sum(0), jnp.sqrt((v * v).sum(0)))
    limit = jnp.where(laplace > 0, 1.0, np.sqrt(0.5))
    return v * jnp.minimum(1.0, limit / (size + 1e-9))


def forward(
    weights: Weights,
    key: Array,
    task: Weights,
    bins: int,
    n_classes: int = 2,
    n_releases: int = STAGES,
) -> list[tuple[Array, Array]]:
    """Simulate a fit; return scores (n_scores, columns, bins) and intercepts after each release.

    For two classes there is one score, for more classes one score per class.

    Parameters
    ----------
    weights : dict
        The weights of the network.
    key : array
        The random key of the noise.
    task : dict
        Training records: `xt` (n_records, columns) has their bins, `yt` the labels, `wt` the
        weights, and `n` is their number. Columns: `nb` has the numbers of bins, `od` is 1 for
        ordered columns, and `d` is the number of columns. Noise: `sigma` is its standard deviation
        if the whole budget is spent on one sum over all columns of residuals of at most ½;
        `laplace` is 1 for Laplace noise.
    bins : int
        The padded number of bins.
    n_classes, n_releases : int
        The numbers of classes and of releases.
    """
    codes, labels, counts = task["xt"].astype(jnp.int32), task["yt"], task["wt"]
    ordered, d, laplace = task["od"], task["d"], task["laplace"]
    columns = codes.shape[1]
    n_scores = 1 if n_classes == 2 else n_classes
    present = (jnp.arange(columns) < d).astype(jnp.float32)
    mask = (jnp.arange(bins)[None] < task["nb"][:, None]) * present[:, None]
    table = {"mask": mask, "columns": present, "ordered": ordered, "n_bins": task["nb"]}
    table |= {"d": d, "laplace": laplace}
    places = codes + jnp.arange(columns)[None] * bins
    ratio = task["n"] / task["sigma"]
    shares = shares_of(weights, n_releases, jnp.log(ratio), jnp.log(d * 1.0))
    of_columns = jnp.where(laplace > 0, d, jnp.sqrt(d))
    scores, intercepts = jnp.zeros((n_scores, columns, bins)), jnp.zeros(n_scores)
    h, results = jnp.zeros((n_scores, columns, bins, WIDTH)), []

    def add(values: Array, cells: Array, n_cells: int) -> tuple[Array, Array]:
        """Return the sums of the records' `values` by cell, column and bin, and by cell alone."""
        flat = jnp.zeros(n_cells * columns * bins)
        flat = flat.at[cells[:, None] * (columns * bins) + places].add(values[:, None] * present)
        return flat.reshape(n_cells, columns, bins), jnp.zeros(n_cells).at[cells].add(values)

    for t in range(n_releases):
        key, *own_keys = jax.random.split(key, 3)
        so_far, ends = jax.lax.stop_gradient(scores), jax.lax.stop_gradient(intercepts)
        # The sensitivity of the sums in this release, divided by the sensitivity in the first.
        times = 1.0 if t == 0 or n_classes == 2 else jnp.where(laplace > 0, 2.0, np.sqrt(2.0))
        if n_classes == 2:
            score = (so_far[0].reshape(-1)[places] * present[None]).sum(1) + ends[0]
            chance = jax.nn.sigmoid(score)
            residuals = jnp.minimum(jnp.where(labels > 0, 1 - chance, chance), 0.5) * counts
            exact = add(residuals, labels, 2)
        elif t == 0:
            exact = add(counts / 2, labels, n_classes)
        else:
            by_place = so_far.reshape(n_classes, -1).T[places] * present[:, None]
            sigmoids = jax.nn.sigmoid(by_place.sum(1).T + ends[:, None])
            residuals = clipped(sigmoids / sigmoids.sum(0), labels, laplace) * counts
            hot = jax.nn.one_hot(labels, n_classes, axis=0)
            each = jnp.concatenate([residuals * hot, residuals * (1 - hot)]).T
            sums = jnp.zeros((columns * bins, 2 * n_classes))
            sums = sums.at[places].add(each[:, None, :] * present[None, :, None])
            exact = (
                sums.T.reshape(2, n_classes, columns, bins),
                each.sum(0).reshape(2, n_classes),
            )
        answers = []
        for values, share, parts, own_key in zip(
            jax.lax.stop_gradient(exact), shares, (1.0, of_columns), own_keys, strict=True
        ):
            # The budget that is shared is ε for Laplace noise, and μ² for Gaussian noise.
            cost = jnp.where(laplace > 0, share[t], jnp.sqrt(share[t]))
            deviation = times * task["sigma"] / parts / cost
            noisy = values + deviation * draw_noise(own_key, values.shape, laplace)
            if n_classes == 2:
                answers.append(((noisy[1:], noisy[:1]), (deviation, deviation)))
            elif t == 0:
                of_others = deviation * np.sqrt(n_classes - 1.0)
                answers.append(((noisy, noisy.sum(0) - noisy), (deviation, of_others)))
            else:
                answers.append(((noisy[0], noisy[1]), (deviation, deviation)))
        (by_bin, deviations), (totals, total_deviations) = answers

        def of_one(
            by_bin: Any, totals: Any, h: Array, scores: Array, intercept: Array, t: int = t,
            deviations: Any = deviations, total_deviations: Any = total_deviations,
        ) -> tuple[Array, Array, Array]:  # fmt: skip
            layers, state = weights["rounds"][min(t, STAGES - 1)], (h if t else None)
            all_of = (by_bin, deviations), (totals, total_deviations)
            return stage(layers, *all_of, (state, scores, intercept), table)

        h, scores, intercepts = jax.vmap(of_one)(by_bin, totals, h, scores, intercepts)
        results.append((scores, intercepts))
    return results


def spread_of(scores: Array, counts: Array) -> Array:
    """Return the scale on which `loss` smooths errors: a quarter of the scores' deviation."""
    mean = (scores * counts).sum() / counts.sum()
    variance = (counts * (scores - mean) ** 2).sum() / counts.sum()
    return jax.lax.stop_gradient(0.25 * jnp.sqrt(variance) + 1e-3)


def loss(
    weights: Weights,
    key: Array,
    task: Weights,
    bins: int,
    n_classes: int = 2,
    n_releases: int = STAGES,
) -> Array:
    """Return the log-loss and a smoothed (differentiable) error rate after each release.

    The result has the shape (n_releases, 2). Both are measured on other records than the training
    records: `xq` has their bins, `yq` the labels and `wq` the weights. For parameters, see
    `forward`.
    """
    codes, labels, counts = task["xq"].astype(jnp.int32), task["yq"], task["wq"]
    columns = codes.shape[1]
    present = (jnp.arange(columns) < task["d"]).astype(jnp.float32)
    places = codes + jnp.arange(columns)[None] * bins
    losses = []
    for scores, intercepts in forward(weights, key, task, bins, n_classes, n_releases):
        if n_classes == 2:
            score = (scores[0].reshape(-1)[places] * present[None]).sum(1) + intercepts[0]
            log_loss = jnp.logaddexp(0.0, score) - labels * score
            error = jax.nn.sigmoid(-(2 * labels - 1) * score / spread_of(score, counts))
        else:
            by_place = scores.reshape(n_classes, -1).T[places] * present[:, None]
            score = by_place.sum(1).T + intercepts[:, None]
            logs = jax.nn.log_sigmoid(score)
            own = jnp.take_along_axis(logs, labels[None], 0)[0]
            log_loss = jax.nn.logsumexp(logs, 0) - own
            lead = score.max(0) - jnp.sort(score, 0)[-2]
            sharp = jax.nn.softmax(logs / spread_of(lead, counts), 0)
            error = 1 - jnp.take_along_axis(sharp, labels[None], 0)[0]
        losses.append(jnp.stack([(log_loss * counts).sum(), (error * counts).sum()]))
    return jnp.stack(losses) / counts.sum()
