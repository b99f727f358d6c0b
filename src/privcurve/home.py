"""Find the folder of the workflow, in a checkout or in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Possible folders of the workflow: in a checkout, and in a wheel (pyproject.toml).
FOLDERS = (_HERE.parents[1], _HERE / "workflow/run")


def home() -> Path:
    """Return the folder of the workflow; raise FileNotFoundError if the installation lacks it."""
    for folder in FOLDERS:
        if (folder / "workflow/Snakefile").is_file():
            return folder
    raise FileNotFoundError(
        f"privcurve has no workflow/Snakefile in {' or '.join(map(str, FOLDERS))}: install it again"
    )


def papers() -> Path:
    """Return the folder of this project's papers, which may not exist."""
    there = (folder for folder in FOLDERS if (folder / "workflow/Snakefile").is_file())
    return next(there, FOLDERS[-1]) / "papers"
