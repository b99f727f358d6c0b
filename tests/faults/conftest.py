"""Checkouts with the data ready, and what an undisturbed run of them makes."""

import pytest
from checkout import make_checkout, shared_checkout
from disturbed import STUDY, Disturbed, copy


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A checkout in which only training is left to do, and what it needs."""

    def fill(folder):
        made = make_checkout(folder)
        made.write_study(**STUDY)
        made.run("results/data/ready/tiny.txt")

    return Disturbed(shared_checkout(tmp_path_factory, "prepared", fill))


@pytest.fixture(scope="session")
def undisturbed(prepared, tmp_path_factory):
    """The checkout after a run that nothing has disturbed; not to be changed."""

    def fill(folder):
        copy(prepared, folder).run()

    return Disturbed(shared_checkout(tmp_path_factory, "undisturbed", fill))


@pytest.fixture
def project(prepared, tmp_path):
    """A checkout for this test alone."""
    made = copy(prepared, tmp_path / "project")
    yield made
    made.clear()


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A checkout that was run, for this test alone."""
    made = copy(undisturbed, tmp_path / "finished")
    yield made
    made.clear()
