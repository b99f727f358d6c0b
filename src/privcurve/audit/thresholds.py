"""Check that a compiled loop decides by the sum of score and noise, as it announces.

A replay (`replay_fits`) reads the scores that a loop adds to its noise, but does not test the
loop's decisions. A loop that counts its scores twice, or halves the noise of a choice, would spend
a multiple of its ε unnoticed. So this check prescribes noise close to a decision's *threshold*:
minus the score of a label, or the noise for a tie between two candidates. If the noise crosses the
threshold, and only then, the fitted state must change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.contract import Case, Verdict, released, train
from privcurve.audit.replay_fits import FAR, HANDED, NOISE, BreachError, Event, Place, Replay
from privcurve.audit.states import is_same
from privcurve.coding import Floats, Records
from privcurve.privacy.mechanisms import SELECTIONS

# Distances of the prescribed noise from the threshold, on both sides, in units of the noise scale.
# A replay computes scores to a millionth, so that smaller distances would not be reliable.
NEAR = (1e-3, 2e-3)

# Noisy scores at which two candidates tie: 0, and a value that is rare in real fits. The second
# value detects a loop that clips its noise, and so decides this tie by its scores alone.
LEVELS = (0.0, 30.0)

# Maximum number of decisions to try in an event, as each decision costs several fits. One half are
# the decisions with the largest scores; the other half are spread evenly over the event.
MOST = 8

# Number of records of the first table. The second table has as many as the case's largest table.
N = 40

# The index of a decision in the noise of an event: the index of the number for a label, or of the
# row of numbers (one per candidate) for a choice.
Part = tuple[int, ...]


class _Fits(NamedTuple):
    """Trains the learner of a case on the table `side` with prescribed answers."""

    case: Case
    side: Records
    seed: int

    def replay(self, script: Mapping[Place, NDArray[Any]]) -> tuple[dict[str, Any], Replay]:
        """Train with the answers of `script`; return the fitted state and the replay."""
        curator = Replay([self.seed, 1], script=script)
        model = train(self.case, self.side, curator)
        curator.close()
        return released(model), curator


def check_thresholds(case: Case, seed: int = 0) -> Verdict:
    """Check that decisions of compiled loops change at their thresholds; stop at the first breach.

    The model must also depend on the noise of more than half of all decisions. Otherwise a loop
    uses one noise for several decisions, or ignores noise. `n_pairs` of the verdict is the number
    of decisions.
    """
    verdict, decided = Verdict(case), 0
    rng = np.random.default_rng([seed, 23])
    for n in (N, max(case.sizes, default=N)):
        table = rng.integers((*case.bins, case.n_classes), size=(n, len(case.bins) + 1))
        side = case.table([tuple(row) for row in table.tolist()])
        try:
            flips = _check_table(_Fits(case, side, seed))
            verdict.n_pairs, decided = verdict.n_pairs + len(flips), decided + sum(flips)
        except BreachError as breach:
            breach.tables = (side,)
            verdict.breach = breach
            break
        except ValueError as error:
            verdict.refusal = str(error)
    if verdict.breach is None and verdict.n_pairs and decided <= verdict.n_pairs / 2:
        why = f"the model depends on the noise of only {decided} of {verdict.n_pairs} decisions"
        verdict.breach = BreachError(NOISE, f"{why}: a loop decides without the announced noise")
    return verdict


def _check_table(fits: _Fits) -> list[bool]:
    """Check decisions of a fit; return for each whether the model depends on its noise."""
    _, curator = fits.replay({})
    events = {
        (*one.path, k): event
        for one in (curator, *curator.holders)
        for k, event in enumerate(one.events)
    }
    answers = {place: event.answer for place, event in events.items()}
    return [
        _is_decided(fits, answers, event, place, part)
        for place, event in events.items()
        if event.kind == HANDED and event.calls.size
        for part in _parts(event)
    ]


def _is_choice(event: Event) -> bool:
    return event.calls.flat[0].mechanism in SELECTIONS


def _parts(event: Event) -> Iterator[Part]:
    """Yield up to `MOST` decisions that have scores; half of these have the largest scores."""
    spread = np.abs(event.exact)
    if _is_choice(event):
        spread = np.empty(event.shape[:-1])
        for place in np.ndindex(*spread.shape):
            first, last = _ends(event.exact[place])
            spread[place] = event.exact[place][first] - event.exact[place][last]
    scored = np.flatnonzero(spread > 0)
    largest = scored[np.argsort(-spread.ravel()[scored], kind="stable")][: MOST // 2]
    others = np.setdiff1d(scored, largest)
    even = np.linspace(0, max(len(others) - 1, 0), MOST - MOST // 2).astype(int)
    for k in np.union1d(largest, others[np.unique(even)] if len(others) else others):
        yield tuple(int(axis) for axis in np.unravel_index(k, spread.shape))


def _ends(scores: Floats) -> tuple[int, int]:
    """Return the index of the largest score, and the index of the smallest.

    Scores of 0 are left out, as they may be padding without a candidate.
    """
    scored = np.flatnonzero(scores) if scores.any() else np.array([0])
    return int(scored[np.argmax(scores[scored])]), int(scored[np.argmin(scores[scored])])


def _is_decided(
    fits: _Fits, answers: Mapping[Place, NDArray[Any]], event: Event, place: Place, part: Part
) -> bool:
    """Return whether the fitted state depends on the noise of the decision `part`.

    Raises BreachError if the state depends on the noise, but changes elsewhere than at the
    threshold.
    """
    exact, first, last = event.exact[part], *_ends(event.exact[part].reshape(-1))

    def state(more: float, level: float = 0.0) -> dict[str, Any]:
        """Return the fitted state if the noise of the decision is `more` above its threshold.

        For a choice, the noisy scores of two candidates are then `level` + `more` and `level`.
        """
        answer = event.answer.copy()
        if _is_choice(event):
            # The noise −FAR excludes all candidates but two, which get other noise below.
            answer[part] = -FAR
            answer[part][first] = level - exact[first] + more
            answer[part][last] = level - exact[last]
        else:
            answer[part] = more - exact
        return fits.replay({**answers, place: answer})[0]

    sides = [(sign, state(sign * FAR)) for sign in (1, -1)]
    if _is_same_state(sides[0][1], sides[1][1]):
        return False
    levels = LEVELS if _is_choice(event) else LEVELS[:1]
    for (sign, decided), more, level in itertools.product(sides, NEAR, levels):
        if not _is_same_state(state(sign * more, level), decided):
            call: Any = event.calls[part[: event.calls.ndim]]
            what = call.entry.what if call.entry else call.what
            raise BreachError(
                NOISE,
                f"{what}: with noise {sign * more:g} from the threshold, a loop decides as if it "
                "were on the other side: it does not add its scores to its noise as announced",
            )
    return True


def _is_same_state(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return all(is_same(one.get(name), other.get(name)) for name in {*one, *other})
