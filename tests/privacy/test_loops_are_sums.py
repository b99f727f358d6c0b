"""Registered loops (`sums.adds`): what a record adds is its own, and within the loop's bounds."""

import itertools

import numpy as np
import pytest

from privcurve.audit.pairs import records
from privcurve.learners import noisy_bayes
from privcurve.learners.linear import joint
from privcurve.privacy import sums
from privcurve.privacy.sums import LOOPS

BINS = (2, 3, 4)
DOMAIN = list(itertools.product(*map(range, BINS), (-1, 1)))
WIDTH = sum(BINS) + 1
MODEL = np.random.default_rng(5).normal(scale=3, size=WIDTH)
GROUPS = [np.arange(k, dtype=np.uint8) for k in BINS]


def one_hot(part):
    return joint.group_rows(part.codes, GROUPS, [*BINS, 1])


# The arguments of a loop, of some records.
GIVEN = {
    "CountedRows.tables": lambda part: (noisy_bayes.CountedRows(part), (0, 2), (2, 4)),
    "logistic_slopes": lambda part: (one_hot(part), part.labels, part.counts, MODEL, 4),
    "linear_slopes": lambda part: (one_hot(part), part.labels, part.counts, MODEL, 4),
    "packed_gram": lambda part: (one_hot(part), part.counts, 4, WIDTH),
}  # fmt: skip


def table(rows, counts):
    rows = np.array(rows, dtype=np.int64).reshape(-1, len(BINS) + 1)
    return records(rows[:, :-1], rows[:, -1], BINS, np.array(counts, dtype=np.int64))


def together(bounds):
    return bounds if isinstance(bounds, sums.Bounds) else sums.join_bounds(bounds)


def test_each_loop_is_tried():
    assert set(LOOPS) == set(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_record_adds_does_not_depend_on_others(name):
    loop, _ = LOOPS[name]
    rng = np.random.default_rng(1)
    rows = [DOMAIN[k] for k in rng.integers(len(DOMAIN), size=60)]
    counts = rng.integers(1, 5, size=60)
    total = loop(*GIVEN[name](table(rows, counts)))
    alone = [loop(*GIVEN[name](table([row], [1]))) for row in rows]
    # Not to a rounding: sums are of whole numbers, but for one product with √2 after them.
    together = sum(n * one for n, one in zip(counts, alone, strict=True))
    np.testing.assert_allclose(total, together, rtol=1e-14, atol=0)
    order = rng.permutation(60)
    mixed = loop(*GIVEN[name](table([rows[k] for k in order], counts[order])))
    assert np.array_equal(total, mixed)


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_record_adds_is_within_the_bounds(name):
    loop, bounds = LOOPS[name]
    size, change, _ = together(bounds(*GIVEN[name](table(DOMAIN[:1], [1]))))
    at = [loop(*GIVEN[name](table([row], [1]))) for row in DOMAIN]
    for moves, apart in (
        (size, at),
        (change, [one - other for one, other in itertools.combinations(at, 2)]),
    ):
        apart = np.abs(np.array(apart)).reshape(len(apart), -1)
        assert (apart <= moves.entries.ravel() * (1 + 1e-15)).all()
        assert apart.sum(axis=1).max() <= moves.l1
        largest = np.sqrt((apart**2).sum(axis=1).max())
        # Bounds are reached, or nearly: two rows share the one of the intercept.
        assert 0.8 * moves.l2 <= largest <= moves.l2 * (1 + 1e-15)
