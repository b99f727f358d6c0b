"""A store that is damaged, of other versions, or of another time; clocks that go backwards."""

import os
import shutil
import time
from pathlib import Path

import pytest
from disturbed import N_TRAINED

from privcurve.learners import registry

pytestmark = pytest.mark.workflow

VERSIONS = Path(__file__).with_name("versions")
DAY = 86400


def cut_the_last_line(lines):
    return [*lines[:-1], lines[-1][:-40]], 1


def cut_a_line_in_the_middle(lines):
    return [*lines[:99], lines[99][:77] + b"\n", *lines[100:]], 1


def glue_a_torn_line_to_the_next(lines):
    return [*lines[:99], lines[99][:77], *lines[100:]], 1


def drop_the_last_end_of_line(lines):
    return [*lines[:-1], lines[-1].rstrip(b"\n")], 0


def fill_the_end_with_zeros(lines):
    text = b"".join(lines)
    return [text[:-4096], bytes(4096)], 4096 // len(lines[-1]) + 1


def fill_a_page_with_zeros(lines):
    text = b"".join(lines)
    return [text[:8192], bytes(4096), text[12288:]], 4096 // len(lines[-1]) + 2


def empty_the_file(lines):
    return [], len(lines)


def write_garbage_before_and_after(lines):
    return [b"\xff\xfe\x00garbage\n", *lines, b'{"id":"'], 0


@pytest.mark.parametrize(
    "damage",
    [
        cut_the_last_line,
        cut_a_line_in_the_middle,
        glue_a_torn_line_to_the_next,
        drop_the_last_end_of_line,
        fill_the_end_with_zeros,
        fill_a_page_with_zeros,
        empty_the_file,
        write_garbage_before_and_after,
    ],
)
def test_a_damaged_store(finished, undisturbed, damage):
    """What is damaged is trained again, and nothing else; a study must still ask for it."""
    path = max(finished.store_files(), key=lambda path: path.stat().st_size)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == N_TRAINED
    content, most_lost = damage(lines)
    path.write_bytes(b"".join(content))
    kept = finished.stored_ids()
    n_all = len(undisturbed.stored_ids())
    assert n_all - most_lost <= len(kept) <= n_all

    # The declared files are there, and tell all that the tables need.
    finished.check_at_rest()
    # Without them, the store must tell it.
    for part in ("cells", "refits", "tables", "figures"):
        shutil.rmtree(finished.folder / "results" / part)
    finished.forget_logs()
    finished.run()
    finished.check_right(undisturbed, kept)
    assert finished.counts() == (n_all - len(kept), len(kept), 0)


def test_cells_of_another_version_are_kept_and_not_used(finished, undisturbed):
    version = registry.entry("lazybb").version
    other = {"PYTHONPATH": str(VERSIONS), "PRIVCURVE_TEST_VERSION": str(version + 1)}
    n_all = len(undisturbed.stored_ids())

    finished.forget_logs()
    finished.run(**other)
    assert finished.counts() == (n_all, 0, 0)
    assert set(undisturbed.stored()) < set(finished.stored())
    assert len(finished.stored()) == 2 * n_all
    assert len(set(finished.stored_ids())) == 2 * n_all
    assert finished.outputs() != undisturbed.outputs()

    finished.forget_logs()
    finished.run()
    assert finished.counts() == (0, n_all, 0)
    assert finished.outputs() == undisturbed.outputs()
    assert len(finished.stored()) == 2 * n_all


def shift(folder, seconds):
    """Give the files of a folder other times."""
    for path in folder.rglob("*"):
        if path.is_file():
            now = path.stat()
            os.utime(path, (now.st_atime + seconds, now.st_mtime + seconds))


@pytest.mark.parametrize("seconds", [DAY, -DAY])
@pytest.mark.parametrize("part", ["data", "cells", "refits", "tables", "store", "."])
def test_times_of_finished_files_do_not_matter(finished, undisturbed, part, seconds):
    shift(finished.folder / "results" / part, seconds)
    finished.check_at_rest()
    assert finished.outputs() == undisturbed.outputs()


@pytest.mark.parametrize("year", ["1970", "2999"])
def test_a_store_of_another_time_is_used(finished, undisturbed, year):
    kept = finished.stored_ids()
    for path in finished.store_files():
        path.rename(path.with_name(year + path.name[4:]))
    shift(finished.folder / "results/store", DAY if year > "2000" else -DAY)
    shutil.rmtree(finished.folder / "results/cells")
    finished.run()
    finished.check_right(undisturbed, kept)


def test_a_clock_that_went_backwards_loses_no_cell(project, undisturbed):
    """Data of tomorrow: Snakemake refuses what was made from them today, and says why."""
    shift(project.folder / "results/data", DAY)
    output = project.run(ok=False)
    assert "has older modification time" in output
    assert "clock skew" in output
    kept = project.stored_ids()
    assert len(kept) == N_TRAINED

    # The way out of docs/faults.md.
    for path in (project.folder / "results").rglob("*"):
        if path.is_file() and path.stat().st_mtime > time.time():
            path.touch()
    project.run()
    project.check_right(undisturbed, kept)
    project.check_at_rest()
