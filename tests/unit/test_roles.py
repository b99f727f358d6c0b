"""Public and private columns, and the scaled coding."""

import numpy as np
import pytest

from privcurve.coding import scale_codes
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.learners.shared import roles
from privcurve.learners.shared.roles import PublicRows, Roles, distinct_keys


def test_scaled_ends_and_one_bin():
    codes = np.array([[0, 0, 2], [1, 0, 0], [4, 0, 1]], dtype=np.uint8)
    rows = scale_codes(codes, np.array([5, 1, 3]))
    assert rows.tolist() == [[-1, 0, 1], [-0.5, 0, -1], [1, 0, 0]]


def test_positions():
    roles = Roles.from_positions("x", [3, 0], 4)
    assert (roles.public, roles.private) == ((0, 3), (1, 2))
    assert roles.columns("public").tolist() == [0, 3]
    assert roles.columns("private").tolist() == [1, 2]
    assert roles.columns("all").tolist() == [0, 1, 2, 3]
    assert Roles.from_positions("x", (), 2).private == (0, 1)


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ([4], "must be in 0 … 3; got 4"),
        ([-1], "must be in 0 … 3; got -1"),
        ([1, 1], "must be distinct"),
        ([0, 1, 2, 3], "must leave a column to protect"),
        (["age"], "positions"),
        ([0.5], "positions"),
    ],
)
def test_positions_are_checked(public, message):
    with pytest.raises(ValueError, match=f"brc: .*{message}"):
        Roles.from_positions("brc", public, 4)


def test_columns_without_public_ones():
    with pytest.raises(ValueError, match="neighbours: private-columns"):
        Roles.from_positions("x", None, 4).columns("private")


def test_public_rows_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (40, 3)).astype(np.uint8)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), 40)
    counts = rng.integers(1, 4, 40)
    n_bins = np.array([3, 3])
    codes = codes[:, [0, 2]]
    first = PublicRows.gather(codes, signs, counts, n_bins)
    rows = list(zip(map(tuple, codes), signs, strict=True))
    for row, sign, count in zip(first.codes, first.signs, first.counts, strict=True):
        same = [each == (tuple(row), sign) for each in rows]
        assert counts[same].sum() == count
    order = rng.permutation(40)
    again = PublicRows.gather(codes[order], signs[order], counts[order], n_bins)
    expanded = np.repeat(np.arange(40), counts)
    single = np.ones(len(expanded), dtype=np.int64)
    spread = PublicRows.gather(codes[expanded], signs[expanded], single, n_bins)
    for model in (again, spread):
        for name in ("codes", "signs", "counts"):
            assert np.array_equal(getattr(model, name), getattr(first, name))


def test_keys_of_wide_rows_stay_in_order():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**10, (50, 9)).astype(np.uint16)
    codes[25:] = codes[:25]
    signs = np.ones(50, dtype=np.int8)
    keys, row_of = distinct_keys(codes, signs, np.full(9, 2**10))
    assert len(keys) == 25
    ranks = {tuple(row): rank for rank, row in enumerate(sorted(set(map(tuple, codes.tolist()))))}
    assert row_of.tolist() == [ranks[tuple(row)] for row in codes.tolist()]


def test_public_facts_follow_from_the_claim():
    facts = Facts([2, 3], public_columns=(1,), public_label=True)
    assert registry.make("brc", facts).public_columns is None
    assert registry.make("brc", facts, neighbours="private-columns").public_columns == (1,)
    # A learner without roles ignores the public columns.
    registry.make("lazybb", facts, neighbours="private-columns")
    with pytest.raises(ValueError, match="public_label: true"):
        registry.make("brc", Facts([2, 3], public_columns=(1,)), neighbours="private-columns")


def test_keys_are_the_same_marked_or_sorted(monkeypatch):
    rng = np.random.default_rng(2)
    n_bins = np.array([3, 7, 4])
    codes = rng.integers(0, n_bins, (60, 3)).astype(np.uint8)
    signs = rng.choice([-1, 1], 60).astype(np.int8)
    marked = distinct_keys(codes, signs, n_bins)
    monkeypatch.setattr(roles, "SPARSE", 0)
    for one, other in zip(marked, distinct_keys(codes, signs, n_bins), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
