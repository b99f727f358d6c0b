"""A checkout whose runs can be disturbed at chosen moments, and checks of the state afterwards."""

import json
import os
import re
import shutil
import signal
import time
import zlib
from collections import Counter
from pathlib import Path

from checkout import TIMEOUT_FACTOR, Project

# Up to the first checksum; a learner's measures may contain braces in a text.
RECORD = re.compile(
    rb'(\{"id":"[0-9a-f]{64}","result":\{(?:(?!\{"id":)[^\0\n])*?\},"code":"[0-9a-f]{12}")'
    rb',"crc":"([0-9a-f]{8})"\}'
)
MOMENTS = Path(__file__).with_name("moments")

# One job of 300 runs of some milliseconds, plus 6 final models: short, but with a middle. It makes
# two tables; figures are written in the same way.
STUDY = {
    "outputs": ["accuracy", "selected_settings"],
    "learners": {
        "boost": {
            "learner": "lazybb",
            "calibrations": ["proved"],
            "grid": {"n_rounds": list(range(100, 350, 10)), "density": [0.25, 0.5]},
        }
    },
}
N_TRAINED = 300
N_STORED = N_TRAINED + 6


class Disturbed(Project):
    """A checkout whose runs can be disturbed."""

    def __init__(self, folder):
        super().__init__(folder)
        self.started = []

    def command(self, *arguments):
        # Only the tables of the study are compared.
        return super().command(*(arguments or ["tiny"]))

    def start(self, *arguments, moment=None):
        """Start Snakemake; if `moment` is given, its job stops at this moment."""
        environment = {}
        if moment is not None:
            environment["PYTHONPATH"] = python_path(MOMENTS)
            environment["PRIVCURVE_TEST_MOMENT"] = json.dumps(moment)
        running = self.launch(self._printed(len(self.started)), *arguments, **environment)
        self.started.append(running)
        return running

    def _printed(self, number):
        return self.folder / f"snakemake~{number}.out"

    def printed(self, running):
        """Return the output of a started run."""
        return self._printed(self.started.index(running)).read_text()

    def start_and_stand_still(self, moment, *arguments):
        """Start Snakemake and wait for the moment; return the run and the stopped job's id."""
        running = self.start(*arguments, moment=moment)

        def standing():
            assert running.poll() is None, self.printed(running)
            return [
                pid for pid in job_processes(running, moment["job"]) if process_state(pid) == "T"
            ]

        wait_until(standing, f"{moment} comes")
        return running, standing()[0]

    def clear(self):
        """Kill all processes that a test has left running."""
        for running in self.started:
            for pid in session_processes(running):
                os.kill(pid, signal.SIGKILL)
            running.wait(timeout=60 * TIMEOUT_FACTOR)

    @property
    def job_file(self):
        """Return the file of the one training job."""
        (path,) = (self.folder / "results/cells/tiny").glob("*/*.parquet")
        return path

    def store_files(self):
        return sorted((self.folder / "results/store").rglob("*.jsonl"))

    def records(self):
        """Return the valid records of the store, wherever they are in its files, parsed."""
        return [
            json.loads(match[0])
            for path in self.store_files()
            for match in RECORD.finditer(path.read_bytes())
            if zlib.crc32(match[1]) == int(match[2], 16)
        ]

    def stored_ids(self):
        return [record["id"] for record in self.records()]

    def check_right(self, undisturbed, kept, most=1):
        """Assert that a finished run has the right results.

        Tables are equal to an undisturbed run's, byte for byte; its store has the same runs; no
        run in
        `kept` was trained again, and no run more than `most` times.
        """
        assert self.outputs() == undisturbed.outputs()
        times = Counter(self.stored_ids())
        assert set(times) == set(undisturbed.stored_ids())
        assert [name for name in kept if times[name] > 1] == []
        assert max(times.values()) <= most

    def check_at_rest(self):
        """Assert that another run does nothing."""
        assert "Nothing to be done" in self.run()


def copy(project, folder):
    """Copy a checkout and its time stamps."""
    shutil.copytree(project.folder, folder, dirs_exist_ok=True)
    return Disturbed(folder)


def python_path(folder):
    """Return a PYTHONPATH that begins with a folder."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def wait_until(condition, what):
    """Wait until a condition holds."""
    seconds = 120 * TIMEOUT_FACTOR
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s until {what}"
        time.sleep(0.05)


def session_processes(running):
    """Return {id: command line} of the processes in the session of a run."""
    processes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes().decode()
            except OSError:
                continue  # the process has just ended
            if stat[0] not in "ZX" and int(stat[3]) == running.pid:
                processes[int(folder.name)] = command.replace("\0", " ")
    return processes


def job_processes(running, what):
    """Return the ids of a run's processes that execute a kind of job."""
    program = f"python -m privcurve.workflow.job {what} "
    return [
        pid for pid, command in session_processes(running).items() if command.startswith(program)
    ]


def resume_process(pid):
    """Let a stopped process continue."""
    os.kill(pid, signal.SIGCONT)


def process_state(pid):
    """Return the state of a process: T for stopped, Z for ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
