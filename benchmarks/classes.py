"""Compare accuracy and speed of PrivGAM for more than two classes with other learners.

    PRIVCURVE_DATA=<mirror> python benchmarks/classes.py [--datasets NAME …] [--fits N]
        [--epsilons E …] [--json FILE]

The program prints the mean accuracy of each learner over fits, with its standard error. On MNIST a
fit is scored on the test part, so that only noise differs between fits; on other datasets it is
scored on a random fifth, which is the same for all learners. δ is 1e-5, under replace-one. `digits`
is scikit-learn's dataset. The other learners are random trees, a DP-TopDown tree (one holder), one
PrivGAM per class against the rest, and diffprivlib's naive Bayes and forest (δ = 0, under that
package's neighbouring relation). Hyperparameters follow public rules. With K classes, each model of
one class against the rest has the Gaussian budget μ/√K, which adds up to μ exactly.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from privcurve.datasets import load
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import REPLACE_ONE
from privcurve.privacy.calibration.shares import gaussian_budget

DELTA = 1e-5
DATASETS = (
    "mnist",
    "digits",
    "yeast-sites",
    "page-kinds",
    "winered-grades",
    "cardiotocography-states",
)
EPSILONS = (0.1, 1.0, 3.0)
TOPDOWN = {"learner": "distributed_topdown", "fixed": {"trust": "central", "n_holders": 1}}
SETTINGS = {**by_rule.LEARNERS, "topdown": TOPDOWN}
GAM = "PrivGAM"

# Codes and classes (0, 1, …) of the training records, codes and classes of the scored records, and
# public facts.
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Facts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), metavar="NAME")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--fits", type=int, default=20, help="of MNIST a quarter of them")
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print(f"| data | ε | {' | '.join(LEARNERS)} |")
    print(f"|---|---|{'---|' * len(LEARNERS)}")
    with threadpool_limits(1):
        for name in options.datasets:
            fits = max(3, options.fits // 4) if name == "mnist" else options.fits
            for epsilon in options.epsilons:
                rows.append(compared(name, epsilon, fits))
    counted(rows)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def compared(name: str, epsilon: float, fits: int) -> dict[str, Any]:
    """Train all learners on the same splits; print and return a row of the table."""
    right: dict[str, list[float]] = {label: [] for label in LEARNERS}
    seconds: dict[str, list[float]] = {label: [] for label in LEARNERS}
    for seed, (codes, labels, others, wanted, facts) in enumerate(splits(name, fits)):
        for label, fitted in LEARNERS.items():
            start = time.process_time()
            predict = fitted(codes, labels, facts, epsilon, seed)
            seconds[label].append(time.process_time() - start)
            right[label].append(float((predict(others) == wanted).mean()))
    cells = []
    for values in right.values():
        error = np.std(values, ddof=1) / math.sqrt(fits)
        cells.append(f"{np.mean(values):.3f} ({error:.3f})")
    print(f"| {name} | {epsilon:g} | {' | '.join(cells)} |", flush=True)
    medians = {label: float(np.median(times)) for label, times in seconds.items()}
    return {"data": name, "epsilon": epsilon, "right": right, "seconds": medians}


def counted(rows: list[dict[str, Any]]) -> None:
    """Print wins, ties and losses of PrivGAM against each learner, and seconds per fit.

    A win or a loss is a paired difference of more than two standard errors.
    """
    for label in LEARNERS:
        if label == GAM:
            continue
        signs = [0, 0, 0]
        for row in rows:
            apart = np.subtract(row["right"][GAM], row["right"][label])
            error = apart.std(ddof=1) / math.sqrt(len(apart))
            signs[0 if apart.mean() > 2 * error else 2 if apart.mean() < -2 * error else 1] += 1
        print(f"against {label}: {signs[0]} wins, {signs[1]} ties, {signs[2]} losses")
    for row in rows:
        said = ", ".join(f"{label} {each:.2f}" for label, each in row["seconds"].items())
        print(f"seconds a fit, {row['data']}, ε = {row['epsilon']:g}: {said}")


def splits(name: str, fits: int) -> Iterator[Split]:
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X, facts, test = X.astype(np.uint8), Facts((17,) * 64, (True,) * 64, 10), None
    else:
        data = load(name)
        X, y, domain = data.X, data.y, data.domain
        facts = Facts(tuple(map(int, domain.n_bins)), domain.ordered, domain.n_classes)
        test = None
        if data.X_test is not None and data.y_test is not None:
            test = data.X_test, data.y_test
    for k in range(fits):
        if test is not None:
            yield X, y, *test, facts
            continue
        order = np.random.default_rng([k, 30]).permutation(len(y))
        train, held = order[len(y) // 5 :], order[: len(y) // 5]
        yield X[train], y[train], X[held], y[held], facts


Predict = Callable[[np.ndarray], np.ndarray]
Fitted = Callable[[np.ndarray, np.ndarray, Facts, float, int], Predict]


def by_name(name: str) -> Fitted:
    """Return a function that trains a learner with hyperparameters from a public rule."""
    spec = SETTINGS[name]

    def fitted(codes: Any, labels: Any, facts: Facts, epsilon: float, seed: int) -> Predict:
        budget = {"epsilon": epsilon, "delta": DELTA, "random_state": np.random.default_rng(seed)}
        made = registry.make(spec["learner"], facts, {**spec.get("fixed", {}), **budget})
        return made.fit(codes, labels).predict

    return fitted


def one_against_rest(codes: Any, labels: Any, facts: Facts, epsilon: float, seed: int) -> Predict:
    """Train a PrivGAM for each class against the rest; predict the class with the best score."""
    mu = gaussian_budget(epsilon, DELTA, REPLACE_ONE).amount / math.sqrt(facts.n_classes)

    def excess(log: float) -> float:
        return gaussian_budget(math.exp(log), DELTA, REPLACE_ONE).amount - mu

    each = math.exp(brentq(excess, math.log(1e-4), math.log(epsilon), xtol=1e-6))
    of_two = Facts(facts.n_bins, facts.ordered)
    budget = {"epsilon": each, "delta": DELTA}
    models = [
        registry.make(
            "privgam", of_two, {**budget, "random_state": np.random.default_rng([seed, k])}
        ).fit(codes, np.where(labels == k, 1, -1))
        for k in range(facts.n_classes)
    ]
    return lambda rows: np.argmax([one.decision_function(rows) for one in models], axis=0)


def of_diffprivlib(kind: str) -> Fitted:
    """Return a function that trains a model of diffprivlib with its defaults and public bounds."""

    def fitted(codes: Any, labels: Any, facts: Facts, epsilon: float, seed: int) -> Predict:
        from diffprivlib import models
        from diffprivlib.accountant import BudgetAccountant

        ends = (np.zeros(len(facts.n_bins)), np.array(facts.n_bins) - 1.0)
        told: dict[str, Any] = {"epsilon": epsilon, "bounds": ends, "random_state": seed}
        told["accountant"] = BudgetAccountant()
        if kind == "GaussianNB":
            # GaussianNB reads the classes from the labels, so each class must occur in them.
            made = models.GaussianNB(**told)
        else:
            made = models.RandomForestClassifier(**told, classes=np.arange(facts.n_classes))
        return made.fit(codes.astype(float), labels).predict

    return fitted


LEARNERS: dict[str, Fitted] = {
    GAM: by_name("privgam"),
    "random trees": by_name("random_trees"),
    "DP-TopDown": by_name("topdown"),
    "one against rest": one_against_rest,
    "diffprivlib NB": of_diffprivlib("GaussianNB"),
    "diffprivlib forest": of_diffprivlib("RandomForestClassifier"),
}

if __name__ == "__main__":
    main()
