"""Measure how many trainings per second the audit does, and how long its parts take.

python benchmarks/audit.py                       trainings per second on tiny data
python benchmarks/audit.py --data results/data/adult --learners one_rule lazybb
                                                 the seconds of these learners' audits, too
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from privcurve import datasets
from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.one_rules import sample_picks
from privcurve.audit.claim import Claim
from privcurve.audit.pairs import Target, cross_columns, flipped_constant, records
from privcurve.audit.run import run
from privcurve.audit.states import sample_states
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.registry import missing_package


def rates(n_trainings: int) -> None:
    side = flipped_constant(8).right
    rng = np.random.default_rng(0)
    for n_rounds in (1, 3, 39):
        learner = LazyBBClassifier(n_rounds=n_rounds, n_bins=[1], classes=(-1, 1))
        sample_picks(learner, side, 10, rng)  # compiles the kernels, so that the timing does not
        start = time.process_time()
        sample_picks(learner, side, n_trainings, rng)
        picks = n_trainings / (time.process_time() - start)
        print(f"LazyBB, {n_rounds:2d} rounds, 8 records: picks of {picks:10,.0f} fits a second")
    pair = cross_columns()
    for name, claims in ATTACKS.items():
        # Time only claims about fitted states, as some claims (PATE) are about answers alone, and
        # only learners with two classes, as the pair of tables has two.
        learners = [c.estimator(pair.left.n_bins) for c in claims if c.sample is sample_states]
        of_two = [learner for learner in learners if len(learner.classes or ()) == 2]
        if not of_two:
            continue
        learner = of_two[-1]
        sample_states(learner, pair, pair.left, 2, rng)
        n = max(2, n_trainings // 500)
        start = time.process_time()
        sample_states(learner, pair, pair.left, n, rng)
        states = n / (time.process_time() - start)
        print(f"{name:24s} whole states of {states:7,.0f} fits a second")


def parts(learners: list[str], folder: Path, seed: int) -> None:
    dataset = datasets.read(folder)
    target = Target(dataset.name, records(dataset.X, dataset.y, dataset.domain.n_bins))
    total = 0.0
    for name in learners:
        seconds: dict[tuple[str, str], float] = {}
        trainings: dict[tuple[str, str], int] = {}
        for c in ATTACKS[name]:
            start = time.process_time()
            row = run([c], target, seed, COMPARISONS).iloc[0]
            key = c.method, str(row["dataset"])
            seconds[key] = seconds.get(key, 0.0) + time.process_time() - start
            trainings[key] = trainings.get(key, 0) + _trainings(c)
        for key, spent in seconds.items():
            rate = f", {trainings[key] / spent:9,.0f} trainings a second" if trainings[key] else ""
            print(f"{name:24s} {key[0]:8s} {key[1]:20s} {spent:7.2f} s{rate}")
        total += sum(seconds.values())
    print(f"all together: {total:.0f} s of one core")


def _trainings(c: Claim) -> int:
    return 2 * c.n_trainings * c.n_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trainings", type=int, default=100_000)
    parser.add_argument("--data", type=Path, help="folder of a coded dataset: time whole audits")
    installed = [name for name in ATTACKS if not missing_package(name)]
    parser.add_argument("--learners", nargs="+", default=installed)
    parser.add_argument("--seed", type=int, default=20210)
    arguments = parser.parse_args()
    rates(arguments.trainings)
    if arguments.data is not None:
        parts(arguments.learners, arguments.data, arguments.seed)


if __name__ == "__main__":
    main()
