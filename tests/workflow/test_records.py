"""Files that Snakemake has no record of, or a wrong one: they say themselves what they are of.

A record is lost with .snakemake, which is deleted to get rid of a lock or is not copied with
the results; and a job that outlives Snakemake on a cluster leaves a file that never had one.
"""

import json
import shutil

import pytest
from checkout import OTHER_SEED, STUDY, TABLES, write_dataset

pytestmark = pytest.mark.workflow

SHARD = "results/cells/tiny/toy-line/boost~certified/shard~0-of-1.parquet"
REFIT = "results/refits/tiny/toy-line/boost~certified/cells.parquet"
OTHER_REFIT = REFIT.replace("certified", "published")


def lose_records(project):
    shutil.rmtree(project.folder / ".snakemake")


def without_majority():
    return {"learners": {"boost": STUDY["learners"]["boost"]}}


def check_that_a_change_is_seen(finished, expected, *arguments):
    """Run again, without records, what was changed since."""
    stored = set(finished.stored())
    lose_records(finished)
    finished.forget_logs()
    finished.run(*arguments)
    assert finished.outputs() == expected.outputs()
    # What is stored of the first run is not trained again.
    assert stored <= set(finished.stored())
    assert finished.counts()[0] == len(finished.stored()) - len(stored)
    assert "Nothing to be done" in finished.run(*arguments)


@pytest.mark.slow
def test_without_records_another_seed_is_seen(finished, reseeded_once):
    check_that_a_change_is_seen(finished, reseeded_once, *OTHER_SEED)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"epsilons": [0.5, 1, 2], "repeats": 4}, without_majority()])
def test_without_records_another_study_is_seen(finished, project, changes):
    for one in (finished, project):
        one.write_study(**changes)
    project.run()
    check_that_a_change_is_seen(finished, project)


def test_without_records_and_without_a_change_nothing_is_trained(finished):
    stored, made = finished.stored(), finished.outputs()
    lose_records(finished)
    finished.forget_logs()
    finished.run()
    assert not list((finished.folder / "logs").rglob("train"))
    assert not list((finished.folder / "logs").rglob("refit"))
    assert finished.stored() == stored
    assert finished.outputs() == made
    assert "Nothing to be done" in finished.run()


@pytest.mark.slow
def test_without_records_and_with_new_times_nothing_is_trained(finished):
    """As `cp -r` leaves them: what is made from data may be older than these."""
    stored, made = finished.stored(), finished.outputs()
    lose_records(finished)
    finished.forget_logs()
    for path in (finished.folder / "results/data").rglob("*"):
        path.touch()
    finished.run()
    assert finished.counts() == (0, finished.cells(), 0)
    assert finished.stored() == stored
    assert finished.outputs() == made
    assert "Nothing to be done" in finished.run()


@pytest.mark.slow
def test_a_refit_alone_without_a_record(finished, project):
    finished.run("--cleanup-metadata", REFIT, REFIT.replace("cells.parquet", "selected.csv"))
    for one in (finished, project):
        one.write_study(repeats=4)
        one.run()
    assert finished.outputs() == project.outputs()


@pytest.mark.slow
def test_a_file_that_another_run_has_put_under_a_record(finished_once, reseeded):
    """A job of the old seed ends after its twin of the new one."""
    made, stored = reseeded.outputs(), reseeded.stored()
    shutil.copy(finished_once.folder / SHARD, reseeded.folder / SHARD)
    shutil.rmtree(reseeded.folder / "results/refits")
    reseeded.run(*OTHER_SEED)
    assert reseeded.outputs() == made
    assert reseeded.stored() == stored


@pytest.mark.slow
def test_a_table_is_not_made_of_other_files(finished):
    """As a step sees it when a file changes under the eyes of Snakemake."""
    made = finished.outputs()
    path = finished.folder / "results/tables/tiny/accuracy.csv"
    path.unlink()
    (finished.folder / REFIT).write_bytes((finished.folder / OTHER_REFIT).read_bytes())
    digest = json.loads((finished.folder / "results/made/tiny_accuracy.json").read_text())["digest"]
    output = finished.step(
        *("output", "--study", "config/studies/tiny.yaml", "--output", "accuracy"),
        *("--options", '{"name": null}', "--seed", "1", "--seconds-per-job", "30"),
        *("--digest", digest),
    )
    assert output.startswith(f"error: {REFIT} was made for another study, seed, ")
    assert "delete it and run the same command again" in output
    assert not path.exists()

    (finished.folder / REFIT).unlink()
    finished.run(TABLES)
    assert finished.outputs() == made


def test_another_public_domain_is_seen_though_the_codes_are_the_same(project):
    """A category that no row has: `prepare` ran by itself, and its matrix has the same bytes."""
    changes = {
        "datasets": ["colours"],
        "learners": {"boost": {"learner": "lazybb", "grid": {"n_rounds": [5, 9]}}},
    }
    write_dataset(project, "colours", ["red", "blue"])
    project.write_study(**changes)
    project.run(TABLES)
    coded = project.folder / "results/data/colours/encoded.npz"
    before, stored = coded.read_bytes(), project.stored()

    write_dataset(project, "colours", ["red", "blue", "green"])
    project.run("results/data/colours/encoded.npz")
    assert coded.read_bytes() == before
    project.forget_logs()
    project.run(TABLES)
    n_cells = project.cells(**changes)
    assert project.counts() == (n_cells, 0, 0)
    assert len(project.stored()) == len(stored) + n_cells


@pytest.mark.slow
def test_a_domain_that_was_deleted_is_made_again(finished):
    made = finished.outputs()
    path = finished.folder / "results/data/toy-line/domain.json"
    domain = path.read_text()
    path.unlink()
    finished.write_study(repeats=4)
    finished.run(TABLES)
    assert path.read_text() == domain
    assert finished.outputs() != made
