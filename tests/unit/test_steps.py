"""What the steps share: counting of failed attempts, and messages instead of tracebacks."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from privcurve import datasets
from privcurve.files import replace_text
from privcurve.steps import _common


def test_attempts_with_failures_are_counted_and_others_are_not(tmp_path, capsys):
    path = tmp_path / "failures" / "arm.json"
    good = SimpleNamespace(n_trained=3, n_reused=1, n_failed=0)
    bad = SimpleNamespace(n_trained=2, n_reused=1, n_failed=1)
    assert _common.failed_attempts(path) == 0
    _common.report(good, path)
    assert not path.exists()
    _common.report(bad, path)
    _common.report(bad, path)
    assert _common.failed_attempts(path) == 2
    # A success leaves the count: the job's parameters stay as they are, and it is done.
    _common.report(good, path)
    assert _common.failed_attempts(path) == 2
    assert "trained 3 cells, reused 1, failed 0" in capsys.readouterr().out


def test_an_expected_error_is_one_line(capsys):
    def main():
        raise OSError("no space left")

    with pytest.raises(SystemExit) as caught:
        _common.run(main)
    assert caught.value.code == "error: no space left"


def test_a_job_that_can_not_write_says_that_nothing_trained_is_lost(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught:
        _common.run(lambda: replace_text(tmp_path / "file/x", ""))
    assert caught.value.code.startswith(f"error: {tmp_path / 'file/x'} can't be written: ")
    assert caught.value.code.endswith("then try again. What is trained is kept.")


def test_a_description_that_was_changed_during_a_run_is_named(own):
    with pytest.raises(datasets.DatasetError, match="'mine' is not coded in results/data/mine"):
        _common._coded("mine", 1)
    datasets.save(datasets.load("mine"), "results/data/mine")
    own(missing="-")
    with pytest.raises(datasets.DatasetError, match=r"from another description of 'mine' than"):
        _common._coded("mine", 1)


@pytest.mark.parametrize(
    "step",
    [
        "prepare",
        "train",
        "refit",
        "bundle",
        "output",
        "summary",
        "manifest",
    ],
)
def test_steps_explain_themselves(step):
    done = subprocess.run(
        [sys.executable, "-m", f"privcurve.steps.{step}", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "usage: python -m privcurve.steps." in done.stdout
