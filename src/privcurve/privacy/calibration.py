"""From a budget (ε, δ) to the noise of a learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privcurve.privacy import composition, sensitivity
from privcurve.privacy.ledger import (
    ASSUMED_BINS,
    ASSUMED_LABELS,
    ASSUMED_N,
    CERTIFIED,
    NOT_FLOATS,
    NOT_SELECTION,
    PUBLISHED,
    REPLACE_ONE,
    LedgerEntry,
    PrivacyStatement,
)

EXPONENTIAL = "exponential"
PERMUTE_AND_FLIP = "permute_and_flip"


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
        If an argument is out of range, or permute-and-flip is asked for with δ > 0
        (it is not bounded-range: §g).
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
    each, accountant = epsilon / n_rounds, composition.BASIC
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
        exclusions=(NOT_FLOATS, NOT_SELECTION),
    )
    return OneRuleNoise(rates, mechanism, published, statement)


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
