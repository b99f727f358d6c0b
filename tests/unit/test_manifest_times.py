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


@pytest.fixture
def one(tmp_path, monkeypatch):
    """The jobs of a curve, one that trains and one that refits."""
    monkeypatch.chdir(tmp_path)
    raw = {"title": "t", "datasets": ["toy-line"], "folds": 3, "repeats": 2}
    raw |= {"learners": {"majority": {"learner": "majority_class"}}}
    (one,) = curves(study.from_mapping(raw, "t", "t.yaml"), 1, 30)
    for (path,) in one.benchmarks.values():
        path.parent.mkdir(parents=True)
        path.write_text(f"{HEAD}1.04\t0:00:01\t100.5\t1\n")
    return one


def test_of_one_study_the_whole_run_is_the_study(one):
    """Seconds are rounded by rule and by study: a share must not be of both."""
    for path in (one.shard(0), one.refit):
        times = {"training_seconds": 0.5, "job_seconds": 1.05}
        results.write_cells([], path, {"trained": 1, **times})
    found = manifest.manifest({}, {"t": [one]}, [])
    assert [times["wall_seconds"] for times in found["rules"].values()] == [1.0, 1.0]
    assert found["not_training"] == found["studies"]["t"]["not_training"] == 0.5238


def test_a_file_of_a_run_that_was_stopped_is_not_held_against_the_time_of_another(one):
    """Its job went on, and has put its file in the place of its twin's, after a restart."""
    of_stopped = {"training_seconds": 2.7, "job_seconds": 3.6}
    results.write_cells([], one.shard(0), {"trained": 1, **of_stopped})
    results.write_cells([], one.refit, {"trained": 1, "training_seconds": 0.1, "job_seconds": 0.4})
    found = manifest.manifest({}, {"t": [one]}, [])
    assert found["not_training"] == found["studies"]["t"]["not_training"] == 0.3
    assert found["studies"]["t"]["training_seconds"] == 2.8


def test_files_that_do_not_tell_their_time_are_left_out_of_the_share(one):
    results.write_cells([], one.shard(0), {"trained": 1, "training_seconds": 5.0})
    assert manifest.manifest({}, {"t": [one]}, [])["not_training"] is None
    results.write_cells([], one.refit, {"trained": 1, "training_seconds": 0.1, "job_seconds": 0.4})
    assert manifest.manifest({}, {"t": [one]}, [])["not_training"] == 0.75
