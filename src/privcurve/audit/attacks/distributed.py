"""Transcripts of distributed trees: replayed exactly, made as bad as can be, and real fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import sampled, whole_state
from privcurve.audit.attacks.pairs import (
    alone_in_two_bins,
    crossed_columns,
    rare_in_part,
    torn_columns,
)
from privcurve.audit.claim import Attack, Claim, MakePairs
from privcurve.audit.fits import untrained
from privcurve.audit.pairs import Pair, Records, Target, records
from privcurve.audit.replay import Stage
from privcurve.holders.boosting import draw_trees
from privcurve.holders.holder import HolderRows
from privcurve.holders.sums import CENTRAL, sums_of
from privcurve.holders.transcript import Transcript
from privcurve.kernels.holder_counts import list_questions
from privcurve.learners.base import CodedClassifier
from privcurve.learners.dealt import bin_codes
from privcurve.learners.random_trees import RandomTreesClassifier
from privcurve.privacy.budget import CERTIFIED, PUBLISHED

# Transcripts that are drawn from either side of a pair.
DRAWN = 4

# Records that a row of a pair stands for, so that levels below the first are reached.
COPIES = 400


def stage_of(learner: CodedClassifier, side: Records) -> Stage:
    """Make a learner's coordinator ready.

    Parameters
    ----------
    learner : DistributedTopDownClassifier or RandomTreesClassifier
        Not fitted; the trees of the latter are drawn once.
    side : Records
        For its domain and labels alone.

    Returns
    -------
    Stage
    """
    ready: Any = untrained(learner, side)
    questions = list_questions(ready.n_bins_, ready.ordered)
    n_holders = 1 if ready._trust() == CENTRAL else int(ready.n_holders)
    n_colluding = int(ready.n_colluding)
    arguments: tuple[Any, ...] = (questions,)
    if isinstance(ready, RandomTreesClassifier):
        public = np.random.default_rng(0)
        arguments += (draw_trees(questions, int(ready.n_trees), int(ready.depth), public),)

    def run(holders: Sequence[Any], transcript: Transcript, sums: Any) -> Any:
        return ready.grow(holders, *arguments, transcript, sums)

    sums = sums_of(ready._trust(), n_holders, n_colluding)
    n_honest = n_holders - n_colluding
    return Stage(questions, len(ready.classes_), n_holders, n_honest, sums, run)


def parts_of(learner: CodedClassifier, side: Records, n_holders: int) -> list[HolderRows]:
    """Deal the rows of a side in turns: what neighbours share stays with its holder."""
    ready: Any = untrained(learner, side)
    _, targets = ready._targets(side.signs, len(side.signs))
    bins = bin_codes(side.codes, side.n_bins)
    found = []
    for i in range(n_holders):
        rows = slice(i, None, n_holders)
        found.append(HolderRows(bins[rows], targets[rows].astype(np.int64), side.counts[rows]))
    return found


def transcript_densities(
    learner: CodedClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log-densities of transcripts, on either side of a pair.

    Of the worst ones either way, and of some that are drawn.

    Parameters
    ----------
    learner : distributed learner
        Not fitted.
    pair : Pair
        Tiny; its sides differ in the row `where` alone.

    Returns
    -------
    left, right : ndarray of shape (n_transcripts,)
    """
    stage = stage_of(learner, pair.left)
    left, right = (parts_of(learner, side, stage.n_holders) for side in (pair.left, pair.right))
    rng = np.random.default_rng(0)
    tapes = [stage.worst(left, right), stage.worst(right, left)]
    tapes += [stage.draw(side, rng) for side in (left, right) for _ in range(DRAWN)]
    return (
        np.array([stage.log_density(tape, left) for tape in tapes]),
        np.array([stage.log_density(tape, right) for tape in tapes]),
    )


def sample_losses(
    learner: CodedClassifier, pair: Pair, side: Records, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw transcripts from a side, and score each by its likelihood ratio: no score is better.

    Parameters
    ----------
    learner : distributed learner
        Not fitted.
    pair : Pair
    side : Records
        Of the pair: what transcripts are drawn from.
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n,)
    """
    stage = stage_of(learner, pair.left)
    left, right = (parts_of(learner, one, stage.n_holders) for one in (pair.left, pair.right))
    drawn = parts_of(learner, side, stage.n_holders)
    found = np.empty(n)
    for i in range(n):
        tape = stage.draw(drawn, rng)
        found[i] = stage.log_density(tape, left) - stage.log_density(tape, right)
    return found


def three_classes(claim: Claim, target: Target) -> Iterator[Pair]:
    """Give pairs of some records of three classes in columns of two and three codes."""
    rng = np.random.default_rng(3)
    for k in range(30):
        codes, labels = rng.integers(0, (2, 3), size=(7, 2)), rng.integers(0, 3, size=7)
        counts = [1, *([COPIES] * 5)] if k % 2 else [1] * 6
        sides = [
            records(codes[rows], labels[rows], (2, 3), counts)
            for rows in ([0, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
        ]
        if sides[0].key() != sides[1].key():
            yield Pair("tiny", f"three classes, draw {k}", sides[0], sides[1])


def moved_between_leaves(claim: Claim, target: Target) -> list[Pair]:
    """Give many records in two bins of two columns; one moves to the other bins and label.

    So many that trees grow: on each level the record leaves one node and enters another.
    """
    return [_moved([[0, 0], [1, 1], [0, 1], [1, 0]], [1, -1, 1, -1], COPIES)]


def moved_among_few(claim: Claim, target: Target) -> list[Pair]:
    """Give four records, of which one moves: noise that follows a node's size shows it."""
    return [_moved([[0, 0], [0, 0], [1, 1]], [1, 1, -1], 1)]


