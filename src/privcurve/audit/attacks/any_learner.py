"""Claims that work for any learner: worst answers, whole fitted states, scores, canaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privcurve.audit.attacks.pairs import N_PAIRS, canaries, hidden_few, rare_in_part, several
from privcurve.audit.canaries import guess_coins
from privcurve.audit.claim import Claim, LearnerSampler, MakePairs
from privcurve.audit.states import sample_canary_scores, sample_states
from privcurve.audit.worst_answers import worst_answers
from privcurve.learners.registry import entry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, PROVED, PUBLISHED, REPLACE_ONE

Settings = Sequence[Mapping[str, Any]]

DELTA = 1e-2
# The δ of attacks by canaries: a larger one would explain many right guesses by itself.
SMALL_DELTA = 1e-9
# Number of fits for an attack by canaries.
FITS = 20


def claim_by_answers(
    learner: str,
    calibration: str,
    setting: Mapping[str, object],
    pairs: MakePairs = several,
    epsilon: float = 1.0,
    neighbours: str = REPLACE_ONE,
    stated: str = "",
) -> Claim:
    """Return a claim for any learner, tested by the worst answers to a fit (δ = 0)."""
    return Claim(
        learner, calibration, epsilon, pairs, 0.0, setting,
        loss=worst_answers, neighbours=neighbours, stated=stated,
    )  # fmt: skip


def claim_by_fits(
    learner: str,
    calibration: str,
    setting: Mapping[str, object],
    n_trainings: int,
    pairs: MakePairs = several,
    delta: float = 0.0,
    sample: LearnerSampler = sample_states,
    epsilon: float = 1.0,
    neighbours: str = REPLACE_ONE,
) -> Claim:
    """Return a claim for any learner, tested by the outputs of real fits, which `sample` returns.

    By default, the output is the entire fitted state.
    """
    return Claim(
        learner, calibration, epsilon, pairs, delta, setting,
        sample=sample, n_trainings=n_trainings, n_pairs=N_PAIRS.get(pairs, 1),
        neighbours=neighbours,
    )  # fmt: skip


def claim_private_columns(
    learner: str, setting: Mapping[str, object], delta: float = 0.0, by: str = PROVED
) -> Claim:
    """Return a claim tested by real fits on neighbours that differ only in private columns."""
    return claim_by_fits(learner, by, setting, 300, hidden_few, delta, neighbours=PRIVATE_COLUMNS)


def claim_by_canaries(
    learner: str,
    calibration: str,
    setting: Mapping[str, object],
    epsilon: float = 1.0,
) -> Claim:
    """Return a claim for any learner, tested by guesses of the coins of canaries.

    The learner may be from another library. Models of the learner must distinguish the bins of a
    column.
    """
    offered = entry(learner)
    delta = 0.0 if offered.pure else SMALL_DELTA
    relation = ADD_REMOVE if offered.neighbours == (ADD_REMOVE,) else REPLACE_ONE
    return Claim(
        learner, calibration, epsilon, canaries, delta, setting,
        guess=guess_coins, n_trainings=FITS, neighbours=relation,
    )  # fmt: skip


def recipe(
    learner: str,
    proved: Settings = ({},),
    published: Settings = ({},),
    *,
    with_delta: Settings | None = None,
    n_trainings: int = 300,
    epsilon: float = 1.0,
    answers: bool = True,
    canary: bool = True,
    coins: Settings = ({},),
) -> Iterator[Claim]:
    """Yield claims for any learner, for each calibration and kind of δ (0 or above) in its entry.

    `proved` and `published` are the settings for these calibrations, `with_delta` those for δ > 0
    (None: `proved`), and `coins` those for guesses of the coins of canaries. `answers` includes
    claims by worst answers, `canary` a claim by the score of one canary among real records.
    """
    offered = entry(learner)
    with_delta = proved if with_delta is None else with_delta
    for calibration, settings in ((PROVED, proved), (PUBLISHED, published)):
        if calibration not in offered.calibrations:
            continue
        for setting in settings if offered.pure else ():
            if answers:
                yield claim_by_answers(learner, calibration, setting, epsilon=epsilon)
            yield claim_by_fits(learner, calibration, setting, n_trainings, epsilon=epsilon)
        for setting in coins:
            yield claim_by_canaries(learner, calibration, setting, epsilon=epsilon)
    for setting in with_delta if offered.approximate else ():
        # With δ > 0, worst answers cannot show a violation; only real fits can.
        yield claim_by_fits(learner, PROVED, setting, 3 * n_trainings, delta=DELTA)
    if canary:
        delta = 0.0 if offered.pure else DELTA
        scores = sample_canary_scores
        yield claim_by_fits(learner, PROVED, proved[0], n_trainings, rare_in_part, delta, scores)
