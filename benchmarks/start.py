"""How long a training job takes to start: a whole job of a few cells, of milliseconds each.

    python benchmarks/start.py [--times N]

Beside it what it is measured by, on the same machine and at the same time: Python alone, and an
import of scikit-learn. Of each the median in seconds, of the clock and of the processor; the
latter says more where cores are shared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from privcurve.experiments import study
from privcurve.experiments.bundles import curves
from privcurve.experiments.jobs import CODED
from scale import PER_JOB, SEED, STORE, lay_out, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7, help="how often each is run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        lay_out(Path(temporary), 1, 2048)
        os.chdir(temporary)
        made = study.load(Path("config/studies/scale.yaml"))
        per_job = yaml.safe_load(Path("config/config.yaml").read_text())[PER_JOB]
        (curve,) = curves(made, SEED, per_job)
        seconds("-m", "privcurve.steps.prepare", "toy-line", "--output", str(CODED / "toy-line"))
        compare(
            {
                "python": ["-c", ""],
                "import sklearn.base": ["-c", "import sklearn.base"],
                "a job of a few cells": train(curve, 1),
            },
            options.times,
        )


def compare(programs: dict[str, list[str]], times: int) -> None:
    """Run programs in turn and print the median of each, and its ratio to scikit-learn's."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    # The first round writes what Python and Numba keep of compiled code, and is not counted.
    for turn in range(times + 1):
        for name, command in programs.items():
            shutil.rmtree(STORE, ignore_errors=True)
            measured = seconds(*command)
            if turn:
                found[name].append(measured)
    medians = {
        name: [*map(statistics.median, zip(*all_, strict=True))] for name, all_ in found.items()
    }
    (unit,) = (cpu for name, (_, cpu) in medians.items() if "sklearn" in name)
    for name, (wall, cpu) in medians.items():
        print(f"{name:32} {wall:6.2f} s   processor {cpu:5.2f} s   {cpu / unit:5.2f} ×")


def seconds(*command: str) -> tuple[float, float]:
    """Run a Python program; give its seconds, of the clock and of the processor."""
    started = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return wall, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
