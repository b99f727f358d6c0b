"""Train the network of PrivGAM's standard errors: ``python decoder/errors.py --pool FOLDER``.

FOLDER has simulated tables (decoder/tables.py). The program draws new labels for their records from
random additive models, so that the true scores are known, and fits PrivGAM with its present
weights. A small network learns to predict, from the numbers that a fit releases, how far the fit's
scores are from the true ones. The index of a fit determines its random numbers. The program
replaces the package's file of weights, and the SHA-256 in the module that reads this file.
"""

from __future__ import annotations

import argparse
import itertools
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import tables
from privcurve.learners.additive import errors, privgam
from privcurve.learners.additive.decoder import MOST_BINS
from privcurve.learners.additive.rule import BINS_PER_ROOT, LEAST_BINS
from privcurve.privacy.calibration.shares import gaussian_budget

SEED = 64
DELTA = 1e-6
MOST_RECORDS = 12_000
MOST_FIT_COLUMNS = 64
# Range of n·μ/d (records, Gaussian budget, columns), from which the value of each fit is drawn.
SCALES = (0.05, 8000.0)
MOST_SPREAD = 3.0  # maximum of √(sum over columns of the variance of true scores)
N_ROWS = 64  # number of records of each fit whose log-odds are compared with the true log-odds
WIDTHS = {"bin": (20, 32, 16, 1), "common": (9, 16, 2)}
BATCH, STEPS, RATE = 64, 6000, 3e-3  # fits in a training step, steps, initial learning rate

Floats = NDArray[np.float64]


class Case(NamedTuple):
    """A training example: the network's inputs from a fit, and the errors of the fit's scores."""

    features: Floats  # (n_bins, 20): inputs for each bin
    common: Floats  # (9,): inputs for the fit
    distances: Floats  # (n_bins,): fitted minus true score of each bin
    weights: Floats  # (n_bins,): weight in the loss, 0 for bins without records; the sum is 1
    intercept: float  # fitted minus true intercept
    rows: NDArray[np.int64]  # (N_ROWS, most columns): bins of some records; −1 is padding
    of_rows: Floats  # (N_ROWS,): fitted minus true log-odds of these records


