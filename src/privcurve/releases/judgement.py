"""Measure a model on held-out records, from noisy counts of the records by label and score bin.

The cut points of the bins follow from the released model and from public facts. All measures and
their margins (±) are computed from the noisy counts (post-processing, which costs no privacy).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privcurve.coding import Codes, Floats, Ints, code_type, decide
from privcurve.lazy import arithmetic

# BINS is the number of bins of the score. Their cut points are quantiles of the scores of CELLS
# made-up records.
BINS = 32
CELLS = 2**13

# Number of groups of records with similar scores. In each group, the predicted share of the
# positive class is compared with the actual share.
GROUPS = 4

# Number of standard errors in a margin: a normal variable is within it with probability 95 %.
MARGIN = 1.96

# A noisy count may be a denominator only if it exceeds this many standard deviations of noise.
LEAST_NUMBER = 3.0

# Smaller probabilities are raised to this value before a logarithm, which would be infinite at 0.
LEAST_CHANCE = 1e-12

YES, NO, CANNOT_BE_TOLD = "yes", "no", "cannot be told"


@dataclass(frozen=True)
class Measure:
    """A measure with the three parts of its margin (±).

    `sampling` and `noise` are the standard errors that follow from the sample of records and from
    the noise. `binning` bounds the error from replacing scores by bins.
    """

    value: float
    sampling: float
    noise: float
    binning: float = 0.0

    @property
    def margin(self) -> float:
        """The half-width of a 95 % interval."""
        spread = math.sqrt(self.sampling * self.sampling + self.noise * self.noise)
        return MARGIN * spread + self.binning

    def __str__(self) -> str:
        return self.to_digits(places_of(self.margin))

    def to_digits(self, digits: int) -> str:
        """Return value and margin as text, each with `digits` decimals."""
        return f"{self.value:.{digits}f} ± {self.margin:.{digits}f}"


def places_of(margin: float, least: int = 2) -> int:
    """Return the number of decimals that show the first nonzero digit of a margin.

    The result is at least `least`, and at most 4.
    """
    if not margin > 0:
        return 4
    exponent = int(f"{margin:.0e}".partition("e")[2])
    return min(max(-exponent, least), 4)


@dataclass(frozen=True)
class Group:
    """A group of records with similar scores.

    `predicted` is the mean predicted probability of the positive class, `actual` the share of
    records of this class.
    """

    predicted: float
    actual: Measure


@dataclass(frozen=True)
class Judgement:
    """Measures of a model on held-out records; all follow from released counts."""

    share: float  # the held-out share of the records
    epsilon: float  # the ε that the counts cost
    n: float  # the noisy number of held-out records
    auc: Measure | None  # None for more than two classes
    loss: Measure | None  # mean log-loss of the model; None if it has no probabilities
    base_loss: float  # mean log-loss of the base rate, the same prediction for all records
    gain: Measure | None  # improvement over the base rate; None if there are too few records
    measured_by: str  # what the gain measures: log-loss, AUC, right answers, or nothing
    # Mean probability of the positive class; NaN if the model has no probabilities.
    predicted: float = math.nan
    actual: Measure | None = None  # share of the positive class
    groups: tuple[Group, ...] = ()

    @property
    def better(self) -> str:
        """Whether the model beats the base rate: ``YES``, ``NO`` or ``CANNOT_BE_TOLD``.

        The last value means that the gain is within its margin, or not measured.
        """
        if self.gain is None:
            return CANNOT_BE_TOLD
        if self.gain.value > self.gain.margin:
            return YES
        return NO if self.gain.value < -self.gain.margin else CANNOT_BE_TOLD


# Bins of the score -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreBins:
    """Bins of the score of a model, with public cut points, and the log-loss in each bin.

    For two classes, bins divide the score. For more classes, each class has its own bins: records
    of the class are divided by the probability that the model gives to it. A model without
    probabilities has two bins, for wrong and for right answers.
    """

    cuts: tuple[Floats, ...]  # one array for two classes; otherwise one for each class
    chances: Floats | None  # (n_bins,): mean probability of the positive class in a bin
    losses: Floats | None  # (n_classes, n_bins): mean log-loss of a record of the class
    spreads: Floats | None  # (n_classes, n_bins): largest minus smallest log-loss
    n_classes: int

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the counts: (n_classes, n_bins)."""
        return self.n_classes, 1 + max(map(len, self.cuts))

    def count(self, learner: object, codes: Codes, labels: Ints) -> Ints:
        """Count records by label and bin; `labels` are positions of classes."""
        if not len(labels):
            return np.zeros(self.shape, dtype=np.int64)
        values = _place(learner, codes)
        own = values if values.ndim == 1 else values[np.arange(len(labels)), labels]
        bins = np.zeros(len(labels), dtype=np.int64)
        for k in range(self.n_classes):
            rows = labels == k
            cuts = self.cuts[k if len(self.cuts) > 1 else 0]
            bins[rows] = np.searchsorted(cuts, own[rows], side="right")
        cells = np.ravel_multi_index((labels, bins), self.shape)
        counts: Ints = np.bincount(cells, minlength=math.prod(self.shape)).astype(np.int64)
        return counts.reshape(self.shape)