def replaced_class(claim: Claim, target: Target) -> list[Pair]:
    """Give one record in one bin, of the first of three classes or of the second."""
    sides = [records([[0]], [label], [2]) for label in (0, 1)]
    return [Pair("tiny", "one record, of one of three classes", sides[0], sides[1])]


def _moved(others: list[list[int]], signs: list[int], copies: int) -> Pair:
    counts = [1, *([copies] * len(others))]
    sides = [
        records([row, *others], [sign, *signs], [2, 2], counts)
        for row, sign in (([0, 0], 1), ([1, 1], -1))
    ]
    name = f"one of {sum(counts)} records moves between two leaves"
    return Pair("tiny", name, sides[0], sides[1])


def _replayed(learner: str, calibration: str, setting: dict[str, Any], pairs: MakePairs) -> Claim:
    return Claim(learner, calibration, 1.0, pairs, setting=setting, densities=transcript_densities)


def _lost(learner: str, setting: dict[str, Any], pairs: MakePairs) -> Claim:
    return sampled(learner, CERTIFIED, setting, 2_000, pairs, 1e-2, sample_losses)


def _distributed_topdown() -> Iterator[Claim]:
    name = "distributed_topdown"
    two: dict[str, Any] = {"n_holders": 2}
    for protocol in ("noisy_counts", "local_rnm"):
        for trust in ("local", "central", "secure_sum"):
            setting = {"protocol": protocol, "trust": trust, "depth": 2, **two}
            yield _replayed(name, CERTIFIED, setting, moved_between_leaves)
        of_three = {"protocol": protocol, "n_classes": 3, "depth": 2, **two}
        yield _replayed(name, CERTIFIED, of_three, three_classes)
    voted = {"protocol": "local_rnm", "depth": 1, "vote_share": 0.99, "n_holders": 1}
    yield _replayed(name, CERTIFIED, voted, torn_columns)
    small = {"n_splits": 2, **two}
    alone = {"protocol": "single", "n_splits": 2, "criterion": "entropy"}
    yield _replayed(name, PUBLISHED, alone, moved_among_few)
    yield _replayed(name, PUBLISHED, small, moved_between_leaves)
    yield sampled(name, PUBLISHED, {"protocol": "local_rnm", **small}, 1_000, rare_in_part)
    yield sampled(name, CERTIFIED, {"protocol": "single", "depth": 1}, 10_000, crossed_columns)
    local = {"protocol": "local_rnm", "trust": "secure_sum", "depth": 2, **two}
    secure = {"trust": "secure_sum", "depth": 2, "n_colluding": 1, "n_holders": 3}
    yield _lost(name, secure, moved_between_leaves)
    yield whole_state(name, CERTIFIED, local, 2_000)
    yield whole_state(name, CERTIFIED, {"depth": 1, **two}, 2_000, delta=1e-2)
    yield whole_state(name, PUBLISHED, small, 1_000)


def _random_trees() -> Iterator[Claim]:
    name = "random_trees"
    small = {"n_trees": 4, "batch": 2, "depth": 1, "n_holders": 2}
    yield _lost(name, {**small, "batch": 1}, alone_in_two_bins)
    yield _lost(name, {**small, "n_classes": 3, "trust": "local"}, replaced_class)
    for trust in ("secure_sum", "local"):
        yield whole_state(name, CERTIFIED, {**small, "trust": trust}, 2_000, delta=1e-2)
    yield sampled(name, CERTIFIED, small, 2_000, rare_in_part, delta=1e-2)


RELEASED = {
    "model_": "made of messages that are private, or of their sums",
    "transcript_": "sizes of messages, which follow from what the coordinator announced",
}

ATTACKS = (
    Attack("distributed_topdown", tuple(_distributed_topdown()), RELEASED),
    Attack("random_trees", tuple(_random_trees()), RELEASED),
)
