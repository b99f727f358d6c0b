"""A folder with a small table and its description, and a clock for progress."""

import itertools
from functools import partial

import pytest
from own_table import DESCRIPTION, TABLE

from privcurve.cli import console
from privcurve.progress import Progress


@pytest.fixture
def folder(fixed_entropy, tmp_path, monkeypatch):
    """Change to a folder with a table and its description; return the folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIVCURVE_DATA", raising=False)
    (tmp_path / "patients.csv").write_text(TABLE)
    (tmp_path / "descriptions").mkdir()
    (tmp_path / "descriptions/patients.yaml").write_text(DESCRIPTION)
    return tmp_path


@pytest.fixture
def tick(monkeypatch):
    """Return a function that lets the clock advance by some seconds at every call."""

    def patch(seconds, **more):
        clock = itertools.count(0, seconds)
        shown = partial(Progress, clock=lambda: next(clock), **more)
        monkeypatch.setattr(console, "Progress", shown)

    return patch