def _place(learner: Any, codes: Codes) -> Floats:
    """Return the values that determine the bin of each record (:class:`ScoreBins`).

    For two classes, the result has the shape (n,): the score of each record. For more classes, it
    has the shape (n, n_classes): the probability of each class or, if the model has no
    probabilities, 1 for the predicted class and 0 for the others.
    """
    scores: Floats = learner.score_codes(codes)
    if scores.ndim == 1:
        return scores
    if hasattr(learner, "chances"):
        return np.asarray(learner.chances(scores))
    answers = decide(scores)
    return (answers[:, None] == np.arange(scores.shape[1])).astype(np.float64)


def score_bins(learner: Any, n_bins: Sequence[int], weights: Sequence[Floats]) -> ScoreBins:
    """Return bins of the score of a fitted learner, whose cut points come from made-up records.

    Parameters
    ----------
    learner : CodedClassifier
        Fitted; the function uses only its released model.
    n_bins : sequence of int
        Number of bins of each column.
    weights : sequence of ndarray
        Released frequencies of the bins of each column, from which the records are drawn. They
        affect only the cut points.
    """
    cells = draw_cells(n_bins, weights)
    n_classes = len(learner.classes_)
    has_chances = hasattr(learner, "chances")
    values = _place(learner, cells)
    if n_classes > 2:
        columns = [values[:, k] for k in range(n_classes)]
        cuts = tuple(_cut(column) if has_chances else np.array([0.5]) for column in columns)
        losses, spreads = None, None
        if has_chances:
            tables = [_loss_table(values[:, k], values[:, k], cuts[k]) for k in range(n_classes)]
            losses, spreads = (_stack([table[i] for table in tables]) for i in range(2))
        return ScoreBins(cuts, None, losses, spreads, n_classes)
    cuts = (_cut(values),)
    if not has_chances:
        return ScoreBins(cuts, None, None, None, 2)
    chances = learner.chances(values)
    tables = [_loss_table(values, chances[:, k], cuts[0]) for k in range(2)]
    means = _means(chances[:, 1], np.searchsorted(cuts[0], values, side="right"), len(cuts[0]) + 1)
    losses, spreads = (_stack([table[i] for table in tables]) for i in range(2))
    return ScoreBins(cuts, means, losses, spreads, 2)


def draw_cells(n_bins: Sequence[int], weights: Sequence[Floats]) -> Codes:
    """Draw ``CELLS`` made-up encoded records, each column independently by its weights.

    The records are the same on every machine.
    """
    coins = np.random.Generator(np.random.PCG64(0)).random((len(n_bins), CELLS))
    columns = []
    for own, uniform in zip(weights, coins, strict=True):
        ends = np.cumsum(np.maximum(own, 0.0))
        if not ends[-1] > 0:
            ends = np.arange(1.0, len(own) + 1)
        places = np.searchsorted(ends, uniform * ends[-1], side="right")
        columns.append(np.minimum(places, len(own) - 1))
    return np.stack(columns, axis=1).astype(code_type(n_bins))


