"""The project's samplers draw NumPy's numbers up to the last bits, from as many random words."""

from decimal import Decimal, getcontext

import numpy as np
import pytest
from randomgen import ChaCha

from privcurve.privacy import draws, seeds

# Enough for each branch of each sampler: 10⁶ normals have two thousand in the tails.
N = 200_000


def streams(kind):
    make = {
        "pcg": lambda: np.random.default_rng(3),
        "chacha": lambda: seeds.stream(bytes(range(32))),
    }
    return make[kind](), make[kind]()


@pytest.mark.parametrize("kind", ["pcg", "chacha"])
@pytest.mark.parametrize("law", ["laplace", "gumbel", "logistic", "exponential", "normal"])
def test_noise_equals_numpys(law, kind):
    own, numpys = streams(kind)
    drawn = getattr(draws, law)(own, (2, N // 2), 2.5)
    expected = getattr(numpys, law)(scale=2.5, size=(2, N // 2))
    np.testing.assert_allclose(drawn, expected, rtol=1e-12, atol=1e-14)
    assert own.random() == numpys.random()


@pytest.mark.parametrize("shape", [0.2, 0.5, 3.0, 40.0])
def test_gamma_numbers_match_numpy(shape):
    own, numpys = streams("pcg")
    np.testing.assert_allclose(
        draws.gamma(own, N, shape), numpys.standard_gamma(shape, N), rtol=1e-11
    )
    assert own.random() == numpys.random()


@pytest.mark.parametrize("shape", [0.25, 1.0, 2.5, 30.0])
def test_old_numbers_match_the_old_generator(shape):
    own, numpys = np.random.RandomState(4), np.random.RandomState(4)
    normals = draws.old_normals(own)
    np.testing.assert_allclose(
        [next(normals) for _ in range(400)], numpys.standard_normal(400), rtol=1e-12
    )
    drawn = [draws.old_gamma(own, normals, shape) for _ in range(400)]
    np.testing.assert_allclose(drawn, numpys.gamma(shape, size=400), rtol=1e-12)
    assert own.random() == numpys.random()


def test_layers_come_up_to_the_top():
    for ends, heights, exact in (
        (draws._NORMAL_ENDS, draws._NORMAL_HEIGHTS, lambda x: np.exp(-x * x / 2)),
        (draws._ENDS, draws._HEIGHTS, lambda x: np.exp(-x)),
    ):
        area = ends[0] * heights[-1]
        np.testing.assert_allclose(heights[1:], exact(ends[1:]), rtol=1e-12)
        # Layers have equal area, and the topmost one ends where the curve begins.
        np.testing.assert_allclose(ends[2:] * -np.diff(heights[1:]), area, rtol=1e-9)
        assert ends[1] * (1 - heights[1]) == pytest.approx(area, rel=1e-9)


def test_a_generator_of_short_words_draws_too():
    rng = np.random.Generator(np.random.MT19937(1))
    noise = draws.normal(rng, N)
    # For 10⁵ numbers, a deviation of this size has probability below 10⁻⁹.
    assert abs(noise.mean()) < 6.5 / N**0.5
    assert abs((noise**2).mean() - 1) < 6.5 * (2 / N) ** 0.5


def test_secret_streams_match_chacha():
    assert isinstance(streams("chacha")[0].bit_generator, ChaCha)


# Largest distance of the computed distributions from the true ones (docs/proofs.md, 'Floating
# point', F2, has 2^-45).
FAR = 2.0**-47


@pytest.mark.parametrize("law", ["laplaces", "gumbels", "logistics"])
def test_laws_by_their_inverse_are_true_to_fifty_bits(law):
    """P(number < x) is the probability of the smaller words."""
    getcontext().prec = 40
    rng, top = np.random.default_rng(0), 2**53
    words = [*rng.integers(0, top, 300).tolist(), *(2**k for k in range(53)), 0]
    words += [top - 1 - word for word in words]
    noise = np.array(words) * 2.0**-53
    getattr(draws, f"_{law}")(noise)
    for word, number in zip(words, noise.tolist(), strict=True):
        x = Decimal(number)
        if law == "laplaces":
            below = x.exp() / 2 if x < 0 else 1 - (-x).exp() / 2
        elif law == "gumbels":
            # A larger word gives a smaller number.
            below = 1 - (-(-x).exp()).exp()
        else:
            below = 1 / (1 + (-x).exp())
        assert abs(float(below - Decimal(word) / top)) <= FAR


def test_the_layers_of_exponential_noise_are_true_to_fifty_bits():
    """The layers of the ziggurat have equal areas, so that the density of the draws is right.

    A layer is drawn with probability 1/256. If its area is too small, its density is too large by
    the same factor.
    """
    ends, heights = (table.astype(np.longdouble) for table in (draws._ENDS, draws._HEIGHTS))
    areas = np.append(ends[0] * heights[-1], ends[1:] * (heights[:-1] - heights[1:]))
    apart = np.abs(1 / (256 * areas) - 1 / (256 * areas.mean())) * areas
    assert float(apart.sum()) <= FAR
    # Layer 0 draws its tail with the part of its width beyond the tail's start.
    assert ends[0] - draws._TAIL == pytest.approx(1, rel=1e-12)
