"""What jobs share: messages instead of tracebacks."""

import pytest

from privcurve import datasets
from privcurve.files import replace_text
from privcurve.workflow import job


def test_an_expected_error_is_one_line(capsys):
    def main():
        raise OSError("no space left")

    with pytest.raises(SystemExit) as caught:
        job.run(main)
    assert caught.value.code == "error: no space left"


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
