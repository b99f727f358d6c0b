"""Test that the example of three processes grows the same tree as parties within one process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples/three_holders.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["--trust", "secure_sum"], "3 × counts"),
        (["--trust", "local", "--protocol", "local_rnm"], "3 × vote, 3 × counts"),
    ],
)
def test_three_processes_grow_the_tree_of_one(words, sent):
    command = [sys.executable, str(EXAMPLE), "--check", "--seed", "3", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"records sent {sent}") == 3
    assert "the same tree as in one process" in done.stdout
    # Masked numbers are uniform below 2^32, so at least one of three is large; unmasked noisy
    # counts are small.
    first = [float(number) for number in re.findall(r"begins (\S+)", done.stdout)]
    assert len(first) == 3
    assert (max(first) > 1e6) == ("secure_sum" in words)
