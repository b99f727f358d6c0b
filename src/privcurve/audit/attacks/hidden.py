"""Pairs of neighbours that share their public columns and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.audit.claim import Claim
from privcurve.audit.pairs import Pair, Target, all_neighbours, records
from privcurve.audit.states import sample_states
from privcurve.privacy.budget import PRIVATE_COLUMNS

# In each pair here column 0 is private, and column 1 public.
PRIVATE = (0,)


def hidden_neighbours(c: Claim, target: Target) -> Iterator[Pair]:
    """Give all neighbours of two records in a private column of three bins, a public one of two.

    And eight records of which one moves that the public column is wrong about: where that is
    begun with, it has most of all weight.
    """
    yield from all_neighbours(2, (3, 2), PRIVATE)
    others, signs = [[0, 1]] * 4 + [[0, 0]] * 3, [-1, 1, 1, 1, 1, -1, -1, -1]
    sides = [records([[code, 1], *others], signs, [3, 2]) for code in (0, 2)]
    name = "one of eight records, which the public column is wrong about, moves"
    yield Pair("tiny", name, sides[0], sides[1], 0, PRIVATE_COLUMNS, PRIVATE)


def hidden_few(c: Claim, target: Target) -> list[Pair]:
    """Give three pairs: one record alone, one among equals, one beside a public column."""
    alone = [records([[code, 0]], [1], [3, 2]) for code in (0, 2)]
    among = [records([[code, 0], *[[0, 0]] * 5], [1] * 3 + [-1] * 3, [3, 2]) for code in (0, 2)]
    beside = [
        records([[code, 1], [0, 1], [2, 0], [1, 0]], [1, -1, 1, -1], [3, 2]) for code in (0, 2)
    ]
    names = "a record alone", "one of six equal records", "one of four records"
    return [
        Pair("tiny", f"{name}, which moves", sides[0], sides[1], 0, PRIVATE_COLUMNS, PRIVATE)
        for name, sides in zip(names, (alone, among, beside), strict=True)
    ]


HIDDEN_FEW = 3


def hidden_states(
    learner: str, calibration: str, setting: Mapping[str, Any], n_trainings: int, delta: float = 0.0
) -> Claim:
    """Audit the whole state of real fits on neighbours that differ in private columns.

    The recipe (``any_learner.whole_state``) for a learner whose setting has public columns.
    """
    return Claim(
        learner,
        calibration,
        1.0,
        hidden_few,
        delta,
        setting,
        sample=sample_states,
        n_trainings=n_trainings,
        n_pairs=HIDDEN_FEW,
        neighbours=PRIVATE_COLUMNS,
    )


def flipped_label(c: Claim, target: Target) -> list[Pair]:
    """Flip a label: neighbours under replace-one, and not under private-columns."""
    sides = [records([[1, 1], [0, 0], [1, 0], [0, 1]], [y, -1, 1, -1], [3, 2]) for y in (1, -1)]
    return [Pair("tiny", "a label that flips", sides[0], sides[1])]
