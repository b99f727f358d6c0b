"""Define the accountants, which compose the costs of mechanism calls.

`ACCOUNTANTS` lists them, roughly from the weakest theory to the strongest, for `compose` and for
the search for noise (``calibration.search``). The mechanism of a call may depend on all earlier
outputs, unless the accountant's description says otherwise. Proofs: docs/proofs.md, 'Composition'.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from privcurve.lazy import arithmetic
from privcurve.privacy import selection
from privcurve.privacy.accountants.bounded_range import MAX_CALLS, bounded_range_delta
from privcurve.privacy.accountants.cost import (
    BOUNDED_RANGE_KIND,
    GAUSSIAN_KIND,
    SAFETY,
    SAMPLED_KINDS,
    Costs,
    log_ratio,
    solve,
    total_rho,
    zcdp_delta,
    zcdp_simple,
)
from privcurve.privacy.accountants.sampled import sampled_delta


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) of Gaussian noise with μ = sensitivity/σ."""
    log_cdf = arithmetic.log_normal_cdf
    upper = arithmetic.exp(log_cdf(mu / 2 - epsilon / mu))
    return max(0.0, upper - arithmetic.exp(epsilon + log_cdf(-mu / 2 - epsilon / mu)))


def basic_epsilon(costs: Costs) -> float:
    """Return the sum of the pure ε of all calls; infinite if a call has no pure ε."""
    return math.fsum(cost.count * cost.epsilon for cost in costs)


def advanced_epsilon(epsilon_each: float, n_calls: int, delta: float) -> float:
    """Return ε of `n_calls` ε₀-DP mechanisms by Theorem 2.5.3 of the thesis.

    It is √(2k ln 1/δ) ε₀ + k ε₀ (e^{ε₀} − 1), with k = `n_calls` and ε₀ = `epsilon_each`.
    """
    if epsilon_each > 700:
        return math.inf
    spread = math.sqrt(2 * n_calls * arithmetic.log(1 / delta)) * epsilon_each
    return spread + n_calls * epsilon_each * arithmetic.expm1(epsilon_each)


