"""Full and read-only disks: one message that names them, no loss, and a correct run afterwards."""

import os
import re
import resource
import subprocess
from contextlib import contextmanager

import pytest
from disturbed import N_TRAINED

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False)


@contextmanager
def mounted(folder, *arguments):
    """Mount a file system on a folder; skip the test if that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    if mount(*arguments, folder).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def small_disk(folder, kibibytes):
    return mounted(folder, "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs")


def make_space(folder):
    assert mount("-o", "remount,size=32m", folder).returncode == 0


def errors(output):
    """Return the error lines of the steps, in the logs that Snakemake shows."""
    return [line for line in output.splitlines() if line.startswith("error: ")]


def test_no_space_for_a_table(project, undisturbed):
    tables = project.folder / "results/tables"
    with small_disk(tables, kibibytes=4):
        output = errors(project.run(ok=False))
        assert output
        # Each table is made by one job: it has all its files, or the message names it.
        for error in output:
            name = re.match(r"error: results/tables/tiny/(\w+)", error)[1]
            assert "can't be written: the disk is full" in error
            assert not list(tables.glob(f"tiny/{name}.*"))
        made = project.outputs()
        assert made.items() <= undisturbed.outputs().items()
        assert sum("/tables/" in path for path in made) == 3 * (2 - len(output))
        kept = project.stored_ids()
        assert len(kept) == len(undisturbed.stored_ids())

        make_space(tables)
        project.run()
        project.check_right(undisturbed, kept)


def test_no_space_for_results_and_logs(prepared, undisturbed, project):
    """Snakemake has no space for its own files and logs either."""
    used = int(subprocess.check_output(["du", "-sk", project.folder]).split()[0])
    content = project.folder.rename(project.folder.with_name("content"))
    # Room for a part of the store.
    with small_disk(project.folder, used + 80):
        subprocess.run(["cp", "-a", f"{content}/.", project.folder], check=True)
        output = project.run(ok=False)
        assert "the disk is full" in output or "No space left on device" in output
        kept = project.stored_ids()
        assert kept

        make_space(project.folder)
        project.run("--unlock")
        project.run()
        project.check_right(undisturbed, kept)


def test_a_file_that_may_not_grow(project, undisturbed):
    """The store has no space left; this test needs no right to mount."""
    limit = 64 * 1024
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        (output,) = errors(project.run(ok=False))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "results/store/toy-line/lazybb can't be written: File too large" in output
    kept = project.stored_ids()
    assert 0 < len(kept) < N_TRAINED
    assert len(project.stored_lines()) == len(kept), "a line is torn"

    project.run()
    project.check_right(undisturbed, kept)


@contextmanager
def read_only(folder):
    """Remove the right to write in a folder, also from root where mounting is allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        with mounted(folder, "--bind", folder):
            assert mount("-o", "remount,bind,ro", folder).returncode == 0
            yield
    else:
        folder.chmod(0o500)
        try:
            yield
        finally:
            folder.chmod(0o700)


def test_read_only_results(project, undisturbed):
    with read_only(project.folder / "results"):
        output = project.run(ok=False)
    assert "results/cells" in output
    assert "Read-only file system" in output or "Permission denied" in output
    assert "Traceback" not in output
    assert not (project.folder / "logs/train").exists(), "a job was started"
    project.run()
    project.check_right(undisturbed, [])


def test_a_finished_study_needs_only_to_be_read(finished):
    with read_only(finished.folder / "results"):
        finished.check_at_rest()
