"""Compare two learners by paired differences of their accuracy on samples of datasets.

    PRIVCURVE_DATA=<mirror> python benchmarks/paired.py privgam dp_newton \
        --datasets adult-fine,mushroom --sizes 1000,4000 [--other n_groups=8]

The program prints a line for each dataset and sample size. For each ε, it has the first learner's
mean accuracy over samples, then the mean of the second learner's accuracy minus the first's, with
its standard error. Accuracy is measured on up to 8,000 records outside the sample. Records of test
files are not used.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privcurve import datasets
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE

MOST_SCORED = 8_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--datasets", default="adult-fine")
    parser.add_argument("--sizes", default="0.8", help="records, or the share 0.8 of all")
    parser.add_argument("--epsilons", default="0.05,0.1,0.5,1,3")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--neighbours", choices=(REPLACE_ONE, ADD_REMOVE), default=REPLACE_ONE)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--other", default="", help="settings of the second, NAME=VALUE,…")
    options = parser.parse_args()
    epsilons = [float(text) for text in options.epsilons.split(",")]
    print("dataset", "records", options.first, f"{options.second} − {options.first} at {epsilons}")
    for name in options.datasets.split(","):
        data = datasets.load(name)
        for size in options.sizes.split(","):
            n = int(size) if float(size) >= 1 else int(float(size) * len(data.y))
            if n >= len(data.y):
                continue
            own = np.zeros((len(epsilons), options.repeats))
            differences = np.zeros_like(own)
            for r in range(options.repeats):
                order = np.random.default_rng(r).permutation(len(data.y))
                rows = order[:n], order[n : n + MOST_SCORED]
                for i, epsilon in enumerate(epsilons):
                    budget = {"epsilon": epsilon, "delta": options.delta}
                    common = (data, rows, budget, options.neighbours, r)
                    own[i, r] = accuracy(options.first, {}, *common)
                    second = accuracy(options.second, settings(options.other), *common)
                    differences[i, r] = second - own[i, r]
            errors = differences.std(axis=1, ddof=1) / math.sqrt(options.repeats)
            means = " ".join(f"{mean:.4f}" for mean in own.mean(axis=1))
            ahead = " ".join(
                f"{mean:+.4f} ({error:.4f})"
                for mean, error in zip(differences.mean(axis=1), errors, strict=True)
            )
            print(f"{name} {n}: {means} | {ahead}", flush=True)


def accuracy(
    learner: str,
    given: Mapping[str, Any],
    data: Any,
    rows: Sequence[np.ndarray],
    budget: Mapping[str, float],
    neighbours: str,
    seed: int,
) -> float:
    """Train a learner on `rows[0]`, and return its accuracy on `rows[1]`."""
    train, test = rows
    parameters = {**budget, **given}
    if neighbours == ADD_REMOVE and "n_estimate" in registry.entry(learner).parameters:
        parameters["n_estimate"] = len(train)
    model = registry.make(learner, data.domain, parameters, neighbours=neighbours)
    model.set_params(random_state=seed)
    model.fit(data.X[train], data.y[train])
    return float((model.predict(data.X[test]) == data.y[test]).mean())


def settings(text: str) -> dict[str, Any]:
    """Parse NAME=VALUE,… into a mapping of integers and floats."""
    pairs = [part.split("=", 1) for part in text.split(",") if part]
    return {name: int(value) if value.isdecimal() else float(value) for name, value in pairs}


if __name__ == "__main__":
    main()
