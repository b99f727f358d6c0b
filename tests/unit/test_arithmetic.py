"""The project's own arithmetic: exact values, and the equations that matrices must satisfy."""

import math

import mpmath
import numpy as np
import pytest

from privcurve.kernels import arithmetic
from privcurve.kernels.eigen import eigenvalues

EXACT = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log1p": mpmath.log1p,
}
# How far from the exact value, in units of its last place.
ULPS = {"exp": 1, "log": 1, "log1p": 1, "expit": 1, "expm1": 1.5, "log2": 2}
SUBNORMAL = 5e-324
LARGEST = 1.7976931348623157e308


def arguments(name, n):
    """Return numbers of all magnitudes, more of them where results are near 0 or 1."""
    rng = np.random.default_rng(20261126)
    if name.startswith("log"):
        numbers = [2.0 ** rng.uniform(-1073, 1023, n), 2.0 ** rng.uniform(-1, 1, n)]
        numbers += [1 + rng.uniform(-1e-6, 1e-6, n), [SUBNORMAL, 1e-310, LARGEST]]
        if name == "log1p":
            numbers += [rng.uniform(-1, 1, n), np.array([-1e-300, 1e-17, -1 + 2.0**-53])]
        return np.concatenate(numbers)
    ends = [-745.13, -708.5, 709.78, -40.0, 40.0, SUBNORMAL, -SUBNORMAL]
    numbers = [rng.uniform(-745, 709.7, n), rng.normal(size=n), rng.uniform(-1e-6, 1e-6, n)]
    return np.concatenate([*numbers, ends])


@pytest.mark.parametrize("name", EXACT)
def test_results_are_within_units_of_the_last_place(name):
    scalar, array = getattr(arithmetic, name), getattr(arithmetic, f"{name}s")
    numbers = arguments(name, 500)
    results = array(numbers)
    with mpmath.workprec(140):
        for x, y in zip(numbers.tolist(), results.tolist(), strict=True):
            exact = EXACT[name](mpmath.mpf(x))
            assert abs(y - exact) <= ULPS[name] * mpmath.mpf(math.ulp(float(exact))), x
    assert [scalar(x) for x in numbers[::50].tolist()] == results[::50].tolist()


def test_a_logarithm_without_branches_has_the_same_bits():
    numbers = arguments("log", 2000)
    normal = numbers[(numbers >= np.finfo(float).tiny) & (numbers < np.inf)].tolist()
    assert [arithmetic.fast_log(x) for x in normal] == [arithmetic.log(x) for x in normal]


def test_a_logistic_function_without_branches_is_within_two_units():
    numbers = arguments("expit", 2000)
    with mpmath.workprec(140):
        for x in numbers[np.abs(numbers) <= 40].tolist():
            exact = EXACT["expit"](mpmath.mpf(x))
            apart = abs(arithmetic.fast_expit(x) - exact)
            assert apart <= 2 * mpmath.mpf(math.ulp(float(exact))), x
    beyond = [arithmetic.fast_expit(x) for x in (-800.0, -41.0, 41.0, 800.0)]
    assert beyond == [arithmetic.fast_expit(-40.0)] * 2 + [1.0] * 2


def test_ends_match_the_functions():
    infinity, nan = math.inf, math.nan
    ends = {
        "exp": {710.0: infinity, infinity: infinity, -infinity: 0.0, -746.0: 0.0, 0.0: 1.0},
        "expm1": {710.0: infinity, -infinity: -1.0, 0.0: 0.0},
        "expit": {infinity: 1.0, -infinity: 0.0, 0.0: 0.5, 800.0: 1.0, -800.0: 0.0},
        "log": {0.0: -infinity, infinity: infinity, 1.0: 0.0, -1.0: nan},
        "log2": {0.0: -infinity, infinity: infinity, 1.0: 0.0, -1.0: nan, 8.0: 3.0, 0.25: -2.0},
        "log1p": {-1.0: -infinity, infinity: infinity, 0.0: 0.0, -2.0: nan},
    }
    for name, values in ends.items():
        results = getattr(arithmetic, f"{name}s")([*values, nan])
        np.testing.assert_array_equal(results, [*values.values(), nan], err_msg=name)


