"""The curator gives a private fit no answer without noise, and counts all answers."""

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest
from broken_majority import X, Y, majority_with_release, make_release
from randomgen import DSFMT, MT19937, PCG32

from privcurve.learners.boosting import aim
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.shared import sealing
from privcurve.privacy.account import DoorError
from privcurve.privacy.curator import EXACT, Call, Curator
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE, NOISY_LABEL, PERMUTE_AND_FLIP
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.parts import Totals
from privcurve.privacy.sealed import SealedError

pytestmark = pytest.mark.usefixtures("announced_margin")

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
    "by a part of the noise, of no unit": lambda curator, margin: curator.party(1)[0].share(
        Call("laplace", 2.0, what=MARGIN), [margin], 2
    ),
    "by a part of the noise": lambda curator, margin: curator.party(1)[0].share(
        Call("laplace", 2.0, what=MARGIN), [margin], 10**9, 2.0**-10
    ),
}


@pytest.mark.parametrize("answer", EXACTLY.values(), ids=EXACTLY)
def test_a_private_fit_gets_no_exact_answer(answer):
    def ask(curator, margin):
        noisy = curator.number(MARGIN, margin)
        answer(curator, margin)
        return noisy

    with pytest.raises(DoorError, match=r"noise|fit's curator|at most 1 messages"):
        majority_with_release(make_release(ask), epsilon=1.0).fit(X, Y)


SHOWN = {
    "a fraction": (
        lambda curator, margin: curator.whole_numbers(_whole(2.0), margin / 3),
        "integer",
    ),
    "a fraction's order": (
        lambda curator, margin: curator.choose_exactly(_whole(2.0), np.stack([margin / 3, margin])),
        "integer",
    ),
    "a scale cut off": (
        lambda curator, margin: curator.whole_numbers(_whole(1.9), margin),
        "scale must be an integer",
    ),
    "too large a scale": (
        lambda curator, margin: curator.whole_numbers(_whole(2.0**50), margin),
        "scale must be an integer",
    ),
    "no number": (lambda curator, margin: curator.numbers(MARGIN, [0 * margin / 0]), "finite"),
    "an infinite number": (lambda curator, margin: curator.number(MARGIN, margin / 0), "finite"),
    "noise to come": (lambda curator, margin: curator.generator(()), "the stream of noise"),
    "no score": (lambda curator, margin: curator.choose(MARGIN, [0 * margin / 0, 0]), "finite"),
    "no margin": (lambda curator, margin: curator.signs(MARGIN, (0 * margin / 0)[None]), "finite"),
}


def _whole(scale):
    return Call("laplace", scale)


@pytest.mark.parametrize(("answer", "why"), SHOWN.values(), ids=SHOWN)
def test_values_that_noise_does_not_hide_are_refused(answer, why):
    with pytest.raises(DoorError, match=why):
        majority_with_release(make_release(answer), epsilon=1.0).fit(X, Y)


