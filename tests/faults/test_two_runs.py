"""Two Snakemake processes on the same folder."""

import pytest
from checkout import TIMEOUT_FACTOR
from disturbed import N_TRAINED, job_processes, resume_process

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def after(runs):
    """Return the moment at which a job has stored `n` runs and half of the next line."""
    return {"job": "train", "cells": runs, "part": 0.5}


def test_the_second_run_reports_that_the_folder_is_locked(project, undisturbed):
    first, job = project.start_and_stand_still(after(150))
    kept = project.stored_ids()
    output = project.run(ok=False)
    assert "Directory cannot be locked" in output
    assert str(project.folder) in output
    assert "Traceback" not in output
    assert job_processes(first, "train") == [job]
    resume_process(job)
    assert first.wait(timeout=120 * TIMEOUT_FACTOR) == 0, project.printed(first)
    project.check_right(undisturbed, kept)


def test_without_the_lock_both_train_and_the_tables_are_right(project, undisturbed):
    """Both runs are in the middle of the same job, and both finish."""
    stored = (20, 200)
    assert sum(stored) < N_TRAINED
    first, job = project.start_and_stand_still(after(stored[0]), "--nolock", "tiny")
    kept = project.stored_ids()
    second, twin = project.start_and_stand_still(after(stored[1]), "--nolock", "tiny")
    resume_process(job)
    resume_process(twin)
    # One run may delete a file that the other reads; then the other fails with a message.
    ends = [first.wait(timeout=120 * TIMEOUT_FACTOR), second.wait(timeout=120 * TIMEOUT_FACTOR)]
    assert set(ends) <= {0, 1}
    project.run()
    project.check_right(undisturbed, kept, most=2)
