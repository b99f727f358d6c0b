"""Assignment of records to holders, noisy sums, transcripts, questions and counts."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from privcurve.kernels import holder_counts
from privcurve.kernels.holder_counts import list_questions
from privcurve.kernels.trees.choice import CRITERIA, two_class_impurity
from privcurve.learners.holders.holder import Ballot, HolderRows, LocalHolder
from privcurve.learners.holders.placement import PLACEMENTS, deal, draw_placement
from privcurve.learners.holders.sums import Sums, ring_unit, sums_of
from privcurve.privacy.curator import Curator
from privcurve.privacy.mechanisms import EXPONENTIAL, draw_share


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, (3, 4), size=(n, 2)).astype(np.uint8)
    return codes, rng.integers(0, 3, size=n), rng.integers(1, 4, size=n)


def dealt(placement, n_holders=5, seed=1, made=None):
    codes, classes, counts = rows() if made is None else made
    rng = np.random.default_rng(seed)
    draws = draw_placement(int(counts.sum()), 3, n_holders, placement, rng)
    return deal(codes, classes, counts, n_holders, placement, draws)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("n_holders", [1, 5, 700])
def test_every_record_is_dealt_once(placement, n_holders):
    _, _, counts = rows()
    parts = dealt(placement, n_holders)
    assert len(parts) == n_holders
    total = np.zeros_like(counts)
    for part in parts:
        assert (np.diff(part.rows) > 0).all()
        total[part.rows] += part.counts
    assert np.array_equal(total, counts)
    for a, b in zip(parts, dealt(placement, n_holders), strict=True):
        assert np.array_equal(a.rows, b.rows)
        assert np.array_equal(a.counts, b.counts)


def test_assignment_of_records_to_holders():
    codes, classes, _ = rows()
    sizes = {
        placement: [int(part.counts.sum()) for part in dealt(placement)]
        for placement in ("random", "sizes")
    }
    assert max(sizes["random"]) - min(sizes["random"]) <= 1
    assert sizes["sizes"] == sorted(sizes["sizes"], reverse=True)
    assert sizes["sizes"][0] / sizes["sizes"][-1] == pytest.approx(16, rel=0.3)
    by_label = dealt("label")
    shares = [np.bincount(classes[p.rows], p.counts, 3) / max(p.counts.sum(), 1) for p in by_label]
    assert np.std(shares, axis=0).max() > 0.15
    for a, b in pairwise(codes[part.rows, 0] for part in dealt("column")):
        assert a.max() <= b.min()


@pytest.mark.parametrize("placement", ["random", "sizes"])
def test_a_replaced_record_stays_with_its_holder(placement):
    codes, classes, counts = rows()
    other, others, ones = codes.copy(), classes.copy(), np.ones_like(counts)
    other[3], others[3] = (2, 3), (classes[3] + 1) % 3
    both = (dealt(placement, made=made) for made in ((codes, classes, ones), (other, others, ones)))
    for a, b in zip(*both, strict=True):
        assert np.array_equal(a.rows, b.rows)


# Sums -----------------------------------------------------------------------------------


def messages_of(release, n_holders, exact=0.0, size=20_000):
    """Return the messages of `n` holders that all have the same numbers."""
    curator = Curator(np.random.default_rng(2), party=True)
    return [release.message(np.full(size, exact), curator) for _ in range(n_holders)]


@pytest.mark.parametrize(
    ("sums", "excess"),
    [
        (Sums(4), 4),
        (Sums(3, True), 1),
        (Sums(3, True, 2), 3),
        (Sums(40, True), 1),
        (Sums(40, True, 2), 40 / 38),
    ],
)
def test_noise_of_a_sum_is_the_noise_of_its_holders(sums, excess):
    """The standard deviation of 20,000 draws is within 4 % with probability above 0.9999."""
    release = sums.release("gaussian", 5.0, 100.0, 1.0)
    messages = messages_of(release, sums.n_holders, 2.0)
    total = sums.add_up(messages, release)
    assert sums.excess == pytest.approx(excess)
    assert total.mean() == pytest.approx(2 * sums.n_holders, abs=0.3)
    assert total.var() == pytest.approx(25 * excess, rel=0.08)
    if not sums.secure:
        assert messages[0].var() == pytest.approx(25, rel=0.08)
        assert sums_of("central", 9).excess == 1
    else:
        assert {message.dtype for message in messages} == {np.dtype(np.uint32)}


@pytest.mark.parametrize("parts", [1, 2, 25])
def test_gamma_shares_add_up_to_laplace_noise(parts):
    rng, scale = np.random.default_rng(parts), 3 * 2.0**20
    shares = [draw_share("laplace", rng, (40_000,), scale, parts) for _ in range(parts)]
    # False alarm 10⁻⁴; a scale that is 10 % too small has a p-value of about 10⁻¹⁴.
    assert stats.kstest(sum(shares), stats.laplace(scale=scale).cdf).pvalue > 1e-4
    if parts > 1:
        assert sum(shares[1:]).var() < 2 * scale**2 * (1 - 0.5 / parts)


@pytest.mark.parametrize("parts", [1, 2, 25])
def test_gaussian_shares_are_gaussian_numbers_rounded_to_the_nearest(parts):
    """The scale is four units; values with probability above 10⁻⁴ are compared."""
    scale = 4 * np.sqrt(parts)
    drawn = draw_share("gaussian", np.random.default_rng(parts), (60_000,), scale, parts)
    values = np.arange(-14, 15)
    chances = np.diff(stats.norm.cdf(np.append(values, 15) - 0.5, scale=4))
    counts = np.array([(drawn == value).sum() for value in values])
    far = len(drawn) - counts.sum()
    expected = 60_000 * np.append(chances, 1 - chances.sum())
    # False alarm: 10⁻⁴.
    assert stats.chisquare(np.append(counts, far), expected).pvalue > 1e-4


def test_sums_in_the_ring_are_exact_and_negative_ones_too():
    sums = Sums(3, True)
    release = sums.release("laplace", 0.0, 1000.0, 1.0)
    rng = np.random.default_rng(0)
    parts = [np.array([-700.0, 3.0]), np.array([0.5, 400.0]), np.array([20.0, 500.25])]
    messages = [release.message(part, Curator(rng, party=True)) for part in parts]
    expected = [-679.5, 903.25]
    for order in ([0, 1, 2], [2, 0, 1]):
        assert sums.add_up([messages[i] for i in order], release).tolist() == expected


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_noise_of_many_holders_is_not_rounded_away(mechanism):
    """For this many records, a hundredth of the noise is far below a unit of 32 bits."""
    sums = Sums(100, True)
    release = sums.release(mechanism, 0.05, 2.0**24, 1.0)
    messages = messages_of(release, 100, 2.0**17)
    noise = sums.add_up(messages, release) - 100 * 2.0**17
    assert noise.var() == pytest.approx({"gaussian": 1, "laplace": 2}[mechanism] * 0.05**2, rel=0.1)
    assert messages[0].dtype == np.uint64
    # Sums may be negative.
    below = messages_of(release, 100, -(2.0**17), size=1)
    assert sums.add_up(below, release) == pytest.approx([-100 * 2.0**17], abs=1)


def test_the_ring_is_the_first_that_is_fine_enough():
    for bits, digits in ((32, 30), (64, 50)):
        for largest in (1.0, 999.0, 1024.0, 5e8):
            unit = ring_unit(largest, bits)
            assert largest / unit <= 2**digits
            assert largest / unit > 2 ** (digits - 2) or largest <= 1
            assert np.log2(unit).is_integer()
    # Residuals are multiples of 2⁻¹⁰; with 2²² records a unit of 32 bits would be 2⁻⁸.
    for records, bits in ((2.0**22, 64), (2.0**19, 32)):
        release = Sums(4, True).release("gaussian", 30.0, records, 2.0**-10)
        assert release.bits == bits
        assert release.unit <= 2.0**-10
    with pytest.raises(
        ValueError, match=r"noise of scale 1e-12 from 4 parties, does not fit in 64"
    ):
        Sums(4, True).release("laplace", 1e-12, 1e6, 1.0)
    # A noise scale of 0 is allowed.
    assert Sums(4, True).release("laplace", 0.0, 1e6, 1.0).scale == 0


# Transcripts, trees, counts ---------------------------------------------------------------


@pytest.mark.parametrize(("n_questions", "size"), [(2**16, 2), (2**16 + 1, 4)])
def test_a_vote_can_name_every_question(n_questions, size):
    last = n_questions
    questions = list_questions(np.array([n_questions + 1]), (True,))
    bins = np.array([[0], [last - 1], [last], [last]], dtype=np.uint32)
    rows = HolderRows(bins, np.array([0, 0, 1, 1]), np.ones(4, dtype=np.int64))
    vote = LocalHolder(rows, questions, 2, [1]).vote(0, Ballot(EXPONENTIAL, "gini", np.inf))
    # Only the last threshold separates the classes.
    assert vote.tolist() == [n_questions - 1]
    assert vote.nbytes == size


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_classes_have_the_impurity_of_the_tree_of_one_machine(criterion):
    place = CRITERIA.index(criterion)
    for counts in ([0.0, 5.0], [3.0, 4.0], [1.0, 1.0], [0.0, 0.0], [7.0, 2.0]):
        assert holder_counts.weighted_impurity(np.array(counts), place) == pytest.approx(
            two_class_impurity(*counts, place)
        )


def test_noisy_families_below_zero_count_as_zero():
    exact = holder_counts.family_counts(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 2.0]))
    assert exact.tolist() == [[0, 2, 2, 0, 2, 2, 2, 2], [1, 1, 1, 1, 2, 2, 2, 2]]
    assert holder_counts.family_gains(exact, 0).tolist() == [1.0, 0.0]
    noisy = exact.copy()
    noisy[0, 0] = -5.0
    assert holder_counts.family_gains(noisy, 0)[0] == 1.0
    noisy[0, 4:6] = -1.0
    noisy[1, 2:4] = -1.0
    assert holder_counts.family_gains(noisy, 0).tolist() == [-1.0, -1.0]
