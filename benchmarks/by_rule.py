"""Compare learners with proved privacy by mean ranks; hyperparameters follow public rules.

    PRIVCURVE_DATA=<mirror> python benchmarks/by_rule.py train runs.csv --of setting
    PRIVCURVE_DATA=<mirror> python benchmarks/by_rule.py train runs.csv --of setting --sizes 300
    python benchmarks/by_rule.py show runs.csv --of setting

`train` appends missing runs to the table runs.csv, which has a row per run: dataset, number of
sampled records (0: no sample), δ, ε, learner, repeat, and accuracy on the hold-out. A hold-out is a
random fifth of the records or, for a sample, up to 8,000 records outside the sample. `show` prints
mean accuracies, and mean ranks over datasets. `--of setting` means the datasets of the study
`frontier` that trained PrivGAM's network, and `--of others` all other datasets of this study
(docs/privgam.md). The name of a study, such as `domains`, means all datasets of the study. Records
of test files are not used.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from privcurve import datasets
from privcurve.experiments.splits import distinct_records
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.privacy.curator import Curator
from privcurve.workflow.reading import study_files

STUDIES = study_files({}, Path(__file__).parents[1])
MOST_SCORED = 8_000
HOLDOUT = 0.2
COLUMNS = ("dataset", "size", "delta", "epsilon", "learner", "repeat", "accuracy")
POINT, KEY = list(COLUMNS[:4]), list(COLUMNS[:6])

# Learners that this program compares, but `privcurve compare` does not.
OTHERS: dict[str, dict[str, Any]] = {
    "lazybb_1r": {"learner": "lazybb"},
    "one_rule": {"learner": "one_rule"},
    "dp_newton": {"learner": "dp_newton"},
    "boosted_adassp": {"learner": "boosted_adassp"},
    "dp_gradient_descent": {"learner": "dp_gradient_descent"},
}
LEARNERS = {**by_rule.LEARNERS, **OTHERS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("train", "show"))
    parser.add_argument("runs", type=Path)
    parser.add_argument("--of", default="setting", help="setting, others, a study, or names")
    parser.add_argument("--sizes", default="0", help="of samples; 0: four fifths of all records")
    parser.add_argument("--epsilons", default="0.1,1,10")
    parser.add_argument("--delta", default="1e-5,0")
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args()
    parts = [getattr(options, name).split(",") for name in ("sizes", "delta", "epsilons")]
    points = list(itertools.product(names(options.of), *(map(float, part) for part in parts)))
    if options.command == "train":
        train(options.runs, points, options.learners.split(","), options.repeats)
    else:
        show(pd.read_csv(options.runs), points, options.learners.split(","))


def names(of: str) -> list[str]:
    """Return the datasets that `--of` means: setting, others, a study, or names of datasets."""
    if of in ("setting", "others"):
        outputs = [one for one in study("frontier_ranks")["outputs"] if isinstance(one, dict)]
        ranks = [one["mean_ranks"] for one in outputs if "mean_ranks" in one]
        return next(one["datasets"] for one in ranks if one["name"] == f"frontier_ranks_{of}")
    return study(of)["datasets"] if of in STUDIES else of.split(",")


def study(name: str) -> dict[str, Any]:
    return yaml.safe_load(STUDIES[name].read_text())


def train(path: Path, points: list[Any], learners: list[str], repeats: int) -> None:
    """Train the runs that the table at `path` does not have, and append them to the table."""
    done = set()
    if path.exists():
        done = set(pd.read_csv(path)[KEY].itertuples(index=False, name=None))
    with path.open("a", newline="") as file:
        table = csv.writer(file)
        if not file.tell():
            table.writerow(COLUMNS)
        for name, some in itertools.groupby(points, key=lambda point: point[0]):
            data = datasets.load(name)
            for (_, size, delta, epsilon), repeat in itertools.product(list(some), range(repeats)):
                for learner in learners:
                    key = (name, size, delta, epsilon, learner, repeat)
                    if key not in done and size < len(data.y):
                        table.writerows((*key, accuracy) for accuracy in runs(data, *key[1:]))
            file.flush()


def runs(
    data: Any, size: float, delta: float, epsilon: float, label: str, repeat: int
) -> Iterator[float]:
    """Yield the accuracy of a learner on a hold-out; nothing if the learner does not support δ."""
    n = int(size) or round((1 - HOLDOUT) * len(data.y))
    order = np.random.default_rng(repeat).permutation(len(data.y))
    rows, others = order[:n], order[n:]
    if size:
        others = others[:MOST_SCORED]
    spec = LEARNERS[label]
    entry = registry.entry(spec["learner"])
    if entry.refuses(delta=entry.delta_passed(delta)):
        return
    budget = {"epsilon": epsilon, "delta": entry.delta_passed(delta)}
    model = registry.make(spec["learner"], data.domain, {**spec.get("fixed", {}), **budget})
    words = (data.name, size, delta, epsilon, label, repeat)
    rng = np.random.default_rng(zlib.crc32(repr(words).encode()))
    records = distinct_records(data.domain, data.X[rows], data.y[rows])
    (model,) = model.fit_records(records, [{}], [Curator(rng)])
    yield float((model.predict(data.X[others]) == data.y[others]).mean())


def show(table: pd.DataFrame, points: list[Any], learners: list[str]) -> None:
    """Print mean accuracies and mean ranks of learners, for each δ and ε."""
    wanted = pd.DataFrame(points, columns=POINT).astype({"dataset": str})
    table = table[table["learner"].isin(learners)].merge(wanted, on=POINT)
    for (delta, epsilon), part in table.groupby(["delta", "epsilon"], sort=True):
        means = part.pivot_table("accuracy", ["dataset", "size"], "learner", sort=False)
        means = means[[learner for learner in learners if learner in means]].dropna()
        ranks = means.rank(axis=1, ascending=False).mean().sort_values()
        print(f"\nδ = {delta:g}, ε = {epsilon:g}: {len(means)} tables")
        print(means.round(3).to_string())
        print("mean rank: " + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks.items()))
        print("mean accuracy: " + ", ".join(f"{k} {v:.4f}" for k, v in means.mean().items()))


if __name__ == "__main__":
    main()
