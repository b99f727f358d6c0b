"""Imports point one way."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/privcurve"

# Files at the top of the package that every room may use.
SHARED = {"coding", "files", "schema"}

ALLOWED = {
    "privacy": set(),
    "kernels": set(),
    "datasets": set(),
    "learners": {"privacy", "kernels"},
    "experiments": {"learners", "datasets"},
    "analysis": set(),
    "audit": {"learners", "privacy", "kernels"},
    "figures": set(),
    "steps": {
        "datasets",
        "learners",
        "privacy",
        "experiments",
        "analysis",
        "audit",
        "figures",
    },
}


def imported(path):
    """Rooms that a file imports, at its top or inside functions."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "privcurve":
                names = [f"privcurve.{alias.name}" for alias in node.names]
        rooms |= {n.split(".")[1] for n in names if n.startswith("privcurve.")}
    return rooms


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_it_may(room):
    files = sorted((SOURCE / room).glob("**/*.py"))
    assert files
    for path in files:
        extra = imported(path) - ALLOWED[room] - SHARED - {room}
        assert not extra, f"{path.name} imports {extra}"


def test_every_folder_is_in_the_map():
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(ALLOWED)
