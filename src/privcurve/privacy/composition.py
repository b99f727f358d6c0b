"""How the costs of several mechanism calls add up: one function an accountant.

Every call's mechanism may depend on all earlier outputs, unless a docstring says
otherwise. Sections are those of PRIVACY.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privcurve.privacy import adaptive

if TYPE_CHECKING:
    from privcurve.privacy.ledger import LedgerEntry

NONE = "none"
BASIC = "basic"
ADVANCED = "advanced"
KOV = "optimal pure"
ZCDP_SIMPLE = "zCDP, simple conversion"
ZCDP_CKS = "zCDP, CKS conversion"
ADAPTIVE = "bounded range, optimal adaptive"
GAUSSIAN = "Gaussian, exact"
PLD = "privacy loss distribution"

DESCRIPTIONS = {
    NONE: "nothing",
    BASIC: "basic composition (the sum of the epsilons)",
    ADVANCED: "advanced composition, as the thesis states it (Theorem 2.5.3)",
    KOV: "the optimal composition of pure guarantees (Kairouz, Oh and Viswanath)",
    ZCDP_SIMPLE: "zero-concentrated differential privacy, with the simple conversion",
    ZCDP_CKS: (
        "zero-concentrated differential privacy, with the conversion of Canonne, Kamath and Steinke"
    ),
    ADAPTIVE: "the optimal adaptive composition of bounded-range mechanisms (upper bound)",
    GAUSSIAN: "the exact composition of Gaussian mechanisms",
    PLD: "the privacy loss distribution of dp-accounting (pessimistic estimate)",
}

PURE_KIND = "pure"
BOUNDED_RANGE_KIND = "bounded_range"
LAPLACE_KIND = "laplace"
GAUSSIAN_KIND = "gaussian"
ZCDP_KIND = "zcdp"


@dataclass(frozen=True)
class Cost:
    """The cost of `count` equal mechanism calls.

    Attributes
    ----------
    kind : str
        ``pure``, ``bounded_range``, ``laplace``, ``gaussian`` or ``zcdp``.
    amount : float
        ε (pure; Laplace, of a number or a vector), length of the range (bounded range),
        sensitivity/σ (Gaussian), √(2ρ) (zCDP). All grow in proportion to the noise rate.
    count : int
    """

    kind: str
    amount: float
    count: int = 1

    def __post_init__(self) -> None:
        kinds = (PURE_KIND, BOUNDED_RANGE_KIND, LAPLACE_KIND, GAUSSIAN_KIND, ZCDP_KIND)
        if self.kind not in kinds:
            raise ValueError(f"kind = {self.kind!r} is not one of: {', '.join(kinds)}")
        if not (self.amount > 0 and self.count >= 1):
            raise ValueError(f"a cost needs an amount above 0 and a count of at least 1: {self}")

    @property
    def epsilon(self) -> float:
        """Pure ε of one call; infinite if it has none."""
        return math.inf if self.kind in (GAUSSIAN_KIND, ZCDP_KIND) else self.amount

    @property
    def rho(self) -> float:
        """Give ρ (zCDP) of one call: ε²/8 for bounded range (§0, L1), ε²/2 for pure ε (§g)."""
        if self.kind == BOUNDED_RANGE_KIND:
            return self.amount**2 / 8.0
        if self.kind == LAPLACE_KIND:
            # Tight for one number (§g, cited); right for vectors too, as a Rényi divergence
            # is convex in the shift, so that one long shift is worst. See docs/privacy.md.
            return self.amount + math.expm1(-self.amount)
        return self.amount**2 / 2.0


Costs = Sequence[Cost]


def scaled(costs: Costs, scale: float) -> tuple[Cost, ...]:
    """Multiply every noise rate by `scale`."""
    return tuple(replace(cost, amount=cost.amount * scale) for cost in costs)


def basic(costs: Costs) -> float:
    """Sum the pure ε's (infinite if a call has none)."""
    return math.fsum(cost.count * cost.epsilon for cost in costs)


def advanced(epsilon_each: float, n_calls: int, delta: float) -> float:
    """Compose as in the thesis: √(2k ln 1/δ) ε₀ + k ε₀ (e^{ε₀} − 1) (Theorem 2.5.3)."""
    if epsilon_each > 700:
        return math.inf
    spread = math.sqrt(2 * n_calls * math.log(1 / delta)) * epsilon_each
    return spread + n_calls * epsilon_each * math.expm1(epsilon_each)


