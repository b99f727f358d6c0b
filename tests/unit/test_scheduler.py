"""Snakemake's scheduler wakes only when needed, and does not wait for files that are absent."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.shell import shell
from snakemake_interface_executor_plugins.settings import SharedFSUsage

from privcurve.workflow.snakemake import (
    check_folder,
    check_shared_files,
    keep_one_timer,
    use_this_python,
)

ROOT = Path(__file__).parents[2]
DELAY = 0.2


class Scheduler:
    """The attributes of Snakemake's scheduler that a timer uses."""

    def __init__(self):
        self._open_jobs = threading.Semaphore(0)

    def passes(self, seconds):
        """Count the passes of a scheduler that schedules the next pass in each pass."""
        end, count = time.monotonic() + seconds, 0
        while self._open_jobs.acquire(timeout=max(0.0, end - time.monotonic())):
            count += 1
            self._schedule_reevalutation(DELAY)
        return count


@pytest.fixture
def scheduler(monkeypatch):
    # If this fails, Snakemake has renamed or fixed it: check whether the patch is still needed.
    monkeypatch.setattr(
        JobScheduler, "_schedule_reevalutation", JobScheduler._schedule_reevalutation
    )
    return Scheduler()


@pytest.mark.parametrize(("mended", "low", "high"), [(False, 150, 10_000), (True, 52, 60)])
def test_passes_do_not_grow_with_the_jobs_that_end(scheduler, mended, low, high):
    if mended:
        keep_one_timer()
    Scheduler._schedule_reevalutation = JobScheduler._schedule_reevalutation
    for _ in range(50):  # ends of jobs
        scheduler._open_jobs.release()
    # 50 passes for the ends, and one per DELAY instead of 50 per DELAY.
    assert low <= scheduler.passes(1.1) <= high


def test_a_shorter_delay_comes_first_and_no_pass_is_lost(scheduler):
    keep_one_timer()
    Scheduler._schedule_reevalutation = JobScheduler._schedule_reevalutation
    scheduler._schedule_reevalutation(60)
    scheduler._schedule_reevalutation(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)
    scheduler._schedule_reevalutation(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)


@pytest.mark.parametrize("method", [None, lambda self, delay, jobs: None])
def test_a_scheduler_of_another_form_is_left_as_it_is(scheduler, monkeypatch, caplog, method):
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", method)
    with caplog.at_level("INFO"):
        keep_one_timer()
    assert JobScheduler._schedule_reevalutation is method
    assert len(caplog.messages) == 1


def test_a_folder_of_snakemake_that_can_not_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    check_folder()
    (tmp_path / ".snakemake").mkdir()
    with pytest.raises(WorkflowError, match=r"\.snakemake, the folder of .* can't be written"):
        check_folder()


def test_an_executor_without_shared_files_is_refused():
    """A store on another node would look empty, and all runs would be trained again."""

    def workflow(*usage):
        return SimpleNamespace(storage_settings=SimpleNamespace(shared_fs_usage=set(usage)))

    check_shared_files(workflow(*SharedFSUsage.all()))
    with pytest.raises(WorkflowError, match="a file system that all jobs share"):
        check_shared_files(workflow(SharedFSUsage.SOURCES))


def test_the_snakefile_asks_for_the_version_that_is_required():
    (allowed,) = re.findall(r'"snakemake(>=.*)"', (ROOT / "pyproject.toml").read_text())
    (lowest,) = re.findall(r'min_version\("(.*)"\)', (ROOT / "workflow/Snakefile").read_text())
    assert allowed == f">={lowest.removesuffix('.0')},<10"


@pytest.mark.parametrize("name", ["python", "python3"])
def test_rules_call_the_python_that_runs_snakemake_whatever_its_name(tmp_path, monkeypatch, name):
    for place, program in (("other", "python"), ("my place", name)):
        file = tmp_path / place / program
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\necho {place} $1\n")
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "executable", str(file))
    monkeypatch.setattr(shell, "_process_prefix", None)
    use_this_python()
    assert shell("python -m", read=True) == "my place -m\n"
    with pytest.raises(subprocess.CalledProcessError):
        shell("false | true")
