"""List claims of private selection, to be attacked by the density of the selected run and by fits.

With the noisy majority as the learner, the density of the selected run is known. The margin of a
run has Laplace noise, and the score is the number of records with the predicted label plus discrete
Laplace noise. So a selected run y has the density Q(y)·f′(u) (docs/proofs.md, 'Private selection',
1): Q is the density of a run, u the probability that a run is not better than y, and f the
probability-generating function of the number of runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from privcurve.audit.attacks.any_learner import claim_by_fits
from privcurve.audit.claim import Claim
from privcurve.audit.pairs import Pair, Target, flipped_balance
from privcurve.coding import Floats, Ints
from privcurve.learners.entry import Facts
from privcurve.learners.shared.tuning import Candidate, terms
from privcurve.learners.tuned import TunedClassifier
from privcurve.privacy.budget import PROVED
from privcurve.privacy.selection import UNITS
from privcurve.privacy.sensitivity.counts import margins_l1

# Number of scores at which densities are compared; they are spread evenly over all likely scores.
_SCORES = 400

DELTAS = (1e-5, 1e-2)

MAJORITY = {"learner": "noisy_majority"}


def tail_probability(score: Ints, scale: int) -> Floats:
    """Return P(noise > score) + ½ P(noise = score) for discrete Laplace noise."""
    # P(noise > k) = e^{-k/s}/(e^{1/s} + 1) for k >= 0, and the noise is symmetric.
    far = np.exp(-np.abs(score) / scale) / (np.exp(1 / scale) + 1)
    at = np.exp(-np.abs(score) / scale) * np.tanh(0.5 / scale)
    return np.where(score >= 0, far, 1 - far - at) + at / 2


def kept_loss(learner: TunedClassifier, pair: Pair) -> float:
    """Return the largest privacy loss of a selected run, among the tried margins and scores.

    The tried margins are one large positive and one large negative one; `_SCORES` scores are tried
    with each. The loss at each of these points is exact.
    """
    if learner.learner != MAJORITY["learner"]:
        raise ValueError(f"learner must be the noisy majority; got {learner.learner}")
    budget = learner._budget()
    candidate = Candidate(learner.learner, {})
    (trained,) = terms([candidate], budget, Facts(pair.left.n_bins), pair.left.n)
    rate = trained.epsilon / margins_l1()
    sides = [
        (int(s.counts[s.labels > 0].sum()), int(s.counts[s.labels < 0].sum()))
        for s in (pair.left, pair.right)
    ]
    numbers = [n for side in sides for n in side]
    reach = 12 * budget.score_scale / UNITS
    scores = np.linspace(min(numbers) - reach, max(numbers) + reach, _SCORES)
    units = (scores * UNITS).astype(np.int64)
    widest = float(max(abs(plus - minus) for plus, minus in sides) + 1)
    losses = []
    for plus, minus in sides:
        # The probability that the noise of a run changes the sign of the margin.
        p = np.exp(-rate * abs(plus - minus)) / 2
        positive = 1 - p if plus > minus else p
        above = positive * tail_probability(units - UNITS * plus, budget.score_scale)
        above += (1 - positive) * tail_probability(units - UNITS * minus, budget.score_scale)
        gamma = budget.runs.gamma
        slope = -(1 + budget.runs.eta) * np.log(gamma + (1 - gamma) * above)
        for margin, right in ((widest, plus), (-widest, minus)):
            away = np.abs(units - UNITS * right) / budget.score_scale
            losses.append(-rate * abs(margin - (plus - minus)) - away + slope)
    return float(np.abs(np.concatenate(losses[:2]) - np.concatenate(losses[2:])).max())


def one_sided(c: Claim, target: Target) -> list[Pair]:
    """Return three pairs of tables; one label flips, and labels are balanced or mostly positive."""
    return [flipped_balance(60, 56), flipped_balance(9, 0), flipped_balance(200, 4)]


def _claims() -> Iterator[Claim]:
    name = "tuned"
    shapes: tuple[dict[str, Any], ...] = (
        {"score_share": 0.9},
        {"score_share": 0.5, "eta": 0.0, "expected_runs": 15.0},
        {},
        {"score_share": 0.9, "eta": -0.5, "expected_runs": 3.0},
    )
    for shape in shapes:
        setting = {**MAJORITY, **shape}
        yield Claim(name, PROVED, 1.0, one_sided, 0.0, setting, loss=kept_loss)
    mechanisms = {"mechanism": ["permute_and_flip", "exponential"]}
    some = {"learner": "one_rule", "expected_runs": 1.5, "score_share": 0.3}
    yield claim_by_fits(name, PROVED, {**some, "settings": mechanisms}, 120)
    for delta in DELTAS:
        yield claim_by_fits(name, PROVED, some, 120, delta=delta)


CLAIMS = tuple(_claims())
