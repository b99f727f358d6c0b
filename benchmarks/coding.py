"""Measure how the coding of columns into bins changes PrivGAM's accuracy, on ten tables.

    PRIVCURVE_DATA=<mirror> python benchmarks/coding.py [--tables adult digits …] [--epsilon 1]

Six tables are shipped datasets. Their bounds are rounded outwards to powers of ten: wide, round
bounds, as somebody chooses who does not know the column. Four are scikit-learn's: digits (whether
the digit is 5 or more), and the generators Hastie 10.2, Friedman 1 (target above 14.4) and Friedman
2 (above 400). Each column of the printed table is a way of training:

- `64 mixed`: PrivGAM on numbers in 64 mixed bins, the default of `privcurve describe`
- `ten equal`: PrivGAM on numbers in ten equal bins
- `by hand`: PrivGAM with the bins and bounds of the dataset's shipped description with fine bins
- `raw`: scikit-learn's gradient boosting, without privacy, on raw numbers and categories
- `coded`: scikit-learn's gradient boosting on the codes of mixed bins

Cells have the mean accuracy and AUC over random splits (nine tenths of the records train); `se` has
the standard errors of the differences between mixed and equal bins. `--adult` prints the numbers
for the sentence on Adult in docs/research/coding.md. `--few` compares learners that are best with
few bins.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_friedman1, make_friedman2, make_hastie_10_2
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score
from threadpoolctl import threadpool_limits

from privcurve.binning import EQUAL, MIXED, spacing_towards_zero
from privcurve.datasets import catalogue, reading
from privcurve.datasets.coding import Coder, encode_frame, read_amounts
from privcurve.datasets.domain import NUMERIC, Column, Domain, Label
from privcurve.datasets.errors import Problems
from privcurve.datasets.load import load
from privcurve.learners import registry
from privcurve.learners.entries import by_rule

SHIPPED = ("adult", "bank", "creditcard", "codrna", "page", "magic")
BY_HAND = ("adult", "bank", "creditcard", "codrna")
MADE = ("digits", "hastie", "friedman1", "friedman2")
DELTA = 1e-6
BINS = {EQUAL: 10, MIXED: 64}

# Learners for `--few`: most are best with few bins.
FEW: Mapping[str, Mapping[str, Any]] = {
    "one_rule": {"learner": "one_rule"},
    "lazybb": {"learner": "lazybb"},
    "topdown": {"learner": "topdown"},
    "noisy_bayes": {"learner": "noisy_bayes"},
    "dp_logistic_regression": by_rule.LEARNERS["dp_lr"],
    "lazybb, trees of rules": by_rule.LEARNERS["lazybb_trees"],
}
FEW_TABLES = ("adult", "codrna", "page", "magic", "abalone", "winewhite")


@dataclass(frozen=True)
class Coded:
    """An encoded table: codes, labels, and public facts."""

    X: Any
    y: Any
    domain: Domain

    def scores(self, learner: str, k: int, **parameters: Any) -> tuple[float, float]:
        """Train a learner on the k-th split, and return its accuracy and AUC."""
        train, test = splits(len(self.y), k)
        made = registry.make(learner, self.domain, {**parameters, "random_state": k})
        model = made.fit(self.X[train], self.y[train])
        return scores(self.y[test], model.decision_function(self.X[test]))


@dataclass(frozen=True)
class Table:
    """A raw table, whether each column is a category, and a function that encodes the table."""

    raw: Any
    categorical: Sequence[bool]
    code: Callable[[str], Coded]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=[*SHIPPED, *MADE])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--factor", type=float, default=0, help="makes bounds so many times wider")
    parser.add_argument("--adult", action="store_true", help="Adult's test file alone")
    parser.add_argument("--few", action="store_true", help="learners that are best with few bins")
    parser.add_argument("--learners", nargs="+", default=[*FEW], choices=FEW, help="of --few")
    options = parser.parse_args()
    with threadpool_limits(1):
        lines = ten(options)
        if options.adult:
            lines = adult(options.splits)
        if options.few:
            lines = few(options)
        for line in lines:
            print(line, flush=True)


def ten(options: Any) -> Iterator[str]:
    """Yield the lines of the table of results, with a row for each dataset."""
    titles = ["raw", "coded", "ten equal", "64 mixed", "by hand", "se"]
    yield f"| table | {' | '.join(titles)} |"
    yield "|---|" + "---|" * len(titles)
    for name in options.tables:
        table, n = table_of(name, options.factor), options.splits
        codings = {spacing: table.code(spacing) for spacing in BINS}
        if name in BY_HAND:
            fine = load(f"{name}-fine")
            codings["by hand"] = Coded(fine.X, fine.y, fine.domain)
        mixed = codings[MIXED]
        cells = [
            shown(boosted(table.raw, mixed.y, table.categorical, n)),
            shown(boosted(mixed.X, mixed.y, table.categorical, n)),
        ]
        budget = {"epsilon": options.epsilon, "delta": DELTA}
        each = {
            spacing: [coded.scores("privgam", k, **budget) for k in range(n)]
            for spacing, coded in codings.items()
        }
        cells += [shown(each[one]) if one in each else "" for one in (*BINS, "by hand")]
        cells.append(error_of(each[MIXED], each[EQUAL]))
        yield f"| {name} | {' | '.join(cells)} |"


def adult(fits: int) -> Iterator[str]:
    """Yield lines with accuracy and AUC on Adult's test file; only noise differs between fits."""
    description = catalogue.describe("adult")
    for spacing in (EQUAL, MIXED):
        domain = recoded(description.domain, spacing, 0)
        _, train, test = coded(description, domain)
        cells = []
        for epsilon in (0.1, 1.0, 3.0):
            budget = {"epsilon": epsilon, "delta": DELTA}
            each = []
            for k in range(fits):
                made = registry.make("privgam", domain, {**budget, "random_state": k})
                model = made.fit(train.X, train.y)
                each.append(scores(test.y, model.decision_function(test.X)))
            cells.append(f"ε = {epsilon:g}: {shown(each)}")
        yield f"adult's test file, {BINS[spacing]} {spacing} bins: {', '.join(cells)}"


