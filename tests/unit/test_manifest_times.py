"""The manifest: what it makes of files that a run has left."""

from pathlib import Path

import pytest

from privcurve.experiments import manifest

HEAD = "s\th:m:s\tmax_rss\tcpu_time\n"
FOLDER = Path("benchmarks/tables")


@pytest.mark.parametrize("left", ["", HEAD, HEAD + "1.5\t0:00", "\0" * 100])
def test_a_benchmark_file_of_which_something_is_lost_is_not_counted(left, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir(parents=True)
    (FOLDER / "whole.tsv").write_text(HEAD + "2.5\t0:00:02\t100.5\tNA\n")
    (FOLDER / "damaged.tsv").write_text(left)
    names = ("whole", "damaged", "missing")
    found = manifest.manifest({}, {}, [FOLDER / f"{name}.tsv" for name in names])
    assert found["rules"] == {
        "tables": {"jobs": 1, "wall_seconds": 2.5, "cpu_seconds": 0.0, "max_rss_mib": 100.5}
    }
