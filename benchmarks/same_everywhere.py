"""What own arithmetic costs: CPU seconds of a fit, and of scoring, beside an older source tree.

    PRIVCURVE_DATA=<mirror> python benchmarks/same_everywhere.py <older checkout> [--repeats N]

Two processes take turns, a fit each, so that what else the machine does slows both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from lazybb import adult, distinct_rows

DELTA = 1e-6
SIZES = {
    "lazybb": {"n_rounds": 39},
    "distributed_topdown": {"n_holders": 3},
    "random_trees": {"n_holders": 3},
    "brc": {"intercept": "em"},
}
# δ > 0 where a learner offers it, but where pure noise is its own.
PURE = ("lazybb", "one_rule", "topdown", "dp_forest")
LEFT_OUT = {
    "tuned": "is a training of others",
    "aim": "fits for minutes, nearly all of them in loops that stayed as they were",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("older", help="a checkout, or 'work' for the process that fits")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--learners", nargs="*")
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    options = parser.parse_args()
    if options.older == "work":
        work()
        return
    here = Path(__file__).parents[1]
    sides = [start(Path(options.older)), start(here)]
    names = options.learners or names_of()
    rows = {}
    print(f"{'learner':24}{'before':>10}{'after':>10}{'ratio':>8}{'scoring':>9}   CPU ms of a fit")
    for name in names:
        times = [[ask(side, name) for side in sides] for _ in range(options.repeats + 1)][1:]
        # The least time is that with the fewest interruptions.
        (before, scoring_before), (after, scoring_after) = np.min(times, axis=0)
        rows[name] = {"before": before, "after": after, "scoring": scoring_after / scoring_before}
        ratio = f"{after / before:8.2f}{scoring_after / scoring_before:9.2f}"
        print(f"{name:24}{1e3 * before:10.1f}{1e3 * after:10.1f}{ratio}", flush=True)
    for side in sides:
        side.stdin.close()
        side.wait()
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def names_of() -> list[str]:
    from privcurve.learners.registry import LEARNERS, entry

    own = [name for name in LEARNERS if entry(name).private and not entry(name).peer]
    return [name for name in own if name not in LEFT_OUT]


def start(checkout: Path) -> subprocess.Popen[str]:
    """Start the process that fits by the sources of a checkout."""
    path = os.pathsep.join([str(checkout / "src"), str(Path(__file__).parent)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, "work"]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(side: subprocess.Popen[str], name: str) -> list[float]:
    """Return the CPU seconds of a fit, and of scoring."""
    print(name, file=side.stdin, flush=True)
    return json.loads(side.stdout.readline())


def work() -> None:
    """Fit and score the learners named on the standard input."""
    from privcurve.learners.registry import entry, estimator_class

    _, X, y, n_bins = adult()
    rows, labels, counts = distinct_rows(X, y)
    for line in sys.stdin:
        name = line.strip()
        about = entry(name)
        delta = DELTA if about.approximate and name not in PURE else 0.0
        facts = {"public_columns": (0, 1)} if about.neighbours == ("private-columns",) else {}
        setting = {"epsilon": 1.0, "delta": delta, **SIZES.get(name, {}), **facts}
        learner = estimator_class(name)(n_bins=n_bins, classes=(-1, 1), random_state=0, **setting)
        times = [time.process_time()]
        learner.fit(rows, labels, counts)
        times.append(time.process_time())
        if not getattr(learner, "scores_cost_answers", False):
            learner.decision_function(X)
        times.append(time.process_time())
        print(json.dumps(np.diff(times).tolist()), flush=True)


if __name__ == "__main__":
    main()
