"""Make claims for any learner, to be attacked by worst answers, fitted states or canaries."""

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
# The δ of attacks by canaries. It is small, as a large δ alone would permit many right guesses.
SMALL_DELTA = 1e-9
# Number of fits of an attack by canaries: enough to refute claims up to ε = 4.
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
    """Return a claim with δ = 0, to be attacked by a search for the answers of largest loss.

    `setting` has the hyperparameters and `pairs` makes the tables. `stated` is the neighbouring
    relation in the learner's own statement, by default `neighbours`.
    """
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
    """Return a claim to be attacked by real fits: `n_trainings` on each table of each pair.

    `setting` has the hyperparameters. `sample` trains the learner, and returns what the
    attack sees of each fit; by default, this is the entire fitted state.
    """
    return Claim(
        learner, calibration, epsilon, pairs, delta, setting,
        sample=sample, n_trainings=n_trainings, n_pairs=N_PAIRS.get(pairs, 1),
        neighbours=neighbours,
    )  # fmt: skip


def claim_private_columns(
    learner: str, setting: Mapping[str, object], delta: float = 0.0, by: str = PROVED
) -> Claim:
    """Return a claim about private-columns neighbours, to be attacked by real fits.

    `setting` has the hyperparameters, and `by` is the calibration.
    """
    return claim_by_fits(learner, by, setting, 300, hidden_few, delta, neighbours=PRIVATE_COLUMNS)


def claim_by_canaries(
    learner: str,
    calibration: str,
    setting: Mapping[str, object],
    epsilon: float = 1.0,
) -> Claim:
    """Return a claim to be attacked by canaries (:mod:`privcurve.audit.canaries`).

    The learner may be from another library. With the hyperparameters `setting`, its models must
    distinguish many bins of a column, as each canary is in a bin of its own.
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
    """Yield the usual claims for a learner: for each of its calibrations, and with δ = 0 and δ > 0.

    Parameters
    ----------
    learner : str
        Name in the registry.
    proved, published : sequence of dict
        The hyperparameters of claims with δ = 0, for these two calibrations.
    with_delta : sequence of dict, optional
        The hyperparameters of claims with δ > 0; by default `proved`.
    n_trainings : int
        Number of real fits on each table of each pair; three times as many if δ > 0.
    epsilon : float
        The claimed ε.
    answers : bool
        Whether to yield claims to be attacked by worst answers.
    canary : bool
        Whether to yield a claim to be attacked by the score of one canary among real records.
    coins : sequence of dict
        The hyperparameters of claims to be attacked by tables of canaries.
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
        # With δ > 0, an unlikely answer of large loss is no violation: only real fits can show one.
        yield claim_by_fits(learner, PROVED, setting, 3 * n_trainings, delta=DELTA)
    if canary:
        delta = 0.0 if offered.pure else DELTA
        scores = sample_canary_scores
        yield claim_by_fits(learner, PROVED, proved[0], n_trainings, rare_in_part, delta, scores)
