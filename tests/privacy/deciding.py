"""Compiled loops that decide by other noise than the announced noise."""

import pytest

from privcurve.audit.replay_fits import NOISE
from privcurve.audit.thresholds import check_thresholds
from privcurve.privacy.sealed import mechanism

THRESHOLD = "from the threshold, a loop"


def loops_with_other_noise(
    change, noise_of, called, owner, name, *cases, why=THRESHOLD, released=True
):
    """Return test parameters for a loop that decides by other noise than it announces.

    `change` gets the noise and returns the noise that decides; `noise_of` finds the noise among the
    arguments of a call. Each parameter has the change, a case, and a part of the message.
    """

    def put_in(patch):
        loop = getattr(owner, name).__wrapped__

        def changed(*given):
            noise = noise_of(given)
            kept = noise.copy()
            noise[...] = decides = change(noise)
            decides = decides.copy()
            answer = loop(*given)
            noise[...] = kept + (noise - decides)
            return answer

        patch.setattr(owner, name, mechanism(changed, released=released))

    return [pytest.param(put_in, case, why, id=f"{called}-{case}") for case in cases]


def half_of_noise(noise):
    return noise / 2


def assert_replay_finds(monkeypatch, change, case, why):
    change(monkeypatch)
    breach = check_thresholds(case).breach
    assert breach.point == NOISE
    assert why in breach.why, breach.why
