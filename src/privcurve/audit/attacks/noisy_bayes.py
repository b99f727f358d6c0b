"""Naive Bayes from noisy counts: real fits; its calls are tried by the contract."""

from __future__ import annotations

from collections.abc import Iterator

from privcurve.audit.attacks.any_learner import whole_state
from privcurve.audit.attacks.pairs import alone_in_two_bins
from privcurve.audit.attacks.public_start import START, started
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.states import sample_states
from privcurve.privacy.budget import CERTIFIED

FITS_OF_ONE = 8_000


def _noisy_bayes() -> Iterator[Claim]:
    name = "noisy_bayes"
    yield Claim(
        name, CERTIFIED, 1.0, alone_in_two_bins, sample=sample_states, n_trainings=FITS_OF_ONE
    )
    for delta in (0.0, 1e-2):
        yield whole_state(name, CERTIFIED, {}, 1_000, delta=delta)
        yield started(name, {}, 300, delta)


RELEASED = {
    "columns_": "chosen privately, or all",
    "log_ratios_": "made of counts with noise",
    "prior_": f"made of counts with noise; or {START}",
}

ATTACKS = (Attack("noisy_bayes", tuple(_noisy_bayes()), RELEASED),)
