"""Neighbours differ in one record, and no pair is missing."""

from collections import Counter

import numpy as np
import pytest

from privcurve.audit.attacks.pairs import rare_in_part
from privcurve.audit.pairs import (
    Pair,
    Target,
    add_record,
    all_neighbours,
    check_pair,
    flipped_balance,
    flipped_constant,
    records,
    sort_rows,
)
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS


def multiset(side):
    rows = Counter()
    for codes, sign, count in zip(side.codes, side.labels, side.counts, strict=True):
        rows[(*codes.tolist(), int(sign))] += int(count)
    return rows


def assert_neighbours(pair):
    check_pair(pair)
    left, right = multiset(pair.left), multiset(pair.right)
    assert pair.left.n == pair.right.n == sum(left.values())
    assert sum((left - right).values()) == sum((right - left).values()) == 1
    assert pair.left.counts[0] == pair.right.counts[0] == 1
    assert np.array_equal(pair.left.codes[1:], pair.right.codes[1:])
    assert np.array_equal(pair.left.labels[1:], pair.right.labels[1:])


@pytest.mark.parametrize(("n", "n_bins"), [(1, (2,)), (2, (2,)), (3, (3,)), (2, (2, 2))])
def test_all_neighbours(n, n_bins):
    pairs = list(all_neighbours(n, n_bins))
    for pair in pairs:
        assert_neighbours(pair)
    kinds = 2 * int(np.prod(n_bins))
    neighbours = {
        frozenset(map(lambda s: frozenset(multiset(s).items()), (p.left, p.right))) for p in pairs
    }
    others = len(list(np.ndindex(*[kinds] * (n - 1)))) if n <= 2 else kinds * (kinds + 1) // 2
    assert len(pairs) == len(neighbours) == others * kinds * (kinds - 1) // 2


@pytest.mark.parametrize("n", [2, 3, 8, 569])
@pytest.mark.parametrize("surplus", [0, 3, 1000])
def test_flipped(n, surplus):
    for pair in (flipped_constant(n), flipped_balance(n, surplus)):
        assert_neighbours(pair)
        assert pair.left.n == n
    counts = multiset(flipped_balance(n, surplus).left)
    others = counts[0, 1] - 1 - counts[0, -1]
    assert abs(others - min(surplus, n - 1)) <= 1


def test_a_canary_of_rare_codes_in_real_records():
    rng = np.random.default_rng(0)
    base = records(rng.integers(0, 3, (250, 2)), rng.choice([-1, 1], 250), [3, 3])
    base.codes[base.codes[:, 0] == 2, 0] = 1
    before = base.codes.copy()
    (pair,) = rare_in_part(None, Target("base", base))
    assert_neighbours(pair)
    assert (pair.dataset, pair.left.n) == ("base, 200 records", 200)
    assert pair.canaries[0][0] == 2
    assert np.array_equal(*pair.canaries)
    assert np.array_equal(pair.left.codes[1:], before[1:200])
    assert np.array_equal(base.codes, before)


def test_order_of_records_does_not_show():
    base = records([[0], [1], [1]], [1, -1, 1], [2], [1, 2, 3])
    turned = records([[1], [1], [0]], [1, -1, 1], [2], [3, 2, 1])
    assert not np.array_equal(base.codes, turned.codes)
    assert all(map(np.array_equal, sort_rows(base), sort_rows(turned)))


def test_an_added_record():
    base = records([[0], [1]], [1, -1], [2], [3, 1])
    pair = add_record(base, [1], -1, "one more")
    check_pair(pair)
    assert pair.neighbours == ADD_REMOVE
    assert (pair.left.n, pair.right.n, pair.larger) == (4, 5, pair.right)
    assert pair.canaries.tolist() == [[1]]
    # The right table has one more negative record, so the left one has the higher score.
    assert pair.labels.tolist() == [1.0]
    grown = records([[0], [1]], [1, -1], [2], [4, 1])
    check_pair(Pair("tiny", "a row that grows", grown, base, ADD_REMOVE))


LEFT = records([[0, 0], [1, 1]], [1, -1], [2, 2])
OTHERS = {
    "a label too": records([[0, 1], [1, 1]], [-1, -1], [2, 2]),
    "nothing": LEFT,
    "two records": records([[0, 1], [1, 0]], [1, -1], [2, 2]),
    "the public column": records([[1, 0], [1, 1]], [1, -1], [2, 2]),
    "one more record": records([[0, 0], [1, 1], [1, 1]], [1, -1, -1], [2, 2]),
}


@pytest.mark.parametrize(
    ("what", "neighbours"),
    [
        ("nothing", "replace-one"),
        ("two records", "replace-one"),
        ("one more record", "replace-one"),
        ("a label too", PRIVATE_COLUMNS),
        ("the public column", PRIVATE_COLUMNS),
        ("the public column", ADD_REMOVE),
        ("nothing", ADD_REMOVE),
    ],
)
def test_tables_that_are_not_neighbours_are_refused(what, neighbours):
    pair = Pair("tiny", what, LEFT, OTHERS[what], neighbours, (1,))
    with pytest.raises(ValueError, match=f"'{what}' is not a pair of {neighbours} neighbours"):
        check_pair(pair)
