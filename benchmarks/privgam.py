"""How fast is a fit of PrivGAM? Against a plain program, over rows, over columns; its memory.

    PRIVCURVE_DATA=<mirror> python benchmarks/privgam.py [--json FILE] [--max-rows N] [--kdd]

The first table uses Adult where PRIVCURVE_DATA is set, else synthetic rows of its shape. The plain
program is the one of the tests, NumPy throughout (`tests/reference/privgam.py`). Times are of the
processor, one thread, the median of some fits, each with a seed of its own. `--kdd` fits 5 million
synthetic rows in the shape of KDDCup99 (41 columns), and says how much memory that takes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from privcurve.learners.additive.fitting import Fit
from threadpoolctl import threadpool_limits

from lazybb import ADULT_BINS, adult, peak_rss, synthetic
from partial import milliseconds
from privcurve import datasets
from privcurve.coding import Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import Residuals, bin_maps
from privcurve.privacy.budget import REPLACE_ONE
from privcurve.privacy.calibration.privgam import gaussian_budget
from privcurve.privacy.curator import Curator

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reference"))
import privgam as reference

BUDGET = {"epsilon": 1.0, "delta": 1e-5}
# KDDCup99: three columns of 3, 66 and 11 categories, four of two, and 34 numbers.
KDD_BINS = (11, 3, 66, 11, *[11] * 30, 2, 2, 2, 2, 11, 11, 11)
KDD_ROWS = 5_000_000
# In the picture: the first column of Adult.
AGE = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    parser.add_argument("--max-rows", type=int, default=10**6, help="largest synthetic data")
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--kdd", action="store_true", help="5 million rows of 41 columns, alone")
    parser.add_argument("--picture", type=Path, help="draw the picture of docs/privgam.md, alone")
    options = parser.parse_args()
    if options.picture is not None:
        picture(options.picture)
        return
    with threadpool_limits(1):
        measured: dict[str, Any] = (
            {"kdd": kdd()}
            if options.kdd
            else {
                "adult": against_plain(options.fits),
                "rows": over_rows(options.max_rows, options.fits),
                "columns": over_columns(options.fits),
            }
        )
    if options.json is not None:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")


def against_plain(fits: int) -> dict[str, Any]:
    name, X, y, n_bins, ordered = coded_adult()
    mu = gaussian_budget(*BUDGET.values(), REPLACE_ONE).amount
    codes, labels = X.astype(int), (y > 0).astype(int)

    def plain(seed: int) -> None:
        rng = np.random.default_rng(seed)
        reference.cyclic(codes, labels, n_bins, ordered, mu, rng, rule.ROUNDS)

    measured = {
        "data": name,
        "fit_ms": milliseconds(fit_of(X, y, n_bins, ordered, **BUDGET), fits),
        "fit_ms_without_delta": milliseconds(fit_of(X, y, n_bins, ordered, epsilon=1.0), fits),
        "plain_ms": milliseconds(plain, 1),
    }
    measured["times_faster"] = measured["plain_ms"] / measured["fit_ms"]
    print(f"{name}: {len(X)} records, {len(n_bins)} columns, ε = 1")
    print(f"  a fit, δ = 1e-5 (cyclic)   {measured['fit_ms']:9.1f} ms")
    print(f"  a fit, δ = 0 (stumps)      {measured['fit_ms_without_delta']:9.1f} ms")
    print(f"  the plain program, δ = 1e-5{measured['plain_ms']:9.0f} ms")
    print(f"  ratio {measured['times_faster']:.0f}")
    return measured


def over_rows(max_rows: int, fits: int) -> list[dict[str, float]]:
    """Time fits of one method: the rule's own depends on how many records there are."""
    print(f"\n{'rows':>9} {'ms a fit':>9} {'ns a row, column and round':>27}")
    measured = []
    for n_rows in (10**k for k in range(3, 7)):
        if n_rows > max_rows:
            break
        X, y = synthetic(n_rows)
        fit = fit_of(X, y, ADULT_BINS, None, method="cyclic", **BUDGET)
        measured.append(report(n_rows, n_rows, X.shape[1], milliseconds(fit, fits)))
    return measured


def over_columns(fits: int) -> list[dict[str, float]]:
    n_rows = 32_561
    X, y = synthetic(n_rows)
    print(f"\n{'columns':>9} {'ms a fit':>9} {'ns a row, column and round':>27}   ({n_rows} rows)")
    measured = []
    for times in (1, 2, 4, 8):
        wide, n_bins = np.tile(X, times), ADULT_BINS * times
        fit = fit_of(wide, y, n_bins, None, method="cyclic", **BUDGET)
        measured.append(report(len(n_bins), n_rows, len(n_bins), milliseconds(fit, fits)))
    return measured


