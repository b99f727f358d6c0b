"""Measure the milliseconds of a fit, on one core, for learners with public columns.

    PRIVCURVE_DATA=<mirror> python benchmarks/partial.py [--json FILE] [--fits N]

The fits use nine tenths of balanced Adult (21,036 records of 14 columns, 5 of them public) if
PRIVCURVE_DATA is set, otherwise synthetic rows of its shape. Each fit has a seed of its own, as the
time depends on noise: the noise decides how many rounds the public classifier wins. The result is
the median CPU time of all fits with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lazybb import ADULT_BINS, synthetic
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE

RECORDS = 21_036
SCORED = 2_338
PUBLIC = (1, 8, 9, 13, 2)
EPSILON = 0.16
PATE = "pate, 50 teachers, all answers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    parser.add_argument("--fits", type=int, default=20)
    options = parser.parse_args()
    name, X, y, facts = records()
    print(f"{name}: {RECORDS} records, {X.shape[1]} columns, ε = {EPSILON}")
    measured = {}
    with threadpool_limits(1):
        for what, (learner, parameters, relation) in cases().items():
            fit = one_fit(learner, parameters, relation, facts, X, y, scores=what == PATE)
            measured[what] = milliseconds(fit, options.fits)
            print(f"  {what:42s} {measured[what]:8.1f} ms")
    if options.json is not None:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")


def cases() -> dict[str, tuple[str, dict[str, Any], str]]:
    box = {"encoding": "scaled", "noise": "box"}
    start = {"start": "public"}
    return {
        "brc, private": ("brc", {}, REPLACE_ONE),
        "brc, public columns": ("brc", {}, PRIVATE_COLUMNS),
        "noisy_bayes": ("noisy_bayes", {}, REPLACE_ONE),
        "noisy_bayes, public start": ("noisy_bayes", start, PRIVATE_COLUMNS),
        "logistic regression, box, public start": (
            "dp_logistic_regression",
            {**box, **start, "columns": "private"},
            PRIVATE_COLUMNS,
        ),
        PATE: ("pate", {"n_teachers": 50}, PRIVATE_COLUMNS),
        "boosting_for_people": ("boosting_for_people", {}, PRIVATE_COLUMNS),
        "boosting_for_people, private": ("boosting_for_people", {}, REPLACE_ONE),
    }


def one_fit(
    learner: str,
    parameters: dict[str, Any],
    relation: str,
    facts: Any,
    X: np.ndarray,
    y: np.ndarray,
    scores: bool,
) -> Callable[[int], None]:
    def fit(seed: int) -> None:
        given = {**parameters, "epsilon": EPSILON, "random_state": np.random.default_rng(seed)}
        model = registry.make(learner, facts, given, relation).fit(X[:RECORDS], y[:RECORDS])
        if scores:
            model.decision_function(X[RECORDS:])

    return fit


def milliseconds(fit: Callable[[int], None], n: int) -> float:
    """Return the median CPU time of `n` fits in milliseconds, after a warm-up fit."""
    fit(n)
    times = []
    for seed in range(n):
        started = time.process_time()
        fit(seed)
        times.append(time.process_time() - started)
    return float(np.median(times)) * 1e3


def records() -> tuple[str, np.ndarray, np.ndarray, Any]:
    n = RECORDS + SCORED
    if "PRIVCURVE_DATA" not in os.environ:
        X, y = synthetic(n)
        facts = Facts(np.array(ADULT_BINS), public_columns=PUBLIC, public_label=True)
        return "synthetic rows in the shape of Adult", X, y, facts
    from privcurve.datasets import load

    dataset = load("adult-balanced")
    order = np.random.default_rng(0).permutation(n)
    return "balanced Adult", dataset.X[order], dataset.y[order], dataset.domain


if __name__ == "__main__":
    main()
