"""Snakemake's insides: its scheduler wakes no more often, and what has changed is refused."""

import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet
from snakemake import report
from snakemake.exceptions import WorkflowError
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake_interface_executor_plugins.settings import SharedFSUsage

from privcurve.workflow.snakemake import (
    TESTED,
    before_dag,
    one_timer,
    report_what_is_there,
    unless,
)

ROOT = Path(__file__).parents[2]
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

    def broken(wildcards):
        raise RuntimeError("coded from another description")

    again = unless(workflow, [str(tmp_path / "{name}.parquet")], broken)
    assert again({"name": "cells"}) == []
    assert workflow.dag.forcefiles == set()
    path.touch()
    assert again({"name": "cells"}) == []
    assert workflow.dag.forcefiles == {str(path)}


def test_files_of_one_job_are_made_again_together(tmp_path):
    workflow = SimpleNamespace(dag=SimpleNamespace(forcefiles=set()))
    table, record = tmp_path / "table.csv", tmp_path / "record.json"
    table.touch()
    files = [str(table), str(record)]
    unless(workflow, files, lambda wildcards: True)({})
    assert workflow.dag.forcefiles == set()
    # Without the record nobody knows what the table was made for.
    unless(workflow, files, lambda wildcards: record.exists())({})
    assert workflow.dag.forcefiles == set(files)


def workflow_of(**parts):
    """What `before_dag` needs of a workflow, after the DAG was prepared."""
    workflow = {
        "modifier": SimpleNamespace(is_main_snakefile=lambda: True, modify_rulename=str),
        "is_main_process": False,
        "storage_settings": SimpleNamespace(shared_fs_usage=SharedFSUsage.all()),
        "_prepare_dag": lambda: None,
        "dag": SimpleNamespace(forcefiles=set()),
    }
    return SimpleNamespace(**{k: v for k, v in (workflow | parts).items() if v is not None})


def prepared(workflow):
    """Prepare the DAG of a workflow."""
    before_dag(workflow, lambda targets: None, list)
    workflow._prepare_dag()


def test_an_executor_without_shared_files_is_refused():
    """It would take the store of another node for an empty one, and train all cells again."""
    usage = SimpleNamespace(shared_fs_usage={SharedFSUsage.SOURCES})
    with pytest.raises(WorkflowError, match="a file system that all jobs see"):
        prepared(workflow_of(storage_settings=usage))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("_prepare_dag", {"_prepare_dag": None}),
        ("modify_rulename", {"modifier": SimpleNamespace(is_main_snakefile=lambda: True)}),
        ("storage_settings", {"storage_settings": None}),
        ("forcefiles", {"dag": SimpleNamespace(forced=set())}),
        ("forcefiles", {"dag": SimpleNamespace(forcefiles=())}),
    ],
)
def test_insides_of_a_workflow_that_have_changed_are_refused(name, parts):
    """An input function that raised would be passed over, and a stale file taken for good."""

    prepared(workflow_of())
    with pytest.raises(WorkflowError, match=rf"no \w+\.{name} of the kind.* 'snakemake>="):
        prepared(workflow_of(**parts))


@pytest.mark.parametrize(
    ("place", "changed", "call"),
    [
        (JobScheduler, "_schedule_reevalutation", one_timer),
        (report, "auto_report", report_what_is_there),
    ],
)
def test_insides_of_modules_that_have_changed_are_refused(monkeypatch, place, changed, call):
    monkeypatch.setattr(place, changed, lambda dag: None)
    with pytest.raises(WorkflowError, match=f"{changed} of the kind.* 'snakemake>="):
        call()
    monkeypatch.delattr(place, changed)
    with pytest.raises(WorkflowError, match=f"{changed} of the kind.* 'snakemake>="):
        call()


def test_the_versions_that_are_allowed_are_those_that_are_tested():
    allowed = SpecifierSet(TESTED.removeprefix("snakemake"))
    (locked,) = re.findall(r"^snakemake==(\S+)", read("locks/workflow.lock"), re.MULTILINE)
    (conda,) = re.findall(r"snakemake-minimal (.*)", read("environment.yml"))
    (lowest,) = re.findall(r'min_version\("(.*)"\)', read("workflow/Snakefile"))
    assert f'"{TESTED}"' in read("pyproject.toml")
    assert SpecifierSet(conda) == allowed
    assert locked in allowed
    assert lowest == locked
    # Not more than one step of the second number.
    first, second, _ = map(int, locked.split("."))
    assert f"{first}.{second + 1}" not in allowed


def read(name):
    return (ROOT / name).read_text()
