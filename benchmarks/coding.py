"""What does coding cost? PrivGAM on tables coded by the default, by hand, and the raw table.

    PRIVCURVE_DATA=<mirror> python benchmarks/coding.py [--datasets adult page …] [--factor 10]

Each numeric column has the bounds of its description, made `--factor` times as wide (upwards):
wide, round and public, as someone gives them who does not know the column. It is cut into ten
equal bins, and into 64 mixed ones, the default of `privcurve describe`. `by hand` is the
description with fine bins that ships beside some datasets. `raw` is gradient boosting
(scikit-learn) on the raw numbers and categories, without privacy. Figures are means of accuracy
and AUC over random splits, and the standard error of the difference of AUC between mixed and equal
bins over the same splits.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score

from privcurve.coding import EQUAL, MIXED
from privcurve.datasets import catalogue
from privcurve.datasets.columns import NUMERIC
from privcurve.datasets.description import Description
from privcurve.datasets.domain import Domain
from privcurve.datasets.encode import Coder, amounts
from privcurve.datasets.errors import Problems
from privcurve.datasets.load import load, raw_tables
from privcurve.learners.additive.privgam import PrivGAMClassifier

DATASETS = "adult bank magic page codrna winewhite abalone eeg qsar mice"
EPSILONS = (0.1, 1.0, 3.0)
DELTA = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS.split())
    parser.add_argument("--factor", type=float, default=10, help="how much wider bounds are made")
    parser.add_argument("--splits", type=int, default=6)
    options = parser.parse_args()
    titles = [f"{name} ε = {e:g}" for e in EPSILONS for name in ("equal", "mixed", "by hand", "se")]
    print("| dataset | raw |", " | ".join(titles), "|")
    print("|---|" + "---|" * (len(titles) + 1))
    for name in options.datasets:
        print(row(name, options.factor, options.splits), flush=True)


def row(name: str, factor: float, n_splits: int) -> str:
    """Return a line of the table: accuracy/AUC of each coding."""
    description = catalogue.describe(name)
    codings = {
        "equal": coded(description, recoded(description.domain, EQUAL, 10, factor)),
        "mixed": coded(description, recoded(description.domain, MIXED, 64, factor)),
    }
    y = codings["equal"][1]
    by_hand = name in ("adult", "bank", "codrna", "creditcard")
    if by_hand:
        fine = load(f"{name}-fine")
        codings["by hand"] = (fine.X, fine.y, fine.domain)
    parts = [splits(len(y), k) for k in range(n_splits)]
    raw, categorical = raw_matrix(description)
    of_raw = []
    for k, (train, test) in enumerate(parts):
        model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=k)
        chances = model.fit(raw[train], y[train]).predict_proba(raw[test])[:, 1]
        of_raw.append(scores(y[test], chances))
    cells = [shown(of_raw)]
    for epsilon in EPSILONS:
        each: dict[str, list[Any]] = {}
        for coding, (X, labels, domain) in codings.items():
            each[coding] = []
            for k in range(n_splits):
                # The files of the variants by hand have the training part alone.
                train, test = splits(len(labels), k)
                model = PrivGAMClassifier(
                    epsilon=epsilon,
                    delta=DELTA,
                    n_bins=domain.n_bins,
                    ordered=domain.ordered,
                    random_state=k,
                ).fit(X[train], labels[train])
                each[coding].append(scores(labels[test], model.predict_proba(X[test])[:, 1]))
        gain = np.array(each["mixed"])[:, 1] - np.array(each["equal"])[:, 1]
        error = gain.std(ddof=1) / math.sqrt(len(gain))
        cells += [shown(each[coding]) if coding in each else "" for coding in ("equal", "mixed")]
        cells += [shown(each["by hand"]) if by_hand else "", f"{error:.3f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


def recoded(domain: Domain, spacing: str, n_bins: int, factor: float) -> Domain:
    """Return a domain with other bins of all numbers, between wider bounds."""
    columns = []
    for column in domain.columns:
        if column.kind == NUMERIC and not column.dates and column.bounds is not None:
            low, high = column.bounds
            bounds = (low, low + factor * (high - low))
            column = replace(column, bounds=bounds, spacing=spacing, bins=n_bins)
        columns.append(column)
    return replace(domain, columns=tuple(columns))


def coded(description: Description, domain: Domain) -> tuple[Any, Any, Domain]:
    """Return codes and labels of all records of a dataset's files, by another domain."""
    coder = Coder(domain, description.path, Problems(description.name))
    parts = [coder.records(description, table) for table in raw_tables(description)]
    return np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts]), domain


def raw_matrix(description: Description) -> tuple[Any, Sequence[bool]]:
    """Return numbers as they are and categories by their codes, and which columns are those."""
    domain = description.domain
    coder = Coder(domain, description.path, Problems(description.name))
    parts = []
    for table in raw_tables(description):
        codes = coder.columns(table)[0].astype(float)
        for j, column in enumerate(domain.columns):
            if column.kind == NUMERIC:
                codes[:, j] = amounts(domain, column, table.columns[column.name])[0]
        parts.append(codes)
    categorical = [column.kind != NUMERIC for column in domain.columns]
    return np.concatenate(parts), categorical


def splits(n: int, seed: int) -> tuple[Any, Any]:
    """Return the places of nine tenths of n records and of the others."""
    order = np.random.default_rng(seed).permutation(n)
    return order[n // 10 :], order[: n // 10]


def scores(labels: Any, chances: Any) -> tuple[float, float]:
    return accuracy_score(labels > 0, chances > 0.5), roc_auc_score(labels > 0, chances)


def shown(each: Sequence[tuple[float, float]]) -> str:
    accuracy, auc = np.mean(each, axis=0)
    return f"{accuracy:.3f}/{auc:.3f}".replace("0.", ".")


if __name__ == "__main__":
    main()
