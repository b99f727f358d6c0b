"""The papers of this project, as packages: ``papers/<paper>`` is ``privcurve.papers.<paper>``."""

from __future__ import annotations

from pathlib import Path

from privcurve.home import papers

FOLDER = papers().resolve()
__path__ = [str(FOLDER)]

# The papers of this project. Users may have others, in FOLDER or in OWN of the working folder.
SHIPPED = ("all", "boosted_dp", "distributed", "partial", "thesis")
OWN = Path("papers")


def list_shipped() -> list[Path]:
    """Return the existing folders of this project's papers."""
    return [FOLDER / name for name in SHIPPED if (FOLDER / name).is_dir()]


def names() -> set[str]:
    """Return the names of all existing papers."""
    return {path.name for path in (*list_shipped(), *list_others())}


def list_others() -> list[Path]:
    """Return the folders of the users' papers.

    If FOLDER and OWN both have a paper of one name, only the folder in OWN is returned.
    """
    beside = {path.name: path for path in FOLDER.glob("*/") if path.name not in SHIPPED}
    own = {path.name: path.resolve() for path in OWN.glob("*/") if path.resolve().parent != FOLDER}
    return sorted({**beside, **own}.values())
