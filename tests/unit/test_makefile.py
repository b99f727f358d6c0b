"""The message of `make quickstart` when Snakemake fails."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def checkout(tmp_path):
    """Return the Makefile in a folder with an installed environment whose runs fail."""
    for name in ("pyproject.toml", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    python.write_text("#!/bin/sh\necho it fails with $*\nexit 1\n")
    python.chmod(0o755)
    (tmp_path / ".venv/ready").touch()
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    return tmp_path


def quickstart(folder):
    done = subprocess.run(
        ["make", "--no-print-directory", "CORES=3", "quickstart"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "it fails with -m privcurve.workflow.study --cores 3 quickstart" in done.stdout
    return done.stdout


def test_a_leftover_lock_is_reported_with_the_command_that_removes_it(checkout):
    (checkout / ".snakemake/locks/0.output.lock").write_text("all\n")
    result = quickstart(checkout)
    assert "This folder is locked." in result
    assert "  .venv/bin/snakemake --unlock && make quickstart\n" in result


def test_another_failure_is_not_called_a_lock(checkout):
    assert "lock" not in quickstart(checkout)
