"""The workflow on a real SLURM, and faults of jobs on a cluster.

Each test pauses training half-way, causes a fault, and compares tables and figures byte by byte
with a run without SLURM.
"""

import json
import subprocess

import pytest
from checkout import ROOT
from checkout import TINY_STUDY as PLAIN
from slurm_project import STUDY, kill_controller, one_node, slurm, wait_for

from privcurve.experiments import study
from privcurve.experiments.curves import curves_of
from privcurve.experiments.stamp import TIMINGS

pytestmark = pytest.mark.cluster

# The command of docs/clusters.md.
CANCEL = (
    "squeue --me --noheader --format '%i %j' | awk '$2 ~ /^privcurve_/ {print $1}' "
    "| xargs -r scancel"
)


def ids_of(lines):
    return [json.loads(line)["id"] for line in lines]


def results_of(lines):
    """Return the stored results of each run, without time and memory."""
    results = set()
    for line in lines:
        row = json.loads(line)
        result = {k: v for k, v in row["result"].items() if k not in TIMINGS}
        results.add((row["id"], json.dumps(result, sort_keys=True)))
    return results


def check_resumed(project, before, undisturbed):
    """Assert that the tables are right, and that no run was trained twice."""
    after = project.stored_lines()
    assert before
    assert set(before) < set(after)
    assert len(ids_of(after)) == len(set(ids_of(after)))
    assert project.outputs() == undisturbed


@pytest.mark.usefixtures("out_of_time")  # the job's minute passes during this run
def test_quickstart_gives_the_same_bytes(quickstart):
    on_slurm, local = quickstart
    running = on_slurm.start()
    local.run()
    on_slurm.finish(running)
    assert {job.state for job in on_slurm.jobs()} == {"COMPLETED"}
    assert on_slurm.jobs("prepare") == []
    assert on_slurm.outputs()
    assert on_slurm.outputs() == local.outputs()


def test_a_job_that_runs_out_of_time_gets_more(out_of_time, undisturbed):
    project, running, job = out_of_time
    project.wait_for_state(job.number, "TIMEOUT")
    before = project.stored_lines()
    project.release()
    project.finish(running)
    first, second = project.jobs("train")
    assert (first.state, first.time_limit) == ("TIMEOUT", "1:00")
    assert (second.state, second.time_limit) == ("COMPLETED", "2:00:00")
    check_resumed(project, before, undisturbed)


def test_a_cancelled_job_is_tried_again_with_more(project, undisturbed):
    running, job = project.start_and_pause()
    slurm("scancel", job.number)
    project.wait_for_state(job.number, "CANCELLED")
    before = project.stored_lines()
    project.release()
    project.finish(running)
    first, second = project.jobs("train")
    assert (first.state, first.time_limit, first.memory) == ("CANCELLED", "11:00", "500M")
    assert (second.state, second.time_limit, second.memory) == ("COMPLETED", "22:00", "1000M")
    check_resumed(project, before, undisturbed)


def test_twins_of_a_killed_snakemake_do_no_harm(project, undisturbed):
    running, job = project.start_and_pause()
    project.kill(running)
    assert "--unlock" in project.run(ok=False)
    project.run("--unlock")
    running, twin = project.start_and_pause()
    assert {one.state for one in project.jobs("train")} == {"RUNNING"}
    project.release()
    project.finish(running)
    project.wait_for_state(job.number, "COMPLETED")
    project.wait_for_state(twin.number, "COMPLETED")
    after = project.stored_lines()
    assert len(results_of(after)) == len(set(ids_of(after))) < len(after)
    assert not [path for path in (project.folder / "results").rglob(".*") if path.is_file()]
    assert project.outputs() == undisturbed
    project.run()
    assert project.stored_lines() == after
    assert project.outputs() == undisturbed


def test_jobs_of_a_killed_snakemake_can_be_cancelled(project, undisturbed):
    assert CANCEL in (ROOT / "docs/clusters.md").read_text()
    running, job = project.start_and_pause()
    project.kill(running)
    subprocess.run(CANCEL, shell=True, check=True)
    project.wait_for_state(job.number, "CANCELLED")
    before = project.stored_lines()
    project.release()
    project.run("--unlock")
    project.run()
    check_resumed(project, before, undisturbed)


def test_results_that_ended_after_a_killed_snakemake_are_kept(project, undisturbed):
    running, job = project.start_and_pause()
    project.kill(running)
    project.release()
    project.wait_for_state(job.number, "COMPLETED")
    before = project.stored_lines()
    project.run("--unlock")
    project.run()
    assert len(project.jobs("train")) == 1
    # The one job had trained all runs.
    assert project.stored_lines() == before
    assert project.outputs() == undisturbed


def test_the_profile_applies_with_a_config_on_the_command_line(project):
    output = project.run("--dry-run", "--printshellcmds", "--config", "seed=2")
    assert "--config seed=2 seconds_per_job=1200" in output


def test_data_are_coded_on_a_node_where_the_login_node_is_for_nothing_else(project):
    project.run("results/data/ready/tiny.txt", "--config", "local_jobs=[outputs]")
    for rule in ("prepare", "datasets_ready"):
        assert [job.state for job in project.jobs(rule)] == ["COMPLETED"]


def test_a_drained_node_is_waited_for(project, undisturbed):
    # At each of two ε: the grid, then the final models of the selection.
    (curve,) = curves_of(study.from_mapping({**PLAIN, **STUDY}, "tiny", "tiny.yaml"), 1, 1e9)
    per_job = curve.grid_seconds / 4
    running, _ = project.start_and_pause("--config", f"seconds_per_job={per_job}")
    wait_for("both grids to pause", lambda: len([*project.folder.glob("held~*")]) == 2)
    name = slurm("sinfo", "--noheader", "--format=%n")
    slurm("scontrol", "update", f"nodename={name}", "state=drain", "reason=test")
    try:
        before = project.stored_lines()
        project.release()
        selection = wait_for("the job that selects", lambda: project.jobs("train")[2:])[0]
        wait_for("the node to drain", lambda: slurm("sinfo", "-h", "-o", "%T") == "drained")
        assert project.jobs("train")[2].state == "PENDING"
    finally:
        slurm("scontrol", "update", f"nodename={name}", "state=resume")
    project.finish(running)
    assert [job.state for job in project.jobs("train")] == ["COMPLETED"] * 4
    assert project.jobs("train")[2].number == selection.number
    check_resumed(project, before, undisturbed)


def test_the_controller_may_crash(project, undisturbed):
    running, job = project.start_and_pause()
    before = project.stored_lines()
    kill_controller(job.number)
    one_node("start")
    project.release()
    project.finish(running)
    assert [one.number for one in project.jobs("train")] == [job.number]
    check_resumed(project, before, undisturbed)
