"""From a budget (ε, δ) to the noise of a learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privcurve.privacy import composition, sensitivity
from privcurve.privacy.composition import (
    ADAPTIVE,
    ADVANCED,
    BASIC,
    BOUNDED_RANGE_KIND,
    GAUSSIAN,
    KOV,
    PLD,
    PURE_KIND,
    ZCDP_CKS,
    ZCDP_SIMPLE,
    Cost,
)
from privcurve.privacy.ledger import (
    ASSUMED_BINS,
    ASSUMED_LABELS,
    ASSUMED_N,
    CERTIFIED,
    NOT_FLOATS,
    NOT_SEED,
    NOT_SELECTION,
    PUBLISHED,
    REPLACE_ONE,
    LedgerEntry,
    PrivacyStatement,
)

EXPONENTIAL = "exponential"
PERMUTE_AND_FLIP = "permute_and_flip"

# Tried in this order; the first of equals is named. Not in it: the advanced composition
# and the simple conversion, which are never better than KOV and CKS.
_BEST_OF = (BASIC, KOV, ZCDP_CKS, ADAPTIVE, GAUSSIAN, PLD)

# `composition.solve` is right to 1e-11; stay on the side that keeps δ.
_SAFETY = 1 - 3e-11


@dataclass(frozen=True)
class Calibration:
    """Result of :func:`calibrate`.

    Attributes
    ----------
    scale : float
        By which every amount (and so every noise rate) may be multiplied.
    accountant : str
        The accountant that allows it.
    """

    scale: float
    accountant: str


@lru_cache(maxsize=4096)
def calibrate(
    costs: tuple[Cost, ...],
    epsilon: float,
    delta: float,
    accountants: tuple[str, ...] = _BEST_OF,
) -> Calibration:
    """Find the largest noise rates that a budget allows, under the best valid accountant.

    All that enters is public, so choosing the best accountant costs nothing (PRIVACY.md
    §g).

    Parameters
    ----------
    costs : tuple of Cost
        The calls, with amounts in the wanted proportion, e.g. ``(Cost("bounded_range", 1.0,
        39),)``.
    epsilon : float
        Finite.
    delta : float
    accountants : tuple of str
        Candidates; those that do not fit the costs or δ are passed over.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If ε is infinite, or no accountant fits (pure privacy of Gaussian noise).
    """
    check_budget(epsilon, delta)
    if math.isinf(epsilon):
        raise ValueError("epsilon = inf needs no noise: there is nothing to calibrate")
    best: Calibration | None = None
    for accountant in accountants:
        if composition.admits(accountant, costs, delta):
            scale = _largest_scale(accountant, costs, epsilon, delta)
            if best is None or scale > best.scale:
                best = Calibration(scale, accountant)
    if best is None:
        raise ValueError(f"no accountant of {accountants} fits delta = {delta} and {costs}")
    return best


def _largest_scale(accountant: str, costs: tuple[Cost, ...], epsilon: float, delta: float) -> float:
    if accountant == BASIC:
        return epsilon / composition.basic(costs)

    def excess(scale: float) -> float:
        grown = composition.scaled(costs, scale)
        if accountant in (ADVANCED, ZCDP_SIMPLE):
            return composition.compose(accountant, grown, delta) - epsilon
        return composition.log_ratio(composition.delta_of(accountant, grown, epsilon), delta)

    # With ρ at scale 1 taken as growing like scale²: only a first guess.
    root = math.sqrt(math.log(1 / delta))
    guess = (math.sqrt(root**2 + epsilon) - root) / math.sqrt(composition.total_rho(costs))
    first_step = 0.1
    if accountant == ADAPTIVE:
        # One evaluation is some 10 ms: start where the other accountants end.
        guess = calibrate(costs, epsilon, delta, (BASIC, ZCDP_CKS)).scale
        first_step = 0.02
    return composition.solve(excess, guess, first_step) * _SAFETY


@dataclass(frozen=True)
class OneRuleNoise:
    """Noise of boosted 1-rules.

    Attributes
    ----------
    rates : ndarray of shape (n_rounds,)
        η_t, which multiplies the weighted error in [0, 1]; infinite at ε = ∞. Read-only.
    mechanism : str
        ``exponential`` or ``permute_and_flip``.
    normalise : bool
        True (published): the error is Σμχ/|μ|. False (certified): it is Σμχ/(κn).
    statement : PrivacyStatement
    """

    rates: NDArray[np.float64]
    mechanism: str
    normalise: bool
    statement: PrivacyStatement


@lru_cache(maxsize=1024)
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
) -> OneRuleNoise:
    """Calibrate LazyBB with 1-rules.

    Published: η = εκn/(4τ) (thesis, Cor. 4.1.1); with δ > 0 the better of this and
    4ηζ = ε₀ with ε₀ from the thesis' advanced composition. Certified: η_t = ε₀/(2ζ_t),
    with ε₀ = ε/τ for δ = 0 and from the best bounded-range accountant for δ > 0
    (PRIVACY.md §a, §b, §g).

    Both are refused where the rounding of weights could add more than a thousandth to ζ:
    certified, a density below ``sensitivity.lazybb_smallest_density``; published, whose score
    is normalised, more than 2²⁶ records at any density below 1. At ε = ∞ nothing is claimed
    and nothing refused.

    Parameters
    ----------
    n, n_rounds : int
        Records and rounds (τ).
    density, learning_rate : float
        κ and λ.
    epsilon, delta : float
        The budget; ε may be infinite.
    calibration : str
        ``published`` or ``certified``.
    mechanism : str
        ``exponential``, ``permute_and_flip``, or ``auto``: permute-and-flip for
        certified pure privacy, else exponential.

    Returns
    -------
    OneRuleNoise

    Raises
    ------
    ValueError
        If an argument is out of range, the rounding of weights too coarse for the density, or
        permute-and-flip asked for with δ > 0 (it is not bounded-range: §g).
    """
    return _one_rule(
        "lazybb", n, n_rounds, density, learning_rate, epsilon, delta, calibration, mechanism
    )


@lru_cache(maxsize=1024)
def one_rule(
    *, n: int, epsilon: float, delta: float, calibration: str, mechanism: str = "auto"
) -> OneRuleNoise:
    """Calibrate a single 1-rule: :func:`lazybb_one_rule` with one round and density 1."""
    return _one_rule("one_rule", n, 1, 1.0, 1.0, epsilon, delta, calibration, mechanism)


def _one_rule(
    learner: str,
    n: int,
    n_rounds: int,
    density: float,
    learning_rate: float,
    epsilon: float,
    delta: float,
    calibration: str,
    mechanism: str,
) -> OneRuleNoise:
    check_budget(epsilon, delta)
    mechanism = _resolve(mechanism, delta, calibration)
    zeta = sensitivity.lazybb_zeta_rounds(n, density, learning_rate, n_rounds)
    published = calibration == PUBLISHED
    if math.isinf(epsilon):
        rates = np.full(n_rounds, np.inf)
        rates.flags.writeable = False
        return OneRuleNoise(rates, mechanism, published, PrivacyStatement.not_private(learner))
    sensitivity.check_lazybb_rounding(n, density, normalise=published)
    found = _each_round(n_rounds, epsilon, delta, published)
    each, accountant = found.scale, found.accountant
    if published:
        zeta[:] = sensitivity.lazybb_zeta(n, density)
        factor = sensitivity.ONE_RULE_PUBLISHED
        source = "thesis Cor. 4.1.1; PRIVACY.md §b: valid, loose by 2"
    else:
        factor = sensitivity.ONE_RULE_CERTIFIED
        source = "PRIVACY.md §a (free refinement), §b"
    rates = each / (factor * zeta)
    rates.flags.writeable = False
    # The range of the log-ratio is 2ηζ whatever the paper charges for it (§b).
    spread = sensitivity.ONE_RULE_CERTIFIED / factor * each if mechanism == EXPONENTIAL else None
    ledger = tuple(
        LedgerEntry(
            mechanism, f"round {t}: choice of a 1-rule", rate, bound, each, spread, None, source
        )
        for t, (rate, bound) in enumerate(zip(rates.tolist(), zeta.tolist(), strict=True), start=1)
    )
    statement = PrivacyStatement(
        learner=learner,
        epsilon=epsilon,
        delta=delta,
        neighbours=REPLACE_ONE,
        calibration=calibration,
        composition=accountant,
        ledger=ledger,
        assumptions=(ASSUMED_N, ASSUMED_BINS, ASSUMED_LABELS),
        exclusions=(NOT_SEED, NOT_FLOATS, NOT_SELECTION),
    )
    return OneRuleNoise(rates, mechanism, published, statement)


def _each_round(n_rounds: int, epsilon: float, delta: float, published: bool) -> Calibration:
    """Give ε₀: the pure ε (published) or the range (certified) of one round."""
    if delta == 0:
        return Calibration(epsilon / n_rounds, BASIC)
    if published:
        return calibrate((Cost(PURE_KIND, 1.0, n_rounds),), epsilon, delta, (BASIC, ADVANCED))
    return calibrate((Cost(BOUNDED_RANGE_KIND, 1.0, n_rounds),), epsilon, delta)


@dataclass(frozen=True)
class TableRow:
    """One line of :func:`lazybb_table`: ε₀ of a round and the noise rate η it allows."""

    calibration: str
    accountant: str
    epsilon_each: float
    noise_rate: float


def lazybb_table(
    *, n: int, n_rounds: int, density: float, epsilon: float, delta: float
) -> list[TableRow]:
    """Give LazyBB's noise rate with 1-rules under every accountant (PRIVACY.md §g).

    Without the refinement of the first rounds: ζ = 1/(κn) throughout.

    Parameters
    ----------
    n, n_rounds, density, epsilon, delta
        As for :func:`lazybb_one_rule`; ε finite. With δ = 0, basic composition alone.

    Returns
    -------
    list of TableRow
        Published ones first, each group from the weakest accountant to the strongest.
    """
    check_budget(epsilon, delta)
    sensitivity.check_lazybb_rounding(n, density)
    zeta = sensitivity.lazybb_zeta(n, density)
    pure, ranged = Cost(PURE_KIND, 1.0, n_rounds), Cost(BOUNDED_RANGE_KIND, 1.0, n_rounds)
    published, certified = sensitivity.ONE_RULE_PUBLISHED, sensitivity.ONE_RULE_CERTIFIED
    lines = [
        (PUBLISHED, BASIC, pure, published),
        (PUBLISHED, ADVANCED, pure, published),
        (CERTIFIED, BASIC, pure, certified),
        (CERTIFIED, ADVANCED, pure, certified),
        (CERTIFIED, KOV, pure, certified),
        (CERTIFIED, ZCDP_SIMPLE, ranged, certified),
        (CERTIFIED, ZCDP_CKS, ranged, certified),
        (CERTIFIED, ADAPTIVE, ranged, certified),
    ]
    rows = []
    for calibration, accountant, cost, factor in lines:
        if composition.admits(accountant, (cost,), delta):
            each = calibrate((cost,), epsilon, delta, (accountant,)).scale
            rows.append(TableRow(calibration, accountant, each, each / (factor * zeta)))
    return rows


def check_budget(epsilon: float, delta: float) -> None:
    """Check a budget.

    Raises
    ------
    ValueError
        If ε is not in (0, ∞] or δ not in [0, 1).
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon = {epsilon} must be above 0 (inf: not private)")
    if not 0 <= delta < 1:
        raise ValueError(f"delta = {delta} must be in [0, 1)")


def _resolve(mechanism: str, delta: float, calibration: str) -> str:
    if calibration not in (PUBLISHED, CERTIFIED):
        raise ValueError(
            f"calibration = {calibration!r} is not one of {PUBLISHED!r}, {CERTIFIED!r}"
        )
    if mechanism == "auto":
        pure = calibration == CERTIFIED and delta == 0
        return PERMUTE_AND_FLIP if pure else EXPONENTIAL
    if mechanism not in (EXPONENTIAL, PERMUTE_AND_FLIP):
        raise ValueError(
            f"mechanism = {mechanism!r} is not one of 'auto', {EXPONENTIAL!r}, {PERMUTE_AND_FLIP!r}"
        )
    if mechanism == PERMUTE_AND_FLIP and delta > 0:
        raise ValueError(
            "permute-and-flip is not bounded-range, so delta > 0 gains nothing with it: "
            "use mechanism='exponential', or delta = 0"
        )
    return mechanism