def report(shown: int, n_rows: int, n_columns: int, ms: float) -> dict[str, float]:
    each = ms * 1e6 / (n_rows * n_columns * rule.ROUNDS)
    print(f"{shown:9d} {ms:9.1f} {each:27.2f}")
    return {"rows": n_rows, "columns": n_columns, "fit_ms": ms, "ns_each": each}


def kdd() -> dict[str, float]:
    rng = np.random.default_rng(0)
    X = np.empty((KDD_ROWS, len(KDD_BINS)), dtype=np.uint8)
    for j, size in enumerate(KDD_BINS):
        for part in np.array_split(np.arange(KDD_ROWS), 50):
            X[part, j] = rng.random(len(part)) ** 4 * size
    y = np.where(X[:, 1] + X[:, 2] // 22 + (rng.random(KDD_ROWS) < 0.2) > 1, 1, -1)
    before = peak_rss()
    ms = milliseconds(fit_of(X, y.astype(np.int8), KDD_BINS, None, **BUDGET), 1)
    measured = {"rows": KDD_ROWS, "fit_seconds": ms / 1e3, "data_mib": before, "mib": peak_rss()}
    print(
        f"{KDD_ROWS:,} rows of {len(KDD_BINS)} columns: {ms / 1e3:.1f} s a fit, "
        f"{measured['mib']:.0f} MiB at most, {before:.0f} of them before the fit"
    )
    return measured


def picture(path: Path) -> None:
    """Draw one release of the age in Adult, its Newton steps, and the shape after all rounds."""
    from matplotlib import pyplot

    data = datasets.load("adult-fine")
    widths = np.array(data.domain.n_bins)
    facts = rule.Facts(len(data.y), tuple(data.domain.ordered), 2, 1.0, 1e-6, REPLACE_ONE)
    extras = rule.extras_of(rule.CYCLIC, facts)
    budget = rule.budget_of(rule.CYCLIC, extras, facts)
    maps = bin_maps(widths, facts.ordered, extras.most_bins)
    ones = np.ones(len(data.y), dtype=np.int64)
    records = Records(data.X, (data.y > 0).astype(np.int64), ones, widths)
    releases: list[np.ndarray] = []

    class Watched(Fit):
        def _take(self, j: int, sums: np.ndarray, variance: Any, weight: float) -> None:
            if j == AGE:
                releases.append(sums)
            super()._take(j, sums, variance, weight)
            if j == AGE and len(releases) == 1:
                running = self._running[j]
                down = np.maximum(running.denominator, 1.0)
                releases.append(running.numerator / down)
                releases.append(np.sqrt(running.variance / down**2 + 1 / down))

    fit = Watched(
        Residuals(records, maps, budget.bits),
        facts.ordered,
        budget,
        Curator(np.random.default_rng(7)),
    )
    fit.run(rule.CYCLIC, extras, facts.n)
    sums, steps, errors, shape = *releases[:3], fit.records.shapes[AGE] / 2.0**24
    bins = np.arange(len(shape))
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    axes[0].step(bins, sums[0], where="mid", label="up to 50,000 dollars")
    axes[0].step(bins, sums[1], where="mid", label="more")
    axes[0].legend(frameon=False)
    axes[0].set(title="1. Noisy sums of residuals", xlabel="bin of age")
    axes[1].errorbar(bins, steps, errors, fmt=".", markersize=3, linewidth=0.7)
    axes[1].set(title="2. A Newton step a bin", xlabel="bin of age", ylim=(-3, 3))
    axes[2].fill_between(bins, shape - fit.errors[AGE], shape + fit.errors[AGE], alpha=0.3)
    axes[2].plot(bins, shape)
    axes[2].set(title="3. Smoothed, after ten rounds", xlabel="bin of age", ylim=(-3, 3))
    figure.savefig(path, dpi=110)


def fit_of(
    X: np.ndarray, y: np.ndarray, n_bins: Any, ordered: Any, **parameters: Any
) -> Callable[[int], None]:
    def fit(seed: int) -> None:
        facts = {"n_bins": n_bins, "ordered": ordered, "classes": (-1, 1)}
        PrivGAMClassifier(**facts, **parameters, random_state=seed).fit(X, y)

    return fit


def coded_adult() -> tuple[str, np.ndarray, np.ndarray, tuple[int, ...], tuple[bool, ...]]:
    name, X, y, n_bins = adult()
    if "PRIVCURVE_DATA" not in os.environ:
        return name, X, y, n_bins, (False,) * len(n_bins)
    from privcurve.datasets import load

    return name, X, y, n_bins, tuple(load("adult").domain.ordered)


if __name__ == "__main__":
    main()
