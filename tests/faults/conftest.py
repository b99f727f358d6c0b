"""Checkouts with encoded data, and the results of an undisturbed run of them."""

import pytest
from checkout import make_checkout, shared_checkout
from disturbed import STUDY, Disturbed, copy


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Return a checkout in which training is the next step."""

    def fill(folder):
        made = make_checkout(folder)
        made.write_study(**STUDY)
        made.run("results/data/ready/tiny.txt")

    return Disturbed(shared_checkout(tmp_path_factory, "prepared", fill))


@pytest.fixture(scope="session")
def undisturbed(prepared, tmp_path_factory):
    """Return the checkout after an undisturbed run; tests must not change it."""

    def fill(folder):
        copy(prepared, folder).run()

    return Disturbed(shared_checkout(tmp_path_factory, "undisturbed", fill))


@pytest.fixture
def project(prepared, tmp_path):
    """Return a copy of the prepared checkout for this test."""
    made = copy(prepared, tmp_path / "project")
    yield made
    made.clear()


@pytest.fixture
def finished(undisturbed, tmp_path):
    """Return a copy of the finished checkout for this test."""
    made = copy(undisturbed, tmp_path / "finished")
    yield made
    made.clear()
