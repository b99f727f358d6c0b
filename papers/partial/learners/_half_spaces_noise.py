"""Calibrate the noise of boosted half-spaces (BRC), and make their privacy statement.

The method is by Shen, Krishnaswamy, Kulkarni and Munagala, Classification with Partially Private
Features. Proofs: papers/partial/proofs.md, 'BRC'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, GAUSSIAN_KIND, Cost
from privcurve.privacy.budget import PROVED, PUBLISHED, check_budget, is_private
from privcurve.privacy.calibration.search import calibrate
from privcurve.privacy.curator import EXACT, Call, call_of
from privcurve.privacy.ledger import PrivacyStatement, state
from privcurve.privacy.mechanisms import EXPONENTIAL
from privcurve.privacy.noise import Announced
from privcurve.privacy.sensitivity.impurity import check_n


def brc_delta_published(n: int, c1: float, c2: float) -> float:
    """Return the published sensitivity Δ = c₁c₂/n of BRC's error, for replace-one neighbours.

    Weights are between 1/c₁ and c₂, and n is the number of records. Δ is valid, but larger than
    necessary by the factor 1 + (c₁c₂ − 1)/n. Source: papers/partial/proofs.md, 'BRC'.
    """
    _check_brc(n, c1, c2)
    return c1 * c2 / n


def brc_delta(n: int, c1: float, c2: float, alphas: Sequence[float]) -> float:
    """Return the sensitivity Δ_t of BRC's error in round t, given the α of the earlier rounds.

    Δ_t = w̄/((n − 1)w̲ + w̄). Here w̄ = min(c₂, e^{Σα⁺}) is the largest possible weight of a
    record, and w̲ = max(1/c₁, e^{Σα⁻}) the smallest one; the sums are over the positive and over
    the negative α of the earlier rounds. Δ₁ = 1/n. The formula is proved for replace-one neighbours
    (papers/partial/proofs.md, 'BRC').
    """
    _check_brc(n, c1, c2)
    fall = arithmetic.total(np.minimum(np.array(alphas, dtype=np.float64), 0.0))
    largest, smallest = _largest_weight(c2, alphas), arithmetic.exp(max(fall, -arithmetic.log(c1)))
    return largest / ((n - 1) * smallest + largest)


def brc_edge(n: int, c2: float, alphas: Sequence[float]) -> float:
    """Return the sensitivity w̄/n of BRC's edge in a round, given the α of the earlier rounds.

    The edge is the mean of w/2 over right records and −w/2 over wrong records with weights w; w̄ is
    the largest possible weight, as in :func:`brc_delta`. The formula is proved for replace-one
    neighbours (papers/partial/proofs.md, 'Edge').
    """
    _check_brc(n, 1.0, c2)
    return _largest_weight(c2, alphas) / n


def _largest_weight(c2: float, alphas: Sequence[float]) -> float:
    rise = arithmetic.total(np.maximum(np.array(alphas, dtype=np.float64), 0.0))
    return float(arithmetic.exp(min(rise, arithmetic.log(c2))))


def _check_brc(n: int, c1: float, c2: float) -> None:
    check_n(n)
    if not (c1 >= 1 and c2 >= 1):
        raise ValueError(
            f"c1 and c2 must be at least 1, because weights start at 1; got {c1} and {c2}"
        )


ERROR = "error"
EDGE = "edge"

OF_ERROR = "papers/partial/proofs.md, 'BRC'"
OF_EDGE = "papers/partial/proofs.md, 'Edge'"
OF_INTERCEPTS = "papers/partial/proofs.md, 'Intercepts'"


@dataclass(frozen=True)
class BRCNoise:
    """The noise of each round of a fit, as a function of the α of the earlier rounds.

    For given released α and half-spaces, the weight of a record depends only on the record itself.
    So the sensitivity Δ_t of the error or edge in round t is public, and the noise is in proportion
    to it.
    """

    learner: str
    n: int
    n_rounds: int
    smallest: float  # the lower cap of a weight, 1/c₁
    largest: float  # the upper cap, c₂
    epsilon: float
    delta: float
    # `published`: Laplace noise of scale c₁c₂T/(εn) in each of T rounds, for any δ (Theorems 3 and
    # 4). `proved`: Laplace noise of scale Δ_tT/ε if δ = 0, else Gaussian noise in proportion to
    # Δ_t.
    calibration: str
    # The quantity that a round estimates for its classifier: `error` (the share of the weight that
    # wrong records have) or `edge` (see `brc_edge`).
    estimate: str = ERROR
    # The share of the budget that pays for choosing thresholds by the records; 0 if thresholds are
    # drawn without the records.
    choice_share: float = 0.0

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        if self.calibration == PUBLISHED and is_private(self.epsilon):
            printed = {"estimate": self.estimate == ERROR, "intercept": self.choice_share == 0}
            for name, same in printed.items():
                if not same:
                    raise ValueError(
                        f"{self.learner}: calibration must be {PROVED!r} unless estimate = 'error' "
                        f"and intercepts are random; got {PUBLISHED!r} with another {name}"
                    )

    @property
    def _is_pure(self) -> bool:
        return self.delta == 0 or self.calibration == PUBLISHED

    def sensitivity(self, alphas: Sequence[float]) -> float:
        """Return the sensitivity Δ_t of the next round, given the α of all earlier rounds."""
        if self.calibration == PUBLISHED:
            return brc_delta_published(self.n, 1 / self.smallest, self.largest)
        return _round_sensitivity(self, tuple(alphas))

    def alpha(self, released: float, alphas: Sequence[float]) -> float:
        """Convert a released error or edge to α, the weight of the classifier's vote.

        A proved estimate is first clipped to its public range, which is post-processing. A
        published estimate is not clipped, as in the paper.
        """
        edge = self.estimate == EDGE
        if self.calibration != PUBLISHED:
            reach = self.sensitivity(alphas) * self.n / 2
            low, high = (-reach, reach) if edge else (0.0, 1.0)
            released = min(max(released, low), high)
        return released if edge else 0.5 - released

    def choice_call(self, alphas: Sequence[float]) -> Call:
        """Return the call that chooses the next round's threshold, by |½ − error| or |edge|."""
        if not is_private(self.epsilon) or self.choice_share == 0:
            return EXACT
        what = f"round {len(alphas) + 1}: choice of a threshold"
        spread = 2 * self.sensitivity(alphas)
        choice = Announced(what, score_range=spread, by=EXPONENTIAL, source=OF_INTERCEPTS)
        return call_of(choice.entries(self._amounts()[1], self._is_pure)[0])

    def estimate_call(self, alphas: Sequence[float]) -> Call:
        """Return the mechanism call for the error, or edge, of the next round's classifier."""
        if not is_private(self.epsilon):
            return EXACT
        what = f"round {len(alphas) + 1}: weighted {self.estimate} of the private classifier"
        source = "Shen et al., Theorems 3 and 4; " if self.calibration == PUBLISHED else ""
        proof = OF_EDGE if self.estimate == EDGE else OF_ERROR
        bound = self.sensitivity(alphas)
        error = Announced(what, l1=bound, l2=bound, source=source + proof)
        return call_of(error.entries(self._amounts()[0], self._is_pure)[0])

    def _amounts(self) -> tuple[float, float, str]:
        """Return a round's budget for the estimate, its budget for the choice, and the accountant.

        The budget of the estimate is its sensitivity divided by its noise scale. The budget of the
        choice of a threshold is its ε if δ = 0, else the range of its privacy losses (bounded
        range).
        """
        share, rounds = self.choice_share, self.n_rounds
        if self._is_pure:
            of_round = self.epsilon / rounds
            return (1 - share) * of_round, share * of_round, BASIC
        # Split ρ (zCDP) over the calls: Gaussian noise costs a²/2, where a is sensitivity/σ, and a
        # choice with privacy losses in a range of length r costs r²/8.
        gaussian, ranged = math.sqrt(2 * (1 - share)), math.sqrt(8 * share)
        costs = [Cost(GAUSSIAN_KIND, gaussian, rounds)]
        if share > 0:
            costs.append(Cost(BOUNDED_RANGE_KIND, ranged, rounds))
        scale, accountant = calibrate(tuple(costs), self.epsilon, self.delta)
        return gaussian * scale, ranged * scale, accountant

    def statement(self, alphas: Sequence[float], public: Sequence[int] | None) -> PrivacyStatement:
        """Return the privacy statement of a fit.

        `alphas` has the α of each round: the weights of wrong records were multiplied by e^α. It is
        0 if the public classifier voted, because the weights then do not change. `public` has the
        positions of public columns; None means that no column is public.
        """
        if not is_private(self.epsilon):
            return PrivacyStatement.not_private(self.learner)
        rounds = [alphas[:t] for t in range(self.n_rounds)]
        calls = [call for t in rounds for call in (self.choice_call(t), self.estimate_call(t))]
        return state(
            self.learner,
            epsilon=self.epsilon,
            delta=self.delta,
            calibration=self.calibration,
            composition=self._amounts()[2],
            ledger=[call.entry for call in calls if call.entry],
            status=PROVED,
            public=public,
        )


# The sensitivity is cached, because each round uses it several times.
@lru_cache(maxsize=4096)
def _round_sensitivity(noise: BRCNoise, alphas: tuple[float, ...]) -> float:
    if noise.estimate == EDGE:
        return brc_edge(noise.n, noise.largest, alphas)
    return brc_delta(noise.n, 1 / noise.smallest, noise.largest, alphas)
