"""Fixtures of the unit tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from own_dataset import DESCRIPTION, LINES
from own_parts import COLUMNS, N, lines
from own_release import LINES as PRIVATE_LINES


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the dataset ``mine`` into a working folder; return a function to rewrite it."""
    monkeypatch.chdir(tmp_path)

    def write(lines: list[str] = LINES, **changes: Any) -> None:
        Path("data").mkdir(exist_ok=True)
        Path("data/mine.csv").write_text("\n".join(lines) + "\n")
        Path("resources/datasets").mkdir(parents=True, exist_ok=True)
        Path("resources/datasets/mine.yaml").write_text(yaml.safe_dump(DESCRIPTION | changes))

    write()
    return write


@pytest.fixture
def mine(own: Any, fixed_entropy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write private records ``mine`` with a budget of 2; return a function to rewrite them.

    The function takes lines of the table and keys of the description; None removes a key.
    """
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))

    def write(lines: list[str] = PRIVATE_LINES, **changes: Any) -> None:
        keys = {"n_rows": len(lines) - 1, "budget": {"epsilon": 2}, **changes}
        own(lines, **{key: value for key, value in keys.items() if value is not None})

    write()
    return write


@pytest.fixture
def big(mine: Any) -> Any:
    """Return a function that writes public records, in parts of `rows_per_part` rows if given."""

    def write(rows_per_part: int | None = None, n: int = N, **changes: Any) -> None:
        key = {} if rows_per_part is None else {"rows_per_part": rows_per_part}
        public = {"columns": COLUMNS, "budget": None, "public_benchmark": True}
        mine(lines(n), **{**public, **key, **changes})

    return write
