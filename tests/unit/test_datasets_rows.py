"""Folds and distinct rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from privcurve.datasets import distinct, stratified_folds


@given(
    sizes=st.tuples(st.integers(7, 60), st.integers(7, 60)),
    n_folds=st.integers(2, 7),
    seed=st.integers(0, 2**32),
)
def test_folds_share_each_class_evenly(sizes, n_folds, seed):
    y = np.random.default_rng(seed).permutation(np.repeat([-1, 1], sizes))
    folds = stratified_folds(y, n_folds, np.random.default_rng(seed))
    assert np.array_equal(folds, stratified_folds(y, n_folds, np.random.default_rng(seed)))
    assert set(folds) == set(range(n_folds))
    for members in (y == -1, y == 1, np.ones(len(y), dtype=bool)):
        share = members.sum() // n_folds
        counts = np.bincount(folds[members], minlength=n_folds)
        assert set(counts) <= {share, share + 1}


def test_folds_depend_on_the_generator():
    y = np.repeat([-1, 1], 50)
    one, two = (stratified_folds(y, 5, np.random.default_rng(seed)) for seed in (0, 1))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    ("y", "n_folds", "message"),
    [
        ([1, -1, 1, -1], 1, "n_folds must be ≥ 2"),
        ([1, 1, 1, 1, 1, -1], 2, "number of records labelled -1, 1; got 2"),
        ([1, -1], 5, "n_folds must be at most the number of records"),
        ([], 2, "number of records, 0"),
    ],
)
def test_folds_that_cannot_be(y, n_folds, message):
    with pytest.raises(ValueError, match=message):
        stratified_folds(np.array(y, dtype=np.int8), n_folds, np.random.default_rng(0))


def _sorted_rows(X, y):
    table = np.column_stack([X, y]).astype(np.int64)
    return table[np.lexsort(table.T[::-1])]


@given(data=st.data(), dtype=st.sampled_from([np.uint8, np.uint16]))
def test_distinct_round_trip(data, dtype):
    n = data.draw(st.integers(1, 40))
    values = st.sampled_from([0, 1, 255] if dtype is np.uint8 else [0, 1, 255, 256, 511])
    X = data.draw(hnp.arrays(dtype, (n, 3), elements=values))
    labels = data.draw(st.sampled_from([[-1, 1], [0, 1, 2]]))
    y = data.draw(hnp.arrays(np.int8, n, elements=st.sampled_from(labels)))
    X_distinct, y_distinct, counts = distinct(X, y)
    assert counts.sum() == n
    assert X_distinct.dtype == dtype
    expanded = _sorted_rows(X_distinct.repeat(counts, axis=0), y_distinct.repeat(counts))
    assert np.array_equal(expanded, _sorted_rows(X, y))
    # In lexicographic order without repetition, whatever the order of the records.
    rows = np.column_stack([X_distinct, y_distinct]).tolist()
    assert rows == sorted(rows)
    assert len({tuple(row) for row in rows}) == len(rows)
    again = distinct(X[::-1], y[::-1])
    for one, two in zip((X_distinct, y_distinct, counts), again, strict=True):
        assert np.array_equal(one, two)


def test_distinct_refuses_unequal_lengths():
    with pytest.raises(ValueError, match="X and y must have the same number of rows; got 3 and 2"):
        distinct(np.zeros((3, 1), dtype=np.uint8), np.array([1, -1]))
