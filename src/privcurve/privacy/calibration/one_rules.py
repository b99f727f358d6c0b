"""Noise of 1-rules, alone and as voters of LazyBB."""

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
    """Noise of boosted 1-rules."""

    # (n_rounds,): η_t, which multiplies the weighted error in a score; infinite at ε = ∞.
    # Read-only.
    rates: Floats
    mechanism: str
    # Whether the weighted error is divided by the sum of the weights (published), or by κn, with
    # the density κ (proved).
    normalise: bool
    statement: PrivacyStatement

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The call of each round; empty without noise."""
        return tuple(call_of(entry, self.mechanism) for entry in self.statement.ledger)


# Cached: the noise depends on the number of records, the setting and ε, so folds of equal size
# share it. LazyBB's grid has thousands of settings.
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

    η, or η_t in round t, is the rate that multiplies errors in scores. ζ, or ζ_t, bounds the
    distance of neighbours' normalised weights (``sensitivity.lazybb_zeta_rounds``).

    Published: η = εκn/(4τ) (thesis, Cor. 4.1.1); with δ > 0 the better of this and 4ηζ = ε₀ with ε₀
    from the thesis' advanced composition. Proved: η_t = ε₀/(2ζ_t), with ε₀ = ε/τ for δ = 0 and from
    the best bounded-range accountant for δ > 0 (docs/proofs.md, 'LazyBB: 1-rules' and 'LazyBB:
    first rounds').

    Both calibrations refuse parameters with which the rounding of weights could add more than a
    thousandth to ζ. Proved: a density below ``sensitivity.lazybb_smallest_density``. Published (a
    normalised score): more than 2²⁶ records, unless the density is 1. At ε = ∞ nothing is claimed,
    so nothing is refused.

    Parameters
    ----------
    learner : str
        Name in the statement.
    n, n_rounds : int
        Records and rounds (τ).
    density, learning_rate : float
        κ and λ.
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
    # The privacy loss of a choice has a bounded range of 2ηζ, although the thesis charges an ε of
    # 4ηζ.
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
    """Return ε₀, the cost of one round: pure ε (published), or bounded range (proved)."""
    if delta == 0:
        return Calibration(epsilon / n_rounds, BASIC)
    if published:
        return calibrate((Cost(PURE_KIND, 1.0, n_rounds),), epsilon, delta, (BASIC, ADVANCED))
    return calibrate((Cost(BOUNDED_RANGE_KIND, 1.0, n_rounds),), epsilon, delta)
