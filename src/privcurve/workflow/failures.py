"""Remarks at the end of a run on failed trainings, whose jobs do not fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from privcurve.experiments.jobs import Job

# Prefix that tells these lines from others of a log.
MARK = "failed: "
# Most curves that are named.
MOST = 10


def remarks(jobs: Iterable[Job], since: float) -> list[str]:
    """Return lines that name the curves with trainings that failed since a time (`time.time`)."""
    fresh = (job for job in jobs if job.file.exists() and job.file.stat().st_mtime >= since)
    lines = [line for job in fresh for line in _remark_on_job(job)]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    end = "tables leave these out, and name errors; once mended, the same command tries them again"
    return [f"{MARK}{line}" for line in (*lines[:MOST], *more, end)] if lines else []


def _remark_on_job(job: Job) -> Iterator[str]:
    """Yield a line for each curve of a job with failed trainings."""
    from privcurve.experiments.results import read_job_part

    facts = job.facts or []
    failed = {str(p.curve.name) for p, f in zip(job.job_parts, facts, strict=False) if f["failed"]}
    for curve in sorted(failed):
        places = [k for k, p in enumerate(job.job_parts) if str(p.curve.name) == curve]
        frames = [read_job_part(job.file, k, ["status", "error"]) for k in places]
        n_rows = sum(map(len, frames))
        errors = [e for frame in frames for e in frame["error"][frame["status"] != "ok"]]
        study, dataset, method = curve.split("/")
        first = f": {errors[0]}" if errors else ""
        yield f"{study}: {len(errors):,} of {n_rows:,} trainings of {method} on {dataset}{first}"
