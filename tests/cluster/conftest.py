"""Checkouts that run on SLURM, and the local results for comparison."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest
import yaml
from checkout import ROOT, make_checkout
from slurm_project import SCRIPT, STUDY, ClusterProject, slurm


@pytest.fixture(scope="session", autouse=True)
def _slurm():
    status = subprocess.run([SCRIPT, "status"], capture_output=True, text=True, check=False)
    if status.returncode:
        # If the tests started SLURM themselves, a failure is not skipped.
        end = pytest.fail if os.environ.get("PRIVCURVE_TEST_SLURM") else pytest.skip
        output = status.stdout + status.stderr
        end(f"no SLURM takes jobs here: `make test-slurm` starts one\n{output}")


@contextmanager
def on_slurm(folder):
    """Yield a new checkout, and end all of its processes afterwards."""
    project = ClusterProject(make_checkout(folder).folder)
    project.write_study(**STUDY)
    yield project
    project.clear()


@pytest.fixture
def project(tmp_path):
    """Yield a new checkout whose jobs run on SLURM."""
    with on_slurm(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def out_of_time(tmp_path_factory):
    """Yield a run whose training pauses beyond its limit of one minute, which other tests need not
    await.

    The limit is set when training has paused: before that a busy machine may need longer.
    """
    with on_slurm(tmp_path_factory.mktemp("out_of_time")) as made:
        running, job = made.start_and_pause("--set-resources", "train:runtime=60*attempt")
        slurm("scontrol", "update", f"JobId={job.number}", "TimeLimit=1")
        yield made, running, job


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """Return the tables and figures of the same study, made without SLURM."""
    local = make_checkout(tmp_path_factory.mktemp("local"))
    local.write_study(**STUDY)
    local.run()
    return local.outputs()


@pytest.fixture
def quickstart(tmp_path_factory):
    """Yield two checkouts of the quickstart study: one for SLURM, one for this machine alone."""
    made = [make_checkout(tmp_path_factory.mktemp(name)) for name in ("slurm", "local")]
    for one in made:
        shutil.copy(ROOT / "config/studies/quickstart.yaml", one.folder / "config/studies")
        path = one.folder / "config/config.yaml"
        content = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**content, "studies": ["quickstart"]}))
    return ClusterProject(made[0].folder), made[1]
