"""Make papers importable: ``papers/<paper>`` is the package ``privcurve.papers.<paper>``."""

from __future__ import annotations

from pathlib import Path

from privcurve.home import papers

FOLDER = papers().resolve()
__path__ = [str(FOLDER)]

# SHIPPED are the papers of this project, in FOLDER. Users may add papers to FOLDER, or to the
# folder OWN in their working folder.
SHIPPED = ("all", "boosted_dp", "distributed", "partial", "thesis")
OWN = Path("papers")


def list_shipped() -> list[Path]:
    """Return the existing folders of this project's papers."""
    return [FOLDER / name for name in SHIPPED if (FOLDER / name).is_dir()]


def names() -> set[str]:
    """Return the names of all existing papers."""
    return {path.name for path in (*list_shipped(), *list_others())}


def list_others() -> list[Path]:
    """Return the folders of papers that users have added to FOLDER or to OWN.

    If both have a paper of the same name, only the folder in OWN is returned.
    """
    beside = {path.name: path for path in FOLDER.glob("*/") if path.name not in SHIPPED}
    own = {path.name: path.resolve() for path in OWN.glob("*/") if path.resolve().parent != FOLDER}
    return sorted({**beside, **own}.values())
