"""Poisson batches: the cost of a call on a batch, and how the curator draws batches."""

import math
from importlib import metadata

import numpy as np
import pytest
from scipy import integrate, stats

from privcurve.coding import Records
from privcurve.kernels.loss_law import loss_at, loss_law
from privcurve.privacy.accountants.compose import SAMPLED, gaussian_delta
from privcurve.privacy.accountants.cost import GAUSSIAN_KIND, Cost, on_batches
from privcurve.privacy.accountants.sampled import sampled_delta
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.curator import Curator
from privcurve.privacy.noise import Announced, noise_of

RELATIONS = (ADD_REMOVE, REPLACE_ONE)


def calls(rate, size, n, neighbours):
    """Return the cost of n calls if a record adds `size` standard deviations of noise."""
    amount = size if neighbours == ADD_REMOVE else 2 * size
    return on_batches(Cost(GAUSSIAN_KIND, amount, n), rate, neighbours)


def sides(rate, size, neighbours):
    """Return the pairs of mixtures: the record's weight in each table."""
    if neighbours == REPLACE_ONE:
        return [(rate, rate)]
    return [(rate, 0.0), (0.0, rate)]


def densities(p, r, c):
    def first(z):
        return (1 - p) * stats.norm.pdf(z) + p * stats.norm.pdf(z - c)

    def second(z):
        return (1 - r) * stats.norm.pdf(z) + r * stats.norm.pdf(z + c)

    return first, second


def stick_of_one(p, r, c, epsilon):
    """Return the hockey-stick divergence of one call, summed over a fine grid."""
    z = np.linspace(-12, 12 + c, 200_001)
    first, second = densities(p, r, c)
    above = np.maximum(first(z) - math.exp(epsilon) * second(z), 0.0)
    return integrate.simpson(above, x=z)


# The accountant compared with others ---------------------------------------------------------


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("rate", "size", "epsilon"),
    [(0.01, 0.2, 0.0), (0.01, 3.0, 0.3), (0.3, 1.0, 0.3), (0.9, 0.2, 0.1), (0.9, 3.0, 2.0)],
)
def test_one_call_is_the_hockey_stick_by_quadrature(neighbours, rate, size, epsilon):
    exact = max(stick_of_one(p, r, size, epsilon) for p, r in sides(rate, size, neighbours))
    bound = sampled_delta([calls(rate, size, 1, neighbours)], epsilon)
    assert exact * (1 - 1e-6) <= bound <= exact * 1.01 + 1e-12


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("groups", "epsilon"),
    [
        ([(0.01, 1.0, 1000)], 1.0),
        ([(0.1, 0.3, 300)], 1.0),
        ([(0.5, 0.2, 20), (0.05, 0.5, 100)], 1.5),
    ],
)
def test_many_calls_are_as_dp_accounting_says(neighbours, groups, epsilon):
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.privacy_accountant import NeighboringRelation

    if neighbours == REPLACE_ONE and metadata.version("dp-accounting") < "0.6":
        pytest.skip("dp-accounting 0.5 has no pair for a replaced record")
    relation = {
        ADD_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
        REPLACE_ONE: NeighboringRelation.REPLACE_ONE,
    }[neighbours]
    total = None
    for rate, size, n in groups:
        one = pld.from_gaussian_mechanism(
            1 / size, sampling_prob=rate, neighboring_relation=relation
        ).self_compose(n)
        total = one if total is None else total.compose(one)
    theirs = total.get_delta_for_epsilon(epsilon)
    ours = sampled_delta([calls(*group, neighbours) for group in groups], epsilon)
    # Both are upper bounds; the grid step is small compared with the sum of all losses.
    assert theirs * (1 - 1e-4) <= ours <= theirs * 1.01


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_many_calls_are_as_losses_at_random(neighbours):
    """False alarm 1e-6 (Hoeffding: all numbers are between 0 and 1)."""
    rate, size, n, epsilon, draws = 0.2, 0.5, 30, 0.5, 50_000
    rng = np.random.default_rng(5)
    seen = 0.0
    for p, r in sides(rate, size, neighbours):
        z = rng.standard_normal((draws, n)) + size * (rng.random((draws, n)) < p)
        first, second = densities(p, r, size)
        losses = np.log(first(z) / second(z)).sum(axis=1)
        seen = max(seen, np.maximum(-np.expm1(epsilon - losses), 0.0).mean())
    bound = sampled_delta([calls(rate, size, n, neighbours)], epsilon)
    assert bound == pytest.approx(seen, abs=math.sqrt(math.log(4e6) / 2 / draws) + 2e-3 * bound)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_at_a_rate_of_one_it_is_the_gaussian_mechanism(neighbours, epsilon):
    one = Cost(GAUSSIAN_KIND, 0.2, 50)
    assert on_batches(one, 1.0, neighbours) is one
    nearly = sampled_delta([on_batches(one, 1 - 1e-13, neighbours)], epsilon)
    exact = gaussian_delta(0.2 * math.sqrt(50), epsilon)
    assert exact <= nearly <= exact * 1.02


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_smaller_rate_costs_less_down_to_nothing(neighbours):
    deltas = [sampled_delta([calls(q, 0.7, 20, neighbours)], 0.5) for q in (0.5, 0.1, 0.01, 1e-4)]
    assert deltas == sorted(deltas, reverse=True)
    # At most the total variation: n·q, doubled for replaced records.
    assert deltas[-1] <= 20 * 1e-4 * 2


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_a_small_delta_has_a_small_relative_error(neighbours):
    rate, size, epsilon = 0.5, 0.5, 4.0
    exact = max(stick_of_one(p, r, size, epsilon) for p, r in sides(rate, size, neighbours))
    assert 0 < exact < 1e-9
    assert exact * (1 - 1e-4) <= sampled_delta([calls(rate, size, 1, neighbours)], epsilon)
    assert sampled_delta([calls(rate, size, 1, neighbours)], epsilon) <= exact * 1.02


