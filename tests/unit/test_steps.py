"""What the steps share: counting of failed attempts, and messages instead of tracebacks."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from privcurve import datasets
from privcurve.experiments import results
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


def test_fresh_trainings_are_read_only_if_they_are_of_what_is_asked_for(tmp_path):
    data = tmp_path / "toy-line"
    datasets.save(datasets.load("toy-line"), data)
    refits = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for number, path in enumerate(refits):
        facts = {"digest": f"d {number}", "checksum": datasets.facts(data)["checksum"]}
        results.write_cells([{"id": "a"}], path, facts)

    def read(*digests):
        asked = SimpleNamespace(refits=refits, digests=digests, data=[data, data])
        return len(_common.read_refits(asked))

    assert read("d 0", "d 1") == 2
    with pytest.raises(results.IncompleteError, match=r"two.parquet was made for another"):
        read("d 0", "d 0")
    results.write_cells([], refits[1], {"digest": "d 1", "checksum": "of other data"})
    with pytest.raises(results.IncompleteError, match=r"two.parquet was made for another"):
        read("d 0", "d 1")


def test_an_expected_error_is_one_line(capsys):
    def main():
        raise OSError("no space left")

    with pytest.raises(SystemExit) as caught:
        _common.run(main)
    assert caught.value.code == "error: no space left"


@pytest.mark.parametrize(
    "step",
    [
        "prepare",
        "train",
        "refit",
        "tables",
        "learning_curves",
        "sparsity",
        "comparison",
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
