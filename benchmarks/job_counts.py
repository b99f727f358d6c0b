"""Print number and estimated time of the jobs of each study, for docs/research/jobs.md.

    python benchmarks/job_counts.py

Studies that only combine tables of other studies train nothing, and are left out.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import yaml

from privcurve import datasets
from privcurve.experiments import study
from privcurve.experiments.jobs import StudyJobs
from privcurve.workflow.reading import study_files

ROOT = Path(__file__).parents[1]
SECONDS = (30, 1200)
# Any seed will do: curves are divided into jobs by estimated seconds, which do not depend on it.
SEED = 1


def main() -> None:
    """Print a row per study, and rows with sums."""
    describe = cache(datasets.describe)
    rows: dict[str, list[int]] = {}
    papers: list[list[int]] = []
    for path in study_files({}, ROOT).values():
        made = study.load(path)
        cuts = [StudyJobs(made, SEED, seconds, describe) for seconds in SECONDS]
        if cuts[0].curves:
            n_jobs = [len(cut.jobs) for cut in cuts]
            seconds = sum(job.seconds for job in cuts[0].jobs.values())
            n_minutes = math.ceil(seconds / 60)
            row = [len(made.datasets), len(cuts[0].curves), *n_jobs, n_minutes]
            rows[f"`{made.name}`"] = row
            papers += [row] if made.paper else []
    configured = yaml.safe_load((ROOT / "config/config.yaml").read_text())["studies"]
    plain = [rows[f"`{name}`"] for name in configured]
    total = {
        f"all {len(rows)}": [*rows.values()],
        "a plain `snakemake`": plain,
        "`snakemake papers`": papers,
    }
    rows |= {name: [*map(sum, zip(*some, strict=True))] for name, some in total.items()}
    print("| study | datasets | curves | jobs of 30 s | of 20 minutes | minutes of a core |")
    print("|---" + "|--:" * 5 + "|")
    for name, numbers in rows.items():
        print(f"| {name} |", " | ".join(f"{number:,}" for number in numbers), "|")


if __name__ == "__main__":
    main()
