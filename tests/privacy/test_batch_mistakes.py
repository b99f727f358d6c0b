"""Mistakes with sampled batches: the fit refuses each, or the contract names it."""

import numpy as np
import pytest

from privcurve.audit.contract import CHARGE, SEALED, SENSITIVITY, Case, check
from privcurve.coding import Records
from privcurve.learners.linear import dp_sgd
from privcurve.learners.linear.dp_sgd import GRADIENT, DPSGDClassifier
from privcurve.privacy.curator import Curator, DoorError
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.parts import Totals
from privcurve.privacy.sealed import SealedError, kernel
from privcurve.privacy.sums import Sum

SETTING = {"n_epochs": 1, "batch_rate": 0.5, "delta": 1e-2}
CASE = Case("dp_sgd", SETTING)
pytestmark = pytest.mark.filterwarnings("ignore:delta = 0.01")

X = np.tile([[0, 0], [1, 2], [1, 0]], (20, 1))
Y = np.tile([0, 1], 30)


def fit():
    return DPSGDClassifier(**SETTING, n_bins=[2, 3], classes=(0, 1), random_state=3).fit(X, Y)


def test_the_learner_as_it_is_has_derived_noise():
    assert fit().privacy_.status == "derived"


@kernel(rows=0)
def first_rows(values, n):
    return values[:n]


@kernel(rows=0)
def some_rows(values, places):
    return values[places % len(values)]


def in_the_order_of_the_data(self, call, records, rate):
    return [first_rows(part, 30) for part in records[:3]] + [None]


def of_a_fixed_size(self, call, records, rate):
    places = np.sort(self.coins.permutation(60)[:30])
    return [some_rows(part, places) for part in records[:3]] + [None]


def of_all_records(self, call, records, rate):
    return records


def as_a_slice(self, call, records, rate):
    return records._replace(codes=records.codes[:30], labels=records.labels[:30])


own_batch = Curator.batch


def at_a_larger_rate(self, call, records, rate):
    return own_batch(self, call, records, 1.5 * rate)


def of_the_first_step(self, call, records, rate):
    if call == GRADIENT.format(1):
        self.kept = own_batch(self, call, records, rate)
    return self.kept


def drawn_twice(self, call, records, rate):
    return own_batch(self, GRADIENT.format(1), records, rate)


def of_a_batch(self, call, records, rate):
    return own_batch(self, call, own_batch(self, GRADIENT.format(2), records, rate), rate)


