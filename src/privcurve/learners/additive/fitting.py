"""The fit of PrivGAM: its questions about the records, their noise, and its use of the answers.

A fit sees records only through :class:`~privcurve.learners.additive.residuals.Residuals`. Every
result of that gets noise, or is chosen with noise, before anything else is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.privgam import smooth
from privcurve.learners.additive import rule
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.pairs import Crossing, crossings
from privcurve.learners.additive.residuals import (
    PLACE_BITS,
    SCORE_BITS,
    Residuals,
    bin_maps,
    sum_bins,
)
from privcurve.privacy.calibration.privgam import CLIP, Budget, products_l2, slopes_l2
from privcurve.privacy.curator import EXACT, Call, Curator
from privcurve.privacy.ledger import LedgerEntry

SIZES = np.array(rule.SIZES)
LENGTHS = np.array(rule.LENGTHS)
# Bounds for bins with few records: the least curvature, in deviations of its noise, and the most
# noise.
LEAST_CURVATURE = 1e-3
MOST_NOISE = 1e6


class RunningSums:
    """Running sums of the released numbers of one column; see :meth:`add`."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.numerator, self.denominator, self.variance = (np.zeros(shape) for _ in range(3))
        self.weight = 0.0

    def add(
        self, sums: Floats, cell_variance: float | Floats, shape: Floats, weight: float
    ) -> tuple[Floats, Floats]:
        """Add a Newton step; return the weighted mean of all targets, and its variance.

        `sums` are the residuals by label and bin, released with noise of `cell_variance`.
        """
        slope, curvature = sums[1] - sums[0], np.maximum(sums.sum(axis=0) / 2, 0.0)
        self.numerator += weight * (slope + curvature * shape)
        self.denominator += weight * curvature
        self.variance += weight * weight * 2 * cell_variance
        self.weight += weight
        down = self._safe_denominator()
        noise = np.minimum(MOST_NOISE, self.variance / (down * down) + weight / down)
        return self.numerator / down, noise

    def record_variance(self) -> Floats:
        """Estimate the variance of the mean without noise, from the spread of records alone.

        A residual has at most the variance 1/4, and their sum in a bin falls with the score by at
        least half of the curvature: 4/curvature.
        """
        return 4.0 * self.weight / self._safe_denominator()

    def _safe_denominator(self) -> Floats:
        least = LEAST_CURVATURE * np.maximum(np.sqrt(self.variance), 1e-3)
        return np.maximum(self.denominator, least)


def balanced_residuals(negative: float, positive: float) -> Floats:
    """Return the residuals, by label, at the intercept that balances these numbers of records."""
    is_few = positive <= negative
    chance = positive / (2 * negative) if is_few else 1 - negative / (2 * positive)
    return np.minimum(np.array([chance, 1 - chance]), CLIP)


