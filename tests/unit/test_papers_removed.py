"""The project works without any one paper: everything about a paper is in its folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("benchmarks", "config", "decoder", "docs", "examples", "papers", "profiles", "resources"),
    *("src", "tests", "workflow"),
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "results")
# Tests of code that lists all learners, studies and outputs.
QUICK = (
    *("test_architecture", "test_chances", "test_figures", "test_ids", "test_own_learners"),
    *("test_own_outputs", "test_needs", "test_statuses", "test_study_files", "test_tuned"),
)


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["all", "boosted_dp", "distributed", "partial", "thesis"])
def test_a_project_without_a_paper_plans_and_passes_its_tests(paper, tmp_path):
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT_OUT)
    for file in (file for file in ROOT.iterdir() if file.is_file()):
        shutil.copy(file, tmp_path)
    shutil.rmtree(tmp_path / "papers" / paper)
    # Import the copy, not the installed package.
    clean = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def run(*words):
        command = [sys.executable, "-m", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    assert "lazybb_1r" in run("snakemake", "--dry-run", "--cores", "1", "quickstart")
    tests = [f"tests/unit/{name}.py" for name in QUICK]
    tests.append("tests/privacy/test_contract_cases.py")
    run("pytest", "-q", "--collect-only", "tests", "papers")
    run("pytest", "-q", *tests, "-k", "not ends_keep and not persons and not breaks")