NO_BATCH = "announced for its own batch, drawn at a rate of 0.5, and the sum is of all records"


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (in_the_order_of_the_data, NO_BATCH),
        (of_a_fixed_size, NO_BATCH),
        (of_all_records, NO_BATCH),
        (as_a_slice, NO_BATCH),
        (at_a_larger_rate, "a batch is drawn at a rate of 0.75, and sampled = 0.5 is announced"),
        (
            of_the_first_step,
            r"step 2: announced .* and the sum is of 'clipped gradients of step 1'",
        ),
        (drawn_twice, "a call must draw its batch once; it draws it again"),
        (of_a_batch, "a batch is drawn of all records of a fit"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_another_batch_is_refused(monkeypatch, batch, message):
    monkeypatch.setattr(Curator, "batch", batch)
    with pytest.raises(DoorError, match=message):
        fit()
    breach = check(CASE, n_random=5).breach
    assert (breach.point, message.split(",")[0] in breach.why or ".*" in message) == (CHARGE, True)


def test_a_smaller_rate_than_is_used_is_refused(monkeypatch):
    def calls(self, n):
        return (Announced(GRADIENT, times=self._n_steps, sampled=self.batch_rate / 2),)

    monkeypatch.setattr(DPSGDClassifier, "_calls", calls)
    with pytest.raises(DoorError, match=r"drawn at a rate of 0.5, and sampled = 0.25 is announced"):
        fit()


def test_one_charge_for_two_steps_is_refused(monkeypatch):
    monkeypatch.setattr(DPSGDClassifier, "_calls", lambda self, n: (
        Announced(GRADIENT.format(1), sampled=self.batch_rate),))  # fmt: skip
    with pytest.raises(DoorError, match="must be announced; 'clipped gradients of step 2' is not"):
        fit()


def test_a_batch_without_its_charge_is_refused(monkeypatch):
    monkeypatch.setattr(
        DPSGDClassifier, "_calls", lambda self, n: (Announced(GRADIENT, times=self._n_steps),)
    )
    with pytest.raises(DoorError, match=r"drawn at a rate of 0.5, and sampled = 1 is announced"):
        fit()


def test_several_batches_in_one_sum_are_refused(monkeypatch):
    own, kept = Curator.numbers, []

    def numbers(self, call, exact):
        kept.append(exact)
        return own(self, call, exact + kept[0])

    monkeypatch.setattr(Curator, "numbers", numbers)
    with pytest.raises(DoorError, match="of step 1' and 'clipped gradients of step 2': take"):
        fit()
    kept.clear()


def test_the_size_of_a_batch_is_sealed(monkeypatch):
    def batch(self, call, records, rate):
        drawn = own_batch(self, call, records, rate)
        self.size = drawn.n
        return drawn

    monkeypatch.setattr(Curator, "batch", batch)
    with pytest.raises(SealedError, match="the number of records"):
        fit()
    assert check(CASE, n_random=5).breach.point == SEALED


def test_totals_of_a_batch_are_refused(monkeypatch):
    def batch(self, call, records, rate):
        return Totals(own_batch(self, call, records, rate), dict)

    monkeypatch.setattr(Curator, "batch", batch)
    with pytest.raises(SealedError, match="totals of a sampled batch"):
        fit()


def test_whole_noise_is_for_the_derived_sensitivity():
    """The noise is not for the announced sensitivity of 1."""
    statement = noise_of("test", (Announced("sums"),), epsilon=0.25, status="proved")
    curator = Curator(np.random.default_rng(1))
    curator.announce(statement)
    codes, labels = np.zeros((1, 1), dtype=np.uint8), np.ones(1, dtype=np.int8)
    rows, _ = curator.rows(Records(codes, labels, np.ones(1, dtype=np.int64), np.array([9])))
    total = rows.sum(axis=0)
    total = Sum.make(np.zeros(1, dtype=np.int64), "", total._bounds)
    answers = []
    for k in range(200):
        again = Curator(np.random.default_rng([2, k]))
        again.announce(statement)
        answers.append(float(again.whole_numbers(again.call("sums"), total)[0]))
    # The mean size of Laplace noise is its scale, 8 / 0.25; of 200 numbers within a third.
    assert np.abs(answers).mean() == pytest.approx(32, rel=0.34)


@pytest.mark.parametrize("hidden", [0, 2])
def test_a_clip_that_is_ignored_is_seen(monkeypatch, hidden):
    own = dp_sgd.add_gradients

    def unclipped(*given):
        return own(*given[:-2], 1e9, given[-1])

    monkeypatch.setattr(dp_sgd, "add_gradients", unclipped)
    case = Case("dp_sgd", {**SETTING, "n_hidden": hidden, "clip": 0.1})
    breach = check(case, n_random=25).breach
    assert breach.point == SENSITIVITY
    assert "times the announced sensitivity" in breach.why


@kernel
def size_of(counts):
    return counts.sum()


def test_other_functions_of_a_batch_are_found(monkeypatch):
    """The size of a batch, with noise announced by hand for all records."""
    own_calls, own_release = DPSGDClassifier._calls, DPSGDClassifier._release
    sizes = []

    def calls(self, n):
        (steps,) = own_calls(self, n)
        half = Announced(GRADIENT, times=steps.times, sampled=steps.sampled, share=0.5)
        return (half, Announced("the size of a batch", share=0.5, l1=1.0, l2=1.0))

    def batch(self, call, records, rate):
        drawn = own_batch(self, call, records, rate)
        sizes.append(size_of(drawn.counts))
        return drawn

    def release(self, records, curator):
        sizes.clear()
        own_release(self, records, curator)
        curator.number("the size of a batch", sizes[0])
        sizes.clear()

    monkeypatch.setattr(DPSGDClassifier, "_calls", calls)
    monkeypatch.setattr(DPSGDClassifier, "_release", release)
    monkeypatch.setattr(Curator, "batch", batch)
    assert fit().privacy_.status != "derived"
    breach = check(CASE, n_random=25).breach
    assert breach.point == CHARGE
    assert "the size of a batch: it follows from the batch of 'clipped gradients" in breach.why