def kov_delta(epsilon_each: float, n_calls: int, epsilon: float) -> float:
    """Give δ(ε) of k pure ε₀ mechanisms: the optimum of Kairouz, Oh and Viswanath [cited, §g].

    The worst case is k-fold randomised response: its loss is (k − 2i)ε₀ with i of the k
    answers flipped.
    """
    k = n_calls
    log_total = k * (epsilon_each + math.log1p(math.exp(-epsilon_each)))
    terms = []
    for i in range(k // 2 + 1):
        gap = (k - 2 * i) * epsilon_each - epsilon
        if gap <= 0:
            break
        log_choose = math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)
        terms.append(math.exp(log_choose + (k - i) * epsilon_each - log_total) * -math.expm1(-gap))
    return math.fsum(terms)


def zcdp_simple(rho: float, delta: float) -> float:
    """Convert ρ-zCDP by ε = ρ + 2√(ρ ln 1/δ) (§g)."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Convert ρ-zCDP: δ = inf over a > 1 of e^{(a−1)(aρ−ε)} (1−1/a)^a / (a−1) [cited: CKS, §g]."""
    # With y = a − 1 the exponent is convex and its derivative grows with y: bisect on ln y.
    # Any y gives a valid bound, so the bisection's rounding cannot break the guarantee.
    low, high = -700.0, 700.0
    while high - low > 1e-13 * max(1.0, abs(low)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        y = math.exp(middle)
        if (2 * y + 1) * rho - epsilon - math.log1p(1 / y) < 0:
            low = middle
        else:
            high = middle
    y = math.exp(0.5 * (low + high))
    return math.exp(y * ((y + 1) * rho - epsilon) - y * math.log1p(1 / y) - math.log1p(y))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Give δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) of Gaussian noise, μ = sensitivity/σ (§d)."""
    from scipy.special import log_ndtr

    upper = math.exp(log_ndtr(mu / 2 - epsilon / mu))
    return max(0.0, upper - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def pld_delta(costs: Costs, epsilon: float) -> float:
    """Give δ(ε) of Laplace and Gaussian calls by dp-accounting: an independent accountant.

    Each Laplace call must release one number: for vectors its worst case is not proved.
    The grid is a fixed part of the smallest amount, so that δ is smooth in a common scale.
    """
    from dp_accounting.pld import privacy_loss_distribution as pld

    step = min(cost.amount for cost in costs) / 50
    total = None
    for cost in costs:
        if cost.kind == LAPLACE_KIND:
            one = pld.from_laplace_mechanism(1 / cost.amount, value_discretization_interval=step)
        else:
            one = pld.from_gaussian_mechanism(1 / cost.amount, value_discretization_interval=step)
        several = one.self_compose(cost.count) if cost.count > 1 else one
        total = several if total is None else total.compose(several)
    assert total is not None
    return float(total.get_delta_for_epsilon(epsilon))


def parallel(epsilons: Sequence[float], neighbours: str) -> float:
    """Compose mechanisms, each run on its own part of a partition of the record space.

    Each must be ε_i-DP under add/remove. Add/remove: max ε_i. Replace-one: the record
    may leave one part and enter another, which costs up to 2 max ε_i (§0, L4: proved,
    attained). Parts by record *index* are different: a replaced record stays in its part
    and the cost is the max of the replace-one ε's.

    Parameters
    ----------
    epsilons : sequence of float
    neighbours : str
        ``add-remove`` or ``replace-one``.

    Returns
    -------
    float
    """
    if neighbours == "add-remove":
        return max(epsilons)
    if neighbours == "replace-one":
        return 2 * max(epsilons)
    raise ValueError(f"neighbours = {neighbours!r} is not 'add-remove' or 'replace-one'")


def _only(costs: Costs) -> Cost | None:
    return costs[0] if len(costs) == 1 else None


def admits(accountant: str, costs: Costs, delta: float) -> bool:
    """Whether an accountant can compose these costs at this δ."""
    one = _only(costs)
    kinds = {cost.kind for cost in costs}
    if accountant == BASIC:
        return math.isfinite(basic(costs))
    if delta == 0:
        return False
    if accountant in (ADVANCED, KOV):
        return one is not None and math.isfinite(one.epsilon)
    if accountant == ADAPTIVE:
        return (
            one is not None and one.kind == BOUNDED_RANGE_KIND and one.count <= adaptive.MAX_CALLS
        )
    if accountant == GAUSSIAN:
        return kinds == {GAUSSIAN_KIND}
    if accountant == PLD:
        return kinds <= {LAPLACE_KIND, GAUSSIAN_KIND}
    return accountant in (ZCDP_SIMPLE, ZCDP_CKS)


def delta_of(accountant: str, costs: Costs, epsilon: float) -> float:
    """Give δ(ε) under an accountant that is defined by its δ: KOV, CKS, adaptive, Gaussian, PLD.

    Returns
    -------
    float
    """
    one = costs[0]
    if accountant == KOV:
        return kov_delta(one.epsilon, one.count, epsilon)
    if accountant == ZCDP_CKS:
        return zcdp_delta(total_rho(costs), epsilon)
    if accountant == ADAPTIVE:
        return adaptive.bounded_range_delta(one.amount, one.count, epsilon)
    if accountant == GAUSSIAN:
        return gaussian_delta(math.sqrt(math.fsum(c.count * c.amount**2 for c in costs)), epsilon)
    if accountant == PLD:
        return pld_delta(costs, epsilon)
    raise ValueError(f"{accountant!r} has no δ(ε)")


def total_rho(costs: Costs) -> float:
    """Sum ρ: zCDP adds up."""
    return math.fsum(cost.count * cost.rho for cost in costs)


def compose(accountant: str, costs: Costs, delta: float, near: float | None = None) -> float:
    """Give ε of composed calls.

    Parameters
    ----------
    accountant : str
        A key of `DESCRIPTIONS`.
    costs : sequence of Cost
    delta : float
    near : float, optional
        A guess of the answer, which saves time.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the accountant does not fit the costs or δ.
    """
    if accountant not in DESCRIPTIONS:
        raise ValueError(f"unknown accountant {accountant!r}. There are: {', '.join(DESCRIPTIONS)}")
    if accountant == NONE:
        return math.inf
    if not costs:
        return 0.0
    if not admits(accountant, costs, delta):
        raise ValueError(f"the accountant {accountant!r} does not fit delta = {delta} and {costs}")
    if accountant == BASIC:
        return basic(costs)
    if accountant == ADVANCED:
        return advanced(costs[0].epsilon, costs[0].count, delta)
    if accountant == ZCDP_SIMPLE:
        return zcdp_simple(total_rho(costs), delta)
    if delta_of(accountant, costs, 0.0) <= delta:
        return 0.0
    ceiling = min(basic(costs), zcdp_simple(total_rho(costs), delta))
    return solve(
        lambda epsilon: -log_ratio(delta_of(accountant, costs, epsilon), delta),
        near if near is not None and near > 0 else ceiling,
        first_step=1e-9 if near is not None else 0.1,
    )


def log_ratio(delta: float, target: float) -> float:
    """ln(δ/target), kept finite at δ = 0."""
    return math.log(max(delta, 1e-300)) - math.log(target)


def solve(growing: Callable[[float], float], near: float, first_step: float = 0.1) -> float:
    """Find where a growing function of a positive number is zero, to 1e-11 of it.

    The bracket grows around `near`, by steps that are multiplied by 8 up to a factor 2.
    """
    from scipy.optimize import brentq

    low = high = near
    value = growing(near)
    step = first_step
    if value == 0:
        return near
    down = value > 0
    for _ in range(400):
        if down:
            high, low = low, low / (1 + step)
            found = growing(low) <= 0
        else:
            low, high = high, high * (1 + step)
            found = growing(high) >= 0
        if found:
            return float(brentq(growing, low, high, xtol=1e-300, rtol=1e-11))
        step = min(8 * step, 1.0)
    raise ValueError(f"no solution near {near}")


def epsilon_of_ledger(
    accountant: str, ledger: Sequence[LedgerEntry], delta: float, near: float | None = None
) -> float:
    """Compose a ledger.

    Accountants of pure privacy use the entries' ε; the others use the sharpest guarantee
    that an entry carries.

    Parameters
    ----------
    accountant : str
    ledger : sequence of LedgerEntry
    delta : float
    near : float, optional
        A guess of ε.

    Returns
    -------
    float
    """
    if accountant == BASIC:
        return math.fsum(entry.epsilon for entry in ledger)
    pure = accountant in (ADVANCED, KOV)
    groups = Counter(_kind_and_amount(entry, pure) for entry in ledger)
    costs = [Cost(kind, amount, count) for (kind, amount), count in groups.items()]
    return compose(accountant, costs, delta, near)


def _kind_and_amount(entry: LedgerEntry, pure: bool) -> tuple[str, float]:
    if pure:
        return PURE_KIND, entry.epsilon
    if entry.bounded_range is not None:
        return BOUNDED_RANGE_KIND, entry.bounded_range
    if entry.mechanism == "gaussian":
        return GAUSSIAN_KIND, entry.noise_rate * entry.sensitivity
    if entry.mechanism == "laplace":
        return LAPLACE_KIND, entry.epsilon
    if entry.rho is not None:
        return ZCDP_KIND, math.sqrt(2 * entry.rho)
    return PURE_KIND, entry.epsilon
