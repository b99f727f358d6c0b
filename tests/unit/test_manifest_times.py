"""The manifest: what it makes of files that a run has left."""

from pathlib import Path

import pytest

from privcurve.experiments import manifest, results, study
from privcurve.experiments.bundles import curves

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


def test_of_one_study_the_whole_run_is_the_study(tmp_path, monkeypatch):
    """Seconds are rounded by rule and by study: a share must not be of both."""
    monkeypatch.chdir(tmp_path)
    raw = {"title": "t", "datasets": ["toy-line"], "folds": 3, "repeats": 2}
    raw |= {"learners": {"majority": {"learner": "majority_class"}}}
    (one,) = curves(study.from_mapping(raw, "t", "t.yaml"), 1, 30)
    for (path,) in one.benchmarks.values():
        path.parent.mkdir(parents=True)
        path.write_text(f"{HEAD}1.04\t0:00:01\t100.5\t1\n")
    for path in (one.shard(0), one.refit):
        results.write_cells([], path, {"trained": 1, "training_seconds": 0.5})
    found = manifest.manifest({}, {"t": [one]}, [])
    assert [times["wall_seconds"] for times in found["rules"].values()] == [1.0, 1.0]
    assert found["not_training"] == found["studies"]["t"]["not_training"] == 0.5238