OF_ANOTHER_LAW = {
    "numbers of a choice": (
        {"score_range": 2.0}, lambda curator, margin: curator.number(MARGIN, margin)
    ),
    "whole numbers of a choice": (
        {"score_range": 2.0},
        lambda curator, margin: curator.whole_numbers(curator.call(MARGIN), margin.reshape(1)),
    ),
    "labels of a choice": (
        {"score_range": 2.0}, lambda curator, margin: curator.signs(MARGIN, margin.reshape(1))
    ),
    "a point of labels": (
        {"margins": 2.0, "by": NOISY_LABEL},
        lambda curator, margin: curator.threshold(MARGIN, np.arange(2.0), margin.reshape(1)),
    ),
    "numbers of labels": (
        {"margins": 2.0, "by": NOISY_LABEL}, lambda curator, margin: curator.number(MARGIN, margin)
    ),
    "numbers by the noise of choices": (
        {"l1": 2.0, "by": PERMUTE_AND_FLIP}, lambda curator, margin: curator.number(MARGIN, margin)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("announced", "ask"), OF_ANOTHER_LAW.values(), ids=OF_ANOTHER_LAW)
def test_noise_pays_only_for_what_was_announced(monkeypatch, announced, ask):
    """The smallest of many answers with exponential noise would reveal the exact number."""
    calls = (Announced(MARGIN, **announced),)
    monkeypatch.setattr(NoisyMajorityClassifier, "_calls", lambda self, n: calls)
    with pytest.raises(DoorError, match="noise does not pay for such an answer"):
        majority_with_release(make_release(ask), epsilon=1.0).fit(X, Y)


@pytest.mark.parametrize(
    ("announced", "delta"),
    [
        ({"l1": 2.0, "l2": 2.0, "by": GAUSSIAN}, 0.0),
        ({"l1": 2.0, "l2": 2.0, "by": LAPLACE}, 1e-6),
        ({"score_range": 2.0, "by": PERMUTE_AND_FLIP}, 1e-6),
        ({"margins": 2.0, "by": LAPLACE}, 1e-6),
    ],
)
def test_a_mechanism_that_costs_more_than_is_charged_is_refused(announced, delta):
    with pytest.raises(ValueError, match="noise does not support delta"):
        noise_of("own", (Announced("a", **announced),), epsilon=1.0, delta=delta, status="proved")


@pytest.mark.parametrize("kind", [MT19937, PCG32, DSFMT])
def test_noise_is_not_drawn_from_words_that_are_too_short(kind):
    """32-bit words would shrink Gaussian noise to 10⁻⁹; 52-bit words give no negative noise."""
    with pytest.raises(ValueError, match=f"got {kind.__name__}, whose words"):
        NoisyMajorityClassifier(
            n_bins=4, classes=(0, 1), random_state=np.random.Generator(kind(1))
        ).fit(X, Y)


def test_calls_that_are_parallel_are_counted():
    def call_thrice(curator, margin):
        return np.mean([curator.number(MARGIN, margin) for _ in range(3)])

    def calls(self, n):
        (one,) = NoisyMajorityClassifier._calls(self, n)
        return (replace(one, parallel="the leaves"),)

    model = majority_with_release(make_release(call_thrice), epsilon=1.0)
    type(model)._calls = calls
    with pytest.raises(DoorError, match="called more often than it is charged"):
        model.fit(X, Y)


class Helper:
    """A learner's helper that asks the curator, like the project's own helpers."""

    def __init__(self, curator):
        self.curator = curator


KEPT = {
    "the curator": lambda curator: curator,
    "its stream": lambda curator: curator._source,
    "its stream among others": lambda curator: {"a": [curator._source]},
    "a party": lambda curator: [curator.party(1)[0]],
    "a party's stream": lambda curator: curator.party(1)[0]._source,
    "a helper that has it": Helper,
    "its method": lambda curator: [curator.number],
    "a function that has it": lambda curator: [lambda: curator.number(MARGIN, 0)],
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_model_keeps_nothing_that_reveals_its_noise(monkeypatch, kept):
    def release(self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        self.margin_ = curator.number(MARGIN, (records.counts * records.labels).sum())
        self.left_ = kept(curator)

    monkeypatch.setattr(NoisyMajorityClassifier, "_release", release)
    with pytest.raises(SealedError, match=r"left_ of the fitted model .* reveals the noise"):
        NoisyMajorityClassifier(n_bins=2, epsilon=1.0, random_state=1).fit([[0], [1]], [0, 1])


def test_a_model_that_keeps_no_curator_is_not_searched(monkeypatch):
    # The search takes a tenth of a small fit.
    searches = []
    monkeypatch.setattr(sealing, "refuse_noise_kept", lambda *value: searches.append(value))
    NoisyMajorityClassifier(n_bins=2, epsilon=1.0, random_state=1).fit([[0], [1]], [0, 1])
    assert not searches


def test_an_error_of_a_function_on_records_reveals_nothing():
    def refuse(records):
        raise ValueError(f"{records.labels.sum()}")

    def release(self, records, curator):
        with contextlib.suppress(ValueError):
            Totals(records, refuse)

    with pytest.raises(SealedError, match="refuse ends with ValueError"):
        majority_with_release(release, epsilon=1.0).fit(X, Y)


def test_a_ledger_that_costs_more_than_epsilon_ends_the_fit():
    model = majority_with_release(
        make_release(lambda curator, margin: curator.number(MARGIN, margin))
    )
    own = NoisyMajorityClassifier._guarantee
    type(model)._guarantee = lambda self, n: replace(own(self, n), epsilon=0.5)
    with pytest.raises(
        DoorError, match=r"the calls must add up to epsilon = 0\.5; they add up to 1\.0"
    ):
        model.fit(X, Y)


def test_entries_of_twice_the_booked_share_end_the_fit(monkeypatch):
    """AIM writes its ledger from its calls, so the two always agree: their sum is checked."""
    own = aim.SharedBudget.entry
    monkeypatch.setattr(
        aim.SharedBudget, "entry", lambda self, call, share: own(self, call, 2 * share)
    )
    learner = aim.AIMClassifier(n_bins=4, classes=(0, 1), epsilon=1.0, delta=1e-5, n_rounds=1)
    with pytest.raises(DoorError, match="the calls must add up to epsilon = "):
        learner.fit(X, Y)
