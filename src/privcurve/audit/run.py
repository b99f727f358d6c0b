"""Audit a list of claims, and return a frame with a row for each claim."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from privcurve.audit.bounds import largest_epsilon
from privcurve.audit.canaries import most_refuted
from privcurve.audit.claim import CANARIES, RANDOM, SAMPLED, Claim, generator
from privcurve.audit.pairs import Pair, Target, check_pair
from privcurve.audit.search import (
    VERDICT_ERROR,
    Worst,
    search_exact,
    search_guesses,
    search_losses,
    search_sampled,
)
from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.seeds import Seed

STANDS = "stands"
VIOLATED = "violated"
FOUND_NOTHING = "found nothing"

COLUMNS = (
    "learner", "calibration", "mechanism", "neighbours", "stated_neighbours", "setting", "method",
    "dataset", "n_records", "n_pairs", "pair", "n_trainings", "refutable_epsilon",
    "epsilon", "delta", "found_epsilon", "found_delta", "verdict", "not_covered", "event",
)  # fmt: skip


def n_comparisons(claims: Iterable[Claim]) -> int:
    """Return the number of random comparisons: one for each pair of tables of a random attack.

    The verdicts of a complete audit share `VERDICT_ERROR`, the probability of a false alarm.
    """
    return sum(c.n_pairs for c in claims if c.method in RANDOM)


def run(claims: Sequence[Claim], target: Target, seed: Seed, comparisons: int) -> pd.DataFrame:
    """Audit claims; return one row for each, with the columns `COLUMNS`.

    Some pairs of tables are records of the dataset `target` with a canary. `comparisons` is the
    number of random comparisons in an audit of all learners (:func:`n_comparisons`).

    In the result, `epsilon` and `delta` are the claimed values. `found_epsilon` is the exact ε
    (method exact), or a lower bound: a certain one (density), or one with confidence 95 % over the
    pairs of the row (sampled, canaries). `found_delta` is the exact δ at the claimed ε, and NaN for
    other methods than exact. `refutable_epsilon` is the largest claimed ε that the number of
    trainings could refute; it is infinite for exact and density.

    Raises ValueError if a learner's own statement differs from its claim, or if a pair has another
    neighbouring relation than the claim.
    """
    rows = [_row(c, _search(c, target, seed, comparisons), comparisons) for c in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _search(c: Claim, target: Target, seed: Seed, comparisons: int) -> Worst:
    pairs = _check_pairs(c, target)
    if c.distribution is not None:
        distribution = c.distribution
        return search_exact(
            pairs, lambda side: distribution(c.estimator(side.n_bins), side), c.epsilon, c.delta
        )
    if c.loss is not None:
        loss = c.loss
        return search_losses(
            pairs, lambda pair: loss(c.estimator(pair.left.n_bins), pair), c.epsilon
        )
    rng = generator(c.name, seed)
    if c.guess is not None:
        guess, (pair,) = c.guess, pairs
        return search_guesses(
            pair,
            lambda pair, n, rng: guess(c.estimator(pair.left.n_bins), pair, n, rng),
            c.n_trainings,
            c.epsilon,
            c.delta,
            rng,
            comparisons,
        )
    assert c.sample is not None
    sample = c.sample
    return search_sampled(
        pairs,
        lambda pair, side, n, rng: sample(c.estimator(side.n_bins), pair, side, n, rng),
        c.n_trainings,
        c.epsilon,
        c.delta,
        rng,
        comparisons,
    )


def _check_pairs(c: Claim, target: Target) -> Iterator[Pair]:
    for pair in c.pairs(c, target):
        if pair.neighbours != c.neighbours:
            raise ValueError(
                f"{c.name}: the pair '{pair.name}' must be of {c.neighbours} neighbours; got "
                f"{pair.neighbours}"
            )
        check_pair(pair)
        yield pair


def refutable_epsilon(c: Claim, comparisons: int) -> float:
    """Return the largest claimed ε that `c.n_trainings` could refute; infinite without sampling."""
    error = VERDICT_ERROR / comparisons
    if c.method == CANARIES:
        return most_refuted(c.n_trainings, c.delta, error)
    if c.method != SAMPLED:
        return math.inf
    n_bounding = c.n_trainings - c.n_trainings // 2
    return largest_epsilon(n_bounding, c.delta, error)


def _row(c: Claim, worst: Worst, comparisons: int) -> dict[str, Any]:
    statement = c.statement(worst.pair.left)
    setting = {key: value for key, value in c.setting.items() if key != "mechanism"}
    return {
        "learner": c.learner,
        "calibration": c.calibration,
        "mechanism": ", ".join(dict.fromkeys(call.mechanism for call in statement.ledger)),
        "neighbours": c.neighbours,
        "stated_neighbours": statement.neighbours,
        "setting": json.dumps(setting, sort_keys=True),
        "method": c.method,
        "dataset": worst.pair.dataset,
        "n_records": worst.pair.left.n,
        "n_pairs": worst.n_pairs,
        "pair": worst.pair.name,
        "n_trainings": c.n_trainings,
        "refutable_epsilon": refutable_epsilon(c, comparisons),
        "epsilon": c.epsilon,
        "delta": c.delta,
        "found_epsilon": worst.epsilon,
        "found_delta": worst.delta,
        "verdict": verdict(worst),
        "not_covered": reservations_of(statement),
        "event": worst.event,
    }


def reservations_of(statement: PrivacyStatement) -> str:
    """Return the reservations of a statement if its noise is published, else an empty text.

    A reservation may warn that the claimed ε is false.
    """
    if statement.calibration != PUBLISHED:
        return ""
    return "; ".join(statement.reservations)


def verdict(worst: Worst) -> str:
    """Return ``violated`` for a refuted claim, else ``found nothing`` if ε ≤ 0, else ``stands``."""
    if worst.violated:
        return VIOLATED
    return STANDS if worst.epsilon > 0 else FOUND_NOTHING


def no_attack_message(learner: str) -> str:
    """Return the error message for a learner without any attack."""
    return (
        f"the learner {learner!r} has no attack: add a file to src/privcurve/audit/attacks "
        "(docs/audit.md, 'Auditing a new learner: the recipe')"
    )
