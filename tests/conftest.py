"""What all tests share: the option that runs the slow ones."""

import hashlib
import itertools
import secrets

import pytest


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


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--run-slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: needs --run-slow"))
