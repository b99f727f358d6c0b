"""Attack a learner with canaries (Steinke, Nasr and Jagielski 2023, "one training run").

A canary is a record in a bin of its own. A fair coin decides its label or, for add-remove
neighbours, its presence. The attack guesses the coins of a table of many canaries from the fitted
model. If the fit is (ε, δ)-private, hardly more guesses are right than if each guess were right
with probability e^ε/(1 + e^ε). So one fit gives many trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from privcurve.audit.fits import fits
from privcurve.audit.pairs import Pair, add_record, records
from privcurve.coding import Bools, Floats, Records
from privcurve.learners.base import CodedClassifier
from privcurve.privacy.budget import ADD_REMOVE

# Number of canaries in a table; each has its own bin.
CANARIES = 250

# Share of the coins that the attack guesses. It leaves out canaries with scores near the median,
# whose guesses are hardly better than chance.
GUESSED = 0.5

# Upper end of the search for the refuted ε; if guesses refute this ε, the result is infinite.
MOST_EPSILON = 50.0


class Guesses(NamedTuple):
    """Numbers of coins (one for each canary of each fit), of guesses, and of right guesses."""

    n_coins: int
    n_guessed: int
    n_right: int

    def p_value(self, epsilon: float, delta: float) -> float:
        """Bound the probability of at least `n_right` right guesses, if fits are (ε, δ)-private.

        Source: Steinke, Nasr and Jagielski 2023, Theorem 5.2. The tables of several fits share no
        record, so these fits count as one fit on a table with all coins.
        """
        right, law = self.n_right, binom(self.n_guessed, float(expit(epsilon)))
        p = float(law.sf(right - 1))
        if delta > 0 and right:
            # For each i, δ may turn i wrong guesses into right ones, with a probability of at most
            # 2 · n_coins · δ/i. This matters only if right − i, …, right − 1 guesses are right
            # without it, which has the probability `fewer[i - 1]`.
            fewer = np.cumsum(law.pmf(np.arange(right - 1, -1, -1)))
            p += 2 * self.n_coins * delta * float((fewer / np.arange(1, right + 1)).max())
        return min(p, 1.0)

    def refuted_epsilon(self, delta: float, error: float) -> float:
        """Return the largest ε that the guesses refute, at significance level `error`."""

        def excess(epsilon: float) -> float:
            return self.p_value(epsilon, delta) - error

        if excess(0.0) > 0:
            return 0.0
        return float(brentq(excess, 0.0, MOST_EPSILON)) if excess(MOST_EPSILON) > 0 else math.inf


def most_refuted(n_fits: int, delta: float, error: float) -> float:
    """Return the largest ε that `n_fits` fits can refute, if all guesses are right."""
    n_guessed = n_fits * int(GUESSED * CANARIES)
    return Guesses(n_fits * CANARIES, n_guessed, n_guessed).refuted_epsilon(delta, error)


def canary_tables(neighbours: str) -> list[Pair]:
    """Return one pair of `neighbours`: tables of canaries that differ in one canary."""
    codes, labels = np.arange(CANARIES)[:, None], np.resize([1, -1], CANARIES)
    name = f"{CANARIES} canaries with coins"
    if neighbours == ADD_REMOVE:
        side = records(codes[1:], labels[1:], [CANARIES])
        return [add_record(side, codes[0].tolist(), int(labels[0]), name)]
    sides = (records(codes, y, [CANARIES]) for y in (labels, np.append(-labels[:1], labels[1:])))
    left, right = sides
    return [Pair("canaries", name, left, right)]


def guess_coins(
    learner: CodedClassifier, pair: Pair, n_fits: int, rng: np.random.Generator
) -> Guesses:
    """Train `n_fits` times, each time with new coins; guess the coins from the canaries' scores."""
    full = pair.right if pair.neighbours == ADD_REMOVE else pair.left
    rounds = []
    for _ in range(n_fits):
        coins = rng.random(full.n) < 0.5
        (model,) = fits(learner, _with_coins(full, coins, pair.neighbours), 1, rng)
        scores = model._scores(full.codes)
        if pair.neighbours == ADD_REMOVE:
            scores = scores * full.labels
        rounds.append(_guess(scores, coins))
    return Guesses(*map(sum, zip(*rounds, strict=True)))


def _with_coins(full: Records, coins: Bools, neighbours: str) -> Records:
    if neighbours == ADD_REMOVE:
        return Records(full.codes[coins], full.labels[coins], full.counts[coins], full.n_bins)
    return full._replace(labels=np.where(coins, 1, -1).astype(np.int8))


def _guess(scores: Floats, coins: Bools) -> Iterable[int]:
    """Guess the coins of canaries with the most extreme scores; return the fields of `Guesses`."""
    margins = scores - np.median(scores)
    chosen = np.argsort(-np.abs(margins), kind="stable")[: int(GUESSED * len(coins))]
    chosen = chosen[margins[chosen] != 0]
    return len(coins), len(chosen), int(((margins > 0) == coins)[chosen].sum())
