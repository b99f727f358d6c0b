"""The exact privacy loss of one choice of a 1-rule."""

import math


def one_rule_exact_epsilon(noise_rate, zeta):
    """Pure ε of one choice of a 1-rule: ηζ + ln cosh(η/2) − ln cosh(η(½ − ζ)) ≤ 2ηζ.

    Exact when the 1-rules are closed under negation; the bound 2ηζ is what calibration
    uses. Replace-one. Source: §b (proved).
    """
    return noise_rate * zeta + _log_cosh(noise_rate / 2) - _log_cosh(noise_rate * abs(0.5 - zeta))


def _log_cosh(x):
    """Logarithm of cosh x, without overflow."""
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
