"""The auditor flags broken mechanisms and no sound ones."""

import audit_controls as controls
import numpy as np
import pytest

from privcurve.audit.search import VERDICT_ERROR

SEEDS = 2


def test_exact_verdicts():
    broken = controls.run_exact(controls.BROKEN)
    assert set(broken) == {"rate divided by ζ twice", "projection without the cap"}
    assert all(worst.violated and worst.epsilon > 2 for worst in broken.values())
    sound = controls.run_exact(controls.SOUND)
    assert len(sound) == 5
    assert not any(worst.violated for worst in sound.values())
    # The search is close: the sound reference is the repaired broken one.
    assert 0.3 < sound["reference boosting"].epsilon <= 1


def test_uncapped_weights_let_one_record_have_all():
    """docs/proofs.md, 'LazyBB: weights': n = 6, κ = 1, λ = 1, margins (−9, 9, 9, 9, 9, 9)."""
    margins = np.array([-9.0, 9, 9, 9, 9, 9])
    broken = controls.uncapped_weights(margins, 1.0, 1.0)
    assert 6 * broken.max() / broken.sum() == pytest.approx(6, abs=1e-6)
    sound = controls.capped_weights(margins, 1.0, 1.0)
    assert 6 * sound.max() / sound.sum() == pytest.approx(1)


@pytest.mark.slow
def test_no_seed_flags_a_sound_one_or_misses_a_broken_one():
    """Every seed flags all five broken mechanisms, and no sound one.

    A run has a false alarm with probability at most VERDICT_ERROR; all runs together below 1 %.
    """
    assert SEEDS * VERDICT_ERROR < 0.01
    for seed in range(SEEDS):
        worst = controls.run_sampled([*controls.BROKEN, *controls.SOUND], seed)
        flagged = {name for name, one in worst.items() if one.violated}
        assert flagged == {c.name for c in controls.BROKEN}, f"seed {seed}"


def test_one_seed_and_known_sizes():
    """For one seed the bounds are where theory puts them (probability 5 % × 3)."""
    worst = controls.run_sampled(controls.BROKEN, 0)
    assert all(one.violated for one in worst.values())
    assert 1.7 < worst["histogram noise for added records"].epsilon <= 2
    assert worst["leverage from exact data"].epsilon > 7  # infinite with more trainings
    assert worst["projection without the cap"].epsilon < 3.02