def test_sums_of_exponentials_do_not_overflow():
    assert arithmetic.log_add_exp(1000.0, 1000.0) == pytest.approx(1000 + math.log(2), rel=1e-15)
    assert arithmetic.log_add_exp(-math.inf, 3.0) == 3.0
    assert arithmetic.log_add_exp(-math.inf, -math.inf) == -math.inf
    np.testing.assert_allclose(
        arithmetic.softplus([-800.0, 0.0, 800.0]), [0.0, math.log(2), 800.0], rtol=1e-15
    )


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 23)])
def test_matrices_satisfy_their_defining_equations(shape):
    rng = np.random.default_rng(sum(shape))
    rows, weights = rng.normal(size=shape), rng.random(shape[0])
    vector = rng.normal(size=shape[1])
    near = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(arithmetic.times(rows, vector), rows @ vector, **near)
    np.testing.assert_allclose(arithmetic.transposed_times(rows, weights), rows.T @ weights, **near)
    square = arithmetic.gram(rows, weights)
    np.testing.assert_allclose(square, rows.T @ (weights[:, None] * rows), **near)
    # Equal, not only close, row by row.
    one_by_one = np.zeros_like(square)
    for row, weight in zip(rows, weights, strict=True):
        one_by_one += np.outer(weight * row, row)
    np.testing.assert_array_equal(np.triu(square), np.triu(one_by_one))
    assert arithmetic.norm(vector) == pytest.approx(np.linalg.norm(vector), rel=1e-14)
    assert arithmetic.total(vector) == pytest.approx(math.fsum(vector), rel=1e-13)

    factor = arithmetic.cholesky(square)
    np.testing.assert_allclose(factor.T @ factor, square, **near)
    np.testing.assert_array_equal(np.tril(factor, -1), 0)
    np.testing.assert_allclose(square @ arithmetic.cholesky_solve(factor, vector), vector, **near)
    uneven = square - 0.7 * square[0, 0] * np.eye(shape[1])[::-1]
    np.testing.assert_allclose(arithmetic.inverse(uneven) @ uneven, np.eye(shape[1]), atol=1e-9)

    values, vectors = eigenvalues(uneven + uneven.T)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(shape[1]), **near)
    np.testing.assert_allclose((vectors.T * values) @ vectors, uneven + uneven.T, **near)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.ones((40, 40)),
        np.kron(np.eye(9), [[2.0, -1.0], [-1.0, 2.0]]),
        np.diag([1.0] * 8, 4) + np.diag([1.0] * 8, -4),
        np.outer(10.0 ** np.arange(0, -12, -1), 10.0 ** np.arange(0, -12, -1)) + np.eye(12),
        np.arange(64.0).reshape(8, 8) + np.arange(64.0).reshape(8, 8).T,
    ],
    ids=["zero", "no diagonal", "rank 1", "equal", "split", "graded", "rank 2"],
)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_eigenvectors_of_any_symmetric_matrix_are_orthogonal(matrix, scale):
    values, vectors = eigenvalues(matrix * scale)
    n, near = len(matrix), 1e-14 * max(1.0, np.abs(matrix).sum(axis=0).max())
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), rtol=0, atol=1e-14)
    back = (vectors.T * (values / scale)) @ vectors
    np.testing.assert_allclose(back, matrix, rtol=0, atol=near)


def test_eigenvalues_of_nan_terminate():
    assert np.isnan(eigenvalues(np.full((5, 5), np.nan))[0]).any()


def test_a_matrix_that_is_not_positive_has_no_factor():
    assert np.isnan(arithmetic.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))).any()


def test_nothing_is_fused():
    """A fused multiply-add would return −2⁻⁶⁰."""
    near = np.array([1.0, 0, 0, 0, 1 + 2.0**-30])
    others = np.array([-1.0, 0, 0, 0, 1 - 2.0**-30])
    assert arithmetic.dot(near, others) == 0
    assert arithmetic.transposed_times(near[:, None].copy(), others) == 0