def kov_delta(epsilon_each: float, n_calls: int, epsilon: float) -> float:
    """Return the optimal δ(ε) of `n_calls` ε₀-DP mechanisms (Kairouz, Oh and Viswanath).

    The theorem is cited, and not proved here. The worst case is randomised response,
    repeated k = `n_calls` times: if i of the k answers are flipped, the privacy loss is (k − 2i)ε₀.
    """
    k = n_calls
    log_total = k * (epsilon_each + arithmetic.log1p(arithmetic.exp(-epsilon_each)))
    terms, log_choose = [], 0.0
    for i in range(k // 2 + 1):
        gap = (k - 2 * i) * epsilon_each - epsilon
        if gap <= 0:
            break
        chance = arithmetic.exp(log_choose + (k - i) * epsilon_each - log_total)
        terms.append(chance * -arithmetic.expm1(-gap))
        log_choose += arithmetic.log((k - i) / (i + 1))
    return math.fsum(terms)


BASIC = "basic"
ADVANCED = "advanced"
KOV = "optimal pure"
ZCDP_SIMPLE = "zCDP, simple conversion"
ZCDP_CKS = "zCDP, CKS conversion"
ADAPTIVE = "bounded range, optimal adaptive"
GAUSSIAN = "Gaussian, exact"
SAMPLED = "privacy loss distribution, Poisson batches"

# Name of the composition in a statement of a fit without privacy.
NONE = "none"


@dataclass(frozen=True)
class Accountant:
    """A composition rule for costs. Its theory gives either `epsilon` or `delta` as a function.

    `name` is the value of `composition` in privacy statements. `description` completes the sentence
    "the costs add up by …".
    """

    name: str
    description: str
    # Returns whether the accountant can compose the given costs, for at least one δ.
    fits: Callable[[Costs], bool]
    # Either `epsilon(costs, delta)` or `delta(costs, epsilon)` is given, and the other is None.
    epsilon: Callable[[Costs, float], float] | None = None
    delta: Callable[[Costs, float], float] | None = None
    # Whether the accountant uses only the pure ε of each call.
    pure: bool = False
    # Whether δ must be above 0. The accountants in `ACCOUNTANTS` that allow δ = 0 add up the pure ε
    # of the calls. So their result is proportional to the noise rates (1/noise scale).
    needs_delta: bool = True
    # Whether the search for noise tries this accountant. It is False if another accountant never
    # returns a larger ε.
    best: bool = True
    # Whether an evaluation takes milliseconds. Then the search starts at the result of faster
    # accountants, to save evaluations.
    slow: bool = False
    # The search for noise multiplies the noise rates it finds by this factor below 1. The factor
    # covers the error of the search and the rounding errors of δ.
    safety: float = SAFETY

    def admits(self, costs: Costs, delta: float) -> bool:
        """Return whether the accountant can compose these costs at this δ."""
        return (delta > 0 or not self.needs_delta) and self.fits(costs)

    def excess(self, costs: Costs, epsilon: float, delta: float) -> float:
        """Return a number that grows with noise rates; it is ≤ 0 if costs are within (ε, δ)."""
        if self.delta is not None:
            return log_ratio(self.delta(costs, epsilon), delta)
        assert self.epsilon is not None
        return self.epsilon(costs, delta) - epsilon

    def compose(self, costs: Costs, delta: float, near: float | None = None) -> float:
        """Return ε of costs that the accountant admits; `near` is a guess of ε, to save time."""
        if self.epsilon is not None:
            return self.epsilon(costs, delta)
        assert self.delta is not None
        if self.delta(costs, 0.0) <= delta:
            return 0.0
        ceiling = min(basic_epsilon(costs), zcdp_simple(total_rho(costs), delta))
        return solve(
            lambda epsilon: -self.excess(costs, epsilon, delta),
            near if near is not None and near > 0 else ceiling,
            first_step=1e-9 if near is not None else 0.1,
        )


def _are_equal_and_pure(costs: Costs) -> bool:
    return len(costs) == 1 and math.isfinite(costs[0].epsilon)


def _kinds(costs: Costs) -> set[str]:
    return {cost.kind for cost in costs}


def _mu(costs: Costs) -> float:
    """Return μ = √Σ(sensitivity/σ)² of all Gaussian calls together."""
    squares = (
        cost.count * (cost.amount * cost.amount) for cost in costs if cost.kind == GAUSSIAN_KIND
    )
    return math.sqrt(math.fsum(squares))


def _batches_delta(costs: Costs, epsilon: float) -> float:
    """Return an upper bound on δ(ε) of Gaussian calls, some of which read only a Poisson batch.

    The bound is never above δ(ε) of the same calls on all records.
    """
    of_all = gaussian_delta(math.sqrt(2 * total_rho(costs)), epsilon)
    return min(sampled_delta(costs, epsilon), of_all)


ACCOUNTANTS = (
    Accountant(
        BASIC,
        "basic composition (the sum of the epsilons)",
        fits=lambda costs: math.isfinite(basic_epsilon(costs)),
        epsilon=lambda costs, delta: basic_epsilon(costs),
        pure=True,
        needs_delta=False,
    ),
    Accountant(
        ADVANCED,
        "advanced composition, as the thesis states it (Theorem 2.5.3)",
        fits=_are_equal_and_pure,
        epsilon=lambda costs, delta: advanced_epsilon(costs[0].epsilon, costs[0].count, delta),
        pure=True,
        best=False,
    ),
    Accountant(
        KOV,
        "the optimal composition of pure guarantees (Kairouz, Oh and Viswanath)",
        fits=_are_equal_and_pure,
        delta=lambda costs, epsilon: kov_delta(costs[0].epsilon, costs[0].count, epsilon),
        pure=True,
    ),
    Accountant(
        ZCDP_SIMPLE,
        "zero-concentrated differential privacy, with the simple conversion",
        fits=lambda costs: True,
        epsilon=lambda costs, delta: zcdp_simple(total_rho(costs), delta),
        best=False,
    ),
    Accountant(
        ZCDP_CKS,
        "zero-concentrated differential privacy, with the conversion of Canonne, Kamath and "
        "Steinke",
        fits=lambda costs: True,
        delta=lambda costs, epsilon: zcdp_delta(total_rho(costs), epsilon),
    ),
    Accountant(
        ADAPTIVE,
        "the optimal adaptive composition of bounded-range mechanisms (upper bound)",
        fits=lambda costs: (
            len(costs) == 1 and costs[0].kind == BOUNDED_RANGE_KIND and costs[0].count <= MAX_CALLS
        ),
        delta=lambda costs, epsilon: bounded_range_delta(costs[0].amount, costs[0].count, epsilon),
        slow=True,
    ),
    Accountant(
        GAUSSIAN,
        "the exact composition of Gaussian mechanisms",
        fits=lambda costs: _kinds(costs) == {GAUSSIAN_KIND},
        delta=lambda costs, epsilon: gaussian_delta(_mu(costs), epsilon),
    ),
    Accountant(
        SAMPLED,
        "the privacy loss distribution of Gaussian mechanisms on Poisson batches (upper bound)",
        fits=lambda costs: (
            bool(_kinds(costs) & {*SAMPLED_KINDS})
            and _kinds(costs) <= {GAUSSIAN_KIND, *SAMPLED_KINDS}
        ),
        delta=_batches_delta,
        slow=True,
        safety=1 - 1e-6,
    ),
)


def selection_accountant(runs: selection.Runs) -> Accountant:
    """Return the accountant of private selection, which computes ε of all runs from costs of one.

    The accountant adds up the ε of the steps of a run. For δ > 0, it also adds up their ρ (zCDP),
    and returns the smaller of the two resulting ε (docs/tuning.md).
    """

    def epsilon(costs: Costs, delta: float) -> float:
        each, rho = basic_epsilon(costs), total_rho(costs)
        pure = runs.epsilon(each) if math.isfinite(each) else math.inf
        if delta == 0:
            return pure
        return min(pure, solve(lambda total: -log_ratio(runs.delta(rho, total), delta), 1.0))

    return Accountant(
        runs.name,
        f"private selection of the best of a random number of runs, each of these steps (truncated "
        f"negative binomial, eta = {runs.eta:g}, {runs.expected:g} expected)",
        fits=lambda costs: True,
        epsilon=epsilon,
        needs_delta=False,
        best=False,
    )


def accountant(name: str) -> Accountant:
    """Return the accountant with this name.

    The name of an accountant of private selection contains η and E[K], the parameters of the
    distribution of the number of runs.
    """
    by_name = {one.name: one for one in ACCOUNTANTS}
    if name in by_name:
        return by_name[name]
    if runs := selection.runs_of(name):
        return selection_accountant(runs)
    raise ValueError(f"an accountant must be one of {', '.join(by_name)}; got {name!r}")


def compose(name: str, costs: Costs, delta: float, near: float | None = None) -> float:
    """Return ε of the composition of calls with these costs, by the accountant `name`.

    `near` is a guess of ε, which saves time. Raises ValueError if the accountant does not support
    these costs at this δ.
    """
    chosen = accountant(name)
    if not costs:
        return 0.0
    if not chosen.admits(costs, delta):
        raise ValueError(
            f"the accountant {name!r} must fit delta = {delta} and {costs}; it does not"
        )
    return chosen.compose(costs, delta, near)
