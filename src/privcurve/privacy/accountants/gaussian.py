"""Gaussian mechanisms, exactly."""

from __future__ import annotations

import math


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Give δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) of Gaussian noise, μ = sensitivity/σ (§d)."""
    from scipy.special import log_ndtr

    upper = math.exp(log_ndtr(mu / 2 - epsilon / mu))
    return max(0.0, upper - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))
