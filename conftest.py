"""What all tests share: fixed streams, and the option that runs the slow ones."""

import hashlib
import itertools
import secrets

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from privcurve.learners import base
from privcurve.privacy import seeds

# The same examples in each run, however slow the machine.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")
# Hypothesis also tries constants of the modules imported so far; which ones depends on the
# tests that a worker ran before.
providers._get_local_constants = providers.Constants

_default_rng = np.random.default_rng


@pytest.fixture(autouse=True)
def _fixed_streams(monkeypatch):
    """Return what asks for no seed a fixed one: a test is the same in each run."""
    counter = itertools.count()

    def default_rng(seed=None):
        return _default_rng([next(counter), 0] if seed is None else seed)

    monkeypatch.setattr(np.random, "default_rng", default_rng)
    # Another test's fits began with the same streams.
    seeds._begun.clear()


@pytest.fixture
def given_streams(monkeypatch):
    """A generator as `random_state` is the stream of a fit itself, whatever the settings are.

    Equal generators then give two settings the same noise, so that a test can compare them.
    """
    begin = base.generator_of

    def generator_of(random_state, facts):
        given = isinstance(random_state, np.random.Generator)
        return random_state if given else begin(random_state, facts)

    monkeypatch.setattr(base, "generator_of", generator_of)


@pytest.fixture
def fixed_entropy(monkeypatch):
    """Draw the secrets that a test makes from a fixed stream, so that its models are the same."""
    counter = itertools.count()

    def token_hex(size):
        drawn = hashlib.shake_256(f"secret {next(counter)}".encode())
        return drawn.hexdigest(size)

    monkeypatch.setattr(secrets, "token_hex", token_hex)


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow, too")


# Of two workers one takes the first half of all tests: those of all learners, which compile the
# loops. The other waits for processes until then.
FIRST = ("contract", "privacy", "cli", "workflow")


def pytest_collection_modifyitems(config, items):
    places = {folder: place for place, folder in enumerate(FIRST)}
    items.sort(key=lambda item: min(places.get(part, len(FIRST)) for part in item.path.parts))
    if not config.getoption("--run-slow"):
        slow = [item for item in items if "slow" in item.keywords]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if "slow" not in item.keywords]
