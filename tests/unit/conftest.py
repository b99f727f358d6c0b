"""Fixtures of the unit tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from own_dataset import DESCRIPTION, LINES
from own_parts import COLUMNS, N, part_lines
from own_release import LINES as PRIVATE_LINES


@pytest.fixture
def write_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the dataset ``mine`` into a working folder; return a function that rewrites it.

    ``write_dataset(lines, n_rows=3)`` writes other lines, and the description with another key.
    """
    monkeypatch.chdir(tmp_path)

    def write(lines: list[str] = LINES, **changes: Any) -> None:
        Path("data").mkdir(exist_ok=True)
        Path("data/mine.csv").write_text("\n".join(lines) + "\n")
        Path("resources/datasets").mkdir(parents=True, exist_ok=True)
        Path("resources/datasets/mine.yaml").write_text(yaml.safe_dump(DESCRIPTION | changes))

    write()
    return write


@pytest.fixture
def write_private_dataset(
    write_dataset: Any, fixed_entropy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Write the private dataset ``mine`` with a budget of ε = 2; return a function to rewrite it.

    ``write_private_dataset(lines, budget=None)`` writes other lines, and the description without
    the key ``budget``.
    """
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))

    def write(lines: list[str] = PRIVATE_LINES, **changes: Any) -> None:
        keys = {"n_rows": len(lines) - 1, "budget": {"epsilon": 2}, **changes}
        write_dataset(lines, **{key: value for key, value in keys.items() if value is not None})

    write()
    return write


@pytest.fixture
def write_public_dataset(write_private_dataset: Any) -> Any:
    """Return a function that writes `n` public records as ``mine``.

    ``write_public_dataset(rows_per_part=50)`` describes them in parts of 50 rows.
    """

    def write(rows_per_part: int | None = None, n: int = N, **changes: Any) -> None:
        key = {} if rows_per_part is None else {"rows_per_part": rows_per_part}
        public = {"columns": COLUMNS, "budget": None, "public_benchmark": True}
        write_private_dataset(part_lines(n), **{**public, **key, **changes})

    return write
