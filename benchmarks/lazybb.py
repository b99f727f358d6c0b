"""Measure the time of a LazyBB fit: compared with AdaBoost, by rows, and by rounds.

    PRIVCURVE_DATA=<mirror> python benchmarks/lazybb.py [--json FILE] [--max-rows N]

The first table uses Adult if PRIVCURVE_DATA is set, otherwise synthetic rows of its shape.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ADULT_BINS = (10, 9, 10, 16, 10, 7, 15, 6, 5, 2, 10, 10, 10, 42)
ADULT_ROWS = 32_561
N_ROUNDS = 99


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    parser.add_argument("--max-rows", type=int, default=10**6, help="largest synthetic data")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    results = {
        "start": start_up(),
        "adult": against_adaboost(options.repeats),
        "rows": over_rows(options.max_rows, options.repeats),
        "rounds": over_rounds(options.repeats),
        "peak_rss_mib": peak_rss(),
    }
    print(f"\npeak memory of this process: {results['peak_rss_mib']:.0f} MiB")
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def start_up() -> dict[str, float]:
    """Return the seconds of the import and of the first fit, which compiles or loads kernels."""
    started = time.perf_counter()
    from privcurve.learners import LazyBBClassifier

    imported = time.perf_counter()
    LazyBBClassifier(n_bins=2).fit([[0], [1]], [0, 1])
    first = time.perf_counter()
    times = {"import_seconds": imported - started, "first_fit_seconds": first - imported}
    print(
        f"import {times['import_seconds']:.2f} s, first fit {times['first_fit_seconds']:.2f} s "
        "(compiles if there is no Numba cache)"
    )
    return times


def against_adaboost(repeats: int) -> dict[str, Any]:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    from privcurve.coding import Records
    from privcurve.learners import LazyBBClassifier
    from privcurve.privacy.curator import Curator

    name, X, y, n_bins = adult()
    rows, labels, counts = distinct_rows(X, y)
    learner = LazyBBClassifier(n_rounds=N_ROUNDS, n_bins=n_bins, classes=(-1, 1), random_state=0)
    alone = best(lambda: learner.fit(rows, labels, counts), repeats)
    batch = 32
    records = Records(rows, labels, counts, np.array(n_bins))
    curators = [Curator(np.random.default_rng(seed)) for seed in range(batch)]
    batched = best(lambda: learner.fit_records(records, [{}] * batch, curators), repeats)
    one_hot = np.concatenate(
        [X[:, [j]] == np.arange(size) for j, size in enumerate(n_bins)], axis=1
    ).astype(np.float64)
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=N_ROUNDS)
    other = best(lambda: ada.fit(one_hot, y), 1)
    times = {
        "data": name,
        "n_records": len(X),
        "n_distinct": len(rows),
        "n_columns": len(n_bins),
        "n_rounds": N_ROUNDS,
        "fit_ms": alone * 1e3,
        "fit_ms_in_batch_of_32": batched / batch * 1e3,
        "adaboost_ms": other * 1e3,
        "times_faster": other / alone,
        "times_faster_in_batch": other / (batched / batch),
    }
    print(f"\n{name}: {len(X)} records, {len(rows)} distinct, τ = {N_ROUNDS}")
    print(f"  LazyBB, one fit               {times['fit_ms']:9.2f} ms")
    print(f"  LazyBB, a fit in a batch of 32{times['fit_ms_in_batch_of_32']:9.2f} ms")
    print(f"  AdaBoost, {one_hot.shape[1]} one-hot columns{times['adaboost_ms']:10.0f} ms")
    print(
        f"  ratio {times['times_faster']:.0f} alone, {times['times_faster_in_batch']:.0f} batched"
    )
    return times


def over_rows(max_rows: int, repeats: int) -> list[dict[str, float]]:
    from privcurve.learners import LazyBBClassifier

    print(f"\n{'rows':>9} {'ms a fit':>9} {'ns a row and round':>19} {'peak MiB':>9}")
    times = []
    for n_rows in (10**k for k in range(3, 8)):
        if n_rows > max_rows:
            break
        X, y = synthetic(n_rows)
        learner = LazyBBClassifier(n_rounds=N_ROUNDS, n_bins=ADULT_BINS, random_state=0)
        seconds = best(partial(learner.fit, X, y), repeats if n_rows < 10**6 else 1)
        row = {
            "n_rows": n_rows,
            "fit_ms": seconds * 1e3,
            "ns_per_row_and_round": seconds / n_rows / N_ROUNDS * 1e9,
            "peak_rss_mib": peak_rss(),
        }
        print(
            f"{n_rows:9d} {row['fit_ms']:9.2f} {row['ns_per_row_and_round']:19.2f} "
            f"{row['peak_rss_mib']:9.0f}"
        )
        times.append(row)
    return times


def over_rounds(repeats: int) -> list[dict[str, float]]:
    from privcurve.learners import LazyBBClassifier

    X, y = synthetic(ADULT_ROWS)
    print(f"\n{'rounds':>9} {'ms a fit':>9} {'µs a round':>11}   ({ADULT_ROWS} rows)")
    times = []
    for n_rounds in (5, 25, 99, 199, 399):
        learner = LazyBBClassifier(n_rounds=n_rounds, n_bins=ADULT_BINS, random_state=0)
        seconds = best(partial(learner.fit, X, y), repeats)
        row = {
            "n_rounds": n_rounds,
            "fit_ms": seconds * 1e3,
            "us_per_round": seconds / n_rounds * 1e6,
        }
        print(f"{n_rounds:9d} {row['fit_ms']:9.2f} {row['us_per_round']:11.1f}")
        times.append(row)
    return times


def adult() -> tuple[str, np.ndarray, np.ndarray, tuple[int, ...]]:
    if "PRIVCURVE_DATA" not in os.environ:
        X, y = synthetic(ADULT_ROWS)
        return "synthetic rows in the shape of Adult", X, y, ADULT_BINS
    from privcurve.datasets import load

    dataset = load("adult")
    return "Adult", dataset.X, dataset.y, tuple(dataset.domain.n_bins)


def synthetic(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return skewed codes in the shape of Adult's columns, and labels; few rows are equal."""
    rng = np.random.default_rng(0)
    X = np.stack([(rng.random(n_rows) ** 2 * size) for size in ADULT_BINS], axis=1).astype(np.uint8)
    logit = (X[:, 5] == 2) * 2.0 + (X[:, 3] > 8) - (X[:, 10] == 0) - 1
    return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-logit)), 1, -1)


def distinct_rows(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, counts = np.unique(np.column_stack([X, y > 0]), axis=0, return_counts=True)
    return rows[:, :-1].astype(np.uint8), np.where(rows[:, -1] > 0, 1, -1), counts


def best(call: Callable[[], object], repeats: int) -> float:
    """Return the seconds of the fastest of `repeats` calls, after a warm-up call if several."""
    if repeats > 1:
        call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def peak_rss() -> float:
    """Return the peak resident memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


if __name__ == "__main__":
    main()
