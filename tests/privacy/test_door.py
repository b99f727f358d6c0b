"""The door gives a private fit no answer without its noise, and counts all that it gives."""

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
from broken_majority import X, Y, broken

from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.parts import Totals
from privcurve.privacy.account import DoorError
from privcurve.privacy.curator import EXACT, Call, Curator
from privcurve.privacy.sealed import SealedError

EXACTLY = {
    "without noise": lambda curator, margin: curator.numbers(EXACT, [margin]),
    "of no number": lambda curator, margin: curator.numbers(Call("laplace", math.nan), [margin]),
    "less than none": lambda curator, margin: curator.numbers(Call("laplace", -1.0), [margin]),
    "a choice": lambda curator, margin: curator.choose(EXACT, [margin, 0]),
    "signs": lambda curator, margin: curator.signs(EXACT, margin.reshape(1)),
    "by a curator of one's own": lambda curator, margin: Curator(np.random.default_rng(0)).numbers(
        EXACT, [margin]
    ),
    "by a party": lambda curator, margin: curator.party(1)[0].numbers(EXACT, [margin]),
    "by a party, nearly": lambda curator, margin: curator.party(1)[0].numbers(
        Call("laplace", 1e-9, what=MARGIN), [margin]
    ),
    "by a party, often": lambda curator, margin: [
        party.numbers(Call("laplace", 2.0, what=MARGIN), [margin])
        for party in curator.party(1)
        for _ in range(9)
    ],
    "by a part of the noise": lambda curator, margin: curator.party(1)[0].share(
        Call("laplace", 2.0, what=MARGIN), [margin], 10**9
    ),
}


@pytest.mark.parametrize("answer", EXACTLY.values(), ids=EXACTLY)
def test_a_private_fit_gets_no_exact_answer(answer):
    def release(self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        margin = (records.counts * records.labels).sum()
        self.margin_ = curator.number(MARGIN, margin)
        answer(curator, margin)

    with pytest.raises(DoorError, match=r"noise|of a curator|more than 1"):
        broken(release, epsilon=1.0).fit(X, Y)


SHOWN = {
    "a fraction": (lambda curator, margin: curator.whole_numbers(_whole(2.0), margin / 3), "whole"),
    "a fraction's order": (
        lambda curator, margin: curator.choose_exactly(_whole(2.0), np.stack([margin / 3, margin])),
        "whole",
    ),
    "a scale cut off": (
        lambda curator, margin: curator.whole_numbers(_whole(1.9), margin),
        "whole",
    ),
    "too large a scale": (
        lambda curator, margin: curator.whole_numbers(_whole(2.0**50), margin),
        "whole",
    ),
    "no number": (lambda curator, margin: curator.numbers(MARGIN, [0 * margin / 0]), "finite"),
    "an infinite number": (lambda curator, margin: curator.number(MARGIN, margin / 0), "finite"),
    "noise to come": (lambda curator, margin: curator.generator(()), "the stream of noise"),
    "no score": (lambda curator, margin: curator.choose(MARGIN, [0 * margin / 0, 0]), "finite"),
}


def _whole(scale):
    return Call("laplace", scale)


@pytest.mark.parametrize(("answer", "why"), SHOWN.values(), ids=SHOWN)
def test_what_noise_does_not_hide_is_refused(answer, why):
    def release(self, records, curator):
        answer(curator, (records.counts * records.labels).sum())

    with pytest.raises(DoorError, match=why):
        broken(release, epsilon=1.0).fit(X, Y)


def test_calls_that_are_parallel_are_counted():
    def release(self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        margin = (records.counts * records.labels).sum()
        self.margin_ = np.mean([curator.number(MARGIN, margin) for _ in range(3)])

    def calls(self, n):
        (one,) = NoisyMajorityClassifier._calls(self, n)
        return (replace(one, parallel="the leaves"),)

    model = broken(release, epsilon=1.0)
    type(model)._calls = calls
    with pytest.raises(DoorError, match="called more often than it is charged"):
        model.fit(X, Y)


class Helper:
    """Asks for a learner, as the project's own helpers do."""

    def __init__(self, curator):
        self.curator = curator


KEPT = {
    "the curator": lambda curator: curator,
    "its stream": lambda curator: curator._source,
    "a helper that has it": Helper,
    "its method": lambda curator: [curator.number],
    "a function that has it": lambda curator: [lambda: curator.number(MARGIN, 0)],
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_what_tells_the_noise_is_not_left_on_a_model(monkeypatch, kept):
    def release(self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        self.margin_ = curator.number(MARGIN, (records.counts * records.labels).sum())
        self.left_ = kept(curator)

    monkeypatch.setattr(NoisyMajorityClassifier, "_release", release)
    with pytest.raises(SealedError, match=r"left_ of the fitted model .* tells the noise"):
        NoisyMajorityClassifier(n_bins=2, epsilon=1.0, random_state=1).fit([[0], [1]], [0, 1])


def test_what_makes_answers_of_records_tells_nothing():
    def refuse(records):
        raise ValueError(f"{records.labels.sum()}")

    def release(self, records, curator):
        with contextlib.suppress(ValueError):
            Totals(records, refuse)

    with pytest.raises(SealedError, match="refuse ends with ValueError"):
        broken(release, epsilon=1.0).fit(X, Y)
