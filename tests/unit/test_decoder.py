"""The kernel of PrivGAM's decoder, compared with a plain implementation."""

import decoder as reference
import numpy as np
import pytest

from privcurve.kernels import decoder
from privcurve.kernels.decoder import Stage, Sums, decode

WIDTHS, ORDERED = (5, 1, 20, 2, 9), (True, True, True, False, False)
WIDTH, BLOCKS = 12, 2


def stages(rng, width=WIDTH, blocks=BLOCKS):
    """Return three stages of random weights."""

    def weights(*shape):
        return rng.normal(size=shape) / np.sqrt(shape[-2] if len(shape) > 1 else 4)

    return [
        Stage(
            weights(decoder.N_FEATURES + width * (t > 0), width),
            weights(width),
            weights(decoder.N_COMMON, width),
            weights(width),
            weights(blocks, 8, width, width),
            weights(blocks, 8, 1, width)[:, :, 0],
            weights(blocks, 4, 2 * width + decoder.N_COLUMN, width),
            weights(blocks, 4, 1, width)[:, :, 0],
            weights(width, decoder.N_OUT),
            weights(decoder.N_OUT),
            weights(width, 2),
            weights(2),
        )
        for t in range(3)
    ]


def noisy_sums(rng, widths=WIDTHS, ordered=ORDERED, laplace=True):
    """Return sums per bin of about 40, some below 0."""
    starts = np.concatenate([[0], np.cumsum(widths)])
    positive, negative = (rng.gamma(2, 20, starts[-1]) - 15 for _ in range(2))
    totals = positive.sum() / len(widths) + 9.0, negative.sum() / len(widths) - 9.0
    numbers = (4.0, 7.0), totals, (9.0, 30.0)
    return Sums(positive, negative, *numbers, starts, np.array(ordered), laplace)


@pytest.mark.parametrize("laplace", [False, True])
def test_stages_match_the_plain_program(laplace):
    rng = np.random.default_rng(0)
    scores, states, intercept = np.zeros(sum(WIDTHS)), np.full((sum(WIDTHS), WIDTH), np.nan), 0.3
    plain = None, scores.copy(), intercept
    for t, stage in enumerate(stages(rng)):
        sums = noisy_sums(rng, laplace=laplace)
        intercept = decode(stage, sums, states, scores, intercept, t > 0)
        plain = reference.stage(stage, *sums[:5], WIDTHS, ORDERED, laplace, *plain)
        assert states == pytest.approx(plain[0], abs=1e-9)
        assert scores == pytest.approx(plain[1], abs=1e-9)
        assert intercept == pytest.approx(plain[2], abs=1e-9)
    assert np.abs(scores).max() > 0.5


@pytest.mark.parametrize("level", [0.0, -50.0, 1e9])
def test_sums_of_nothing_and_of_very_many_records_are_decoded(level):
    """All sums are below the noise, or all records have one class."""
    rng = np.random.default_rng(1)
    of_one = {"positive": np.full(sum(WIDTHS), level), "totals": (level, 40.0)}
    sums = noisy_sums(rng)._replace(**of_one)
    states, scores, intercept = np.empty((sum(WIDTHS), WIDTH)), np.zeros(sum(WIDTHS)), 0.0
    for t, stage in enumerate(stages(rng)):
        intercept = decode(stage, sums, states, scores, intercept, t > 0)
    assert np.isfinite([*scores, intercept]).all()