def few(options: Any) -> Iterator[str]:
    """Yield the lines of a table of learners: mean accuracy and AUC over datasets, by coding.

    The codings are ten equal bins, 64 mixed bins, and mixed bins that are merged to the learner's
    own number of bins ("as it is"). For each ε, the last column has the standard error of the
    difference between "as it is" and ten equal bins.
    """
    epsilons, codings_of = (0.1, 1.0, 3.0), ("ten equal", "64 mixed", "as it is", "se of its gain")
    titles = [f"ε = {e:g}: {title}" for e in epsilons for title in codings_of]
    yield f"| learner | bins | {' | '.join(titles)} |"
    yield "|---|---|" + "---|" * len(titles)
    tables = [table_of(name, options.factor) for name in FEW_TABLES]
    equal, mixed = ([table.code(spacing) for table in tables] for spacing in (EQUAL, MIXED))
    for name in options.learners:
        spec = FEW[name]
        learner, fixed = spec["learner"], spec.get("fixed", {})
        cells = []
        for epsilon in epsilons:
            of_codings = [
                [
                    coded.scores(learner, k, epsilon=epsilon, **fixed, **more)
                    for coded in codings
                    for k in range(options.splits)
                ]
                for codings, more in ((equal, {}), (mixed, {"mixed_bins": None}), (mixed, {}))
            ]
            cells += [shown(each) for each in of_codings]
            cells.append(error_of(of_codings[2], of_codings[0], len(tables)))
        bins = registry.entry(learner).most_bins(fixed) or BINS[MIXED]
        yield f"| {name} | {bins} | {' | '.join(cells)} |"


# Tables ---------------------------------------------------------------------------------------


def table_of(name: str, factor: float) -> Table:
    """Return the table with this name: shipped, or from scikit-learn."""
    if name in MADE:
        return made(name)
    description = catalogue.describe(name)

    def code(spacing: str) -> Coded:
        return coded(description, recoded(description.domain, spacing, factor))[0]

    return Table(*raw_matrix(description), code)


def made(name: str) -> Table:
    """Return one of scikit-learn's tables, coded with public bounds."""
    if name == "digits":
        raw, digit = load_digits(return_X_y=True)
        positive, bounds = digit >= 5, [(0, 100)] * raw.shape[1]
    elif name == "hastie":
        raw, target = make_hastie_10_2(10_000, random_state=0)
        positive, bounds = target > 0, [(-10, 10)] * 10
    elif name == "friedman1":
        raw, target = make_friedman1(10_000, noise=1.0, random_state=0)
        positive, bounds = target > 14.4, [(0, 1)] * 10
    else:
        raw, target = make_friedman2(10_000, noise=100.0, random_state=0)
        positive, bounds = target > 400, [(0, 100), (0, 10_000), (0, 1), (0, 100)]
    y = np.where(positive, 1, -1).astype(np.int8)

    def code(spacing: str) -> Coded:
        columns = tuple(
            Column(f"x{j}", NUMERIC, bounds[j], BINS[spacing], spacing=spacing)
            for j in range(raw.shape[1])
        )
        domain = Domain(columns, Label("y", "-1", "1"))
        return Coded(encode_frame(domain, raw), y, domain)

    return Table(raw, [False] * raw.shape[1], code)


