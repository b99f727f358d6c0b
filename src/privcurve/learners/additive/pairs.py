"""Pairs of columns: which are asked, and in which groups of their bins.

All of it is made of what was released of the columns, and of public facts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privcurve.coding import Floats, Ints
from privcurve.kernels.arithmetic import dot
from privcurve.learners.additive import rule

# How many groups of bins a column has in a pair.
GROUPS = 2 * rule.FEW_BINS


@dataclass(frozen=True, eq=False)
class Crossing:
    """Two columns as one: each pair of groups of their bins is a bin."""

    columns: tuple[int, int]
    groups: tuple[Ints, Ints]  # the group of each bin, by column

    @property
    def shape(self) -> tuple[int, int]:
        """How many groups the two columns have."""
        first, second = (int(each.max()) + 1 for each in self.groups)
        return first, second


def crossings(
    shapes: Sequence[Floats], weights: Sequence[Floats], ordered: Sequence[bool]
) -> list[Crossing]:
    """Return the pairs of the columns whose shape functions matter most."""
    sizes = np.array([spread(*each) for each in zip(shapes, weights, strict=True)])
    first = np.argsort(-sizes, kind="stable")[: rule.PAIR_COLUMNS]
    some = sorted(int(j) for j in first if sizes[j] > 0)
    groups = {j: group_bins(shapes[j], weights[j], ordered[j]) for j in some}
    return [Crossing((j, k), (groups[j], groups[k])) for j, k in itertools.combinations(some, 2)]


def spread(shape: Floats, weights: Floats) -> float:
    """Return the standard deviation of a shape function over bins of given weights."""
    total = weights.sum()
    if total <= 0 or len(shape) == 1:
        return 0.0
    apart = shape - dot(weights, shape) / total
    return float(np.sqrt(dot(weights, apart * apart) / total))


def group_bins(shape: Floats, weights: Floats, ordered: bool) -> Ints:
    """Put bins into groups of about equal weight: neighbours along a column, or by their values."""
    n = len(shape)
    if n <= GROUPS:
        return np.arange(n)
    order = np.arange(n) if ordered else np.argsort(shape, kind="stable")
    mass = np.maximum(weights, 1e-9)[order]
    middles = (np.cumsum(mass) - mass / 2) / mass.sum()
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.minimum(middles * GROUPS, GROUPS - 1).astype(np.int64)
    # No group is empty.
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
