"""Measure the time of a PrivGAM fit: compared with plain NumPy, by rows, and by columns.

    PRIVCURVE_DATA=<mirror> python benchmarks/privgam.py [--json FILE] [--max-rows N] [--kdd]

The first table uses Adult if PRIVCURVE_DATA is set, otherwise synthetic rows of its shape. Plain
NumPy is the tests' reference implementation (`tests/reference/privgam.py`). A time is the median
CPU time, with one thread, of fits with different seeds. `--kdd` instead fits 5 million synthetic
rows in the shape of KDDCup99 (41 columns), and prints time and memory.
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
from threadpoolctl import threadpool_limits

from lazybb import ADULT_BINS, adult, peak_rss, synthetic
from partial import milliseconds
from privcurve import datasets
from privcurve.learners import registry
from privcurve.learners.additive import decoder, privgam, rule
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.privacy.budget import REPLACE_ONE

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reference"))
import privgam as reference

BUDGET = {"epsilon": 1.0, "delta": 1e-5}
# Bins of KDDCup99: columns of 3, 66 and 11 categories, four binary columns, 34 numeric ones.
KDD_BINS = (11, 3, 66, 11, *[11] * 30, 2, 2, 2, 2, 11, 11, 11)
KDD_ROWS = 5_000_000
# Index of the column that the picture shows: Adult's first.
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
    labels = (y > 0).astype(int)
    plan = rule.plan(
        rule.FitFacts(len(y), ordered, 2, BUDGET["epsilon"], BUDGET["delta"], REPLACE_ONE)
    )
    noise = len(y) / (plan.m * (2 * len(ordered)) ** 0.5)

    def plain(seed: int) -> None:
        network, rng = decoder.load(), np.random.default_rng(seed)
        reference.fit(  # type: ignore[attr-defined]
            X, labels, n_bins, ordered, 2, network, noise, False, noise, rng
        )

    measured: dict[str, Any] = {
        "data": name,
        "fit_ms": milliseconds(fit_of(X, y, n_bins, ordered, **BUDGET), fits),
        "fit_ms_without_delta": milliseconds(fit_of(X, y, n_bins, ordered, epsilon=1.0), fits),
        "plain_ms": milliseconds(plain, 1),
    }
    measured["times_faster"] = measured["plain_ms"] / measured["fit_ms"]
    print(f"{name}: {len(X)} records, {len(n_bins)} columns, ε = 1")
    print(f"  a fit, δ = 1e-5            {measured['fit_ms']:9.1f} ms")
    print(f"  a fit, δ = 0               {measured['fit_ms_without_delta']:9.1f} ms")
    print(f"  the plain program, δ = 1e-5{measured['plain_ms']:9.0f} ms")
    print(f"  ratio {measured['times_faster']:.0f}")
    return measured


def over_rows(max_rows: int, fits: int) -> list[dict[str, float]]:
    print(f"\n{'rows':>9} {'ms a fit':>9} {'ns a row, column and release':>29}")
    measured = []
    for n_rows in (10**k for k in range(3, 7)):
        if n_rows > max_rows:
            break
        X, y = synthetic(n_rows)
        fit = fit_of(X, y, ADULT_BINS, None, **BUDGET)
        measured.append(report(n_rows, n_rows, X.shape[1], milliseconds(fit, fits)))
    return measured


def over_columns(fits: int) -> list[dict[str, float]]:
    n_rows = 32_561
    X, y = synthetic(n_rows)
    print(
        f"\n{'columns':>9} {'ms a fit':>9} {'ns a row, column and release':>29}   ({n_rows} rows)"
    )
    measured = []
    for times in (1, 2, 4, 8):
        wide, n_bins = np.tile(X, times), ADULT_BINS * times
        fit = fit_of(wide, y, n_bins, None, **BUDGET)
        measured.append(report(len(n_bins), n_rows, len(n_bins), milliseconds(fit, fits)))
    return measured


def report(shown: int, n_rows: int, n_columns: int, ms: float) -> dict[str, float]:
    facts = rule.FitFacts(
        n_rows, (False,) * n_columns, 2, BUDGET["epsilon"], BUDGET["delta"], REPLACE_ONE
    )
    each = ms * 1e6 / (n_rows * n_columns * len(rule.plan(facts).releases))
    print(f"{shown:9d} {ms:9.1f} {each:29.2f}")
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
    """Draw the first release of Adult's ages, and the scores of their bins after each release."""
    from matplotlib import pyplot

    data = datasets.load("adult-fine")
    releases: list[tuple[np.ndarray, ...]] = []

    class Watched(decoder.Decoder):
        def take(self, by_bin: decoder.Answers, totals: decoder.Answers) -> None:
            super().take(by_bin, totals)
            ages = slice(*self._starts[AGE : AGE + 2])
            answers = by_bin.own[0, ages], by_bin.others[0, ages]
            releases.append((*answers, self.scores[0, ages].copy()))

    privgam.Decoder = Watched  # type: ignore[misc]
    given = {"epsilon": 1.0, "delta": 1e-6, "random_state": np.random.default_rng(7)}
    registry.make("privgam", data.domain, given).fit(data.X, data.y)
    (own, others, _), bins = releases[0], np.arange(len(releases[0][0]))
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    axes[0].step(bins, others, where="mid", label="up to 50,000 dollars")
    axes[0].step(bins, own, where="mid", label="more")
    axes[0].legend(frameon=False)
    axes[0].set(title="1. The first release", xlabel="bin of age", ylabel="records / 2")
    for k, (_, _, scores) in enumerate(releases, 1):
        alpha = (2 + 8 * k / len(releases)) / 10
        axes[1].step(bins, scores, where="mid", label=f"after release {k}", alpha=alpha)
    axes[1].legend(frameon=False, fontsize=8)
    axes[1].set(title="2. What the network makes of it", xlabel="bin of age", ylabel="score")
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
