"""Files without a record of Snakemake, or with a wrong one: each says what it was made from.

Records are lost with .snakemake, which users delete to remove a lock or do not copy with the
results; and a job that outlives Snakemake on a cluster leaves a file that never had a record.
"""

import os
import shutil

import pytest
from checkout import OTHER_SEED, TABLES, TINY_STUDY, write_one_column_dataset

from privcurve.experiments import results

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def lose_records(project):
    shutil.rmtree(project.folder / ".snakemake")


def test_without_records_and_with_new_times_nothing_is_trained_and_a_change_is_seen(finished):
    """After `cp -r`, results may be older than the data that they were made from."""
    stored, made = finished.stored_lines(), finished.outputs()
    lose_records(finished)
    finished.delete_logs()
    for path in (finished.folder / "results/data").rglob("*"):
        path.touch()
    finished.run(TABLES)
    assert finished.run_counts() == (0, finished.expected_runs(), 0)
    assert finished.outputs() == made

    lose_records(finished)
    finished.write_study(learners={"boost": TINY_STUDY["learners"]["boost"]})
    finished.run(TABLES)
    *boosted, majority = made[TABLES].splitlines(keepends=True)
    assert majority.startswith(b"toy-line,majority")
    assert finished.outputs()[TABLES] == b"".join(boosted)
    assert finished.stored_lines() == stored
    assert "Nothing to be done" in finished.run(TABLES)


def test_results_of_two_seeds_are_side_by_side(finished):
    """A job with the old seed that ends after its twin with the new seed does no harm."""
    made = finished.outputs()
    finished.run(*OTHER_SEED, "--", TABLES)
    assert finished.outputs()[TABLES] != made[TABLES]
    finished.delete_logs()
    lose_records(finished)
    finished.run(TABLES)
    assert not (finished.folder / "logs/train").exists()
    assert finished.outputs() == made


def test_an_output_that_was_edited_or_is_lost_is_made_again(finished):
    stored, made = finished.stored_lines(), finished.outputs()
    table = finished.folder / TABLES
    times = table.stat()
    table.write_bytes(table.read_bytes() + b"x")
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))
    (table.parent / "selected_settings.csv").unlink()
    finished.run()
    assert finished.outputs() == made
    assert finished.stored_lines() == stored
    assert "Nothing to be done" in finished.run()


def test_another_line_of_a_rule_is_no_reason_to_make_a_file_again(finished):
    """A new version of the project changes rules; each file says itself whether it is current."""
    path = finished.folder / "workflow/rules/train.smk"
    text = path.read_text()
    assert "workflow.job train" in text
    path.write_text(text.replace("workflow.job train", "workflow.job  train"))
    assert "Nothing to be done" in finished.run()


def test_a_table_is_not_made_from_other_files(finished):
    """As in a step whose input changes while Snakemake runs."""
    made = finished.outputs()
    path = finished.folder / TABLES
    path.unlink()
    (file,) = (finished.folder / "results/cells").rglob("*.parquet")
    results.write(file, [results.table([])], [{"name": "of something else", "digest": "x"}])
    output = finished.run_job("output", "--study", "tiny", "--output", "accuracy")
    assert output.startswith(f"error: {file.relative_to(finished.folder)} is damaged; delete it")
    assert not path.exists()

    finished.run(TABLES)
    assert finished.outputs() == made


def test_another_public_domain_is_seen_though_the_codes_are_the_same(project):
    """A new category without records: the encoded matrix has the same bytes."""
    changes = {
        "datasets": ["colours"],
        "learners": {"boost": {"learner": "lazybb", "grid": {"n_rounds": [5, 9]}}},
    }
    write_one_column_dataset(project, "colours", ["red", "blue"])
    project.write_study(**changes)
    project.run(TABLES)
    coded = project.folder / "results/data/colours/encoded.npz"
    before, stored, made = coded.read_bytes(), project.stored_lines(), project.outputs()

    write_one_column_dataset(project, "colours", ["red", "blue", "green"])
    project.run("results/data/colours/encoded.npz")
    assert coded.read_bytes() == before
    project.delete_logs()
    project.run(TABLES)
    n_runs = project.expected_runs(**changes)
    assert project.run_counts() == (n_runs, 0, 0)
    assert len(project.stored_lines()) == len(stored) + n_runs

    # Back to the first description.
    write_one_column_dataset(project, "colours", ["red", "blue"])
    project.delete_logs()
    project.run(TABLES)
    assert project.run_counts()[0] == 0
    assert project.outputs() == made


def test_a_domain_that_was_deleted_is_made_again(finished):
    made = finished.outputs()
    path = finished.folder / "results/data/toy-line/domain.json"
    domain = path.read_text()
    path.unlink()
    finished.write_study(repeats=4)
    finished.run(TABLES)
    assert path.read_text() == domain
    assert finished.outputs() != made
