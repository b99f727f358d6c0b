"""Where the workflow is: in a checkout, or in what was installed from a wheel."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
# A wheel carries workflow, configuration and profile below this folder (pyproject.toml).
FOLDERS = (_HERE.parents[1], _HERE / "workflow/run")


def home() -> Path:
    """Return the folder of the workflow; refuse an installation that has none."""
    for folder in FOLDERS:
        if (folder / "workflow/Snakefile").is_file():
            return folder
    raise FileNotFoundError(
        f"privcurve has no workflow/Snakefile in {' or '.join(map(str, FOLDERS))}: install it again"
    )


def papers() -> Path:
    """Return the folder of this project's papers, whether it is there or not."""
    there = (folder for folder in FOLDERS if (folder / "workflow/Snakefile").is_file())
    return next(there, FOLDERS[-1]) / "papers"
