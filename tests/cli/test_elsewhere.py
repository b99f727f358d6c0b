"""On systems that lack Linux's modules, the library and the command work without them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# Hide modules that Windows lacks, and functions that Windows and macOS lack, before any import of
# privcurve. Python's own asyncio keeps them.
HIDE = """\
import asyncio, os, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "geteuid", "getuid", "sched_getaffinity", "sysconf"):
    delattr(os, name)

def refuse(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(arguments[0])

sys.addaudithook(refuse)
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-c", HIDE + code],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(Path.cwd())},
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_a_model_is_released_and_used_without_locks_forks_and_proc(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ages = np.random.default_rng(0).integers(18, 90, 200)
    rows = [f"{age},{'yes' if age > 50 else 'no'}" for age in ages]
    (tmp_path / "people.csv").write_text("\n".join(["age,sick", *rows, ""]))
    run(
        "from privcurve.cli.main import main\n"
        "for line in ('describe people.csv --label sick', 'release people --epsilon 1',"
        " 'predict releases/people/1/model.json people.csv --output answers.csv'):\n"
        "    assert main(line.split()) == 0, line\n"
    )
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 201
