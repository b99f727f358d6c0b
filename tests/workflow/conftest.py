"""Checkouts of the workflow, fresh and finished."""

import shutil

import pytest
from checkout import Project, make


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """Make fresh checkouts."""
    return lambda: make(tmp_path_factory.mktemp("checkout"))


@pytest.fixture
def project(checkout):
    """A fresh checkout."""
    return checkout()


@pytest.fixture(scope="session")
def finished_once(checkout):
    made = checkout()
    made.run()
    return made


@pytest.fixture
def finished(finished_once, tmp_path):
    """A checkout in which the study has been run: a copy, with its times, for this test."""
    shutil.copytree(finished_once.folder, tmp_path, dirs_exist_ok=True)
    return Project(tmp_path)