def main() -> None:
    """Fit PrivGAM to many tables, train the network, and write the file with its weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pool", type=Path, required=True, help="folder of simulated tables")
    parser.add_argument("--fits", type=int, default=9_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    import jax  # noqa: F401  (fail before the fits, which take minutes)

    with ProcessPoolExecutor(options.processes) as pool:
        paths = sorted(options.pool.glob("*[0-9].npz"), key=lambda path: int(path.stem))
        draw = partial(draw_case, paths)
        cases = list(pool.map(draw, range(options.fits), chunksize=50))
    checksum = write(train(cases), errors.FILE)
    register(checksum, Path(errors.__file__))
    print(f"{errors.FILE}: {len(cases)} fits, SHA-256 {checksum}")


# Fits --------------------------------------------------------------------------------------------


def draw_case(paths: Sequence[Path], number: int) -> Case:
    """Fit PrivGAM to records of a random table from `paths`; `number` seeds the random numbers."""
    rng = np.random.default_rng([SEED, number])
    table = tables.read(paths[int(rng.integers(len(paths)))])
    columns = rng.permutation(table.codes.shape[1])
    most_columns = min(MOST_FIT_COLUMNS, len(columns))
    columns = columns[: int(np.exp(rng.uniform(0.0, np.log(most_columns + 1))))]
    codes, d = table.codes[:, columns].astype(np.int64), len(columns)
    n_bins, ordered = table.n_bins[columns].astype(int), table.ordered[columns]
    most_records = min(MOST_RECORDS, len(codes))
    n = int(np.exp(rng.uniform(np.log(100), np.log(most_records))))
    scale = float(np.exp(rng.uniform(*np.log(SCALES))))
    scale = min(scale, float(np.exp(_budgets()[0][-1])) * n / d)  # the largest ε is 10,000
    most = int(min(MOST_BINS, max(LEAST_BINS, BINS_PER_ROOT * np.sqrt(scale))))
    independent = rng.random() < 0.4
    for j in range(d):
        if independent:
            codes[:, j] = rng.permutation(codes[:, j])
        if ordered[j]:
            codes[:, j], n_bins[j] = _spread_out(rng, codes[:, j], int(n_bins[j]), most)
    right, shares = _draw_scores(rng, codes, n_bins, ordered)
    intercept = float(np.log(1.0 / rng.uniform(0.03, 0.97) - 1.0))
    log_odds = intercept + sum(right[j][codes[:, j]] for j in range(d))
    y = (rng.random(len(codes)) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    laplace = rng.random() < 0.4
    epsilon = scale * d / n * 2.0 * np.sqrt(d) if laplace else _epsilon_of(scale * d / n)
    model = privgam.PrivGAMClassifier(
        epsilon=float(epsilon),
        delta=0.0 if laplace else DELTA,
        n_bins=n_bins.tolist(),
        classes=[0, 1],
        ordered=ordered.tolist(),
        random_state=int(rng.integers(2**31)),
    )
    kept: list[Any] = []
    chosen = list(range(d))
    choose = privgam.choose_columns

    def keep_chosen(*arguments: Any) -> list[int]:
        chosen[:] = choose(*arguments)
        return chosen

    def keep(*arguments: Any) -> errors.Errors:
        kept.extend(arguments)
        return errors.Errors(np.zeros(int(arguments[0].starts[-1])), 0.0, 1.0)

    with (
        mock.patch.object(privgam, "standard_errors", keep),
        mock.patch.object(privgam, "choose_columns", keep_chosen),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)  # PrivGAM warns of small budgets
        model.fit(codes[:n].astype(np.uint8), y[:n])
    counts, scores, own_intercept, n_releases = kept
    starts, mass = counts.starts, np.maximum(counts.positive + counts.negative, 0.0)
    distances, weights = np.empty(len(scores)), np.zeros(len(scores))
    for j, column in zip(chosen, counts.columns, strict=True):
        total = mass[column].sum()
        # Centre the true scores by the released counts, as PrivGAM centres the fitted scores.
        mean = float(mass[column] @ right[j] / total) if total > 0 else 0.0
        distances[column], intercept = scores[column] - (right[j] - mean), intercept + mean
        weights[column] = (shares[j] > 0) / (shares[j] > 0).sum() / len(chosen)
    features, common = errors.features(counts, scores, own_intercept, n_releases)
    some = rng.integers(0, len(codes), N_ROWS)
    rows = np.full((N_ROWS, MOST_FIT_COLUMNS), -1)
    rows[:, : len(chosen)] = codes[some][:, chosen] + starts[:-1]
    off = own_intercept - intercept
    of_rows = off + distances[rows[:, : len(chosen)]].sum(axis=1)
    for j in set(range(d)) - set(chosen):  # without a score in the model
        of_rows -= right[j][codes[some, j]]
    return Case(features, common, distances, weights, off, rows, of_rows)


def _spread_out(
    rng: np.random.Generator, codes: NDArray[np.int64], n_bins: int, most: int
) -> tuple[NDArray[np.int64], int]:
    """Change the bins of an ordered column; return the new codes and number of bins.

    Bins are merged to at most `most`. At random, some bins at the ends are left without records.
    """
    width = min(n_bins, most)
    if rng.random() < 0.5:
        width = max(2, int(width * rng.uniform(0.2, 1.0)))
    merged = codes * width // n_bins if width < n_bins else codes
    all_bins = most if rng.random() < 0.5 else min(n_bins, most)
    return merged + rng.integers(0, all_bins - width + 1), all_bins


def _draw_scores(
    rng: np.random.Generator, codes: NDArray[np.int64], n_bins: Any, ordered: Any
) -> tuple[list[Floats], list[Floats]]:
    """Draw an additive model; return, for each column, the scores and shares of records by bin.

    The scores of each column have the mean 0 over the records.
    """
    active = rng.uniform(-0.15, 1.15)
    sizes = np.exp(rng.uniform(np.log(0.05), np.log(1.5), len(n_bins)))
    sizes *= rng.random(len(n_bins)) < active
    whole = np.sqrt((sizes**2).sum()) + 1e-9
    sizes *= rng.uniform(0, MOST_SPREAD) / whole if rng.random() < 0.7 else 1.0
    sizes *= min(1.0, MOST_SPREAD / (np.sqrt((sizes**2).sum()) + 1e-9))
    drawn, shares = [], []
    for j, width in enumerate(map(int, n_bins)):
        share = np.bincount(codes[:, j], minlength=width) / len(codes)
        values = _draw_shape(rng, width) if ordered[j] else rng.normal(size=width)
        values = values - share @ values
        deviation = np.sqrt(share @ values**2)
        values = values * (sizes[j] / deviation if deviation > 1e-9 else 0.0)
        values = np.clip(values, -4.0, 4.0)
        drawn.append(values - share @ values)
        shares.append(share)
    return drawn, shares


def _draw_shape(rng: np.random.Generator, width: int) -> Floats:
    """Draw scores for the `width` bins of an ordered column: a line, a step, waves or a curve."""
    x, kind = (np.arange(width) + 0.5) / width, rng.integers(4)
    if kind == 0:
        return x * rng.choice([-1.0, 1.0])
    if kind == 1:
        return (np.arange(width) > rng.integers(0, width)) * rng.choice([-1.0, 1.0])
    if kind == 2:
        waves = (
            rng.normal() / k * np.cos(np.pi * k * x + rng.uniform(0, 2 * np.pi)) for k in (1, 2, 3)
        )
        return np.asarray(sum(waves))
    curve = np.tanh((x - rng.random()) * rng.uniform(3, 12)) * rng.choice([-1.0, 1.0])
    return np.asarray(curve + 0.2 * rng.normal(size=width))


@cache
def _budgets() -> tuple[Floats, Floats]:
    epsilons = np.exp(np.linspace(np.log(1e-4), np.log(1e4), 200))
    amounts = [gaussian_budget(e, DELTA, "replace-one").amount for e in epsilons.tolist()]
    return np.log(amounts), np.log(epsilons)


def _epsilon_of(amount: float) -> float:
    """Return the ε for which (ε, `DELTA`) allows the Gaussian budget μ = `amount`."""
    return float(np.exp(np.interp(np.log(amount), *_budgets())))


# Training ----------------------------------------------------------------------------------------


def train(cases: list[Case], steps: int = STEPS) -> dict[str, NDArray[np.float32]]:
    """Train the network; return the arrays of its file.

    The loss is the negative log-likelihood of the errors in `cases`, as if each were normal with
    the predicted standard error.
    """
    import jax
    import jax.numpy as jnp
    import optax

    rng = np.random.default_rng(SEED)

    def padded(batch: list[Case]) -> tuple[Any, ...]:
        size = next(
            k for k in (128, 256, 512, 1024, 4096) if k >= max(len(c.features) for c in batch)
        )
        features = np.zeros((len(batch), size, WIDTHS["bin"][0]), np.float32)
        distances, weights = (np.zeros((len(batch), size), np.float32) for _ in range(2))
        for k, case in enumerate(batch):
            m = len(case.features)
            features[k, :m], distances[k, :m], weights[k, :m] = (
                case.features,
                case.distances,
                case.weights,
            )
        rest = (
            np.stack([getattr(case, name) for case in batch])
            for name in ("common", "intercept", "rows", "of_rows")
        )
        return features, distances, weights, *rest

    def apply(layer: Any, x: Any) -> Any:
        return x @ layer["w"] + layer["b"]

    def loss_of(weights: Any, batch: Any) -> Any:
        features, distances, masses, common, intercept, rows, of_rows = batch
        hidden = jax.nn.silu(apply(weights["bin1"], features))
        hidden = jax.nn.silu(apply(weights["bin2"], hidden))
        logs = jnp.clip(
            apply(weights["bin3"], hidden)[..., 0] - 1.0, errors.SMALLEST, errors.LARGEST
        )
        hidden = jax.nn.silu(apply(weights["common1"], common))
        others = apply(weights["common2"], hidden)
        own = jnp.clip(others[:, 0] - 1.0, errors.SMALLEST, errors.LARGEST)
        squares = jax.lax.stop_gradient(jnp.exp(2 * logs))
        used = jax.vmap(lambda s, r: jnp.where(r >= 0, s[jnp.maximum(r, 0)], 0.0).sum(1))(
            squares, rows
        )
        of_sums = 0.5 * jnp.log(used + jax.lax.stop_gradient(jnp.exp(2 * own))[:, None])
        of_sums = of_sums + jnp.clip(others[:, 1], errors.SMALLEST, errors.LARGEST)[:, None]

        def unlikely(distance: Any, log: Any) -> Any:
            return (distance * jnp.exp(-log)) ** 2 / 2 + log

        by_bin = (unlikely(distances, logs) * masses).sum(1)
        each = by_bin + 0.3 * unlikely(intercept, own) + 0.5 * unlikely(of_rows, of_sums).mean(1)
        return each.mean()

    keys = iter(jax.random.split(jax.random.PRNGKey(SEED), 8))
    weights = {
        f"{name}{k + 1}": {
            "w": jax.random.normal(next(keys), (a, b)) / np.sqrt(a),
            "b": jnp.zeros(b),
        }
        for name, widths in WIDTHS.items()
        for k, (a, b) in enumerate(itertools.pairwise(widths))
    }
    schedule = optax.cosine_decay_schedule(RATE, steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
    state = optimizer.init(weights)

    @jax.jit
    def step(weights: Any, state: Any, batch: Any) -> Any:
        value, slopes = jax.value_and_grad(loss_of)(weights, batch)
        changes, state = optimizer.update(slopes, state, weights)
        return optax.apply_updates(weights, changes), state, value

    order = np.argsort([len(case.features) for case in cases], kind="stable")
    losses = []
    for k in range(steps):
        # Choose the fits of a batch among fits with similar numbers of bins: this needs little
        # padding.
        first = int(rng.integers(0, max(1, len(cases) - 8 * BATCH)))
        some = rng.choice(order[first : first + 8 * BATCH], BATCH)
        weights, state, value = step(weights, state, padded([cases[i] for i in some]))
        losses.append(float(value))
        if (k + 1) % 500 == 0:
            print(f"step {k + 1} of {steps}: loss {np.mean(losses[-500:]):.3f}", flush=True)
    arrays = {
        f"{name}.{part}": np.array(array, np.float32)
        for name, layer in weights.items()
        for part, array in layer.items()
    }
    return calibrate(arrays, cases)


def calibrate(
    arrays: dict[str, NDArray[np.float32]], cases: list[Case]
) -> dict[str, NDArray[np.float32]]:
    """Scale the standard errors so that intervals of 95 % contain 95 % of the errors in `cases`."""
    for name, at in (("bin3", 0), ("common2", 0), ("common2", 1)):
        ratios, masses = [], []
        for case in cases:
            found = errors.from_features(errors.layers_of(arrays), case.features, case.common)
            if name == "bin3":
                ratios.append(np.abs(case.distances) / found.by_bin)
                masses.append(case.weights)
            elif at == 0:
                ratios.append(np.array([abs(case.intercept) / found.intercept]))
                masses.append(np.ones(1))
            else:
                squares = np.append(found.by_bin**2, 0.0)[case.rows].sum(axis=1)
                own = found.factor * np.sqrt(squares + found.intercept**2)
                ratios.append(np.abs(case.of_rows) / own)
                masses.append(np.full(N_ROWS, 1.0 / N_ROWS))
        ratio, mass = np.concatenate(ratios), np.concatenate(masses)
        order = np.argsort(ratio)
        within = np.cumsum(mass[order]) / mass.sum()
        width = float(ratio[order][np.searchsorted(within, 0.95)]) / errors.HALF_WIDTH
        print(f"{name}, output {at}: errors are scaled by {width:.3f}")
        arrays[f"{name}.b"][at] += np.log(width)
    return arrays


def write(arrays: dict[str, NDArray[np.float32]], path: Path) -> str:
    """Write the file of weights, and return its SHA-256."""
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("weights must be finite: train again")
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    return sha256(path.read_bytes()).hexdigest()


def register(checksum: str, module: Path) -> None:
    """Write the checksum of the weights into the module that reads them."""
    text = module.read_text(encoding="utf-8")
    module.write_text(re.sub(r'SHA256 = "\w*"', f'SHA256 = "{checksum}"', text), encoding="utf-8")


if __name__ == "__main__":
    main()
