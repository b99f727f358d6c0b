"""Simulate tables for training: ``python decoder/tables.py FOLDER FIRST LAST``.

The program writes FOLDER/<i>.npz for each i from FIRST to LAST - 1, unless the file exists. The
number i determines the table. A table has encoded columns, ordered or not, and four labels: three
labels with two classes, and one with three to ten. It contains no data of real people.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 8
N_RECORDS = 17_408
MOST_COLUMNS = 120
WIDTHS = (2, 3, 5, 8, 16, 32, 64)
CHANCES_ORDERED = (0.12, 0.06, 0.08, 0.1, 0.14, 0.2, 0.3)
CHANCES_APART = (0.3, 0.15, 0.2, 0.15, 0.1, 0.07, 0.03)

Floats = NDArray[np.float64]


class Table(NamedTuple):
    """A simulated table: bins of ordered and unordered columns, and four labels."""

    codes: NDArray[np.uint8]  # (n_records, n_columns)
    n_bins: NDArray[np.int32]  # (n_columns,)
    ordered: NDArray[np.bool_]  # (n_columns,)
    labels: NDArray[np.uint8]  # (n_records, 4): three labels of two classes, one of `n_classes`
    n_classes: int


def main() -> None:
    """Write the tables that the command line requests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    options = parser.parse_args()
    write(options.folder, range(options.first, options.last))


