"""Write the manifest of a run, results/manifest.json: versions, data and costs.

docs/manifest.md describes the file.
"""

from __future__ import annotations

import csv
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from privcurve import datasets
from privcurve.experiments.curves import CODED
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.results import read_facts

# Packages whose version may influence a result or its speed.
PACKAGES = (
    "privcurve",
    "diffprivlib",
    "interpret-core",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "snakemake",
)
WORK = ("trained", "reused", "failed", "training_seconds")


def manifest(
    configuration: Mapping[str, object],
    studies: Mapping[str, StudyJobs],
    benchmarks: Iterable[Path],
) -> dict[str, Any]:
    """Return the manifest of a finished run, as plain JSON; docs/manifest.md explains each key.

    Files are read below the working directory. `benchmarks` are Snakemake's benchmark files of all
    rules except ``train``: ``benchmarks/<rule>/…`` or ``benchmarks/<rule>.tsv``. For the rule
    ``train``, only the jobs of `studies` count.
    """
    rules: dict[str, list[Path]] = {}
    for path in benchmarks:
        rules.setdefault(Path(path.parts[1]).stem, []).append(path)
    work, facts_of_all = {}, []
    for name, study in studies.items():
        jobs = study.jobs.values()
        rules.setdefault("train", []).extend(job.benchmark for job in jobs)
        facts = [fact for job in jobs for fact in read_facts(job.file) or ()]
        facts_of_all += facts
        totals = {key: sum(fact[key] for fact in facts) for key in WORK}
        totals["training_seconds"] = round(totals["training_seconds"], 1)
        work[name] = {**totals, "not_training": _not_training(facts)}
    names = sorted({dataset for study in studies.values() for dataset, _ in study.curves})
    return {
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "configuration": dict(configuration),
        "commit": commit(),
        "versions": versions(),
        "machine": machine(),
        "datasets": {name: _read_checksums(name) for name in names},
        "rules": {rule: _add_times(paths) for rule, paths in sorted(rules.items())},
        "studies": work,
        "not_training": _not_training(facts_of_all),
    }


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of `PACKAGES`; None for a package that is not installed."""
    numbers: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            numbers[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            numbers[package] = None
    return numbers


def machine() -> dict[str, Any]:
    """Return platform, processor, cores and memory of this machine, but not its name."""
    return {
        "platform": platform.platform(),
        "processor": _find_processor(),
        "cores": os.cpu_count(),
        "memory_mib": _find_memory(),
    }


def _find_memory() -> int | None:
    if not hasattr(os, "sysconf"):  # not on Windows
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _find_processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> dict[str, Any] | None:
    """Return the Git commit of the working directory, and whether files differ from this commit.

    None if the directory has no commit or Git is not installed.
    """
    try:
        head = _run_git("rev-parse", "HEAD").strip()
        return {"id": head, "dirty": bool(_run_git("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _run_git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def _read_checksums(name: str) -> dict[str, Any]:
    facts = datasets.facts(CODED / name) or {}
    return {"checksum": facts.get("checksum"), "sources": facts.get("sources")}


def _add_times(benchmarks: Iterable[Path]) -> dict[str, Any]:
    """Return the number of jobs, their total seconds and peak memory, from benchmark files."""
    jobs, wall, cpu, memory = 0, 0.0, 0.0, 0.0
    for path in benchmarks:
        if path.exists():
            with path.open(newline="") as lines:
                row = next(csv.DictReader(lines, delimiter="\t"), None)
            # The file may be empty after a loss of power, as Snakemake does not flush it to the
            # disk.
            if row is None or None in row.values():
                continue
            jobs += 1
            wall += _parse_number(row["s"])
            cpu += _parse_number(row["cpu_time"])
            memory = max(memory, _parse_number(row["max_rss"]))
    return {
        "jobs": jobs,
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "max_rss_mib": round(memory, 1),
    }


def _parse_number(text: str) -> float:
    # Snakemake writes NA for a job that is too short to measure.
    return float(text) if text not in ("NA", "-") else 0.0


def _not_training(facts: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the share of the jobs' wall time that was not spent on training; None without jobs.

    `facts` are the metadata of the jobs' files, which have the wall time and the training time.
    Snakemake's benchmark file is not used, as it may have the wall time of another execution: if a
    job outlives a killed Snakemake and is started again, both executions write the benchmark file.
    """
    wall = math.fsum(fact["job_seconds"] for fact in facts)
    training = math.fsum(fact["training_seconds"] for fact in facts)
    return round(1 - training / wall, 4) if wall else None
