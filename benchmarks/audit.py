"""How many trainings a second the audit does, and how long its parts take.

python benchmarks/audit.py                       rates on tiny data
python benchmarks/audit.py --data results/data/adult --learners one_rule lazybb
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from privcurve import datasets
from privcurve.audit.configuration import Claim, run
from privcurve.audit.configurations import COMPARISONS, CONFIGURATIONS
from privcurve.audit.pairs import Target, flipped_constant, records
from privcurve.audit.attacks.one_rules import one_rule_picks
from privcurve.learners.lazybb import LazyBBClassifier


def rates(n_trainings: int) -> None:
    side = flipped_constant(8).right
    rng = np.random.default_rng(0)
    for n_rounds in (1, 3, 39):
        learner = LazyBBClassifier(n_rounds=n_rounds, n_bins=[1], classes=(-1, 1))
        one_rule_picks(learner, side, 10, rng)  # compiles
        start = time.perf_counter()
        one_rule_picks(learner, side, n_trainings, rng)
        direct = n_trainings / (time.perf_counter() - start)
        some = max(1, n_trainings // 50)
        start = time.perf_counter()
        learner.fit_many(side.codes, side.signs, [{}] * some, [rng] * some, side.counts)
        batch = some / (time.perf_counter() - start)
        print(
            f"LazyBB, {n_rounds:2d} rounds, 8 records: {direct:10,.0f} trainings a second in the "
            f"audit, {batch:7,.0f} with fit_many"
        )


def parts(learners: list[str], folder: Path, seed: int) -> None:
    dataset = datasets.read(folder)
    target = Target(dataset.name, records(dataset.X, dataset.y, dataset.domain.n_bins))
    for name in learners:
        seconds: dict[tuple[str, str], float] = {}
        trainings: dict[tuple[str, str], int] = {}
        for c in CONFIGURATIONS[name]:
            start = time.perf_counter()
            row = run([c], target, seed, COMPARISONS).iloc[0]
            key = c.method, str(row["dataset"])
            seconds[key] = seconds.get(key, 0.0) + time.perf_counter() - start
            trainings[key] = trainings.get(key, 0) + _trainings(c)
        for key, spent in seconds.items():
            rate = f", {trainings[key] / spent:9,.0f} trainings a second" if trainings[key] else ""
            print(f"{name:24s} {key[0]:8s} {key[1]:20s} {spent:7.2f} s{rate}")


def _trainings(c: Claim) -> int:
    return 2 * c.n_trainings * c.n_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trainings", type=int, default=100_000)
    parser.add_argument("--data", type=Path, help="folder of a coded dataset: time whole audits")
    parser.add_argument("--learners", nargs="+", default=list(CONFIGURATIONS))
    parser.add_argument("--seed", type=int, default=20210)
    arguments = parser.parse_args()
    rates(arguments.trainings)
    if arguments.data is not None:
        parts(arguments.learners, arguments.data, arguments.seed)


if __name__ == "__main__":
    main()
