"""What a run says at its end of trainings that failed: its jobs have ended well all the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from privcurve.experiments.jobs import FAILURES, Curve

# What its lines begin with, which tells them from others of a log.
MARK = "failed: "
# So many curves are named.
MOST = 10


def remarks(curves: Iterable[Curve], since: float) -> list[str]:
    """Name the curves of which trainings have failed in a run.

    Parameters
    ----------
    curves : iterable of Curve
    since : float
        When the run began, in seconds as `time.time` gives them. Each job whose trainings fail
        writes down that they did.

    Returns
    -------
    list of str
    """
    fresh = {path for path in FAILURES.rglob("*.json") if path.stat().st_mtime >= since}
    if not fresh:
        return []
    found = [_remark(curve) for curve in curves if fresh.intersection(_counts(curve))]
    more = [f"and {len(found) - MOST} curves more"] if len(found) > MOST else []
    end = "tables leave these out, and name errors; once mended, the same command tries them again"
    return [f"{MARK}{line}" for line in (*found[:MOST], *more, end)] if found else []


def _counts(curve: Curve) -> list[Path]:
    return [curve.failures(), *map(curve.failures, curve.shard_numbers)]


def _remark(curve: Curve) -> str:
    from privcurve.experiments.results import read_cells

    files: list[Path] = [path for path in curve.files if path.exists()]
    cells = read_cells(files, ["status", "error"])
    failed = cells[cells["status"] != "ok"]
    first = f": {failed['error'].iloc[0]}" if len(failed) else ""
    return (
        f"{curve.study.name}: {len(failed):,} of {len(cells):,} trainings of {curve.arm.name} on "
        f"{curve.dataset.name}{first}"
    )
