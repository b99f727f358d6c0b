"""A checkout whose jobs run on SLURM; a test can pause its training half-way."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from checkout import TIMEOUT_FACTOR, Project

SCRIPT = Path(__file__).with_name("slurm-one-node")
# One learner gives one training job. The other jobs are local.
STUDY = {
    "learners": {
        "boost": {
            "learner": "lazybb",
            "calibrations": ["proved"],
            "grid": {"n_rounds": [5, 9, 19], "density": [0.5]},
        }
    }
}


def one_node(command):
    """Call the script that runs SLURM, and return what it prints."""
    return subprocess.run([SCRIPT, command], check=True, capture_output=True, text=True).stdout


def slurm(*command):
    """Call a command of SLURM."""
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=20 * TIMEOUT_FACTOR
    )
    return done.stdout.strip()


def wait_for(what, condition):
    """Wait until a condition holds, and return what it returned."""
    seconds = 60 * TIMEOUT_FACTOR
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.2)
    return result


def kill_controller(number):
    """Kill the controller after it has saved that a job runs.

    It saves up to five seconds late (job_state in StateSaveLocation). A controller that remembers
    the job as pending starts it again, finds it running, and drains the node: a loss by SLURM
    itself.
    """
    state = Path(one_node("env").strip().partition("=")[2]).parent
    slurm("scontrol", "update", f"JobId={number}", "AdminComment=seen running")
    written = state / "controller/job_state"
    wait_for("the controller to save", lambda: b"seen running" in written.read_bytes())
    os.kill(int((state / "pid/slurmctld").read_text()), signal.SIGKILL)


@dataclass
class Job:
    """Return the state of a job in squeue."""

    number: str
    state: str
    time_limit: str
    memory: str
    comment: str
    folder: str


@dataclass
class ClusterProject(Project):
    """A checkout whose jobs run on SLURM."""

    started: list[subprocess.Popen] = field(default_factory=list)

    def command(self, *arguments):
        # The shipped profile with short waiting times, because this node serves only the tests.
        impatient = ["--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10"]
        profile = ["--workflow-profile", "profiles/slurm"]
        return [sys.executable, "-m", "snakemake", *profile, *impatient, *arguments]

    @property
    def environment(self):
        return {
            **super().environment,
            "PYTHONPATH": str(SCRIPT.with_name("hold")),
            "PRIVCURVE_TEST_HOLD": str(self.hold),
        }

    @property
    def hold(self):
        """Return the file that pauses training."""
        return self.folder / "hold"

    def start(self, *arguments):
        """Start Snakemake; `finish` waits for its end."""
        running = self.launch(self.folder / "snakemake.out", *arguments)
        self.started.append(running)
        return running

    def start_and_pause(self, *arguments):
        """Start Snakemake and wait until its training has paused; return both."""
        before = {job.number for job in self.jobs()}
        self.hold.touch()
        running = self.start(*arguments)

        def paused():
            assert running.poll() is None, self.said()
            new = [job for job in self.jobs("train") if job.number not in before]
            return [job for job in new if (self.folder / f"held~{job.number}").exists()]

        return running, wait_for("training to pause", paused)[0]

    def release(self):
        """Let training continue."""
        self.hold.unlink()

    def finish(self, running):
        """Wait until a run has ended successfully."""
        try:
            code = running.wait(timeout=120 * TIMEOUT_FACTOR)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running after {120 * TIMEOUT_FACTOR} s:\n{self.said()}")
        assert code == 0, self.said()

    def kill(self, running):
        """Kill Snakemake and its local children; its jobs on SLURM continue."""
        os.killpg(running.pid, signal.SIGKILL)
        running.wait(timeout=20 * TIMEOUT_FACTOR)

    def clear(self):
        """End all processes and jobs that a failed test has left."""
        for running in self.started:
            if running.poll() is None:
                self.kill(running)
        for job in self.jobs():
            if job.state in ("PENDING", "RUNNING"):
                slurm("scancel", job.number)

    def said(self):
        """Return the output of Snakemake."""
        return (self.folder / "snakemake.out").read_text()

    def jobs(self, rule=""):
        """Return this checkout's jobs of a rule, oldest first."""
        lines = slurm("squeue", "--states=all", "--noheader", "--format=%i|%T|%l|%m|%k|%Z")
        queue = [Job(*line.split("|")) for line in lines.splitlines()]
        mine = [job for job in queue if Path(job.folder) == self.folder]
        return sorted(
            (job for job in mine if job.comment.startswith(f"rule_{rule}")),
            key=lambda job: int(job.number),
        )

    def wait_for_state(self, number, state):
        """Wait until a job is in a state."""
        wait_for(
            f"job {number} to be {state}",
            lambda: any((job.number, job.state) == (number, state) for job in self.jobs()),
        )
