"""Stores that are damaged or of other versions, files with other times, clocks that go back."""

import os
import re
import shutil
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from disturbed import N_TRAINED, python_path

from privcurve.experiments import results
from privcurve.learners import registry

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

VERSIONS = Path(__file__).with_name("versions")
DAY = 86400


def flip_a_digit(lines):
    """Change a digit so that the line stays plausible: 0.54 may become 0.94."""
    damaged = re.sub(rb'("accuracy":0\.)(\d)', lambda m: m[1] + b"%d" % (9 - int(m[2])), lines[99])
    return b"".join([*lines[:99], damaged, *lines[100:]])


def test_a_damaged_store(finished, undisturbed):
    """A run that needs damaged results trains these again, and no others.

    More kinds of damage: tests/unit/test_store.py.
    """
    path = max(finished.store_files(), key=lambda path: path.stat().st_size)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == N_TRAINED
    content = flip_a_digit(lines)
    lost = sum(line.rstrip(b"\n") not in content for line in lines)
    path.write_bytes(content)
    kept = finished.stored_ids()
    assert len(kept) == len(undisturbed.stored_ids()) - lost

    # Job files are intact, and the tables need nothing else.
    finished.check_at_rest()
    # Without job files, the store is read.
    for part in ("cells", "tables"):
        shutil.rmtree(finished.folder / "results" / part)
    finished.delete_logs()
    finished.run()
    finished.check_right(undisturbed, kept)
    assert finished.run_counts() == (lost, len(kept), 0)


def test_a_job_file_without_facts_is_made_again(finished, undisturbed):
    kept = finished.stored_ids()
    # The file lacks its footer.
    finished.job_file.write_bytes(finished.job_file.read_bytes()[:-200] + bytes(200))
    finished.run()
    finished.check_right(undisturbed, kept)


def test_a_damaged_job_file_is_named(finished, undisturbed):
    """The header is intact, and a page is zero, as after a power failure."""
    kept = finished.stored_ids()
    path = finished.job_file
    content = path.read_bytes()
    # The page of the final models' accuracies, at the end of the file.
    metadata = pq.read_metadata(path)
    column = results.SCHEMA.get_field_index("accuracy")
    page = metadata.row_group(metadata.num_row_groups - 1).column(column)
    start, end = page.data_page_offset, page.data_page_offset + 20
    path.write_bytes(content[:start] + bytes(20) + content[end:])
    shutil.rmtree(finished.folder / "results/tables")
    output = finished.run(ok=False)
    assert f"error: {path.relative_to(finished.folder)} is damaged; delete it" in output
    assert "Traceback" not in output

    path.unlink()
    finished.run()
    finished.check_right(undisturbed, kept)


def test_runs_of_another_version_are_kept_and_not_used(finished, undisturbed):
    version = registry.entry("lazybb").version
    other = {"PYTHONPATH": python_path(VERSIONS), "PRIVCURVE_TEST_VERSION": str(version + 1)}
    n_all = len(undisturbed.stored_ids())

    finished.delete_logs()
    finished.run(**other)
    assert finished.run_counts() == (n_all, 0, 0)
    assert set(undisturbed.stored_lines()) < set(finished.stored_lines())
    assert len(finished.stored_lines()) == 2 * n_all
    assert len(set(finished.stored_ids())) == 2 * n_all
    assert finished.outputs() != undisturbed.outputs()

    finished.delete_logs()
    finished.run()
    # Files of the first version exist under their old names.
    assert finished.run_counts() == (0, 0, 0)
    assert finished.outputs() == undisturbed.outputs()
    assert len(finished.stored_lines()) == 2 * n_all


def shift(folder, seconds):
    """Change the time stamps of all files in a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            now = path.stat()
            os.utime(path, (now.st_atime + seconds, now.st_mtime + seconds))


@pytest.mark.parametrize("seconds", [-DAY, DAY])
def test_times_of_finished_files_do_not_matter(finished, undisturbed, seconds):
    shift(finished.folder / "results", seconds)
    finished.check_at_rest()
    assert finished.outputs() == undisturbed.outputs()


def test_a_clock_that_went_backwards_loses_no_run(project, undisturbed):
    """The data are from tomorrow: Snakemake refuses older results, and says why."""
    shift(project.folder / "results/data", DAY)
    output = project.run(ok=False)
    assert "has older modification time" in output
    assert "clock skew" in output
    kept = project.stored_ids()
    assert len(kept) >= N_TRAINED

    # The remedy of docs/faults.md.
    for path in (project.folder / "results").rglob("*"):
        if path.is_file() and path.stat().st_mtime > time.time():
            path.touch()
    project.run()
    project.check_right(undisturbed, kept)
    project.check_at_rest()
