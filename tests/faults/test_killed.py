"""SIGKILL of a training job and of Snakemake, at random moments from a few seeds."""

import json
import os
import random
import signal

import pytest
from checkout import TIMEOUT_FACTOR
from disturbed import (
    N_STORED,
    N_TRAINED,
    job_processes,
    process_state,
    resume_process,
    session_processes,
    wait_until,
)

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

# Number of files that each step moves into place; an output has at least three, and its record.
FILES = {"train": 1, "output": 4}


def in_training(rng, n_runs=N_TRAINED):
    """Draw a moment between two runs, or in the middle of a line."""
    part = rng.choice([0, rng.random()])
    return {"job": "train", "cells": rng.randrange(n_runs), "part": part}


def of_writing(rng, step):
    """Draw a moment at which a step has written a file that is not yet in its place."""
    return {"job": step, "files": rng.randrange(FILES[step])}


def kill_a_job(project, moment):
    """Kill a job at a moment; return the ids stored then."""
    running, job = project.start_and_stand_still(moment)
    kept = project.stored_ids()
    os.kill(job, signal.SIGKILL)
    assert running.wait(timeout=120 * TIMEOUT_FACTOR) == 1
    assert "Error in rule train" in project.printed(running)
    assert len(kept) == moment.get("cells", N_STORED)
    return kept


# One seed during training, one while a file is written.
@pytest.mark.parametrize("seed", [0, 3])
def test_a_killed_job(project, undisturbed, seed):
    rng = random.Random(seed)
    kept = kill_a_job(project, of_writing(rng, "train") if seed else in_training(rng))
    project.run()
    project.check_right(undisturbed, kept)


def test_killed_with_all_its_jobs_while_an_output_is_written(project, undisturbed):
    running, _ = project.start_and_stand_still(of_writing(random.Random(102), "output"))
    kept = project.stored_ids()
    os.killpg(running.pid, signal.SIGKILL)
    running.wait(timeout=60 * TIMEOUT_FACTOR)
    wait_until(lambda: not session_processes(running), "all processes have ended")

    assert "--unlock" in project.run(ok=False)
    project.run("--unlock")
    project.run()
    project.check_right(undisturbed, kept)


def test_a_killed_snakemake_whose_job_continues(project, undisturbed):
    rng = random.Random(200)
    moment = in_training(rng)
    running, orphan = project.start_and_stand_still(moment)
    kept = project.stored_ids()
    os.kill(running.pid, signal.SIGKILL)
    running.wait(timeout=60 * TIMEOUT_FACTOR)
    assert process_state(orphan) == "T"

    # A second Snakemake starts another job with the same runs; when it is half-way too, both
    # continue and train the same runs.
    project.run("--unlock")
    again, twin = project.start_and_stand_still(in_training(rng, N_TRAINED - len(kept)))
    for job in rng.sample([orphan, twin], 2):
        resume_process(job)
    assert again.wait(timeout=120 * TIMEOUT_FACTOR) == 0, project.printed(again)
    wait_until(lambda: not job_processes(running, "train"), "the first job ends")
    project.check_right(undisturbed, kept, most=2)

    # The orphan's file may be newer than the tables: then the tables are made again, without
    # training.
    stored = project.stored_lines()
    project.run()
    assert project.stored_lines() == stored
    project.check_right(undisturbed, kept, most=2)
    assert len(set(map(json.dumps, without_times(project)))) == len(set(project.stored_ids()))


def without_times(project):
    """Return the records of the store without the fields that differ between duplicates."""
    for record in project.records():
        del record["result"]["fit_seconds"], record["result"]["memory"], record["crc"]
        yield record
