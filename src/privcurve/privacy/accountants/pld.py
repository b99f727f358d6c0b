"""Privacy loss distributions, by dp-accounting."""

from __future__ import annotations

from privcurve.privacy.accountants.cost import LAPLACE_KIND, Costs


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
