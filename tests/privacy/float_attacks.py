"""Attacks on floating-point noise: which of two exact numbers can have given an answer?

They know how the samplers of ``privacy.draws`` work, the scale of the noise, and both numbers. The
curator `Floating` adds such noise to exact numbers.
"""

import numpy as np
from scipy.stats import norm

from privcurve.audit.bounds import clopper_pearson
from privcurve.privacy import draws
from privcurve.privacy.curator import Curator
from privcurve.privacy.grid import unit_of
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE, MECHANISMS

# Distances of random words from the inverse of a number: rounding may lead this far.
NEAR = np.arange(-100, 101)
# An answer near 0 has finer digits than its Gaussian noise.
SMALL = 2.0**-5
# Probability that an attack flags correct noise.
ERROR = 1e-9


class Floating(Curator):
    """A curator that adds floating-point noise to exact numbers."""

    def _numbers(self, call, exact):
        return exact + MECHANISMS[call.mechanism].draw(self._source, exact.shape, call.scale)

    def _share(self, call, exact, parts, unit):
        return self._numbers(call, exact)


def can_give(answers, exact, scale, mechanism):
    """Return whether floating-point noise on an exact number can have given each answer."""
    attack = _laplace_could if mechanism == LAPLACE else _gaussian_could
    return attack(answers, np.broadcast_to(exact, answers.shape), scale)


def _laplace_could(answers, exact, scale):
    x = (answers - exact) / scale
    below = np.exp(-np.abs(x)) / 2
    u = np.where(x < 0, below, 1 - below)
    words = np.clip(np.rint(u * 2**53)[:, None] + NEAR, 0, 2.0**53 - 1)
    noise = (words * 2.0**-53).ravel()
    draws._laplaces(noise)
    return (exact[:, None] + noise.reshape(words.shape) * scale == answers[:, None]).any(axis=1)


def _gaussian_could(answers, exact, scale):
    sign = np.where(answers < exact, -scale, scale)[:, None]
    sizes = np.rint(np.abs(answers - exact)[:, None] / scale / draws._NORMAL_WIDTHS)
    could = np.zeros(len(answers), dtype=bool)
    for step in range(-6, 7):
        given = exact[:, None] + np.maximum(sizes + step, 0) * draws._NORMAL_WIDTHS * sign
        could |= (given == answers[:, None]).any(axis=1)
    return could


def distinguishes(curator_of, call, one, other, n):
    """Return whether n answers to both exact numbers contradict the noise of a call."""
    sides = (one, other)
    answers = [
        answer_of(curator_of(seed), call, np.full(n, exact)) for seed, exact in enumerate(sides)
    ]
    return any(
        contradicts_noise(
            *(count_only_from_one(each, mine, its, call) for each in (answers[k], answers[1 - k])),
            n, call.mechanism, abs(one - other) / call.scale,
        )
        for k, (mine, its) in enumerate([sides, sides[::-1]])
    )  # fmt: skip


def answer_of(curator, call, exact):
    """Return answers to exact numbers; calls without an entry are a party's integer counts."""
    if call.entry is None:
        return curator._share(call, exact, 1, min(1.0, unit_of(call.scale)))
    return curator._numbers(call, exact)


def count_only_from_one(answers, one, other, call):
    """Return how many answers floating-point noise can give for `one` but not for `other`."""
    if call.mechanism == GAUSSIAN:
        answers = answers[np.abs(answers) < SMALL * call.scale]
    could = (can_give(answers, exact, call.scale, call.mechanism) for exact in (one, other))
    return int((next(could) & ~next(could)).sum())


def contradicts_noise(hits, others, n, mechanism, shift):
    """Return whether an event is too frequent on one side, for noise that hides a shift."""
    least, most = clopper_pearson(hits, n, ERROR)[0], clopper_pearson(others, n, ERROR)[1]
    if mechanism == LAPLACE:
        return bool(least > np.exp(shift) * most)
    return bool(least > norm.cdf(norm.ppf(most) + shift))
