"""What a run says at its end of trainings that failed: its jobs have ended well all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from privcurve.experiments.jobs import Job

# What its lines begin with, which tells them from others of a log.
MARK = "failed: "
# So many curves are named.
MOST = 10


def remarks(jobs: Iterable[Job], since: float) -> list[str]:
    """Name the portions of curves of which trainings have failed since a time (`time.time`)."""
    lines = [line for job in jobs if _is_since(job.file, since) for line in _remarks(job)]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    end = "tables leave these out, and name errors; once mended, the same command tries them again"
    return [f"{MARK}{line}" for line in (*lines[:MOST], *more, end)] if lines else []


def _is_since(path: Path, since: float) -> bool:
    return path.exists() and path.stat().st_mtime >= since


def _remarks(job: Job) -> Iterator[str]:
    from privcurve.experiments.results import read_portion

    for place, (portion, facts) in enumerate(zip(job.portions, job.facts or (), strict=False)):
        if not facts["failed"]:
            continue
        cells = read_portion(job.file, place, ["status", "error"])
        failed = cells[cells["status"] != "ok"]
        first = f": {failed['error'].iloc[0]}" if len(failed) else ""
        yield (
            f"{job.study}: {len(failed):,} of {len(cells):,} trainings of "
            f"{portion.curve.arm.name} on {portion.curve.dataset.name}{first}"
        )
