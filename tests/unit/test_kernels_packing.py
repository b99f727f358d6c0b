import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privcurve.kernels.packing import LARGEST_PRODUCT, pack


def check(codes, n_bins):
    """Cells tell every code, and weights summed by cell and then by bin are right."""
    packed = pack(codes, n_bins)
    starts = np.concatenate([[0], np.cumsum(n_bins)])
    assert np.array_equal(packed.columns, codes.T)
    assert np.array_equal(packed.bin_starts, starts)
    assert packed.cells.shape == (len(codes), packed.groups.max() + 1)
    for j in range(codes.shape[1]):
        group = packed.groups[j]
        local = packed.cells[:, group].astype(np.int64) - packed.group_starts[group]
        assert local.min() >= 0
        assert local.max() < packed.group_starts[group + 1] - packed.group_starts[group]
        assert np.array_equal(packed.cell_bins[j, local], starts[j] + codes[:, j])
    return packed


@settings(max_examples=60)
@given(data=st.data())
def test_cells_tell_every_code(data):
    n_bins = np.array(data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=8)))
    n_rows = data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    check(rng.integers(0, n_bins, size=(n_rows, len(n_bins))).astype(np.uint8), n_bins)


def test_columns_that_say_the_same_share_a_group():
    rng = np.random.default_rng(0)
    column = rng.integers(0, 10, size=5000)
    codes = np.stack([column, 9 - column, rng.integers(0, 10, size=5000)], axis=1)
    packed = check(codes.astype(np.uint8), np.array([10, 10, 10]))
    assert packed.groups[0] == packed.groups[1]
    # Few rows a cell on average: joining all three costs 100 cells, and saves 5000 additions.
    assert packed.cells.shape[1] == 1


def test_wide_columns_are_not_joined_beyond_the_limit():
    rng = np.random.default_rng(0)
    n_bins = np.array([2**16, 2**16, 5])
    codes = rng.integers(0, n_bins, size=(300, 3)).astype(np.uint16)
    codes[0] = n_bins - 1
    packed = check(codes, n_bins)
    assert packed.groups[0] != packed.groups[1]
    for group in np.unique(packed.groups):
        assert np.prod(n_bins[packed.groups == group]) <= LARGEST_PRODUCT


@pytest.mark.parametrize(("size", "dtype"), [(8, np.uint16), (2**16, np.uint32)])
def test_cells_are_narrow_when_they_can_be(size, dtype):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, size, size=(70_000, 2))
    if size > 8:
        codes = np.stack([np.arange(70_000) % size, np.arange(70_000)[::-1] % size], axis=1)
    packed = check(codes.astype(np.uint16), np.array([size, size]))
    assert packed.cells.dtype == dtype
