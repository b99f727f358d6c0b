"""What own arithmetic and sealed records cost: CPU seconds of a fit of Adult.

    PRIVCURVE_DATA=<mirror> python benchmarks/fits.py [<older checkout>] [--repeats N]

Fits with sealed and with open records, and those of a process with an older source tree, take
turns, so that what else the machine does slows all alike.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from lazybb import adult, distinct_rows

DELTA = 1e-6
OPEN = "open"
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
    parser.add_argument("older", nargs="?", help="a checkout", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--learners", nargs="*")
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    options = parser.parse_args()
    here = Path(__file__).parents[1]
    now = start(here)
    sides = {"sealed": (now, ""), "open": (now, OPEN)}
    if options.older is not None:
        sides["older"] = start(options.older), ""
    rows = {}
    print(f"{'CPU ms of a fit':24}{''.join(f'{side:>10}' for side in sides)}", end="")
    print(f"{'/ open':>10}{'/ older':>10}{'scoring':>10}")
    for name in options.learners or names_of():
        times = []
        for k in range(options.repeats + 1):
            # In either order, as what a side finds in the caches is the work of the one before.
            order = list(sides) if k % 2 else list(sides)[::-1]
            taken = {side: ask(*sides[side], name) for side in order}
            times.append([taken[side] for side in sides])
        # The least time is that with the fewest interruptions; the first fit compiles. Ratios are
        # medians over the turns, as the speed of a machine drifts.
        seconds = np.array(times[1:])
        least = dict(zip(sides, seconds.min(axis=0).tolist(), strict=True))
        fits = {side: fit for side, (fit, _) in least.items()}
        ratios = dict(zip(sides, np.median(seconds[:, :1] / seconds, axis=0).tolist(), strict=True))
        row = {"open": ratios["open"][0]}
        if "older" in sides:
            row["older"], row["scoring"] = ratios["older"]
        rows[name] = {"seconds": fits, "ratios": row}
        print(f"{name:24}{''.join(f'{1e3 * fit:10.1f}' for fit in fits.values())}", end="")
        print("".join(f"{ratio:10.3f}" for ratio in row.values()), flush=True)
    for side in {process for process, _ in sides.values()}:
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
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    env = {**os.environ, **one, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", "import fits; fits.work()"]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(side: subprocess.Popen[str], how: str, name: str) -> list[float]:
    """Return the CPU seconds of a fit, and of scoring."""
    print(name, how, file=side.stdin, flush=True)
    return json.loads(side.stdout.readline())


def work() -> None:
    """Fit and score the learners named on the standard input."""
    from privcurve.learners.registry import entry, estimator_class

    with suppress(ImportError):
        from privcurve.learners.shared import sealing

        seals = sealing.sees_sealed
    _, X, y, n_bins = adult()
    rows, labels, counts = distinct_rows(X, y)
    for line in sys.stdin:
        name, *how = line.split()
        if OPEN in how:
            sealing.sees_sealed = lambda learner: False
        about = entry(name)
        delta = DELTA if about.approximate and name not in PURE else 0.0
        facts = {"public_columns": (0, 1)} if about.neighbours == ("private-columns",) else {}
        setting = {"epsilon": 1.0, "delta": delta, **SIZES.get(name, {}), **facts}
        learner = estimator_class(name)(n_bins=n_bins, classes=(-1, 1), random_state=0, **setting)
        gc.collect()
        times = [time.process_time()]
        learner.fit(rows, labels, counts)
        times.append(time.process_time())
        if OPEN in how:
            sealing.sees_sealed = seals
        if not getattr(learner, "scores_cost_answers", False):
            learner.decision_function(X)
        times.append(time.process_time())
        print(json.dumps(np.diff(times).tolist()), flush=True)


if __name__ == "__main__":
    main()
