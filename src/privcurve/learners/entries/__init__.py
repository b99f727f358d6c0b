"""The table of learners: what there are, and what may be asked of each. Facts only."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.learners.entries import others, private
from privcurve.learners.entry import LearnerEntry

LEARNERS: Mapping[str, LearnerEntry] = {
    entry.name: entry for entry in (*private.ENTRIES, *others.ENTRIES)
}
