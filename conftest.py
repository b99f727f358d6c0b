"""Fixtures of all tests: fixed random streams; the option that runs slow tests."""

import hashlib
import itertools
import secrets

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from privcurve.learners import base
from privcurve.privacy import seeds

# Hypothesis tries the same examples in each run, however slow the machine is.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
# Hypothesis would also try constants of the modules imported so far, which depend on the tests that
# a worker ran before.
providers._get_local_constants = providers.Constants

_default_rng = np.random.default_rng


@pytest.fixture(autouse=True)
def _fixed_streams(monkeypatch):
    """Let generators without a seed draw from fixed streams: a test is the same in each run."""
    counter = itertools.count()

    def default_rng(seed=None):
        return _default_rng([next(counter), 0] if seed is None else seed)

    monkeypatch.setattr(np.random, "default_rng", default_rng)
    # The fits of another test began with the same streams.
    seeds._begun.clear()


@pytest.fixture
def given_streams(monkeypatch):
    """Use a generator given as `random_state` directly, whatever the settings are.

    Equal generators then give two settings the same noise, so that a test can compare them.
    """
    begin = base.generator_of

    def generator_of(random_state, facts):
        given = isinstance(random_state, np.random.Generator)
        return random_state if given else begin(random_state, facts)

    monkeypatch.setattr(base, "generator_of", generator_of)


@pytest.fixture
def fixed_entropy(monkeypatch):
    """Draw secrets from a fixed stream, so that the models of a test are the same in each run."""
    counter = itertools.count()

    def token_hex(size):
        drawn = hashlib.shake_256(f"secret {next(counter)}".encode())
        return drawn.hexdigest(size)

    monkeypatch.setattr(secrets, "token_hex", token_hex)


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow, too")


# Of two workers one takes the first half of the tests: tests of all learners, which compile loops.
# Meanwhile the other one waits for processes.
FIRST = ("contract", "privacy", "cli", "workflow")


def pytest_collection_modifyitems(config, items):
    places = {folder: place for place, folder in enumerate(FIRST)}
    items.sort(key=lambda item: min(places.get(part, len(FIRST)) for part in item.path.parts))
    if not config.getoption("--run-slow"):
        slow = [item for item in items if "slow" in item.keywords]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]