@pytest.mark.parametrize(("p", "r"), [(0.3, 0.3), (0.3, 0.0), (0.0, 0.3), (1.0, 1.0)])
def test_masses_on_the_grid_keep_either_law(p, r):
    """The masses of the loss on the grid add up to 1, and so do the masses times e^(−loss).

    The latter are the masses under the second distribution.
    """
    step, c = 0.01, 0.8
    first, last = math.floor(loss_at(-9, p, r, c) / step), math.ceil(loss_at(12, p, r, c) / step)
    law = np.exp(loss_law(first, last, step, p, r, c))
    assert law.sum() == pytest.approx(1, abs=1e-8)
    under_other = (law * np.exp(-step * np.arange(first, last + 1))).sum()
    assert under_other == pytest.approx(1, abs=1e-7)


# The theorem ---------------------------------------------------------------------------------


def test_opposite_records_are_the_worst():
    """Compare with random pairs of records in the unit disc, at random α, on a fine grid."""
    rng = np.random.default_rng(2)
    at = np.linspace(-7, 7, 281)
    plane = np.stack(np.meshgrid(at, at), axis=-1)
    cell = (at[1] - at[0]) ** 2

    def law(x, q):
        bell = lambda z: np.exp(-(z**2).sum(axis=-1) / 2) / (2 * math.pi)  # noqa: E731
        return (1 - q) * bell(plane) + q * bell(plane - x)

    def stick(x, other, q, alpha):
        return np.maximum(law(x, q) - alpha * law(other, q), 0).sum() * cell

    for _ in range(40):
        q, alpha = rng.uniform(0.05, 0.95), math.exp(rng.uniform(-1.0, 1.5))
        x, other = (rng.standard_normal(2) for _ in range(2))
        x, other = (v / np.linalg.norm(v) * rng.choice([1, rng.random()]) for v in (x, other))
        one = np.array([1.0, 0.0])
        assert stick(x, other, q, alpha) <= stick(one, -one, q, alpha) + 1e-9


# Noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_noise_spends_epsilon_and_no_more(neighbours, epsilon):
    announced = (Announced("step {}", times=40, sampled=0.1),)
    words = {"delta": 1e-6, "status": "proved", "neighbours": neighbours}
    statement = noise_of("test", announced, epsilon=epsilon, **words)
    assert statement.composition == SAMPLED
    assert epsilon * (1 - 1e-4) <= statement.epsilon_spent <= epsilon
    of_all = noise_of("test", (Announced("step {}", times=40),), epsilon=epsilon, **words)
    assert statement.ledger[0].noise_rate > 1.5 * of_all.ledger[0].noise_rate
    again = type(statement).from_json(statement.to_json())
    assert again.epsilon_spent == statement.epsilon_spent


def test_a_replaced_record_costs_less_than_twice_an_added_one():
    announced = (Announced("step {}", times=100, sampled=0.02),)
    words = {"delta": 1e-6, "status": "proved"}
    added = noise_of("test", announced, epsilon=0.5, neighbours=ADD_REMOVE, **words)
    replaced = noise_of("test", announced, epsilon=1.0, **words)
    # A replaced record changes twice as much as an added one.
    assert 2 * replaced.ledger[0].noise_rate > added.ledger[0].noise_rate


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"l2": 1.0}, "must be 1 unless the call releases a sum of rows"),
        ({"choice": True}, "must be 1 unless the call releases a sum of rows"),
        ({"sampled": 0.0}, r"must be a rate in \(0, 1\]; got 0.0"),
        ({"sampled": 1.1}, r"must be a rate in \(0, 1\]; got 1.1"),
    ],
)
def test_only_sums_can_be_sampled(more, message):
    with pytest.raises(ValueError, match=message):
        Announced("sums", **{"sampled": 0.5, **more})


def test_batches_are_not_for_pure_privacy():
    with pytest.raises(ValueError, match="delta must be above 0 where batches are sampled"):
        noise_of("test", (Announced("sums", sampled=0.5),), epsilon=1.0, status="proved")


# Draws ---------------------------------------------------------------------------------------


def draw(rate, counts, seed, n_draws=1):
    n = len(counts)
    codes = np.arange(n, dtype=np.uint8)[:, None]
    labels = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    table = Records(codes, labels, np.array(counts), np.array([n]))
    curator = Curator(np.random.default_rng(seed))
    hits = np.zeros((n_draws, n), dtype=np.int64)
    for k in range(n_draws):
        batch = curator._draw_batch("", table, rate)
        assert (batch.labels == labels[batch.codes[:, 0]]).all()
        hits[k, batch.codes[:, 0]] = batch.counts
    return hits


def test_each_record_is_in_a_batch_by_its_own_coin():
    """False alarm of the three tests: 1e-6."""
    counts = [1, 1, 3, 10]
    hits = draw(0.3, counts, 4, 4000)
    for k, n in enumerate(counts):
        seen = np.bincount(hits[:, k], minlength=n + 1)
        wanted = 4000 * stats.binom.pmf(np.arange(n + 1), n, 0.3)
        many = wanted > 5
        chi = ((seen - wanted)[many] ** 2 / wanted[many]).sum()
        assert stats.chi2.sf(chi, many.sum()) > 1e-7
    # No correlation with other records, nor with the batch before.
    beside = np.corrcoef(np.column_stack([hits[1:], hits[:-1]]), rowvar=False)
    assert np.abs(beside[np.triu_indices(8, 1)]).max() < 6 / math.sqrt(4000)


def test_a_batch_follows_only_from_the_stream():
    assert np.array_equal(draw(0.5, [1] * 50, 7, 5), draw(0.5, [1] * 50, 7, 5))
    assert not np.array_equal(draw(0.5, [1] * 50, 7, 5), draw(0.5, [1] * 50, 8, 5))
