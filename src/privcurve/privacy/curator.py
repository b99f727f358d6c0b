"""The curator: the only access of a model to records.

A learner announces its mechanism calls (its ledger). It then asks a :class:`Curator` to add noise
to numbers, to choose among candidates, or for noise that a compiled loop adds to its own scores.
Only the curator draws noise, and at the end of a fit the calls must equal the announced ones. The
contract check (``privcurve.audit.contract``) replaces the curator by one with prescribed answers,
and so observes everything in a learner that the records can change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privcurve.coding import Bools, Floats, Ints, Records
from privcurve.privacy import seeds
from privcurve.privacy.account import EXACT, ROUNDING, Account, Call, Calls, DoorError, call_of
from privcurve.privacy.grid import LARGEST, grid_of
from privcurve.privacy.ledger import (
    FLOATS,
    OF_CHOICES,
    OF_OBJECTIVES,
    OF_SHARES,
    OF_STREAMS,
)
from privcurve.privacy.mechanisms import (
    GAUSSIAN,
    LABELS,
    LAPLACE,
    LARGEST_SCALE,
    MECHANISMS,
    NUMBERS,
    OBJECTIVES,
    PERMUTE_AND_FLIP,
    SELECTIONS,
    Source,
    draw_piece,
    draw_share,
)
from privcurve.privacy.rows import Of, Rows, whole_between
from privcurve.privacy.sealed import Noise, has_sealed, open_values, public_rows, seal
from privcurve.privacy.seeds import SEED, Start
from privcurve.privacy.sums import LoopSum, Sum, is_open, joined

if TYPE_CHECKING:
    from privcurve.privacy.selection import Runs

__all__ = ["EXACT", "ROUNDING", "Call", "Curator", "DoorError", "call_of", "party_of"]

Answer = TypeVar("Answer")


class Curator(Account):
    """Answers questions about records, with the noise that the fit's ledger announces.

    Parameters
    ----------
    source : numpy.random.Generator
        The generator of noise, of a kind in `seeds.KINDS`; it also seeds the public coins.
    party : bool
        Whether it belongs to a party. A party has no ledger: its calls name the paying entries.
    watch : callable, optional
        Called with the shares passed to :meth:`report`.

    Attributes
    ----------
    sealed_for : str
        The learner whose fit sees only sealed values and noise; empty if nothing is sealed.
    inners : list of Curator
        The curators of the runs of a private selection.
    paid : LedgerEntry or None
        For a run of a private selection: the entry of the selection that pays for the run.
    parties : list of Curator
        The curators of parties in this process; each record belongs to one party.
    statement : PrivacyStatement or None
        The statement against which the calls were checked; None before the end of the fit.
    """

    def __init__(
        self,
        source: np.random.Generator,
        party: bool = False,
        watch: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(party, watch)
        seeds.check_generator(source)
        self._source = source

    @cached_property
    def coins(self) -> np.random.Generator:
        """The stream of public coins. Noise has another stream, as models may contain coins."""
        return seeds.child_of(self._source)

    @property
    def generator_exclusion(self) -> str:
        """The exclusion of the statement that describes this generator."""
        return seeds.generator_exclusion(self._source)

    @property
    def float_exclusions(self) -> tuple[str, ...]:
        """The exclusions on floating-point arithmetic that the answers so far make necessary."""
        left = self._left.union(*(party._left for party in self.parties))
        return tuple(text for text in FLOATS if text in left)

    # Answers -------------------------------------------------------------------------

    def numbers(self, call: Call | str, exact: ArrayLike) -> Floats:
        """Return numbers plus noise, both on a grid whose unit follows from the noise scale.

        Parameters
        ----------
        call : Call or str
            A string is the `what` of an announced call.
        exact : array-like

        Returns
        -------
        ndarray of the shape of `exact`

        Raises
        ------
        DoorError
            If an exact number is not finite, or the sum of absolute values exceeds `grid.LARGEST`
            sensitivities: floating-point errors could then exceed the announced sensitivity.
        """
        values = self._values(exact)
        call = self._charge(self.price(call, exact), NUMBERS, self._is_derived(exact))
        if not call.private:
            return values.copy()
        if not np.abs(_require_finite(values)).sum() <= LARGEST * call.loss * call.scale:
            raise DoorError(
                f"the sum of exact numbers must be at most {LARGEST:g} times their sensitivity, "
                "beyond which floating-point sums may exceed it: release sums of fewer records"
            )
        return self._numbers(call, values)

    def number(self, call: Call | str, exact: Any) -> float:
        """Return one number with noise."""
        return float(self.numbers(call, exact if isinstance(exact, Sum) else [exact]).item())

    def signs(self, call: Call | str, margins: Floats, records: Ints | None = None) -> Bools:
        """Draw a label for each margin; return True for +. Without noise, + is a margin above 0.

        The probability of + is P(``margin + noise > 0``). Only the labels are released.

        Parameters
        ----------
        call : Call or str
        margins : ndarray
        records : ndarray of the shape of `margins`, optional
            The record of each margin, if the order of the margins depends on records. The contract
            check then gives each record the same label, wherever its margin is in this order.
        """
        values, call = self._values(margins), self._charge(call, LABELS)
        if not call.private:
            return values > 0
        self._left.add(OF_CHOICES)
        return self._signs(call, _require_finite(values), open_values(records))

    def choose(self, call: Call | str, scores: ArrayLike) -> int:
        """Return the index of the chosen candidate; without noise, the first of the best.

        Parameters
        ----------
        call : Call or str
            Exponential mechanism, permute-and-flip, or numbers with noise (the largest wins).
        scores : array-like of shape (n_candidates,)
            Higher is better.
        """
        if isinstance(scores, (list, tuple)) and all(isinstance(one, Sum) for one in scores):
            scores = cast(ArrayLike, joined([one.reshape(1) for one in scores]))
        values = self._values(scores)
        laws = (*SELECTIONS, *NUMBERS)
        call = self._charge(self.price(call, scores), laws, self._is_derived(scores))
        self._left.add(OF_CHOICES)
        return (
            self._choose(call, _require_finite(values)) if call.private else int(np.argmax(values))
        )

    def threshold(self, call: Call | str, ends: Floats, scores: Floats) -> float:
        """Choose a point of an interval by a score that is constant on each piece of the interval.

        Parameters
        ----------
        call : Call or str
            The exponential mechanism.
        ends, scores
            See :func:`~privcurve.privacy.mechanisms.draw_piece`.
        """
        call = self._charge(call, SELECTIONS)
        points, values = open_values(ends), open_values(scores)
        if call.private:
            _require_finite(points)
            _require_finite(values)
        self._left.add(OF_CHOICES)
        return self._threshold(call, points, values)

    def noise(self, calls: Calls, shape: tuple[int, ...]) -> Floats:
        """Return noise of scale 1, for a compiled loop that adds its scores.

        The loop writes ``noise + score/scale`` in place and takes the largest of a row (a choice),
        or the sign (a label). The contract check reads the scores from the written numbers.

        Parameters
        ----------
        calls : Call, or (nested) sequence or array of Call
            One call, or one for each position along the first axes; all have one mechanism.
        shape : tuple of int
            For choices, the last axis is over the candidates.

        Returns
        -------
        ndarray of `shape`
            Sealed if the records are.
        """
        self._left.add(OF_CHOICES)
        return self._as_noise(self._noise(self._charge_all(calls, shape), shape))

    def _as_noise(self, noise: Floats) -> Floats:
        return cast(Floats, Noise(noise, self.sealed_for)) if self.sealed_for else noise

    def uniform(self, calls: Call | Sequence[Any], shape: tuple[int, ...]) -> Floats:
        """Return uniform numbers in [0, 1); a compiled loop draws one candidate with each number.

        Parameters
        ----------
        calls, shape
            As for :meth:`noise`, but without an axis over candidates: a choice gets one number.
        """
        self._left.add(OF_CHOICES)
        self._charge_all(calls, shape)
        return self._as_noise(self._source.random(shape))

    def whole_numbers(self, call: Call, exact: Ints | Sum) -> Ints:
        """Return integers plus exact integer noise (``privacy.discrete``).

        Gaussian noise is a real Gaussian variable rounded down, so its mean is −1/2.

        Parameters
        ----------
        call : Call
            Its scale is a whole number, from 1 up to `mechanisms.LARGEST_SCALE`.
        exact : ndarray of int64, or Sum of integers
        """
        values = self._require_whole(call := self.price(call, exact), exact)
        self._charge(call, NUMBERS, self._is_derived(exact))
        return self._whole_numbers(call, values) if call.private else values.copy()

    def choose_exactly(self, call: Call, scores: Ints) -> int:
        """Return the index of the candidate chosen with exact probabilities (``privacy.discrete``).

        Parameters
        ----------
        call : Call
            Its scale is a whole number.
        scores : ndarray of int64, shape (n_candidates,)
        """
        values = self._require_whole(call, scores)
        self._charge(call, SELECTIONS)
        return self._choose_exactly(call, values) if call.private else int(np.argmax(values))

    def draw_runs(self, n_candidates: int, law: Runs) -> list[int]:
        """Draw the secret number of runs of a private selection, and the candidate of each run.

        `law` is the distribution of the number; the fit's privacy statement must compose the costs
        of the runs by the same law. Raises DoorError if called twice.
        """
        if self._law:
            raise DoorError(
                "the runs of a private selection must be drawn once; they are drawn again"
            )
        drawn = self._draw_runs(n_candidates, law)
        self._law, self._n_runs = law.name, len(drawn)
        return drawn

    def inner(self, call: Call, n: int) -> list[Curator]:
        """Return the curators of `n` runs of a private selection.

        Each run is charged to `call`.
        """
        for start in seeds.stream_starts(self._source, n, 2 * SEED):
            self._charge(call)
            self.inners.append(self._inner(start))
            self.inners[-1].paid = call.entry
        return self.inners[-n:]

    def share(self, call: Call, exact: ArrayLike, parts: int = 1, unit: float = 0.0) -> Floats:
        """Return messages plus shares of noise; `parts` shares add up to the noise of the call.

        Parameters
        ----------
        call : Call
            Laplace or Gaussian; the scale is for the sum of all shares.
        exact : array-like
            A message of numbers for each position along the first axis; each message is charged.
        parts : int
        unit : float
            A power of two: shares are rounded to its multiples, which exact numbers must be, too.
            0 is possible if `parts` is 1: then the grid is as in :meth:`numbers`.
        """
        values = self._values(exact)
        for _ in values:
            call = self._charge(call, NUMBERS)
        self._most_parts = max(self._most_parts, parts)
        if not call.private:
            return values.copy()
        if parts > 1 and not unit:
            raise DoorError(
                "a part of the noise must have a unit to which parts are rounded; it has none"
            )
        if call.mechanism == LAPLACE and parts > 1:
            self._left.add(OF_SHARES)
        return self._share(call, _require_finite(values), parts, unit)

    def party(self, n: int) -> list[Curator]:
        """Return new curators for `n` parties, each with its own stream of noise."""
        for start in seeds.stream_starts(self._source, n, SEED):
            self.parties.append(self._holder(start))
            self.parties[-1].sealed_for = self.sealed_for
        return self.parties[-n:]

    def leave(self) -> None:
        """Record that this party answers in another process, where its calls are not observed."""
        self._away = True
        self._left |= {OF_CHOICES, OF_SHARES}

    def generator(self, calls: Sequence[Call]) -> np.random.Generator:
        """Return the stream of noise, for a compiled loop that draws choices by rejection.

        The contract check cannot prescribe the answers of such a loop, so the stream is for
        published noise and open records only. Code that has the stream can draw all later noise.
        """
        if self.sealed_for:
            raise DoorError(
                "the stream of noise must not be used in a private fit: use public coins"
            )
        self._left.add(OF_STREAMS)
        self._charge_all(calls, (len(calls),))
        return self._source

    def key(self) -> bytes:
        """Draw a random key for noise that is charged in the fit, but drawn after it."""
        return self._source.bytes(32)

    def objective(
        self,
        call: Call | str,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        *,
        old: bool = False,
    ) -> Floats:
        """Return the minimum of an objective with a random linear term b·θ.

        Parameters
        ----------
        call : Call or str
            Objective or box perturbation.
        dimension : int
            Dimension of the model θ; public.
        gradient : callable
            The gradient of the objective without b·θ: a one-to-one function of θ.
        minimise : callable
            Returns the θ whose gradient is −b, given b.
        old : bool
            Whether to draw b as diffprivlib does, by NumPy's old samplers; under a public seed also
            by NumPy's old generator, seeded by the curator's generator.

        Returns
        -------
        ndarray of shape (dimension,)
        """
        call = self._charge(call, OBJECTIVES)
        if not call.private:
            return minimise(np.zeros(dimension))
        self._left.add(OF_OBJECTIVES)
        return self._objective(
            call,
            dimension,
            lambda model: open_values(gradient(model)),
            lambda tilt: open_values(minimise(self._as_noise(tilt))),
            old,
        )

    def shuffle(self, records: Ints) -> Ints:
        """Return record numbers in a random order, drawn with public coins.

        The distribution does not depend on the original order. So the contract check may order the
        records of two neighbours equally, even if their original order depends on the records.
        """
        drawn = self._shuffle(open_values(records))
        return cast(Ints, seal(drawn, self.sealed_for, 0)) if self.sealed_for else drawn

    def public(
        self, columns: Sequence[int], gather: Callable[..., Answer], records: Records
    ) -> Answer:
        """Open the public columns and the labels; return `gather(codes, labels, counts, n_bins)`.

        At the end of the fit, the statement must name these columns and the label as public.
        """
        self._opened.update(columns)
        self._opened_label = True
        codes, labels, counts, n_bins = open_values(tuple(records))
        return gather(codes[:, list(columns)], labels, counts, n_bins[list(columns)])

    def rows(self, records: Records, n_classes: int = 2) -> tuple[Rows, Rows]:
        """Return codes and labels as rows: sums of rows have a derived sensitivity.

        Parameters
        ----------
        records : Records
            The records of the fit, or of a batch of the fit, sealed or open.
        n_classes : int
            With more than two classes, labels are 0 … n_classes − 1; greater ones count as the
            last.

        Returns
        -------
        codes : Rows of shape (n_rows, n_columns)
        labels : Rows of shape (n_rows,)
        """
        if not isinstance(records, Records):
            raise DoorError("partitioned records have no rows in one process: ask for Totals")
        exact, stated = records.exact, self._stated
        public = stated.public_columns if stated is not None else ()
        is_public = stated is not None and stated.public_label
        private = tuple(j not in public for j in range(len(exact.n_bins)))
        low, high = (-1, 1) if exact.labels.dtype == np.int8 else (0, n_classes - 1)
        of, labels = Of(records.learner, exact.counts, records.batch), exact.labels
        labels = labels if labels.dtype == np.int8 else np.minimum(labels, high)
        most = tuple((exact.n_bins - 1).tolist())
        codes = Rows.like(exact.codes, of, whole_between((0,) * len(most), most, private))
        return codes, Rows.like(labels, of, whole_between(low, high, not is_public))

    def batch(self, call: str, records: Records, rate: float) -> Records:
        """Draw the Poisson batch of a call: it has each record with probability `rate`.

        Records are drawn independently. A call has one batch, and no other call may use it, neither
        for a sum nor in a compiled loop. Raises DoorError if another rate is announced for the
        call, or if the call has its batch already.

        Parameters
        ----------
        call : str
            The name of an announced call, whose `sampled` is the rate.
        records : Records
            The records of the fit, sealed or open.
        rate : float
            In (0, 1]; public. Below 1 it is rounded down to a multiple of 2⁻⁶⁴.

        Returns
        -------
        Records, sealed if `records` are; the number of records in the batch is sealed, too.
        """
        if not isinstance(records, Records) or records.batch:
            raise DoorError(f"{call}: a batch is drawn of all records of a fit in one memory alone")
        self._begin_batch(call, rate)
        if rate >= 1:
            return records
        return records.as_batch(self._draw_batch(call, records.exact, rate), call)

    def _is_derived(self, exact: Any) -> bool:
        """Whether exact values have a derived sensitivity.

        Bounds of a `LoopSum` are claims of a learner, trusted only in learners of this project.
        """
        return isinstance(exact, Sum) and (self.has_theorems or not isinstance(exact, LoopSum))

    def _open(self, exact: Any) -> Any:
        """Return exact values; refuse sealed values if this curator belongs to an open fit."""
        if not self.sealed_for and has_sealed(exact) and not is_open(exact):
            raise DoorError("sealed values must go to their fit's curator; this is another one")
        return public_rows(exact)

    def _values(self, exact: Any) -> Floats:
        return np.asarray(self._open(exact), dtype=np.float64)

    def _require_whole(self, call: Call, exact: Any) -> Ints:
        """Return exact integers; refuse other numbers: integer noise would not hide fractions."""
        values = np.asarray(self._open(exact))
        if values.dtype.kind not in "iu":
            raise DoorError(f"exact values must be integers for integer noise; got {values.dtype}")
        if call.private and not (call.scale % 1 == 0 and call.scale <= LARGEST_SCALE):
            raise DoorError(f"scale must be an integer ≤ {LARGEST_SCALE}; got {call.scale}")
        return values

    # Drawing -------------------------------------------------------------------------------

    def _numbers(self, call: Call, exact: Floats) -> Floats:
        grid = grid_of(call.mechanism, call.scale, call.loss_of_one, exact.size)
        noise = self._draw_whole(call.mechanism, grid.scale, exact.shape)
        # The sum of integers below is exact, or rounded to a float: rounding is post-processing.
        return np.asarray((np.rint(exact / grid.unit) + noise) * grid.unit)

    def _draw_batch(self, call: str, records: Records, rate: float) -> Records:
        from privcurve.privacy.draws import successes

        hits = successes(self._source, records.counts, rate)
        taken = hits > 0
        return Records(records.codes[taken], records.labels[taken], hits[taken], records.n_bins)

    def _draw_runs(self, n_candidates: int, law: Runs) -> list[int]:
        return self._source.integers(n_candidates, size=law.draw(self._source)).tolist()

    def _signs(self, call: Call, margins: Floats, records: Ints | None) -> Bools:
        return self._with_noise(call, margins) > 0

    def _with_noise(self, call: Call, margins: Floats) -> Floats:
        return margins + MECHANISMS[call.mechanism].draw(self._source, margins.shape, call.scale)

    def _choose(self, call: Call, scores: Floats) -> int:
        drawn = MECHANISMS[call.mechanism].draw(self._source, scores.shape)
        return int(np.argmax(scores / call.scale + drawn))

    def _threshold(self, call: Call, ends: Floats, scores: Floats) -> float:
        rate = 1 / call.scale if call.private else math.inf
        return draw_piece(ends, scores, rate, self._source)

    def _objective(
        self,
        call: Call,
        dimension: int,
        gradient: Callable[[Floats], Floats],
        minimise: Callable[[Floats], Floats],
        old: bool,
    ) -> Floats:
        return minimise(self._tilt(call, dimension, old))

    def _shuffle(self, records: Ints) -> Ints:
        return self.coins.permutation(records)

    def _tilt(self, call: Call, dimension: int, old: bool) -> Floats:
        """Draw the vector b of the random linear term b·θ of an objective."""
        source: Source = self._source
        if old and seeds.is_chacha(self._source):
            source = np.random.RandomState(self._source.bit_generator)
        elif old:
            seed = self._source.integers(2**32, size=4, dtype=np.uint32).tolist()
            source = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
        return MECHANISMS[call.mechanism].draw(source, dimension, call.scale)

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> Floats:
        if not calls.size:
            return np.zeros(shape)
        return MECHANISMS[calls.flat[0].mechanism].draw(self._source, shape)

    def _whole_numbers(self, call: Call, exact: Ints) -> Ints:
        return exact + self._draw_whole(call.mechanism, int(call.scale), exact.shape)

    def _draw_whole(self, mechanism: str, scale: int, shape: tuple[int, ...]) -> Ints:
        """Draw integer noise by the exact samplers of ``privacy.discrete``."""
        from privcurve.privacy.discrete import discrete_laplace, rounded_gaussian

        draw = rounded_gaussian if mechanism == GAUSSIAN else discrete_laplace
        drawn: Ints = draw(self._source, scale, math.prod(shape))
        return drawn.reshape(shape)

    def _choose_exactly(self, call: Call, scores: Ints) -> int:
        from privcurve.privacy.discrete import choose

        flip = call.mechanism == PERMUTE_AND_FLIP
        return int(choose(self._source, scores, int(call.scale), flip))

    def _inner(self, start: Start) -> Curator:
        return Curator(seeds.stream(start))

    def _share(self, call: Call, exact: Floats, parts: int, unit: float) -> Floats:
        if not unit:
            return self._numbers(call, exact)
        return exact + unit * draw_share(
            call.mechanism, self._source, exact.shape, call.scale / unit, parts
        )

    def _holder(self, start: Start) -> Curator:
        return party_of(start)


def _require_finite(exact: Floats) -> Floats:
    """Return exact values; refuse infinity and NaN, which noise does not hide."""
    if not np.isfinite(exact).all():
        raise DoorError("exact values must be finite: noise does not hide infinity and NaN")
    return exact


def party_of(start: Start) -> Curator:
    """Return the curator of a party; `start` seeds its noise, and only the party may know it."""
    return Curator(seeds.stream(start), party=True)
