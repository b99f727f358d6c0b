"""Neighbours differ in one record, and no pair is missing."""

from collections import Counter

import numpy as np
import pytest

from privcurve.audit.pairs import (
    Target,
    all_neighbours,
    flipped_balance,
    flipped_constant,
    records,
    with_canary,
)
from privcurve.audit.scores import rare_canary


def multiset(side):
    found = Counter()
    for codes, sign, count in zip(side.codes, side.signs, side.counts, strict=True):
        found[(*codes.tolist(), int(sign))] += int(count)
    return found


def assert_neighbours(pair):
    left, right = multiset(pair.left), multiset(pair.right)
    assert pair.left.n == pair.right.n == sum(left.values())
    assert sum((left - right).values()) == sum((right - left).values()) == 1
    assert pair.left.counts[pair.where] == pair.right.counts[pair.where] == 1
    same = np.arange(len(pair.left.signs)) != pair.where
    assert np.array_equal(pair.left.codes[same], pair.right.codes[same])
    assert np.array_equal(pair.left.signs[same], pair.right.signs[same])


@pytest.mark.parametrize(("n", "n_bins"), [(1, (2,)), (2, (2,)), (3, (3,)), (2, (2, 2))])
def test_all_neighbours(n, n_bins):
    pairs = list(all_neighbours(n, n_bins))
    for pair in pairs:
        assert_neighbours(pair)
    kinds = 2 * int(np.prod(n_bins))
    found = {
        frozenset(map(lambda s: frozenset(multiset(s).items()), (p.left, p.right))) for p in pairs
    }
    others = len(list(np.ndindex(*[kinds] * (n - 1)))) if n <= 2 else kinds * (kinds + 1) // 2
    assert len(pairs) == len(found) == others * kinds * (kinds - 1) // 2


@pytest.mark.parametrize("n", [2, 3, 8, 569])
@pytest.mark.parametrize("surplus", [0, 3, 1000])
def test_flipped(n, surplus):
    for pair in (flipped_constant(n), flipped_balance(n, surplus)):
        assert_neighbours(pair)
        assert pair.left.n == n
    counts = multiset(flipped_balance(n, surplus).left)
    others = counts[0, 1] - 1 - counts[0, -1]
    assert abs(others - min(surplus, n - 1)) <= 1


def test_canary():
    rng = np.random.default_rng(0)
    base = records(rng.integers(0, 3, (20, 2)), rng.choice([-1, 1], 20), [3, 3])
    base.codes[base.codes[:, 0] == 2, 0] = 1
    row = rare_canary(base)
    assert row[0] == 2
    pair = with_canary(Target("base", base), row, where=4)
    assert_neighbours(pair)
    assert np.array_equal(pair.canaries, [row, row])
    assert not np.array_equal(base.codes[4], row)  # the target itself is not changed


def test_order_of_records_does_not_show():
    base = records([[0], [1], [1]], [1, -1, 1], [2], [1, 2, 3])
    turned = records([[1], [1], [0]], [1, -1, 1], [2], [3, 2, 1])
    assert base.key() != turned.key()
    assert base.ordered().key() == turned.ordered().key()
