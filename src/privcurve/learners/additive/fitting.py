"""The fit of PrivGAM: what it asks of the records, with what noise, and what it makes of answers.

Records are seen through :class:`~privcurve.learners.additive.residuals.Residuals` alone, and what
comes out of that has noise or is chosen with noise before anything else is done with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Floats, Ints
from privcurve.kernels.privgam import smooth
from privcurve.learners.additive import rule
from privcurve.learners.additive.linear_part import LinearPart
from privcurve.learners.additive.pairs import Crossing, crossings, grouped
from privcurve.learners.additive.residuals import PLACE_BITS, SCORE_BITS, Residuals
from privcurve.privacy.calibration.privgam import CLIP, Budget
from privcurve.privacy.curator import EXACT, Call, Curator
from privcurve.privacy.ledger import LedgerEntry

SIZES = np.array(rule.SIZES)
LENGTHS = np.array(rule.LENGTHS)


@dataclass(frozen=True)
class Plan:
    """What the rule chose, from public facts alone."""

    method: str  # `cyclic`, `greedy` or `stumps`
    n_steps: int  # rounds (cyclic), steps (greedy) or stumps
    merged: bool  # whether ordered columns have few bins
    linear: bool  # whether there is a joint linear part
    pairs: bool  # whether pairs of columns are asked after the rounds
    budget: Budget  # of the intercept alone: pure, whatever δ is
    intercept: tuple[float, float]  # shares of the intercept in a greedy fit, first and last
    n_records: int  # as the rule takes it
    # Deviations that the prior of a linear part's coefficients may have.
    line_sizes: tuple[float, ...]
    few_bins: int = rule.FEW_BINS  # how many bins an ordered column has at most, if `merged`
    # How many of the first bins of each column are mixed ones, which are merged by what is released
    # of them; empty if none are.
    mixed: tuple[int, ...] = ()
    # Of a release of all columns at once before the rounds, of more than two classes.
    first_share: float = 0.0


class Running:
    """Running sums of what was released of one column; see :meth:`add`."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.numerator, self.denominator, self.variance = (np.zeros(shape) for _ in range(3))
        self.weight = 0.0

    def add(
        self, sums: Floats, cell_variance: float | Floats, shape: Floats, weight: float
    ) -> tuple[Floats, Floats]:
        """Take one Newton step more; return the weighted mean of all targets, and its variance.

        `sums` are of residuals by label and bin, released with noise of `cell_variance`.
        """
        slope, curvature = sums[1] - sums[0], np.maximum(sums.sum(axis=0) / 2, 0.0)
        self.numerator += weight * (slope + curvature * shape)
        self.denominator += weight * curvature
        self.variance += weight**2 * 2 * cell_variance
        self.weight += weight
        least = rule.LEAST_CURVATURE * np.maximum(np.sqrt(self.variance), 1e-3)
        down = np.maximum(self.denominator, least)
        noise = np.minimum(rule.MOST_NOISE, self.variance / down**2 + weight / down)
        return self.numerator / down, noise

    def of_records(self) -> Floats:
        """Return about the variance that the mean would have without noise, from records alone.

        A residual of a bin has the variance 1/4 at most, and their sum falls with the score by
        half of the curvature at least: 4/curvature.
        """
        least = rule.LEAST_CURVATURE * np.maximum(np.sqrt(self.variance), 1e-3)
        return 4.0 * self.weight / np.maximum(self.denominator, least)


