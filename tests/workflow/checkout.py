"""A copy of the workflow in a temporary folder, with one small study named ``tiny``.

The fixtures ``project`` (not run yet) and ``finished`` (already run) of conftest.py give a test a
`Project` to change and run.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from privcurve.experiments import study

ROOT = Path(__file__).parents[2]

# Factor of all time limits, which only stop tests that would never end: increase it on a busy
# machine.
TIMEOUT_FACTOR = int(os.environ.get("PRIVCURVE_TEST_PATIENCE", "5"))

# A target for tests that need neither the figure nor the manifest.
TABLES = "results/tables/tiny/accuracy.csv"
OTHER_SEED = ("--config", "seed=2")

TINY_STUDY = {
    "title": "tiny",
    "datasets": ["toy-line"],
    "epsilons": [0.5, 2],
    "folds": 3,
    "repeats": 3,
    "figure": "tiny",
    "learners": {
        "boost": {
            "learner": "lazybb",
            "calibrations": ["proved", "published"],
            "grid": {"n_rounds": [5, 9], "density": [0.5]},
        },
        "majority": {"learner": "majority_class"},
    },
}


@dataclass
class Project:
    """A checkout of the workflow that a test may change and run.

    ``project.run(TABLES)`` runs Snakemake; ``project.run_job("train", …)`` runs one job alone.
    """

    folder: Path

    def write_study(self, without=(), **changes):
        """Write `TINY_STUDY` with other values of some keys, and without others."""
        content = {**TINY_STUDY, **changes}
        content = {key: content[key] for key in content if key not in without}
        (self.folder / "config/studies/tiny.yaml").write_text(yaml.safe_dump(content))

    def command(self, *arguments):
        return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]

    @property
    def environment(self):
        # Child processes use the package of this process, and ignore a data mirror of the user.
        keep = {k: v for k, v in os.environ.items() if k != "PRIVCURVE_DATA"}
        return {**keep, "PRIVCURVE_CACHE": str(self.folder / "cache")}

    def call(self, command, **environment):
        """Run a command in the checkout; return the completed process with its output."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120 * TIMEOUT_FACTOR,
            check=False,
        )

    def run(self, *arguments, ok=True, **environment):
        """Run Snakemake, which must succeed (or fail if not `ok`); return what it printed."""
        done = self.call(self.command(*arguments), **environment)
        output = done.stdout + done.stderr
        assert (done.returncode == 0) == ok, output
        return output

    def launch(self, printed, *arguments, **environment):
        """Start Snakemake with its output in the file `printed`; return the running process."""
        with printed.open("a") as output:
            return subprocess.Popen(
                self.command(*arguments),
                cwd=self.folder,
                env={**self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def run_job(self, *words, ok=False, **environment):
        """Run one job alone, which must fail (or succeed if `ok`); return what it printed."""
        command = [sys.executable, "-m", "privcurve.workflow.job", *words]
        done = self.call(command, **environment)
        assert done.returncode == (0 if ok else 1), done.stdout + done.stderr
        return done.stdout + done.stderr

    def run_counts(self):
        """Return (trained, reused, failed): the numbers of runs in the logs of all jobs."""
        totals = [0, 0, 0]
        for log in (self.folder / "logs").rglob("*.log"):
            for line in log.read_text().splitlines():
                match = re.fullmatch(r"trained (\d+) runs, reused (\d+), failed (\d+)", line)
                if match:
                    totals = [a + int(b) for a, b in zip(totals, match.groups(), strict=True)]
        return tuple(totals)

    def expected_runs(self, **changes):
        """Return how many runs the study has: the grid in each fold, and the fresh trainings."""
        raw = {**TINY_STUDY, **changes}
        made = study.from_mapping(raw, "tiny", "tiny.yaml")
        grid = sum(len(method.points) for method in made.methods.values()) * made.folds
        fresh = sum(len(method.epsilons) for method in made.methods.values()) * made.repeats
        return len(made.datasets) * (grid + fresh)

    def delete_logs(self):
        """Delete the logs of earlier jobs, so that `run_counts` counts only the next ones."""
        shutil.rmtree(self.folder / "logs", ignore_errors=True)

    def outputs(self):
        """Return {path: bytes} of all tables and figures, except temporary files of killed jobs."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for part in ("results/tables", "results/figures")
            for path in sorted((self.folder / part).rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        }

    def stored_lines(self):
        """Return all lines of the store, sorted."""
        return sorted(
            line
            for path in (self.folder / "results/store").rglob("*.jsonl")
            for line in path.read_text().splitlines()
        )


def shared_checkout(tmp_path_factory, name, fill):
    """Return a folder that ``fill(folder)`` fills once for all workers of pytest.

    Tests must not change it: they copy it.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, filled = shared / name, shared / f"{name}.filled"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            filled.touch()
    return folder


def make_checkout(folder):
    """Copy the workflow and `TINY_STUDY` into a folder; return the `Project`."""
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("workflow", "profiles", "resources"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "config/studies").mkdir(parents=True)
    (folder / "config/config.yaml").write_text(
        yaml.safe_dump({"studies": ["tiny"], "audit": False, "seed": 1, "seconds_per_job": 30})
    )
    made = Project(folder)
    made.write_study()
    return made


def write_one_column_dataset(project, name, categories, colours=("red", "blue") * 20, public=True):
    """Add a dataset to a checkout: a column ``colour``, and whether it is red as the label."""
    table = project.folder / f"{name}.csv"
    table.write_text(
        "colour,label\n" + "".join(f"{c},{'yes' if c == 'red' else 'no'}\n" for c in colours)
    )
    description = {
        "title": "Colours",
        "citation": "own",
        "licence": "own",
        "public_benchmark": public,
        "n_rows": len(colours),
        "files": {"train": {"local": str(table)}},
        "parser": {"kind": "delimited", "header": True},
        "columns": [{"name": "colour", "kind": "categorical", "categories": categories}],
        "label": {"column": "label", "negative": "no", "positive": "yes"},
    }
    path = project.folder / f"resources/datasets/{name}.yaml"
    path.write_text(yaml.safe_dump(description))
