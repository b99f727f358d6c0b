"""Write remarks on failed trainings for the end of a run, as their jobs do not fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from privcurve.experiments.jobs import Job
from privcurve.stored import spoken

# Prefix that marks remarks in a log, so that :mod:`.running` finds them.
MARK = "failed: "
# Maximum number of curves that the remarks name.
MOST = 10


def ended_since(job: Job, since: float) -> bool:
    """Return whether a job has written its file since the time `since` (seconds, `time.time`)."""
    file = job.file
    return file.exists() and file.stat().st_mtime >= since


def remarks(jobs: Iterable[Job]) -> list[str]:
    """Return lines that name at most `MOST` curves with failed trainings, and the remedy."""
    lines = [line for job in jobs for line in _remark_on_job(job)]
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    end = "tables leave these out and show the errors; after a fix, the same command trains them"
    return [f"{MARK}{line}" for line in (*lines[:MOST], *more, end)] if lines else []


def _remark_on_job(job: Job) -> Iterator[str]:
    """Yield a line for each curve with failed trainings in a job."""
    from privcurve.experiments.results import read_rows

    facts = job.facts
    named = {str(curve.name): curve.names for curve in job.curves}
    for curve, names in sorted(named.items()):
        if not any(facts[name]["failed"] for name in names if name in facts):
            continue
        places = map(list(facts).index, names)
        frames = [read_rows(job.file, place, ["status", "error"]) for place in places]
        n_rows = sum(map(len, frames))
        errors = [e for frame in frames for e in frame["error"][frame["status"] != "ok"]]
        study, dataset, method = spoken(curve).split("/")
        first = f": {errors[0]}" if errors else ""
        yield f"{study}: {len(errors):,} of {n_rows:,} trainings of {method} on {dataset}{first}"