class Fit:
    """One fit: cyclic, greedy or of stumps."""

    def __init__(
        self, records: Residuals, ordered: Sequence[bool], budget: Budget, curator: Curator
    ) -> None:
        self.records, self.budget, self.curator = records, budget, curator
        self.ordered = [*ordered, False]
        self.intercept = len(ordered)
        widths = records.n_bins.tolist()
        self.crossings: list[Crossing] = []  # the pairs of columns that were asked
        # Standard errors of the shape functions: posterior deviations given the noise, and what
        # smoothing leaves of the spread of records. Approximate; 0 of stumps, whose values are no
        # estimates.
        self.errors = [np.zeros(width) for width in widths]
        self._running = [Running(width) for width in widths]
        self._smooth = [np.zeros(width) for width in widths]
        self._nothing = [0.0] * len(widths)
        self._line: LinearPart | None = None
        self._line_sizes: tuple[float, ...] = rule.LINE_SIZES

    # What is asked of the records ----------------------------------------------------

    def release(self, j: int, share: float, weight: float, when: str) -> None:
        """Release the sums of a column with noise, and smooth its shape function.

        `share` is of the budget, `weight` among the steps of the column; `when` begins the ledger's
        words.
        """
        exact = self.records.sums(j)
        what = f"{when}: residuals by bin of {self._name(j)}"
        sums, variance = self._noisy_labels(exact, share, what)
        self._take(j, sums, variance, weight)

    def margin(self, share: float, n_records: int) -> None:
        """Release the margin of the labels for the intercept, where nothing was asked before.

        All residuals are the clip c then, so that the curvature is public, and S[1] - S[0] is c
        times the margin: as one number with Laplace noise it has half the variance of two numbers'
        difference.
        """
        exact = np.diff(self.records.sums(self.intercept), axis=0)
        what = "first: margin of the labels"
        slope, variance = self._noisy(exact, share, self.budget.sensitivity(), what)
        half = n_records * CLIP / 2
        sums = np.concatenate([half - slope / 2, half + slope / 2])
        self._take(self.intercept, sums, variance / 2, 1.0)

    def _take(self, j: int, sums: NDArray[Any], variance: float, weight: float) -> None:
        """Smooth the shape function of a column anew, with what was released."""
        z, noise = self._running[j].add(sums, variance, self._smooth[j], weight)
        if j == self.intercept:
            prior = rule.INTERCEPT_VARIANCE
            self._smooth[j] = z * prior / (prior + noise)
            left = prior / (prior + noise)
            self.errors[j] = np.sqrt(left * (noise + self._running[j].of_records()))
        else:
            mean, spread = self._smoothed(j, z, noise)
            self._smooth[j] = mean
            # What smoothing leaves of the noise it leaves of the spread of records as well.
            self.errors[j] = np.sqrt(spread * (1.0 + self._running[j].of_records() / noise))
        self._set([j])

    def _smoothed(self, j: int, z: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Return the posterior means and variances of a column's values, of one score or more."""
        scores, noises = np.atleast_2d(z), np.atleast_2d(noise)
        mean, spread = np.empty(scores.shape), np.empty(scores.shape)
        self._nothing[j] = smooth(scores, noises, self.ordered[j], SIZES, LENGTHS, mean, spread)
        return mean.reshape(z.shape), spread.reshape(z.shape)

    def _name(self, j: int) -> str:
        if j > self.intercept:
            return "columns {} and {}".format(*self.crossings[j - self.intercept - 1].columns)
        return "the intercept" if j == self.intercept else f"column {j}"

    def choose(self, share: float, when: str) -> int:
        """Choose the column with the largest Σ_b |G_b|, with noise."""
        entry = self._spend(share, self.budget.choice, f"{when}: choice of a column")
        return self.curator.choose_exactly(self._call(entry), self.records.edges())

    def start_line(self, share: float, steps_share: float) -> None:
        """Begin the linear part: its sums of products, then Newton steps."""
        line = self._line = LinearPart(self.records.n_bins, self._line_sizes)
        exact = self.records.gram(line.places)
        apart = np.triu_indices(line.size, 1)
        bits = 2 * PLACE_BITS
        sensitivity = self.budget.of_products(line.size)
        what = "first: products of places along the columns"
        gram = np.zeros(exact.shape)
        entry = self._spend(share, self.budget.release, what, sensitivity)
        diagonal, variance = self._with_noise(exact.diagonal(), entry, bits)
        # Beside the diagonal the same call goes on, with noise of its own scale.
        beside = self.budget.beside_diagonal()
        gram[apart] = self._with_noise(exact[apart], entry, bits, beside, again=True)[0]
        gram += gram.T
        np.fill_diagonal(gram, diagonal)
        line.take_gram(gram, math.sqrt(variance * line.size))
        for k in range(1, rule.LINE_STEPS + 1):
            self.line_step(steps_share / rule.LINE_STEPS, float(k), f"first, step {k}")

    def line_step(self, share: float, weight: float, when: str) -> None:
        """Release the slopes along all columns with noise, for one Newton step."""
        line = self._line
        assert line is not None
        exact = self.records.slopes(line.places)
        sensitivity = self.budget.of_slopes(line.size)
        what = f"{when}: residuals along the columns"
        slopes, variance = self._noisy(exact, share, sensitivity, what)
        line.take_slopes(slopes, variance, weight)
        self._set(range(self.intercept + 1))

    def _noisy_labels(self, exact: Ints, share: float, what: str) -> tuple[NDArray[Any], float]:
        """Release the sums of a column by label; return them and the variance of a cell's noise.

        Of two labels the difference may have less noise than the total: it is what steps are
        made of. The variance is then that of two cells with such a difference.
        """
        rates = self.budget.slope_and_total(rule.SLOPE_PART)
        if rates is None:
            return self._noisy(exact, share, self.budget.sensitivity(), what)
        entry = self._spend(share, self.budget.release, what, self.budget.sensitivity())
        slope, variance = self._with_noise(exact[1] - exact[0], entry, rate=rates[0])
        total, _ = self._with_noise(exact.sum(axis=0), entry, rate=rates[1], again=True)
        return np.stack([total - slope, total + slope]) / 2, variance / 2

    def _noisy(
        self, exact: Ints, share: float, sensitivity: float, what: str
    ) -> tuple[NDArray[Any], float]:
        """Release whole numbers; return them and the variance of their noise."""
        entry = self._spend(share, self.budget.release, what, sensitivity)
        return self._with_noise(exact, entry)

    def _spend(
        self, share: float, announce: Callable[..., LedgerEntry], what: str, *facts: float
    ) -> LedgerEntry | None:
        """Take a share of the budget; return the ledger's entry of what it is for."""
        self.curator.spend(what, share)
        return announce(what, share, *facts) if self.budget.private else None

    def _call(self, entry: LedgerEntry | None, bits: int | None = None, rate: float = 1.0) -> Call:
        """Return the call of an entry, its scale in units of the grid; `rate` is times its own."""
        if entry is None:
            return EXACT
        return Call(entry.mechanism, self.budget.on_grid(rate * entry.noise_rate, bits), entry)

    def _with_noise(
        self,
        exact: Ints,
        entry: LedgerEntry | None,
        bits: int | None = None,
        rate: float = 1.0,
        again: bool = False,
    ) -> tuple[NDArray[Any], float]:
        unit = 2.0 ** -(self.budget.bits if bits is None else bits)
        call = self._call(entry, bits, rate)
        released = self.curator.whole_numbers(call, exact, again=again)
        if entry is None:
            return released * unit, 0.0
        pure = self.budget.pure
        # Gaussian noise is rounded down.
        middle, times = (0.0, 2.0) if pure else (0.5, 1.0)
        return (released + middle) * unit, times * (call.scale * unit) ** 2

    def _set(self, changed: Sequence[int]) -> None:
        """Hand the records some shape functions as they are now."""
        for j in changed:
            crossed = j > self.intercept
            line = 0.0 if self._line is None or crossed else self._line.shape(j)
            self.records.set_shape(j, self._smooth[j] + line)

    # In which order ------------------------------------------------------------------

    def run(self, plan: Plan) -> None:
        """Run the plan."""
        self.method, self._line_sizes = plan.method, plan.line_sizes
        if plan.method == rule.CYCLIC:
            self.cyclic(plan.n_steps, plan.linear, plan.pairs, plan.mixed, plan.first_share)
        elif plan.method == rule.STUMPS:
            self.stumps(plan.n_steps)
        else:
            self.greedy(plan.n_steps, plan.linear, *plan.intercept, plan.n_records)

    def first(self, share: float, n_rounds: int) -> list[int]:
        """Ask all columns at once with a share of the budget; return those that rounds ask.

        Of two classes, and with a share of 0, all. `n_rounds` are those that follow.
        """
        return list(range(self.intercept))

    def cyclic(
        self,
        n_rounds: int,
        linear: bool,
        pairs: bool,
        mixed: Sequence[int] = (),
        first_share: float = 0.0,
    ) -> None:
        """Ask each column once a round, and pairs of some of them in the end."""
        active = self.first(first_share, n_rounds)
        if linear:
            part = rule.of_columns(pairs)
            self.start_line(part * rule.GRAM_SHARE, part * rule.LINE_SHARE)
        # Pairs take about two rounds more.
        self._n_rounds = n_rounds + 2 * pairs
        for t in range(1, n_rounds + 1):
            last = t == n_rounds
            unit = rule.cyclic_unit(t, n_rounds, len(active), linear, pairs, first_share)
            when, weight = f"round {t}", t**rule.CYCLIC_POWER
            self.release(self.intercept, rule.INTERCEPT_WEIGHT * unit, weight, when)
            if linear:
                self.line_step(unit, rule.LINE_STEPS + t**rule.LINE_POWER, when)
            for k, j in enumerate(self._in_order(active)):
                self.release(j, unit, weight, when)
                self._tell(t - 1, k + 1, len(active))
            if last:
                left = self.ask_pairs(rule.PAIR_SHARE) if pairs else 0.0
                self.release(self.intercept, rule.INTERCEPT_WEIGHT * unit + left, weight, when)
            if t == rule.DROP_ROUND:
                active = self._kept(active)
                for j in active if mixed else ():
                    self._merge(j, mixed[j])

    def ask_pairs(self, share: float) -> float:
        """Ask pairs of columns twice, at last those with an effect; return what is left over."""
        n = self.intercept
        shapes = [shape / 2.0**SCORE_BITS for shape in self.records.shapes[:n]]
        weights = [running.denominator for running in self._running[:n]]
        active = [
            self._cross(crossing) for crossing in crossings(shapes, weights, self.ordered[:n])
        ]
        for k, part in enumerate((rule.PAIR_FIRST, 1.0 - rule.PAIR_FIRST), 1):
            if not active:
                return share if k == 1 else share * part
            each, weight = share * part / len(active), k**rule.CYCLIC_POWER
            for place, j in enumerate(self._in_order(active)):
                self.release(j, each, weight, f"pairs, {('first', 'second')[k - 1]} time")
                self._tell(self._n_rounds + k - 3, place + 1, len(active))
            active = self._kept(active) if k == 1 else active
        return 0.0

    def _tell(self, n_rounds: int, n: int, of: int) -> None:
        """Tell how far the fit is: which columns are asked follows from what was released."""
        self.curator.done((n_rounds + n / of) / self._n_rounds)

    def _cross(self, crossing: Crossing) -> int:
        """Take a pair of columns as one column more; return its number."""
        j = self.records.cross(crossing)
        width = len(self.records.shapes[j])
        self.crossings.append(crossing)
        self.ordered.append(False)
        self.errors.append(np.zeros(width))
        self._running.append(Running(width))
        self._smooth.append(np.zeros(width))
        self._nothing.append(0.0)
        return j

    def _in_order(self, active: list[int]) -> list[int]:
        """Return the columns in an order of public coins; as they are where nothing is private."""
        if not self.budget.private:
            return active
        order: list[int] = self.curator.coins.permutation(active).tolist()
        return order

    def _kept(self, active: list[int]) -> list[int]:
        """Drop the columns that probably have no effect, by what was released of them."""
        kept = [j for j in active if self._nothing[j] < rule.DROP_WEIGHT]
        dropped = [j for j in active if j not in kept]
        for j in dropped:
            self._smooth[j] = np.zeros_like(self._smooth[j])
            self.errors[j] = np.zeros_like(self.errors[j])
        self._set(dropped)
        return kept

    def _merge(self, j: int, n_mixed: int) -> None:
        """Put the first bins of a column into groups of about equal weight, as released so far.

        Noise comes for each bin that is asked, whether records are in it or not.
        """
        shape = self._smooth[j]
        weights = np.maximum(self._running[j].denominator, rule.LEAST_CURVATURE)
        own = grouped(shape[:n_mixed], weights[:n_mixed], True, rule.MIXED_GROUPS)
        others = np.arange(len(shape) - n_mixed) + own.max(initial=-1) + 1
        groups = np.concatenate([own, others])
        firsts = np.searchsorted(groups, np.arange(groups[-1] + 1))
        of_groups = np.add.reduceat(weights, firsts)
        self._smooth[j] = np.add.reduceat(weights * shape, firsts) / of_groups
        self.errors[j] = np.sqrt(np.add.reduceat(weights * self.errors[j] ** 2, firsts) / of_groups)
        # Steps begin anew: those so far have curvatures of single bins, which are mostly noise.
        self._running[j] = Running(len(firsts))
        if self._line is not None:
            self._line.merge(j, firsts, weights)
        self.records.merge(j, groups)
        self._set([j])

    def greedy(self, n_steps: int, linear: bool, first: float, last: float, n_records: int) -> None:
        """Ask a chosen column a step; the intercept first, and last with a share of its own.

        It may be chosen too.
        """
        if self.budget.pure and self.budget.private:
            self.margin(first, n_records)
        else:
            self.release(self.intercept, first, 1.0, "first")
        if linear:
            self.start_line(rule.GRAM_SHARE, rule.LINE_SHARE)
        each, part = rule.greedy_shares(n_steps, self.budget.pure, linear, first + last)
        for t in range(1, n_steps + 1):
            if linear and t % rule.LINE_EVERY == 0:
                self.line_step(each + part, rule.LINE_STEPS + t**rule.LINE_POWER, f"step {t}")
                continue
            j = self.choose(part, f"step {t}")
            self.release(j, each, t**rule.GREEDY_POWER, f"step {t}")
            self.curator.done(t / n_steps)
        if last > 0:
            self.release(self.intercept, last, n_steps**rule.GREEDY_POWER, "last")

    def stumps(self, n_stumps: int) -> None:
        """Choose stumps one after another: what they add to scores is public, but for its sign."""
        size = rule.stump_size(n_stumps)
        for t in range(1, n_stumps + 1):
            entry = self._spend(1 / n_stumps, self.budget.choice, f"step {t}: choice of a stump")
            scores = self.records.stumps(self.ordered)
            place = self.curator.choose_exactly(self._call(entry), scores)
            j, values = self.records.stump(place, self.ordered)
            self._smooth[j] = self._smooth[j] + size * values
            self._set([j])
            self.curator.done(t / n_stumps)
