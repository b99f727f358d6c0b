"""List the entries of this project's learners, without an import of the learners' code."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.learners.entries import of_papers, others, private
from privcurve.learners.entry import LearnerEntry

LEARNERS: Mapping[str, LearnerEntry] = {
    entry.name: entry for entry in (*private.ENTRIES, *of_papers.ENTRIES, *others.ENTRIES)
}
