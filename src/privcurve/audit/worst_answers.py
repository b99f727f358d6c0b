"""Attack a learner by a search for answers of its curator with a large privacy loss.

The attack trains a learner on one side of a pair with prescribed answers, and on the other side
with the same answers (`replay_fits`). Where exact values differ between the sides, it replaces one
answer after another by the answer with the largest ratio of probabilities. The logarithms of these
ratios add up to the privacy loss of a possible output: a certain lower bound on the fit's ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.pairs import Pair
from privcurve.audit.replay_fits import CONTROL, FAR, HANDED, BreachError, Event, Place, Replay
from privcurve.coding import Floats, Records
from privcurve.learners.base import CodedClassifier
from privcurve.privacy.mechanisms import LAPLACE, MECHANISMS, SELECTIONS

NUMBERS = ("numbers", "whole numbers")

# The index of an answer in an event. In a compiled loop, it is the index of a choice or label. Any
# other event has a single answer, with the index ().
Part = tuple[int, ...]


def worst_answers(learner: CodedClassifier, pair: Pair) -> float:
    """Return the largest privacy loss of a fit's answers that a greedy search finds.

    The result is infinite if the two sides make different calls.
    """
    return max(
        _loss_of_answers(learner, pair.left, pair.right),
        _loss_of_answers(learner, pair.right, pair.left),
    )


def _loss_of_answers(learner: CodedClassifier, likely: Records, unlikely: Records) -> float:
    script: dict[Place, NDArray[Any]] = {}
    settled: set[tuple[Place, Part]] = set()
    while True:
        first = Replay([0], script=script)
        second = Replay([0], first)
        try:
            for side, curator in ((likely, first), (unlikely, second)):
                learner.fit_records(side, [{}], [curator])
                curator.close()
        except BreachError as breach:
            if breach.point == CONTROL:
                return math.inf
            raise
        if first.inners:
            raise ValueError(f"{learner._learner}: answers in private selection are not released")
        total, unsettled = 0.0, None
        for place, one, other in _events(first, second):
            for part in _parts(one):
                if np.array_equal(one.exact[part], other.exact[part]):
                    continue
                loss, worst = _loss(one, other, part)
                total += loss
                if unsettled is None and (place, part) not in settled:
                    answer = np.array(one.answer)  # a copy, even of a number
                    answer[part] = worst
                    unsettled = place, part, answer
        if unsettled is None:
            return total
        script[unsettled[0]] = unsettled[2]
        settled.add(unsettled[:2])


def _events(first: Replay, second: Replay) -> Iterator[tuple[Place, Event, Event]]:
    """Yield the place of each event of a fit and of its parties, and the event on both sides."""
    pairs = zip((first, *first.holders), (second, *second.holders), strict=True)
    for one, other in pairs:
        for k, events in enumerate(zip(one.events, other.events, strict=True)):
            yield (*one.path, k), *events


def _parts(event: Event) -> Iterator[Part]:
    if event.kind != HANDED or not event.calls.size:
        return iter([()])
    choice = event.calls.flat[0].mechanism in SELECTIONS
    return iter(np.ndindex(event.shape[:-1] if choice else event.shape))


def _loss(one: Event, other: Event, part: Part) -> tuple[float, Any]:
    """Return the loss of the answer with the index `part`, and the possible answer of largest loss.

    The privacy loss of an answer is ln(P/P′), where P is its probability on the side of `one`, and
    P′ its probability on the side of `other`.
    """
    call: Any = one.calls[part[: one.calls.ndim]]
    left, right, answer = one.exact[part], other.exact[part], one.answer[part]
    chances = MECHANISMS[call.mechanism].probabilities
    if one.kind in NUMBERS and call.mechanism == LAPLACE:
        noise = answer / call.scale
        loss = float((np.abs(noise - right) - np.abs(noise - left)).sum())
        return loss, np.rint(call.scale * left) if one.kind != NUMBERS[0] else call.scale * left
    choice = call.mechanism in SELECTIONS
    if chances is None or one.kind not in (HANDED, "choose" if choice else "signs"):
        raise ValueError(f"the attack can't compute the loss of {call.mechanism} ({one.kind})")

    def ratios(left: Floats, right: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.log(chances(left, 1.0)) - np.log(chances(right, 1.0)), nan=0.0)

    if not choice:
        # P(−) is computed as P(+) at the opposite margin: 1 − P(+) would lose digits of small
        # probabilities.
        plus, minus = ratios(left, right), ratios(-left, -right)
        far = FAR if one.kind == HANDED else 0.5
        likely = np.where(plus > minus, far, -far)
        loss = float(np.where(answer > 0, plus, minus).sum())
        return loss, likely if one.kind == HANDED else likely > 0
    if one.kind == "choose":
        losses = ratios(left, right)
        return float(losses[answer[0]]), np.argmax(losses)
    # A score of 0 may be padding that is no candidate. So compute the losses with and without
    # scores of 0, and take the smaller losses, which are valid in both cases.
    scored = (left != 0) | (right != 0)
    losses = np.full(len(left), -np.inf)
    losses[scored] = np.minimum(ratios(left[scored], right[scored]), ratios(left, right)[scored])
    order = answer.copy()
    order[np.argmax(losses)] = FAR
    return float(losses[np.argmax(answer)]), order
