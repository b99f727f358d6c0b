"""Search pairs of tables for a large ε, in known distributions, known densities, or samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.bounds import epsilon_from_counts, exact_delta, exact_epsilon
from privcurve.audit.canaries import Guesses
from privcurve.audit.pairs import Pair, sort_rows
from privcurve.audit.states import States
from privcurve.audit.views import views
from privcurve.coding import Bools, Floats, Ints, Records

Distribution = Callable[[Records], Floats]
Sampler = Callable[[Pair, Records, int, np.random.Generator], NDArray[Any] | States]

# Probability that a reported bound is too high.
REPORTED_ERROR = 0.05
# Probability that a complete run of the audit calls some true claim violated.
VERDICT_ERROR = 1e-4

# Number of thresholds on a score that a search tries at evenly spaced ranks. It tries as many near
# each end of the scores, as rare events show large losses.
N_THRESHOLDS = 64

# The values in a column of fitted states are treated as discrete outcomes if there are at most
# MOST_OUTCOMES distinct values, and at least PER_OUTCOME trainings per value on average. Otherwise
# they are treated as scores, on which thresholds are tried.
MOST_OUTCOMES = 2000
PER_OUTCOME = 5
# Maximum number of columns to search completely, as this is slow. The search takes the columns with
# the largest quick estimates of ε.
MOST_COLUMNS = 6

# Relative tolerance for the rounding of exact probabilities.
TOLERANCE = 1e-9
# Tolerance for the rounding of losses: a replay computes scores to about eight digits.
LOSS_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Worst:
    """The worst pair of a search, and its evidence against the claim."""

    pair: Pair
    # The largest exact ε of the searched pairs, or a lower bound on the true ε. A bound from random
    # fits may be negative; then it is no evidence.
    epsilon: float
    delta: float  # exact δ at the claimed ε; NaN if only a bound on ε is computed
    violated: bool  # whether the claim is refuted; samples must refute it at `VERDICT_ERROR`
    event: str  # the event that distinguishes the two sides
    n_pairs: int  # number of pairs searched


def search_exact(
    pairs: Iterable[Pair], distribution: Distribution, epsilon: float, delta: float
) -> Worst:
    """Return the pair with the largest exact ε, and whether a pair refutes `epsilon` and `delta`.

    `distribution` returns the probability of each possible output of a fit on a table.
    """
    distributions: dict[bytes, Floats] = {}

    def distribution_of(side: Records) -> Floats:
        side = sort_rows(side)
        key = b"|".join(part.tobytes() for part in side)
        if key not in distributions:
            distributions[key] = distribution(side)
        return distributions[key]

    worst: tuple[float, Pair, int] | None = None
    largest_delta = 0.0
    n_pairs = 0
    for pair in pairs:
        n_pairs += 1
        p, q = distribution_of(pair.left), distribution_of(pair.right)
        reached = exact_epsilon(p, q, delta)
        largest_delta = max(largest_delta, exact_delta(p, q, epsilon))
        # Values of ε that differ only by rounding count as equal, and the first pair wins: so the
        # result is the same on every machine.
        if worst is None or reached > worst[0] * (1 + TOLERANCE):
            worst = reached, pair, len(p)
    if worst is None:
        raise ValueError("there are no pairs to search")
    # If δ > 0, compare values of δ. As a function of δ, ε jumps where δ is the probability of an
    # event, so a comparison of ε would depend on rounding.
    shown, claim = (largest_delta, delta) if delta > 0 else (worst[0], epsilon)
    violated = shown > claim * (1 + TOLERANCE)
    event = f"the worst of all sets of {worst[2]} transcripts"
    return Worst(worst[1], worst[0], largest_delta, violated, event, n_pairs)


def search_losses(pairs: Iterable[Pair], loss: Callable[[Pair], float], epsilon: float) -> Worst:
    """Return the pair whose outputs have the largest privacy loss: a lower bound on ε if δ = 0.

    A loss above `epsilon` refutes a claim with δ = 0. It does not refute a claim with δ > 0, as all
    outputs of such a loss together may be less likely than δ.
    """
    losses = [(loss(pair), pair) for pair in pairs]
    if not losses:
        raise ValueError("there are no pairs to search")
    # Losses that differ only by rounding count as equal, and the first pair wins: so the result is
    # the same on every machine.
    largest = max(most for most, _ in losses)
    most, pair = next(of for of in losses if of[0] >= largest - LOSS_TOLERANCE)
    violated = largest > epsilon * (1 + LOSS_TOLERANCE)
    return Worst(pair, most, math.nan, violated, "the worst answers", len(losses))


def search_guesses(
    pair: Pair,
    guess: Callable[[Pair, int, np.random.Generator], Guesses],
    n_trainings: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    n_comparisons: int,
) -> Worst:
    """Return a lower bound on ε from guesses of the coins of canaries in `n_trainings` fits.

    The reported bound has confidence 95 %. The verdict uses a bound that is too high with
    probability `VERDICT_ERROR` / `n_comparisons`, so that all verdicts together have this error.
    """
    guesses = guess(pair, n_trainings, rng)
    reported = guesses.refuted_epsilon(delta, REPORTED_ERROR)
    sure = guesses.refuted_epsilon(delta, VERDICT_ERROR / n_comparisons)
    event = f"{guesses.n_right} of {guesses.n_guessed} guesses of {guesses.n_coins} coins are right"
    return Worst(pair, reported, math.nan, sure > epsilon, event, 1)


@dataclass(frozen=True)
class Event:
    """A set of outputs of fits, on which the probabilities of the two sides differ."""

    holds: Callable[[NDArray[Any]], Bools]
    forward: bool  # whether the set is more likely on the left side
    text: str  # describes the set


def search_sampled(
    pairs: Iterable[Pair],
    sample: Sampler,
    n_trainings: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    n_comparisons: int,
) -> Worst:
    """Return a lower bound on ε from `n_trainings` fits on each side of each pair.

    For each pair, half of the fits choose an event; the other half bound its probabilities
    (Clopper–Pearson). The reported bound has confidence 95 % over all pairs together. The verdict
    uses bounds that are too high with probability `VERDICT_ERROR` / `n_comparisons`, so that all
    verdicts of an audit together have this error.
    """
    searched = list(pairs)
    worst: Worst | None = None
    violated = False
    n_choosing = n_trainings // 2
    for pair in searched:
        left = sample(pair, pair.left, n_trainings, rng)
        right = sample(pair, pair.right, n_trainings, rng)
        if isinstance(left, States) and isinstance(right, States):
            event, left, right = _choose_view(left, right, n_choosing, delta)
        else:
            assert isinstance(left, np.ndarray)
            assert isinstance(right, np.ndarray)
            event = choose_event(left[:n_choosing], right[:n_choosing], delta)
        p, q = (left, right) if event.forward else (right, left)
        hits = int(event.holds(p[n_choosing:]).sum()), int(event.holds(q[n_choosing:]).sum())
        n = n_trainings - n_choosing
        reported = float(epsilon_from_counts(*hits, n, delta, REPORTED_ERROR / len(searched)))
        sure = float(epsilon_from_counts(*hits, n, delta, VERDICT_ERROR / n_comparisons))
        violated = violated or sure > epsilon
        if worst is None or reported > worst.epsilon:
            side = "left" if event.forward else "right"
            text = f"{event.text}, more often on the {side}: {hits[0]} against {hits[1]} of {n}"
            worst = Worst(pair, reported, math.nan, False, text, len(searched))
    if worst is None:
        raise ValueError("there are no pairs to search")
    return replace(worst, violated=violated)


def choose_event(left: NDArray[Any], right: NDArray[Any], delta: float) -> Event:
    """Return the event with the largest estimated ε, from outputs of fits on both sides.

    Other fits must then bound the event's probabilities. The function sorts outcomes (integers) by
    their estimated ratio of probabilities, or scores (floats) by their value. The candidate events
    are the sets at both ends of this order. They are compared by the bound on ε that `left` and
    `right` give at `VERDICT_ERROR`: so an event that rarely happens has no advantage.
    """
    return _best_event(left, right, delta)[1]


def _best_event(left: NDArray[Any], right: NDArray[Any], delta: float) -> tuple[float, Event]:
    best: tuple[float, Event] | None = None
    for event_of, forward, p, q in _candidates(left, right):
        bounds = epsilon_from_counts(p, q, len(left), delta, VERDICT_ERROR)
        i = int(np.argmax(bounds))
        if best is None or bounds[i] > best[0]:
            holds, text = event_of(i)
            best = float(bounds[i]), Event(holds, forward, text)
    assert best is not None
    return best


def _choose_view(
    left: States, right: States, n_choosing: int, delta: float
) -> tuple[Event, NDArray[Any], NDArray[Any]]:
    """Choose a column of the fitted states (`views`), and a set of its values as the event.

    Returns the event, and the column's values in all fits on the left and on the right side. Of
    the first `n_choosing` fits of each side, the first half estimates the likelihood ratio of the
    two sides; the second half chooses the column and the event.
    """
    n_learning = n_choosing // 2
    of_left, of_right, names = views(left, right, n_learning)
    chooses = slice(n_learning, n_choosing)
    columns = []
    for one, other in zip(of_left.T, of_right.T, strict=True):
        some = np.concatenate([one[chooses], other[chooses]])
        if len(np.unique(some)) <= min(MOST_OUTCOMES, len(some) // PER_OUTCOME):
            one, other = _bits_of(one), _bits_of(other)
        columns.append((one, other))
    promise = [_promise(one[chooses], other[chooses], delta) for one, other in columns]
    best: tuple[float, Event, int] | None = None
    for j in np.argsort(promise, kind="stable")[::-1][:MOST_COLUMNS].tolist():
        one, other = columns[j]
        bound, event = _best_event(one[chooses], other[chooses], delta)
        if best is None or bound > best[0]:
            best = bound, replace(event, text=f"{names[j]}: {event.text}"), j
    assert best is not None
    return best[1], *columns[best[2]]


def _bits_of(values: Floats) -> Ints:
    """Return the bits of each number as an integer: integers mark the values as outcomes."""
    return np.ascontiguousarray(values + 0.0).view(np.int64)


def _promise(left: NDArray[Any], right: NDArray[Any], delta: float) -> float:
    """Return a quick estimate of the lower bound on ε that an event in a column can give."""
    most = -math.inf
    for _, _, p, q in _candidates(left, right):
        above = p - 4 * np.sqrt(p) - delta * len(left)
        bound = np.log(np.maximum(above, 1e-9) / (q + 4 * np.sqrt(q) + 8))
        most = max(most, float(bound.max()))
    return most


# A function of i. It returns the i-th of nested sets of outputs, as a predicate, and a description.
_EventOf = Callable[[int], tuple[Callable[[NDArray[Any]], Bools], str]]


def _candidates(
    left: NDArray[Any], right: NDArray[Any]
) -> Iterator[tuple[_EventOf, bool, Ints, Ints]]:
    """Yield families of nested sets as candidates for an event.

    An item has four parts. `event_of` returns the set with a given index. `forward` says on which
    side the sets should be more likely: True for the left one. Two arrays have the numbers of hits
    of each set on that side, and on the other side.
    """
    sets = _outcome_sets if left.dtype.kind in "iu" else _tails
    for event_of, hits_left, hits_right in sets(left, right):
        yield event_of, True, hits_left, hits_right
        yield event_of, False, hits_right, hits_left


def _outcome_sets(left: NDArray[Any], right: NDArray[Any]) -> Iterator[tuple[_EventOf, Ints, Ints]]:
    outcomes, which = np.unique(np.concatenate([left, right]), return_inverse=True)
    counts_left = np.bincount(which[: len(left)], minlength=len(outcomes))
    counts_right = np.bincount(which[len(left) :], minlength=len(outcomes))
    order = np.argsort(-(counts_left + 0.5) / (counts_right + 0.5), kind="stable")

    def event_of(ranks: Ints, i: int) -> tuple[Callable[[NDArray[Any]], Bools], str]:
        chosen = outcomes[ranks[: i + 1]]
        text = f"a set of {i + 1} of {len(outcomes)} outcomes"
        return lambda output: np.isin(output, chosen), text

    for ranks in (order, order[::-1]):
        hits = np.cumsum(counts_left[ranks]), np.cumsum(counts_right[ranks])
        yield partial(event_of, ranks), *hits


def _tails(left: NDArray[Any], right: NDArray[Any]) -> Iterator[tuple[_EventOf, Ints, Ints]]:
    values = np.unique(np.concatenate([left, right]))
    # Thresholds are values at evenly spaced ranks, and at ranks that are dense near both ends.
    even = np.linspace(0, len(values) - 1, N_THRESHOLDS)
    near = np.geomspace(1, len(values), N_THRESHOLDS) - 1
    ranks = np.unique(np.concatenate([even, near, len(values) - 1 - near]).astype(np.int64))

    def event_of(sign: float, cuts: Floats, i: int) -> tuple[Callable[[NDArray[Any]], Bools], str]:
        text = f"score {'≤' if sign > 0 else '≥'} {sign * cuts[i]:.6g}"
        return lambda output: sign * output <= cuts[i], text

    for sign in (1.0, -1.0):
        cuts = np.sort(sign * values[ranks])
        hits = [np.searchsorted(np.sort(sign * side), cuts, side="right") for side in (left, right)]
        yield partial(event_of, sign, cuts), hits[0], hits[1]
