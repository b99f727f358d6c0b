"""Placement of records, sums with noise, transcripts, questions and counts."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from privcurve.holders.holder import Ballot, HolderRows, LocalHolder
from privcurve.holders.placement import PLACEMENTS, deal
from privcurve.holders.sums import LocalNoise, SecureSum, ring_unit, sums_of
from privcurve.holders.transcript import Transcript
from privcurve.holders.tree import GrownTree
from privcurve.kernels.holder_counts import (
    family_counts,
    family_gains,
    impure,
    list_questions,
)
from privcurve.kernels.trees.choice import CRITERIA, impure_weight
from privcurve.kernels.trees.form import answers, count_rows
from privcurve.privacy.calibration.holders import level_holders
from privcurve.privacy.curator import Curator
from privcurve.privacy.mechanisms import EXPONENTIAL, draw_share


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, (3, 4), size=(n, 2)).astype(np.uint8)
    return codes, rng.integers(0, 3, size=n), rng.integers(1, 4, size=n)


def dealt(placement, n_holders=5, seed=1, made=None):
    codes, classes, counts = rows() if made is None else made
    rng = np.random.default_rng(seed)
    return deal(codes, classes, counts, 3, n_holders, placement, rng)


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


def sizes(parts):
    return [int(part.counts.sum()) for part in parts]


def test_sizes_of_holders():
    even = sizes(dealt("random", 7))
    assert max(even) - min(even) <= 1
    uneven = sizes(dealt("sizes", 5))
    assert uneven == sorted(uneven, reverse=True)
    assert uneven[0] / uneven[-1] == pytest.approx(16, rel=0.3)


def test_placements_by_label_and_column_make_holders_differ():
    codes, classes, _ = rows()
    by_label = dealt("label")
    shares = [np.bincount(classes[p.rows], p.counts, 3) / max(p.counts.sum(), 1) for p in by_label]
    assert np.std(shares, axis=0).max() > 0.15
    seen = [codes[part.rows, 0] for part in dealt("column")]
    for a, b in pairwise(seen):
        assert a.max() <= b.min()


@pytest.mark.parametrize("placement", ["random", "sizes"])
def test_a_replaced_record_stays_with_its_holder(placement):
    """Each row one record: the deal looks at positions alone."""
    codes, classes, counts = rows()
    counts = np.ones_like(counts)
    other, others = codes.copy(), classes.copy()
    other[3], others[3] = (2, 3), (classes[3] + 1) % 3
    for a, b in zip(
        dealt(placement, made=(codes, classes, counts)),
        dealt(placement, made=(other, others, counts)),
        strict=True,
    ):
        assert np.array_equal(a.rows, b.rows)


# Sums -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_colluding", [0, 2])
@pytest.mark.parametrize("n_holders", [3, 40])
def test_noise_of_a_secure_sum_does_not_grow_with_the_holders(n_holders, n_colluding):
    """The standard deviation of 20,000 draws is within 4 % with a chance above 0.9999."""
    sums = SecureSum(n_holders, n_colluding)
    release = sums.release("gaussian", 5.0, 100.0, 1.0)
    rng = np.random.default_rng(2)
    messages = [
        release.message(np.full(20_000, 2), Curator(rng, party=True)) for _ in range(n_holders)
    ]
    assert all(message.dtype == np.uint32 for message in messages)
    found = sums.add_up(messages, release)
    assert found.mean() == pytest.approx(2 * n_holders, abs=0.25)
    expected = 25 * n_holders / (n_holders - n_colluding)
    assert found.var() == pytest.approx(expected, rel=0.08)
    assert sums.excess * 25 == pytest.approx(expected)


@pytest.mark.parametrize("parts", [1, 2, 25])
def test_gamma_shares_add_up_to_laplace_noise(parts):
    rng = np.random.default_rng(parts)
    total = sum(draw_share("laplace", rng, (40_000,), 3.0, parts) for _ in range(parts))
    # False alarm: 10⁻⁴. A scale that is a tenth less has a p-value of about 10⁻¹⁴.
    assert stats.kstest(total, stats.laplace(scale=3.0).cdf).pvalue > 1e-4
    if parts > 1:
        one_too_few = sum(
            draw_share("laplace", rng, (40_000,), 3.0, parts) for _ in range(parts - 1)
        )
        assert one_too_few.var() < 18 * (1 - 0.5 / parts)


def test_sums_in_the_ring_are_exact_and_negative_ones_too():
    sums = SecureSum(3)
    release = sums.release("laplace", 0.0, 1000.0, 1.0)
    rng = np.random.default_rng(0)
    parts = [np.array([-700.0, 3.0]), np.array([0.5, 400.0]), np.array([20.0, 500.25])]
    messages = [release.message(part, Curator(rng, party=True)) for part in parts]
    expected = [-679.5, 903.25]
    for order in ([0, 1, 2], [2, 0, 1]):
        assert sums.add_up([messages[i] for i in order], release).tolist() == expected


@pytest.mark.parametrize(("bits", "digits"), [(32, 30), (64, 50)])
def test_the_unit_of_a_ring_leaves_room(bits, digits):
    for largest in (1.0, 999.0, 1024.0, 5e8):
        unit = ring_unit(largest, bits)
        assert largest / unit <= 2**digits
        assert largest / unit > 2 ** (digits - 2) or largest <= 1
        assert np.log2(unit).is_integer()


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_noise_of_many_holders_is_not_rounded_away(mechanism):
    """A hundredth of the noise is far below a unit of 32 bits for so many records."""
    sums = SecureSum(100)
    release = sums.release(mechanism, 0.05, 2.0**24, 1.0)
    rng = np.random.default_rng(5)
    messages = [
        release.message(np.full(20_000, 2.0**17), Curator(rng, party=True)) for _ in range(100)
    ]
    noise = sums.add_up(messages, release) - 100 * 2.0**17
    assert noise.var() == pytest.approx({"gaussian": 1, "laplace": 2}[mechanism] * 0.05**2, rel=0.1)
    assert messages[0].dtype == np.uint64
    # Negative sums too.
    below = [release.message(np.array([-(2.0**17)]), Curator(rng, party=True)) for _ in range(100)]
    assert sums.add_up(below, release) == pytest.approx([-100 * 2.0**17], abs=1)


def test_what_is_added_up_is_whole_units():
    """Residuals are multiples of 2⁻¹⁰; with that many records the unit of 32 bits is 2⁻⁸."""
    release = SecureSum(4).release("gaussian", 30.0, 2.0**22, 2.0**-10)
    assert release.unit <= 2.0**-10
    assert (release.bits, SecureSum(4).release("gaussian", 30.0, 2.0**19, 2.0**-10).bits) == (
        64,
        32,
    )


def test_shares_of_noise_that_no_ring_holds_are_refused():
    with pytest.raises(ValueError, match=r"noise of scale 1e-12 from 4 holders, has no room in 64"):
        SecureSum(4).release("laplace", 1e-12, 1e6, 1.0)
    # Nothing is claimed of none.
    assert SecureSum(4).release("laplace", 0.0, 1e6, 1.0).scale == 0


def test_local_noise_is_all_of_each_holder():
    sums = LocalNoise(4)
    release = sums.release("gaussian", 2.0, 10.0, 1.0)
    rng = np.random.default_rng(1)
    messages = [release.message(np.zeros(20_000), Curator(rng, party=True)) for _ in range(4)]
    assert messages[0].var() == pytest.approx(4, rel=0.08)
    assert sums.add_up(messages, release).var() == pytest.approx(4 * sums.excess, rel=0.08)
    assert sums_of("central", 9).excess == 1


# Transcripts, trees, counts ---------------------------------------------------------------


def test_a_transcript_counts_bits_by_round_and_holder():
    transcript = Transcript(2)
    transcript.begin_round()
    transcript.send(0, np.array([3], dtype=np.uint16))
    transcript.send(1, np.zeros((2, 3)))
    transcript.begin_round()
    transcript.send(1, np.zeros(5, dtype=np.uint32))
    transcript.tell(3)
    assert transcript.sent == [[16, 384], [0, 160]]
    assert transcript.bits_sent.tolist() == [16, 544]
    assert transcript.measures() == {
        "rounds": 2, "messages": 5, "bytes_per_holder": 68, "bytes_down_per_holder": 6,
        "bytes_total": 2 + 68 + 12,
    }  # fmt: skip


def test_a_grown_tree_numbers_nodes_as_they_appear():
    tree = GrownTree()
    assert tree.split(0, 1) == 1
    assert tree.split(2, 0) == 3
    tree.label(1, 1)
    tree.label(4, 1)
    asked = list_questions(np.array([3, 2]), (True, False))
    assert asked.numbers.tolist() == [5, 6, 3, 4]
    forest = tree.forest(asked, 2)
    assert forest.splits.tolist() == [[6, -1, 5, -1, -1]]
    assert forest.children.tolist() == [[1, 0, 3, 0, 0]]
    assert forest.labels.tolist() == [[0, 1, 0, -1, 1]]
    assert tree.forest(asked, 3).labels.tolist() == [[0, 1, 0, 0, 1]]


def test_answers_are_counts_of_those_who_say_yes():
    codes, classes, counts = rows()
    n_bins = np.array([3, 4])
    asked = list_questions(n_bins, (True, False))
    bins = (codes + np.array([0, 3])).astype(np.uint16)
    table = np.empty((3, 7), dtype=np.int64)
    count_rows(bins, classes, counts, np.arange(200), table)
    found = answers(table, asked.low, asked.high)
    for q, (column, low, high) in enumerate(zip(asked.columns, asked.low, asked.high, strict=True)):
        yes = (bins[:, column] >= low) & (bins[:, column] <= high)
        assert found[q].tolist() == np.bincount(classes[yes], counts[yes], 3).tolist()


@pytest.mark.parametrize(("n_questions", "size"), [(2**16, 2), (2**16 + 1, 4)])
def test_a_vote_can_name_every_question(n_questions, size):
    last = n_questions
    asked = list_questions(np.array([n_questions + 1]), (True,))
    bins = np.array([[0], [last - 1], [last], [last]], dtype=np.uint32)
    rows = HolderRows(bins, np.array([0, 0, 1, 1]), np.ones(4, dtype=np.int64))
    vote = LocalHolder(rows, asked, 2, [1]).vote(0, Ballot(EXPONENTIAL, "gini", np.inf))
    # Only the last threshold tells the classes apart.
    assert vote.tolist() == [n_questions - 1]
    assert vote.nbytes == size


@pytest.mark.parametrize("epsilon", [1.0, np.inf])
@pytest.mark.parametrize("votes", [True, False])
def test_noise_that_many_fits_share_cannot_be_changed(epsilon, votes):
    noise = level_holders(
        depth=2, votes=votes, vote_share=0.5, budget="levels", criterion="gini", n=100,
        n_columns=3, epsilon=epsilon, delta=0.0, trust="local", n_colluding=0,
    )  # fmt: skip
    for array in (noise.ranges, noise.amounts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_classes_have_the_impurity_of_the_tree_of_one_machine(criterion):
    place = CRITERIA.index(criterion)
    for counts in ([0.0, 5.0], [3.0, 4.0], [1.0, 1.0], [0.0, 0.0], [7.0, 2.0]):
        assert impure(np.array(counts), place) == pytest.approx(impure_weight(*counts, place))


def test_noisy_families_below_zero_count_as_zero():
    exact = family_counts(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 2.0]))
    assert exact.tolist() == [[0, 2, 2, 0, 2, 2, 2, 2], [1, 1, 1, 1, 2, 2, 2, 2]]
    assert family_gains(exact, 0).tolist() == [1.0, 0.0]
    noisy = exact.copy()
    noisy[0, 0] = -5.0
    assert family_gains(noisy, 0)[0] == 1.0
    noisy[0, 4:6] = -1.0
    noisy[1, 2:4] = -1.0
    assert family_gains(noisy, 0).tolist() == [-1.0, -1.0]
