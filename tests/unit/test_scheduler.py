"""Snakemake's scheduler wakes no more often, however many jobs have ended."""

import threading
import time
from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from privcurve.workflow.snakemake import one_timer, unless, unless_all, unless_any

DELAY = 0.2


class Scheduler:
    """What a timer needs of Snakemake's scheduler."""

    def __init__(self):
        self._open_jobs = threading.Semaphore(0)

    def passes(self, seconds):
        """Count the passes of a scheduler that asks for the next one in each pass."""
        end, count = time.monotonic() + seconds, 0
        while self._open_jobs.acquire(timeout=max(0.0, end - time.monotonic())):
            count += 1
            self._schedule_reevalutation(DELAY)
        return count


@pytest.fixture
def scheduler(monkeypatch):
    # Fails when Snakemake has renamed or mended it: then look whether this is still needed.
    monkeypatch.setattr(
        JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation
    )
    return Scheduler()


@pytest.mark.parametrize(("mended", "low", "high"), [(False, 150, 10_000), (True, 52, 60)])
def test_passes_do_not_grow_with_the_jobs_that_end(scheduler, mended, low, high):
    if mended:
        one_timer()
    Scheduler._schedule_reevalutation = JobScheduler._schedule_reevalutation
    for _ in range(50):  # jobs that end
        scheduler._open_jobs.release()
    # 50 passes for these, and one each DELAY, or 50 each DELAY.
    assert low <= scheduler.passes(1.1) <= high


def test_a_shorter_delay_comes_first_and_none_is_lost(scheduler):
    one_timer()
    Scheduler._schedule_reevalutation = JobScheduler._schedule_reevalutation
    scheduler._schedule_reevalutation(60)
    scheduler._schedule_reevalutation(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)
    scheduler._schedule_reevalutation(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)


def test_what_can_not_be_judged_is_made_again(tmp_path):
    """Snakemake passes over an input function that raises, and takes the file for good."""
    workflow = SimpleNamespace(dag=SimpleNamespace(forcefiles=set()))
    path = tmp_path / "cells.parquet"

    def broken(*arguments):
        raise RuntimeError("coded from another description")

    ways = (
        unless(workflow, str(path), broken),
        unless_all(workflow, [path], broken),
        unless_any(workflow, [path], broken),
    )
    for again in ways:
        assert again({}) == []
        assert workflow.dag.forcefiles == set()
    path.touch()
    for again in ways:
        assert again({}) == []
        assert workflow.dag.forcefiles == {str(path)}
        workflow.dag.forcefiles.clear()


def test_files_of_one_job_are_made_again_together(tmp_path):
    workflow = SimpleNamespace(dag=SimpleNamespace(forcefiles=set()))
    table, record = tmp_path / "table.csv", tmp_path / "record.json"
    table.touch()
    unless_any(workflow, [table, record], lambda: True)({})
    assert workflow.dag.forcefiles == set()
    # Without the record nobody knows what the table was made for.
    unless_any(workflow, [table, record], record.exists)({})
    assert workflow.dag.forcefiles == {str(table), str(record)}
