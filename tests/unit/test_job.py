"""What jobs share: messages instead of tracebacks."""

import subprocess
import sys
from pathlib import Path

import pytest

from privcurve import datasets
from privcurve.files import replace_text
from privcurve.workflow import job, running


@pytest.mark.slow
def test_a_file_of_the_user_takes_no_place_of_pythons_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("statistics", "random", "json", "logging"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    command = [sys.executable, "-m", "privcurve.workflow.job", "summary", "{}"]
    job_error = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "summary() missing" in job_error
    running.run(["--version"], Path("log"))


def test_a_job_that_can_not_write_says_that_nothing_trained_is_lost(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught:
        job.run(lambda: replace_text(tmp_path / "file/x", ""))
    assert caught.value.code.startswith(f"error: {tmp_path / 'file/x'} can't be written: ")
    assert caught.value.code.endswith("then try again. What is trained is kept.")


def test_a_description_that_was_changed_during_a_run_is_named(own):
    with pytest.raises(datasets.DatasetError, match="'mine' is not coded in results/data/mine"):
        job._read_coded("mine", 1)
    datasets.save(datasets.load("mine"), "results/data/mine")
    own(missing="-")
    with pytest.raises(datasets.DatasetError, match=r"from another description of 'mine' than"):
        job._read_coded("mine", 1)
