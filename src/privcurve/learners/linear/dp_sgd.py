"""Stochastic gradient descent with noise: logistic regression, or a network of one hidden layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from privcurve.coding import Codes, Floats, Ints, Records, bin_starts
from privcurve.kernels.sgd import add_gradients, network_scores
from privcurve.learners.entries.parameters import DPSGDParameters
from privcurve.learners.shared.checks import require
from privcurve.learners.shared.grouped import DescentClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.moves import Moves
from privcurve.privacy.noise import Announced
from privcurve.privacy.sums import MOST_RECORDS, Bounds, adds

GRADIENT = "clipped gradients of step {}"

# Entries of clipped gradients are rounded to multiples of a unit, so that their sums are exact in
# any order. The unit is PARTS times the smallest power of two above the clip.
PARTS = 2.0**-22


@dataclass(kw_only=True, eq=False, repr=False)
class DPSGDClassifier(DescentClassifier, DPSGDParameters):
    r"""Stochastic gradient descent on Poisson batches, with clipped gradients and noise.

    The method is by Abadi and others, *Deep learning with differential privacy*, CCS 2016. Each
    step draws a batch, which contains each record independently with the probability `batch_rate`.
    It releases the noisy sum of the gradients :math:`g_i` of the records' log-likelihoods, each
    clipped to :math:`g_i \min(1, c/\lVert g_i\rVert)`, and adds `learning_rate` times this sum,
    divided by the expected batch size, to the weights. The inputs are the one-hot columns and a
    constant 1. The score is linear in them, or in `n_hidden` units tanh(linear function of the
    inputs). Sampling amplifies privacy: few records are in a batch, and which ones is secret, so a
    step needs less noise than a sum over all records. Proof: docs/proofs.md, 'Poisson batches'.

    The defaults were the best of 48 settings of steps, rates, clips and averages on four public
    tables (adult, bank, creditcard and magic, up to 12,000 records, two hold-outs each), at
    ε = 0.3, 1 and 3 with δ = 1e-6. The criterion was the mean AUC minus 0.3 times the mean
    log-loss.

    Parameters
    ----------
    n_epochs : int
        The expected number of batches that a record is in. There are ``n_epochs / batch_rate``
        steps.
    batch_rate : float
        The probability that a record is in a batch.
    clip : float
        c, the maximum norm of a record's gradient, in units of √(columns + 1), the norm of its
        inputs.
    learning_rate : float
        Factor of the mean gradient.
    n_hidden : int
        The number of hidden units; 0: logistic regression.
    n_estimate : int or None
        Only with ``add-remove``: an estimate of the number of records, from public sources.
    n_groups, neighbours, ordered, epsilon, delta, calibration
        See :class:`~privcurve.learners.shared.grouped.GroupedClassifier`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    first_ : ndarray of shape (n_bins.sum() + 1, n_hidden or n_scores)
        Weights of the first layer: what each bin of each column adds to each hidden unit (without
        hidden units, to each score). The last row has the constants. With two classes there is one
        score, else one per class.
    second_ : ndarray of shape (n_hidden + 1, n_scores), or None
        Weights of the second layer, from hidden units to scores. The last row has the constants.
    """

    _learner = "dp_sgd"
    _released: ClassVar[Mapping[str, Any]] = {"first_": Floats, "second_": Floats | None}
    _most_records: ClassVar[float] = MOST_RECORDS

    @property
    def _n_steps(self) -> int:
        return max(1, round(self.n_epochs / self.batch_rate))

    def _calls(self, n: int) -> Sequence[Announced]:
        return (Announced(GRADIENT, times=self._n_steps, sampled=float(self.batch_rate)),)

    def _release(self, records: Records, curator: Curator) -> None:
        groups = self._groups()
        inputs, width = inputs_of(groups)
        n_scores = self._n_scores
        n = self._n_public(records)
        length = math.sqrt(len(groups) + 1)
        first, second = np.zeros((width + 1, self.n_hidden or n_scores)), np.zeros((0, n_scores))
        if self.n_hidden:
            # Usual initial weights: uniform in ±1/√(number of inputs), from public randomness.
            first = (2 * curator.coins.random(first.shape) - 1) / length
            ways = 2 * curator.coins.random((self.n_hidden, n_scores)) - 1
            second = np.concatenate([ways / math.sqrt(self.n_hidden), np.zeros((1, n_scores))])
        rate = float(self.batch_rate)
        per = self.learning_rate / (rate * n)
        model = np.concatenate([first.ravel(), second.ravel()])
        for k in range(1, self._n_steps + 1):
            call = GRADIENT.format(k)
            codes, labels, counts, _ = curator.batch(call, records, rate)
            slopes = network_gradients(
                codes, labels, counts, inputs, first, second, self.clip * length
            )
            model = model + per * curator.numbers(call, slopes)
            first = model[: first.size].reshape(first.shape)
            second = model[first.size :].reshape(second.shape)
        rows = [first[places[: len(group)]] for places, group in zip(inputs, groups, strict=True)]
        self.first_: Floats = np.concatenate([*rows, first[-1:]])
        self.second_: Floats | None = second if self.n_hidden else None

    @property
    def _n_scores(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _restore(self) -> None:
        width = int(self.n_bins_.sum()) + 1
        if self.second_ is None:
            fits = self.first_.shape == (width, self._n_scores)
        else:
            fits = (self.first_.ndim, self.second_.ndim) == (2, 2) and (
                (self.first_.shape[0], self.second_.shape)
                == (width, (self.first_.shape[1] + 1, self._n_scores))
            )
        require(fits, "its layers are for other columns or classes")

    def _scores(self, codes: Codes) -> Floats:
        inputs, _ = inputs_of([np.arange(k) for k in self.n_bins_])
        second = np.zeros((0, self._n_scores)) if self.second_ is None else self.second_
        scores = np.asarray(network_scores(codes, inputs, self.first_, second))
        return scores[:, 0] if self._n_scores == 1 else scores


def inputs_of(groups: Sequence[Codes]) -> tuple[Ints, int]:
    """Return the position of each bin's input in the first layer, and the number of inputs.

    Each group of bins of a column has one input. The positions have shape (n_columns, largest
    number of bins).
    """
    starts = bin_starts([int(group[-1]) + 1 for group in groups])
    inputs = np.zeros((len(groups), max(map(len, groups))), dtype=np.int64)
    for j, group in enumerate(groups):
        inputs[j, : len(group)] = starts[j] + group.astype(np.int64)
    return inputs, int(starts[-1])


def of_gradients(
    codes: object,
    labels: object,
    counts: object,
    inputs: Ints,
    first: Floats,
    second: Floats,
    clip: float,
) -> Bounds:
    """Return the bounds of a record's clipped gradient.

    The L2 norm is at most `clip`. Without a hidden layer, the bounds of the residuals may give a
    smaller bound of this norm.
    """
    ones = len(inputs) + 1
    if not len(second):
        # A gradient is the outer product of inputs (`ones` inputs are 1, others 0) and residuals.
        # The residual of a single score is at most 1; K residuals together have a norm up to √2.
        clip = min(clip, math.sqrt(ones * (1 if first.shape[1] == 1 else 2)) * (1 + 2.0**-50))
    n = ones * first.shape[1] + second.size
    return _of_clipped(first.size + second.size, n, float(clip))


@lru_cache
def _of_clipped(width: int, n: int, clip: float) -> Bounds:
    size = Moves(np.full(width, clip), clip * math.sqrt(n) * (1 + 2.0**-50), clip, 1.0)
    return Bounds(size, size.times(2.0), unit_of_clip(clip))


def unit_of_clip(clip: float) -> float:
    """Return the unit of which all entries of clipped gradients are integer multiples."""
    return math.ldexp(PARTS, math.frexp(clip)[1])


@adds(of_gradients)
def network_gradients(
    codes: Codes,
    labels: Ints,
    counts: Ints,
    inputs: Ints,
    first: Floats,
    second: Floats,
    clip: float,
) -> Floats:
    """Return the sum of clipped gradients as one vector: for the first layer, then the second."""
    unit = of_gradients(codes, labels, counts, inputs, first, second, clip).unit
    sums = add_gradients(codes, labels, counts, inputs, first, second, clip, unit)
    return unit * np.concatenate([part.ravel() for part in sums])