def _cut(values: Floats) -> Floats:
    """Return increasing cut points that divide values into ``BINS`` bins of about equal size."""
    ordered = np.sort(values)
    cuts = np.unique(ordered[np.arange(1, BINS) * len(ordered) // BINS])
    return np.asarray(cuts[cuts > ordered[0]])


def _means(values: Floats, bins: Ints, n_bins: int) -> Floats:
    sizes = np.bincount(bins, minlength=n_bins)
    return np.bincount(bins, weights=values, minlength=n_bins) / np.maximum(sizes, 1)


def _loss_table(places: Floats, chances: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """Return the mean log-loss of a class in each bin, and the range of its log-loss in each bin.

    `places` are the values that `cuts` divide, `chances` the probabilities of the class.
    """
    bins = np.searchsorted(cuts, places, side="right")
    losses = -arithmetic.logs(np.maximum(chances, LEAST_CHANCE))
    n_bins = len(cuts) + 1
    high, low = np.full(n_bins, -np.inf), np.full(n_bins, np.inf)
    np.maximum.at(high, bins, losses)
    np.minimum.at(low, bins, losses)
    return _means(losses, bins, n_bins), np.maximum(high - low, 0.0)


def _stack(rows: Sequence[Floats]) -> Floats:
    """Return rows of unequal lengths as a matrix, padded with 0."""
    matrix = np.zeros((len(rows), max(map(len, rows))))
    for row, values in zip(matrix, rows, strict=True):
        row[: len(values)] = values
    return matrix


# From counts to measures -------------------------------------------------------------------------


def judge(counts: Floats, deviation: float, bins: ScoreBins, **facts: float) -> Judgement:
    """Compute all measures of a model from noisy counts.

    Parameters
    ----------
    counts : ndarray of shape `bins.shape`
    deviation : float
        The standard deviation of the noise of each count.
    bins : ScoreBins
    **facts
        `share` and `epsilon` of :class:`Judgement`.
    """
    n, by_class = float(counts.sum()), counts.sum(axis=1)
    least = LEAST_NUMBER * deviation * math.sqrt(counts.shape[1])
    is_enough = n > least * math.sqrt(len(counts)) and (by_class > least).sum() >= 2
    shares = np.maximum(by_class, 0.0) / max(float(np.maximum(by_class, 0.0).sum()), 1.0)
    area = _area(counts, deviation) if is_enough and len(counts) == 2 else None
    base_losses = -arithmetic.logs(np.maximum(shares, LEAST_CHANCE))
    base = float((shares * base_losses).sum())
    common: dict[str, Any] = {**facts, "n": n, "auc": area, "base_loss": base}
    if not is_enough:
        return Judgement(**common, loss=None, gain=None, measured_by="nothing")
    if bins.losses is None or bins.spreads is None:
        if area is not None:
            gain = Measure(area.value - 0.5, area.sampling, area.noise, area.binning)
            return Judgement(**common, loss=None, gain=gain, measured_by="AUC")
        right = np.zeros_like(counts)
        right[:, -1] = 1.0
        largest = np.zeros_like(counts)
        largest[np.argmax(by_class)] = 1.0
        gain = _mean(right - largest, counts, deviation)
        return Judgement(**common, loss=None, gain=gain, measured_by="right answers")
    binning = _hidden_loss(counts, bins.spreads)
    loss = _mean(bins.losses, counts, deviation, binning)
    gain = _mean(base_losses[:, None] - bins.losses, counts, deviation, binning)
    judged = Judgement(**common, loss=loss, gain=gain, measured_by="log-loss")
    if bins.chances is None:
        return judged
    positive = np.zeros_like(counts)
    positive[1] = 1.0
    groups = []
    for part in np.array_split(np.arange(counts.shape[1]), GROUPS):
        own = counts[:, part]
        if len(part) and own.sum() > LEAST_NUMBER * deviation * math.sqrt(own.size):
            mean = max(float((own.sum(axis=0) * bins.chances[part]).sum() / own.sum()), 0.0)
            groups.append(Group(min(mean, 1.0), _mean(positive[:, part], own, deviation)))
    predicted = float((counts.sum(axis=0) * bins.chances).sum() / n)
    actual = _mean(positive, counts, deviation)
    return Judgement(
        **{**vars(judged), "predicted": predicted, "actual": actual, "groups": tuple(groups)}
    )


def _mean(values: Floats, counts: Floats, deviation: float, binning: float = 0.0) -> Measure:
    """Return the mean of a value over all records, with its standard errors.

    `counts` has the noisy number of records in each cell; `values`, of the same shape, has the
    value that all records of the cell have. The standard error from noise includes the noise in the
    total number of records.
    """
    n = float(counts.sum())
    mean = float((values * counts).sum() / n)
    squares = (values - mean) * (values - mean)
    spread = float((squares * np.maximum(counts, 0.0)).sum()) / max(n, 1.0)
    noise = deviation * math.sqrt(float(squares.sum())) / n
    return Measure(mean, math.sqrt(spread / n), noise, binning)


def _hidden_loss(counts: Floats, spreads: Floats) -> float:
    """Bound the error of the mean log-loss from replacing each record's loss by its bin's mean.

    For two classes, the bound adds two errors in each bin. First, the mean score of the records may
    differ from the bin's mean by up to half the width of the bin: this raises the loss of one label
    and lowers the loss of the other. Second, positive records have a higher mean score than
    negative records of the same bin. If the odds of the model are right, the scores differ by a
    twelfth of the squared width of the bin (in log-odds).
    For more classes, the bound assumes that the density of records in a bin rises or falls at most
    linearly: then the error of a mean is at most a sixth of the range of the loss.
    """
    sizes = np.maximum(counts, 0.0)
    n = float(sizes.sum())
    moved = sizes * spreads
    if len(counts) > 2:
        return float(moved.sum()) / 6 / n
    width = spreads.sum(axis=0)
    together = np.abs(moved[1] - moved[0]) / 2 + moved.sum(axis=0) * width / 12
    return float(np.minimum(together, moved.sum(axis=0)).sum()) / n


def _area(counts: Floats, deviation: float) -> Measure:
    """Return the area under the ROC curve; a positive and a negative record in one bin are a tie.

    The error of binning is at most 1/2 of the share of tied pairs, if the score orders all of them
    correctly. But the odds rise only by a limited factor within a bin, so the score orders many of
    them wrongly: the error is taken as 1/6 of the share.
    """
    negative, positive = counts
    n_negative, n_positive = float(negative.sum()), float(positive.sum())
    below = (np.cumsum(negative) - negative / 2) / n_negative
    above = 1 - (np.cumsum(positive) - positive / 2) / n_positive
    area = float((below * positive).sum() / n_positive)
    value = min(max(area, 0.0), 1.0)
    clipped_n, clipped_p = np.maximum(negative, 0.0), np.maximum(positive, 0.0)
    of_p = (below - area) * (below - area)
    of_n = (above - area) * (above - area)
    sampling = float((of_p * clipped_p).sum()) / (n_positive * n_positive)
    sampling += float((of_n * clipped_n).sum()) / (n_negative * n_negative)
    noise = float(of_p.sum()) / (n_positive * n_positive)
    noise += float(of_n.sum()) / (n_negative * n_negative)
    ties = float((clipped_n * clipped_p).sum()) / (n_negative * n_positive)
    return Measure(value, math.sqrt(sampling), deviation * math.sqrt(noise), ties / 6)