def recoded(domain: Domain, spacing: str, factor: float) -> Domain:
    """Return a domain with wider bounds and other bins for numeric columns, except dates.

    The intervals between bounds are `factor` times as wide. If it is 0, bounds are instead rounded
    outwards to powers of ten.
    """
    columns = []
    for column in domain.columns:
        if column.kind == NUMERIC and not column.dates and column.bounds is not None:
            low, high = column.bounds
            bounds = (
                (low, low + factor * (high - low))
                if factor
                else (rounded(min(low, 0)), rounded(high))
            )
            own = spacing_towards_zero(spacing, *bounds)
            column = replace(column, bounds=bounds, spacing=own, bins=BINS[spacing])
        columns.append(column)
    return replace(domain, columns=tuple(columns))


def rounded(bound: float) -> float:
    """Round a bound away from 0 to the next power of ten; 0 stays 0."""
    if bound == 0:
        return 0.0
    return math.copysign(10.0 ** math.ceil(math.log10(abs(bound)) - 1e-9), bound)


def raw_tables(description: Any) -> Iterator[reading.RawTable]:
    """Yield the raw records of a dataset, first of the training and then of the test files."""
    problems, files = Problems(description.name), reading.fetch(description)
    for part in description.read_parts:
        for file in files.get(part, (None,)):
            yield from reading.read(description, file, problems)


def coded(description: Any, domain: Domain) -> tuple[Coded, Coded, Coded]:
    """Return the coded records of a dataset: all of them, the training part, and the test part."""
    coder = Coder(domain, description.path, Problems(description.name))
    X, y = map(np.concatenate, zip(*(
        (coder.code_columns(table), coder.code_labels(description, table))
        for table in raw_tables(description)
    ), strict=True))  # fmt: skip
    parts = (slice(None), slice(description.n_rows), slice(description.n_rows, None))
    all_records, training, test = (Coded(X[part], y[part], domain) for part in parts)
    return all_records, training, test


def raw_matrix(description: Any) -> tuple[Any, Sequence[bool]]:
    """Return raw numbers with the codes of categories, and which columns are categories."""
    domain = description.domain
    coder = Coder(domain, description.path, Problems(description.name))
    parts = []
    for table in raw_tables(description):
        codes = coder.code_columns(table).astype(float)
        for j, column in enumerate(domain.columns):
            if column.kind == NUMERIC:
                codes[:, j] = read_amounts(domain, column, table.columns[column.name])[0]
        parts.append(codes)
    return np.concatenate(parts), [column.kind != NUMERIC for column in domain.columns]


# Scores ---------------------------------------------------------------------------------------


def boosted(X: Any, y: Any, categorical: Sequence[bool], n: int) -> list[tuple[float, float]]:
    """Return accuracy and AUC of gradient boosting on each of `n` splits."""
    each = []
    for k in range(n):
        train, test = splits(len(y), k)
        model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=k)
        each.append(scores(y[test], model.fit(X[train], y[train]).decision_function(X[test])))
    return each


def splits(n: int, seed: int) -> tuple[Any, Any]:
    """Return the positions of a random nine tenths of `n` records, and of the others."""
    order = np.random.default_rng(seed).permutation(n)
    return order[n // 10 :], order[: n // 10]


def scores(labels: Any, decided: Any) -> tuple[float, float]:
    return accuracy_score(labels > 0, decided > 0), roc_auc_score(labels > 0, decided)


def error_of(
    ones: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]], n_tables: int = 1
) -> str:
    """Return a text with the standard errors of the mean differences in accuracy and AUC.

    `ones` and `others` are scores on the same splits. The errors cover the choice of splits; the
    tables are regarded as fixed.
    """
    gain = (np.array(ones) - np.array(others)).reshape(n_tables, -1, 2)
    variances = gain.var(axis=1, ddof=1) / gain.shape[1]
    return shown(np.sqrt(variances.sum(axis=0))[None] / n_tables)


def shown(each: Sequence[tuple[float, float]]) -> str:
    accuracy, auc = np.mean(each, axis=0)
    return f"{accuracy:.3f}/{auc:.3f}".replace("0.", ".")


if __name__ == "__main__":
    main()
