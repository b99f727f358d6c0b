"""Naive Bayes from noisy counts: exact densities of counts and choices, and real fits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.attacks.any_learner import chances_of, whole_state
from privcurve.audit.attacks.hidden import two_hidden_columns
from privcurve.audit.attacks.pairs import alone_in_two_bins, two_columns
from privcurve.audit.attacks.public_start import START, started
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.pairs import Pair
from privcurve.audit.states import sample_states
from privcurve.learners.noisy_bayes import NoisyBayesClassifier, column_score, label_counts
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS


def count_densities(
    learner: NoisyBayesClassifier, pair: Pair
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the log densities of choices of columns, and of counts beyond both ends of each cell.

    Noise and scores are the learner's own. A Laplace density ratio is extreme where every count
    is below, or above, that of both sides.

    Parameters
    ----------
    learner : NoisyBayesClassifier
        Not fitted; δ = 0.
    pair : Pair
        In columns of few bins.

    Returns
    -------
    left, right : ndarray of shape (n_outputs,)
    """
    roles, m, noise = learner._plan(pair.left.codes.shape[1])
    chances = chances_of(noise.mechanism)
    sides = [
        [label_counts(s.codes[:, j], int(s.n_bins[j]), s.signs, s.counts) for j in roles.private]
        for s in (pair.left, pair.right)
    ]
    everything = tuple(range(len(roles.private)))
    orders = list(itertools.permutations(everything, m)) if m < len(everything) else [everything]
    found: list[list[NDArray[np.float64]]] = [[], []]
    for order in orders:
        n_cells = sum(sides[0][k].size for k in order)
        released = np.array(list(itertools.product((-1, pair.left.n + 1), repeat=n_cells)))
        for tables, values in zip(sides, found, strict=True):
            exact = np.concatenate([tables[k].ravel() for k in order])
            density = -np.abs(released - exact).sum(axis=1) / noise.scale
            left = list(everything)
            for k in order if m < len(everything) else ():
                scores = np.array([column_score(tables[other]) for other in left])
                density += np.log(chances(scores, noise.rate)[left.index(k)])
                left.remove(k)
            values.append(density)
    return np.concatenate(found[0]), np.concatenate(found[1])


def _noisy_bayes() -> Iterator[Claim]:
    name = "noisy_bayes"
    one = {"n_columns": 1, "choice_share": 0.5}
    for setting in ({}, one):
        yield Claim(name, CERTIFIED, 1.0, two_columns, 0.0, setting, densities=count_densities)
        yield Claim(
            name,
            CERTIFIED,
            1.0,
            two_hidden_columns,
            0.0,
            {**setting, "start": "public", "public_columns": (2,)},
            densities=count_densities,
            neighbours=PRIVATE_COLUMNS,
        )
    yield Claim(
        name, CERTIFIED, 1.0, alone_in_two_bins, sample=sample_states, n_trainings=FITS_OF_ONE
    )
    for delta in (0.0, 1e-2):
        yield whole_state(name, CERTIFIED, {}, 1_000, delta=delta)
        yield started(name, {}, 300, delta)


FITS_OF_ONE = 8_000

RELEASED = {
    "columns_": "chosen privately, or all",
    "log_ratios_": "made of counts with noise",
    "prior_": f"made of counts with noise; or {START}",
}

ATTACKS = (Attack("noisy_bayes", tuple(_noisy_bayes()), RELEASED),)