class Fit:
    """One fit: of rounds or of stumps."""

    def __init__(
        self, records: Residuals, ordered: Sequence[bool], budget: Budget, curator: Curator
    ) -> None:
        self.records, self.budget, self.curator = records, budget, curator
        self.ordered = [*ordered, False]
        self.intercept = len(ordered)
        widths = records.n_bins.tolist()
        self.crossings: list[Crossing] = []  # the pairs of columns that were asked
        # Approximate standard errors of the shape functions: posterior deviations given the noise,
        # and the spread of records that smoothing leaves. 0 for stumps, whose values are no
        # estimates.
        self.errors = [np.zeros(width) for width in widths]
        self._running = [RunningSums(width) for width in widths]
        self._smooth = [np.zeros(width) for width in widths]
        self._line: LinearPart | None = None

    # In which order ------------------------------------------------------------------

    def run(self, method: str, extras: rule.Extras, n_records: int) -> None:
        """Run a method; `n_records` is the number that the rule gets."""
        if method == rule.STUMPS and extras.n_steps:
            ranks = [] if self.budget.pure else self.ask_ranks(extras.most_bins)
            self.stumps(extras.n_steps)
            self.rank_within(ranks, rule.STUMP_SIZE / math.sqrt(extras.n_steps))
        elif method == rule.STUMPS:
            self.margin(n_records)
        else:
            self.rounds(extras)

    def rounds(self, extras: rule.Extras) -> None:
        """Ask each column once per round, and some pairs of columns in the end."""
        columns = range(self.intercept)
        if extras.linear:
            self.begin_linear_part(rule.EXTRA_SHARE)
        for t in range(1, extras.n_steps + 1):
            last = t == extras.n_steps
            share = extras.round_share(t, self.intercept)
            when, weight = f"round {t}", math.sqrt(t)
            self.release(self.intercept, rule.INTERCEPT_WEIGHT * share, weight, when)
            if extras.linear:
                self.step_linear_part(share, rule.LINE_STEPS + t, when)
            for k, j in enumerate(self._column_order(columns), 1):
                self.release(j, share, weight, when)
                self.curator.report((t - 1 + k / self.intercept) / extras.n_steps)
            left = self.ask_pairs(rule.EXTRA_SHARE) if last and extras.pairs else 0.0
            if last:
                final = rule.INTERCEPT_WEIGHT * share + left
                self.release(self.intercept, final, weight, when)

    def stumps(self, n_stumps: int) -> None:
        """Choose stumps one after another: what they add to scores is public, but for its sign."""
        size = rule.STUMP_SIZE / math.sqrt(n_stumps)
        share = rule.stump_share(n_stumps, self.budget)
        for t in range(1, n_stumps + 1):
            entry = self._spend(share, self.budget.choice, f"step {t}: choice of a stump")
            scores = self.records.stumps(self.ordered)
            place = self.curator.choose_exactly(self._call(entry), scores)
            j, values = self.records.stump(place, self.ordered)
            self._smooth[j] = self._smooth[j] + size * values
            self._set([j])
            self.curator.report(t / n_stumps)

    def ask_ranks(self, most_bins: int) -> list[Floats]:
        """Release the labels by bin of all columns at once; return values of the codes of each.

        Nothing was asked before, so all residuals are the clip. The released numbers give an
        intercept, the residuals there, and so a first Newton step.
        """
        widths = self.records.n_bins[:-1]
        maps = bin_maps(widths, self.ordered[:-1], most_bins)
        exact = [sum_bins(self.records.sums(j), bins) for j, bins in enumerate(maps)]
        what = "first: labels by bin of all columns"
        sensitivity = self.budget.counts_sensitivity(len(maps))
        flat = np.concatenate(exact, axis=1)
        released, variance = self._ask(flat, rule.EXTRA_SHARE, sensitivity, what)
        ends = np.cumsum([sums.shape[1] for sums in exact])
        columns = np.split(released / CLIP, ends[:-1], axis=1)
        # Each column has all records: their numbers by label are a mean over columns.
        precisions = np.array([1.0 / counts.shape[1] for counts in columns])
        deviation = math.sqrt(variance / precisions.sum()) / CLIP
        totals = np.sum([counts.mean(axis=1) for counts in columns], axis=0) / precisions.sum()
        residuals = balanced_residuals(*np.maximum(totals, deviation))[:, None]
        values = []
        for j, (bins, counts) in enumerate(zip(maps, columns, strict=True)):
            missing = (totals - counts.sum(axis=1)) / counts.shape[1]
            sums = residuals * (counts + missing[:, None])
            spread = variance * (residuals * residuals).mean() / (CLIP * CLIP)
            z, noise = RunningSums(sums.shape[1]).add(sums, spread, np.zeros(sums.shape[1]), 1.0)
            values.append(self._posterior(j, z, noise)[0][bins])
        return values

    def rank_within(self, ranks: Sequence[Floats], size: float) -> None:
        """Add values of columns to the scores, which together are less than one stump.

        As the number of stumps is odd, no record's label changes.
        """
        bound = sum(float(np.abs(values).max()) for values in ranks)
        for j, values in enumerate(ranks):
            self._smooth[j] = self._smooth[j] + values * size / (size + bound)
        self._set(range(len(ranks)))

    def begin_linear_part(self, share: float) -> None:
        """Begin the linear part: sums of products, for half of the share again, then steps."""
        line = self._line = LinearPart(self.records.n_bins)
        exact = self.records.products(line.places)
        sensitivity = products_l2(line.size, self.budget.neighbours)
        what = "first: products of places along the columns"
        products, variance = self._ask(exact, share / 2, sensitivity, what, 2 * PLACE_BITS)
        line.take_products(products, math.sqrt(variance * line.size))
        for k in range(1, rule.LINE_STEPS + 1):
            self.step_linear_part(share / rule.LINE_STEPS, float(k), f"first, step {k}")

    def ask_pairs(self, share: float) -> float:
        """Ask pairs of the columns that matter most; return the part of the share that is left."""
        n = self.intercept
        shapes = [shape / 2.0**SCORE_BITS for shape in self.records.shapes[:n]]
        weights = [running.denominator for running in self._running[:n]]
        pairs = [self._cross(pair) for pair in crossings(shapes, weights, self.ordered[:n])]
        for j in self._column_order(pairs):
            self.release(j, share / len(pairs), 1.0, "pairs")
        return 0.0 if pairs else share

    def _cross(self, crossing: Crossing) -> int:
        """Add a pair of columns as another column; return its number."""
        j = self.records.cross(crossing)
        width = len(self.records.shapes[j])
        self.crossings.append(crossing)
        self.ordered.append(False)
        self.errors.append(np.zeros(width))
        self._running.append(RunningSums(width))
        self._smooth.append(np.zeros(width))
        return j

    def _column_order(self, columns: Sequence[int]) -> list[int]:
        """Return columns in an order by public coins; unchanged if nothing is private."""
        if not self.budget.private:
            return list(columns)
        order: list[int] = self.curator.coins.permutation(columns).tolist()
        return order

    # What is asked of the records ----------------------------------------------------

    def release(self, j: int, share: float, weight: float, when: str) -> None:
        """Release the sums of a column with noise, and smooth its shape function.

        `share` is of the budget, `weight` is that of this step of the column, and the ledger's
        words begin with `when`.
        """
        exact = self.records.sums(j)
        what = f"{when}: residuals by bin of {self._name(j)}"
        sums, variance = self._ask(exact, share, self.budget.sensitivity(), what)
        self._take(j, sums, variance, weight)

    def margin(self, n_records: int) -> None:
        """Release the margin of the labels for the intercept, and nothing else.

        All residuals are the clip c then, so that the curvature is public, and S[1] - S[0] is c
        times the margin: as one number with Laplace noise it has half the variance of two numbers'
        difference.
        """
        sums = self.records.sums(self.intercept)
        what = "first: margin of the labels"
        slope, variance = self._ask(sums[1] - sums[0], 1.0, self.budget.sensitivity(), what)
        half = n_records * CLIP / 2
        self._take(
            self.intercept, np.stack([half - slope / 2, half + slope / 2]), variance / 2, 1.0
        )

    def step_linear_part(self, share: float, weight: float, when: str) -> None:
        """Release the slopes along all columns with noise, for one Newton step."""
        line = self._line
        assert line is not None
        exact = self.records.slopes(line.places)
        sensitivity = slopes_l2(line.size, self.budget.neighbours)
        what = f"{when}: residuals along the columns"
        slopes, variance = self._ask(exact, share, sensitivity, what)
        line.take_slopes(slopes, variance, weight)
        self._set(range(self.intercept + 1))

    def _name(self, j: int) -> str:
        if j > self.intercept:
            return "columns {} and {}".format(*self.crossings[j - self.intercept - 1].columns)
        return "the intercept" if j == self.intercept else f"column {j}"

    # What is made of answers ---------------------------------------------------------

    def _take(self, j: int, sums: NDArray[Any], variance: float | Floats, weight: float) -> None:
        """Smooth the shape function of a column again, with the released sums."""
        z, noise = self._running[j].add(sums, variance, self._smooth[j], weight)
        if j == self.intercept:
            left = 1.0 / (1.0 + noise / (rule.INTERCEPT_DEVIATION * rule.INTERCEPT_DEVIATION))
            mean, spread = z * left, noise * left
        else:
            mean, spread = self._posterior(j, z, noise)
        self._smooth[j] = self._centre(mean)
        # Smoothing reduces the spread of records as it reduces the noise.
        self.errors[j] = np.sqrt(spread * (1.0 + self._running[j].record_variance() / noise))
        self._set([j])

    def _centre(self, mean: Floats) -> Floats:
        return mean

    def _posterior(self, j: int, z: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances of a column's values, for one score or more."""
        scores, noises = np.atleast_2d(z), np.atleast_2d(noise)
        mean, spread = np.empty(scores.shape), np.empty(scores.shape)
        smooth(scores, noises, self.ordered[j], SIZES, LENGTHS, mean, spread)
        return mean.reshape(z.shape), spread.reshape(z.shape)

    def _set(self, changed: Iterable[int]) -> None:
        """Update some shape functions on the records."""
        for j in changed:
            crossed = j > self.intercept
            line = 0.0 if self._line is None or crossed else self._line.shape(j)
            self.records.set_shape(j, self._smooth[j] + line)

    # With what noise -----------------------------------------------------------------

    def _ask(
        self, exact: Ints, share: float, sensitivity: float, what: str, bits: int | None = None
    ) -> tuple[NDArray[Any], float]:
        """Release whole multiples of 2^-bits; return the numbers and the variance of their noise.

        `bits` are those of the budget by default.
        """
        entry = self._spend(share, self.budget.release, what, sensitivity)
        unit = 2.0 ** -(self.budget.bits if bits is None else bits)
        call = self._call(entry, bits)
        released = self.curator.whole_numbers(call, exact)
        if entry is None:
            return released * unit, 0.0
        # Gaussian noise is rounded down.
        middle, times = (0.0, 2.0) if self.budget.pure else (0.5, 1.0)
        scale = call.scale * unit
        return (released + middle) * unit, times * (scale * scale)

    def _spend(
        self, share: float, announce: Callable[..., LedgerEntry], what: str, *facts: float
    ) -> LedgerEntry | None:
        """Spend a share of the budget; return the ledger's entry that it pays for."""
        self.curator.spend(what, share)
        return announce(what, share, *facts) if self.budget.private else None

    def _call(self, entry: LedgerEntry | None, bits: int | None = None) -> Call:
        """Return the call of an entry, with its scale in units of the grid."""
        if entry is None:
            return EXACT
        return Call(entry.mechanism, self.budget.grid_scale(entry.noise_rate, bits), entry)