def write(folder: Path, numbers: range) -> None:
    """Write the tables with these numbers, except those with a file in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        path = folder / f"{number}.npz"
        if not path.exists():
            made = simulate(np.random.default_rng([SEED, number]))
            part = folder / f"{number}.part.npz"
            np.savez(part, **made._asdict())
            part.rename(path)


def read(path: Path) -> Table:
    """Read a table."""
    with np.load(path) as arrays:
        parts = {name: arrays[name] for name in Table._fields}
    return Table(**{**parts, "n_classes": int(parts["n_classes"])})


def simulate(rng: np.random.Generator) -> Table:
    """Draw a table: columns depend on latent factors; labels depend on factors or columns."""
    d = int(np.exp(rng.uniform(np.log(4), np.log(60))))
    if rng.random() < 0.08:
        d = int(rng.integers(60, MOST_COLUMNS + 1))
    k = int(rng.integers(1, max(3, min(d, 25))))
    factors = _draw_factors(rng, k)
    values = _draw_columns(rng, factors, d)
    codes, n_bins = np.zeros((N_RECORDS, d), np.uint8), np.zeros(d, np.int32)
    ordered, share = np.zeros(d, bool), rng.random()
    for j in range(d):
        ordered[j] = rng.random() < share
        chances = CHANCES_ORDERED if ordered[j] else CHANCES_APART
        n_bins[j] = rng.choice(WIDTHS, p=chances)
        codes[:, j] = _cut(rng, values[:, j], int(n_bins[j]), bool(ordered[j]))
    labels = np.zeros((N_RECORDS, 4), np.uint8)
    for i in range(3):
        steep = np.exp(rng.uniform(np.log(0.4), np.log(6)))
        level = rng.normal() * 1.3 * max(1, steep / 2)
        uniform = rng.random(N_RECORDS)
        score = steep * _draw_score(rng, values, factors) + level
        labels[:, i] = uniform < 1 / (1 + np.exp(-score))
    n_classes = int(rng.integers(3, 11))
    steep = np.exp(rng.uniform(np.log(0.4), np.log(5)))
    scores = np.stack([_draw_score(rng, values, factors) for _ in range(n_classes)], 1) * steep
    shares = rng.dirichlet(np.full(n_classes, rng.choice([0.4, 1.0, 5.0])))
    scores += np.log(shares + 1e-3) * max(1, steep / 2)
    labels[:, 3] = np.argmax(scores + rng.gumbel(size=scores.shape), 1)
    return Table(codes, n_bins, ordered, labels, n_classes)


def _draw_factors(rng: np.random.Generator, k: int) -> Floats:
    """Draw `k` latent factors, (N_RECORDS, k): normal, heavy-tailed or in clusters."""
    kind = rng.random()
    if kind < 0.6:
        return rng.normal(size=(N_RECORDS, k))
    if kind < 0.8:
        return rng.standard_t(3, size=(N_RECORDS, k))
    n_clusters = rng.integers(2, 12)
    centres = rng.normal(size=(n_clusters, k))
    places = rng.choice(n_clusters, N_RECORDS, p=rng.dirichlet(np.ones(n_clusters)))
    spread = rng.normal(size=(N_RECORDS, k))
    return np.asarray(centres[places] * 2 + spread * rng.uniform(0.2, 1.5))


def _draw_columns(rng: np.random.Generator, factors: Floats, d: int) -> Floats:
    """Draw `d` columns: mixtures of factors with noise, most of them transformed nonlinearly."""
    k = factors.shape[1]
    weights = rng.normal(size=(k, d)) * (rng.random((k, d)) < rng.uniform(0.05, 0.9))
    noise = np.exp(rng.uniform(np.log(0.1), np.log(2), d))
    values = factors @ weights
    values = values / (values.std(0) + 1e-9) + noise * rng.normal(size=(N_RECORDS, d))
    for j in range(d):
        way, column = rng.integers(0, 6), values[:, j]
        if way == 1:
            values[:, j] = np.abs(column)
        elif way == 2:
            values[:, j] = np.exp(np.clip(column * rng.uniform(0.5, 2), -8, 8))
        elif way == 3:
            values[:, j] = np.sin(2 * column)
        elif way == 4 and j:
            values[:, j] = column * values[:, rng.integers(j)]
    return values


def _cut(rng: np.random.Generator, values: Floats, n_bins: int, ordered: bool) -> NDArray[np.intp]:
    """Divide the values of a column into bins: at quantiles, evenly, or at random values."""
    way = rng.random()
    if way < 0.3:
        edges = np.quantile(values, np.arange(1, n_bins) / n_bins)
    elif way < 0.8:
        low, high = values.min(), values.max()
        # Simulate public bounds, which are wider or narrower than the range of the values.
        width = (high - low) * np.exp(rng.uniform(-1, 1.5))
        middle = low + (high - low) * rng.random()
        ends = (middle - width / 2, middle + width / 2) if way < 0.6 else (low, high)
        edges = np.linspace(*ends, n_bins + 1)[1:-1]
    else:
        edges = np.sort(np.quantile(values, rng.random(n_bins - 1)))
    codes = np.searchsorted(edges, values)
    if rng.random() < 0.1 and n_bins > 2:
        # Replace large values by a special one, as in columns where 0 means "none".
        codes[values > np.quantile(values, rng.uniform(0.5, 0.97))] = 0
    return codes if ordered else rng.permutation(n_bins)[codes]


def _draw_score(rng: np.random.Generator, values: Floats, factors: Floats) -> Floats:
    """Draw a score of each record, with standard deviation 1: a sum of random effects.

    The effects are functions of columns, or of mixtures of factors; some are products of two.
    """
    d = values.shape[1]
    source = values if rng.random() < 0.5 else factors @ rng.normal(size=(factors.shape[1], d))
    source = _standardise(source)
    sizes = rng.dirichlet(np.full(d, rng.choice([0.1, 0.5, 2.0]))) ** 0.5
    score = np.zeros(len(values))
    for j in range(d):
        way, x = rng.integers(0, 5), source[:, j]
        sign = rng.choice([-1, 1])
        if way < 2:
            effect = x
        elif way == 2:
            effect = np.abs(x) - 0.8
        elif way == 3:
            effect = np.sign(x - rng.normal())
        else:
            effect = np.clip(x, -1, 1)
        score += sizes[j] * sign * effect
    for _ in range(rng.integers(0, 4)):
        i, j = rng.integers(0, d, 2)
        score += rng.normal() * 0.4 * source[:, i] * source[:, j]
    return _standardise(score)


def _standardise(values: Floats) -> Floats:
    return np.asarray((values - values.mean(0)) / (values.std(0) + 1e-9))


if __name__ == "__main__":
    main()
