"""Calibrate the noise of 1-rules, single or boosted by LazyBB, for a budget (ε, δ)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privcurve.coding import Floats
from privcurve.privacy.accountants.compose import ADVANCED, BASIC
from privcurve.privacy.accountants.cost import BOUNDED_RANGE_KIND, PURE_KIND, Cost
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.calibration.search import Calibration, calibrate
from privcurve.privacy.curator import Call, call_of
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement, state
from privcurve.privacy.mechanisms import MECHANISMS, resolve
from privcurve.privacy.noise import freeze
from privcurve.privacy.sensitivity import lazybb as sensitivity

SOURCE = "docs/proofs.md, 'LazyBB: first rounds' and 'LazyBB: 1-rules'"
SOURCE_STARTED = "docs/proofs.md, 'LazyBB from a public start' and 'LazyBB: 1-rules'"
SOURCE_PUBLISHED = "thesis Cor. 4.1.1; valid, loose by 2: docs/proofs.md, 'LazyBB: 1-rules'"


@dataclass(frozen=True)
class OneRuleNoise:
    """The noise of 1-rules, single or boosted, and the privacy statement of the fit."""

    # (n_rounds,), read-only: η_t, the factor of the weighted error in a score of round t; infinite
    # at ε = ∞.
    rates: Floats
    mechanism: str
    # Whether the weighted error is divided by the sum of the weights (published), or by κn, with
    # the density κ (proved).
    normalise: bool
    statement: PrivacyStatement

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The mechanism call of each round; empty without noise."""
        return tuple(call_of(entry, self.mechanism) for entry in self.statement.ledger)


# The cache saves time in cross-validation: folds of equal size have the same arguments. It is
# large, as LazyBB's grid of hyperparameters has thousands of settings.
@lru_cache(maxsize=4096)
def lazybb_one_rule(
    *,
    n: int,
    n_rounds: int,
    density: float,
    learning_rate: float,
    epsilon: float,
    delta: float,
    calibration: str,
    mechanism: str = "auto",
    learner: str = "lazybb",
    started: bool = False,
) -> OneRuleNoise:
    """Calibrate LazyBB with 1-rules; a single 1-rule is one round at density 1.

    η_t is the factor of weighted errors in the scores of round t. ζ_t bounds the distance of
    neighbours' normalised weights (``sensitivity.lazybb_zeta_rounds``). The published calibration
    has the same η and ζ in all rounds.

    The published calibration is η = εκn/(4τ) (thesis, Cor. 4.1.1). If δ > 0, it is the larger of
    this η and ε₀/(4ζ), with the cost ε₀ of a round by the thesis' advanced composition.

    The proved calibration is η_t = ε₀/(2ζ_t). The cost ε₀ of a round is ε/τ if δ = 0, and otherwise
    the result of the best bounded-range accountant (docs/proofs.md, 'LazyBB: 1-rules' and 'LazyBB:
    first rounds').

    Both calibrations refuse parameters with which the rounding of weights could increase ζ by more
    than a thousandth: the proved one refuses a density below
    ``sensitivity.lazybb_smallest_density``; the published one, whose scores are normalised, refuses
    more than 2²⁶ records unless the density is 1. At ε = ∞ there is no claim, and nothing is
    refused.

    Parameters
    ----------
    learner : str
        Name of the learner in the privacy statement.
    n, n_rounds : int
        Number of records, and number of rounds τ.
    density, learning_rate : float
        The density κ and the learning rate λ of LazyBB.
    epsilon, delta : float
        The budget; ε may be infinite.
    calibration, mechanism : str
        See :func:`~privcurve.privacy.mechanisms.resolve`.
    started : bool
        Whether margins start from a public model: then ζ = 1/(κn) in all rounds
        (docs/proofs.md, 'LazyBB from a public start').

    Raises
    ------
    ValueError
        If the rounding of weights is too coarse for the density, or permute-and-flip is requested
        with δ > 0 (it is not bounded-range).
    """
    mechanism = resolve(mechanism, delta, calibration)
    zeta = sensitivity.lazybb_zeta_rounds(n, density, learning_rate, n_rounds)
    published = calibration == PUBLISHED
    if math.isinf(epsilon):
        rates = freeze(np.full(n_rounds, np.inf))
        return OneRuleNoise(rates, mechanism, published, PrivacyStatement.not_private(learner))
    sensitivity.check_lazybb_rounding(n, density, normalise=published)
    of_round, accountant_name = _find_round_cost(n_rounds, epsilon, delta, published)
    if published or started:
        zeta[:] = sensitivity.lazybb_zeta(n, density)
    if published:
        factor = sensitivity.ONE_RULE_PUBLISHED
        source = SOURCE_PUBLISHED
    else:
        factor = sensitivity.ONE_RULE_PROVED
        source = SOURCE_STARTED if started else SOURCE
    rates = freeze(of_round / (factor * zeta))
    # If η is the rate of the exponential mechanism and ζ the sensitivity of the scores, the privacy
    # loss of a choice lies in an interval of length 2ηζ (its bounded range). This also holds for
    # the published calibration, which charges more: ε = 4ηζ.
    spread = MECHANISMS[mechanism].bounded_range(sensitivity.ONE_RULE_PROVED / factor * of_round)
    ledger = tuple(
        LedgerEntry(
            mechanism, f"round {t}: choice of a 1-rule", rate, bound, of_round, spread, None, source
        )
        for t, (rate, bound) in enumerate(zip(rates.tolist(), zeta.tolist(), strict=True), start=1)
    )
    statement = state(
        learner,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        composition=accountant_name,
        ledger=ledger,
        status=PROVED,
    )
    return OneRuleNoise(rates, mechanism, published, statement)


def _find_round_cost(n_rounds: int, epsilon: float, delta: float, published: bool) -> Calibration:
    """Return the cost ε₀ of a round, and the accountant.

    The cost is a pure ε if `published`, else a bounded range.
    """
    if delta == 0:
        return Calibration(epsilon / n_rounds, BASIC)
    if published:
        return calibrate((Cost(PURE_KIND, 1.0, n_rounds),), epsilon, delta, (BASIC, ADVANCED))
    return calibrate((Cost(BOUNDED_RANGE_KIND, 1.0, n_rounds),), epsilon, delta)
