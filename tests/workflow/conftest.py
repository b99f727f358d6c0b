"""Checkouts of the workflow, fresh and finished."""

import shutil

import pytest
from checkout import Project, make_checkout, shared_checkout


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """Return a function that makes new checkouts."""
    return lambda: make_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def project(checkout):
    """Return a new checkout."""
    return checkout()


def copy(project, folder):
    """Copy a checkout and its time stamps; return the `Project`."""
    shutil.copytree(project.folder, folder, dirs_exist_ok=True)
    return Project(folder)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    return Project(
        shared_checkout(tmp_path_factory, "finished", lambda folder: make_checkout(folder).run())
    )


@pytest.fixture
def finished(finished_once, tmp_path):
    """Return a checkout after a run of the study: a copy for this test."""
    return copy(finished_once, tmp_path / "finished")
