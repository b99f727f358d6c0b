"""The table of learners: what there are, and what may be asked of each. Facts only."""

from __future__ import annotations

from collections.abc import Mapping

from privcurve.learners.entries import (
    additive,
    baselines,
    distributed,
    ensembles,
    partial,
    peers,
    smooth_boosting,
    tuned,
)
from privcurve.learners.entry import LearnerEntry

_FAMILIES = (smooth_boosting, partial, distributed, ensembles, additive, peers, baselines)

_ENTRIES = [entry for family in _FAMILIES for entry in family.ENTRIES]

LEARNERS: Mapping[str, LearnerEntry] = {
    entry.name: entry for entry in (*_ENTRIES, *tuned.entries(_ENTRIES))
}
