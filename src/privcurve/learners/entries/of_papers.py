"""List the entries of the learners of this project's papers.

Each learner is a folder ``papers/<paper>/learners/<name>`` whose ``__init__.py`` has an `ENTRY`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from privcurve.learners.entry import LearnerEntry
from privcurve.papers import list_shipped

# The package of each learner, by the learner's name.
PACKAGES: Mapping[str, str] = {
    path.parent.name: f"privcurve.papers.{paper.name}.learners.{path.parent.name}"
    for paper in list_shipped()
    for path in sorted(paper.glob("learners/[!_.]*/__init__.py"))
}
# Importing an entry is fast: it names the path of its class as text, and imports no class.
ENTRIES: tuple[LearnerEntry, ...] = tuple(
    import_module(package).ENTRY.placed_in(package) for package in PACKAGES.values()
)
