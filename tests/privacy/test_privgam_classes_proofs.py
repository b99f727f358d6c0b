"""PrivGAM of more than two classes: what one record moves, on all records of a small domain."""

import itertools

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.kernels.privgam_many import DOWN
from privcurve.learners.additive.many_classes import ClassResiduals, weight_table
from privcurve.learners.additive.residuals import bin_maps
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.calibration import privgam as bounds

BITS = 20
N_BINS = np.array([3, 2])
N_CLASSES = 3
RECORDS = list(itertools.product(range(3), range(2), range(N_CLASSES)))
STEEP = (
    np.array([[9.0, 0.3, -2.0], [0.0, 0.3, -2.0], [-9.0, -0.6, 4.0]]),
    np.array([[0.5, -1.0], [0.0, 2.0], [-0.5, -1.0]]),
)


def residuals(some, shapes, norm=1):
    table = np.array(some, dtype=np.int64).reshape(-1, 3)
    maps = bin_maps(N_BINS, (True, True), 3)
    ones = np.ones(len(table), dtype=np.int64)
    codes = table[:, :2].astype(np.uint8)
    made = ClassResiduals(Records(codes, table[:, 2], ones, N_BINS), N_CLASSES, maps, BITS, norm)
    for j, shape in enumerate(shapes):
        made.set_shape(j, shape)
    return made


def test_stated_sensitivities_are_those_of_the_page():
    page = {(REPLACE_ONE, True): 2.0, (REPLACE_ONE, False): 1.0}
    page |= {(ADD_REMOVE, True): 1.0, (ADD_REMOVE, False): 0.5**0.5}
    for (neighbours, pure), bound in page.items():
        for n_classes in (3, 10, 128):
            assert bounds.sums_sensitivity(neighbours, pure, n_classes) == pytest.approx(
                bound, rel=1e-15
            )


@pytest.mark.parametrize("norm", [1, 2])
def test_parts_of_a_residual_are_whole_and_never_more_than_it(norm):
    """For the largest and the smallest weights, and residuals of every size, on the finest grid."""
    rng = np.random.default_rng(0)
    n, n_classes = 20_000, 9
    scores = np.where(rng.random((n, n_classes)) < 0.3, 0.0, rng.normal(size=(n, n_classes)) * 9)
    maps = bin_maps(np.array([n]), (True,), n)
    codes = np.arange(n)[:, None].astype(np.uint16)
    labels, ones = rng.integers(0, n_classes, n), np.ones(n, dtype=np.int64)
    made = ClassResiduals(
        Records(codes, labels, ones, np.array([n])), n_classes, maps, bounds.MOST_BITS, norm
    )
    made.set_shape(0, scores.T)
    each = made.each()
    rows = np.arange(n)
    own = each[rows, labels]
    each[rows, labels] = 0
    assert (each <= 0).all()
    assert (-each.sum(axis=1) <= own).all()
    assert own.max() == 2 ** (bounds.MOST_BITS - 1) or norm == 2
    if norm == 2:
        # In whole numbers of any length, not in floating point.
        squares = [
            int(s) ** 2 + sum(int(q) ** 2 for q in row) for s, row in zip(own, each, strict=True)
        ]
        assert max(squares) <= 2 * (2 ** (bounds.MOST_BITS - 1)) ** 2
        assert max(squares) > 0.999 * 2 * (2 ** (bounds.MOST_BITS - 1)) ** 2
    assert (-each.sum(axis=1) >= own - n_classes - own * 2.0**-39).all()
    assert DOWN < (1 + 2.0**-53) ** -4
    assert (weight_table() >= 1).all()
    assert np.array_equal(weight_table(), np.floor(weight_table()))


def test_what_a_record_adds_follows_from_it_alone():
    """Bit for bit: whoever stands beside it, in whatever order."""
    alone = residuals([(1, 1, 2)], STEEP).each()[0]
    for others in itertools.permutations(RECORDS[:4]):
        assert np.array_equal(residuals([*others, (1, 1, 2)], STEEP).each()[-1], alone)
