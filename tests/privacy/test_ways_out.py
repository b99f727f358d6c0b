"""Closed ways around the seal; docs/audit.md lists the open ones.

`test_sealed.py` tests looks at sealed values; `test_distant.py` tests kernels whose result has a
shape, type or number that depends on values.
"""

import contextlib
import contextvars
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from broken_majority import X, Y, majority_with_release

from privcurve.learners.majority import MARGIN
from privcurve.learners.registry import estimator_class
from privcurve.privacy.account import DoorError
from privcurve.privacy.sealed import WHOLE, SealedError, kernel, open_values, seal

pytestmark = pytest.mark.usefixtures("announced_margin")

PLAIN = np.arange(1.0, 7.0)


def sealed():
    return seal(PLAIN, "mine")


TYPES = {
    "its state": lambda x: x.__getstate__(),
    "its parts": lambda x: x.__reduce__(),
    "objects": lambda x: x.astype(object),
    "texts": lambda x: x.astype(str),
    "a sum of objects, whose type is that of its size": lambda x: np.sum(x, dtype=object),
    "the same of a function": lambda x: np.add.reduce(x, dtype=object),
    "another one": lambda x: np.mean(x, dtype="O"),
    "like it, of objects": lambda x: np.full_like(x, 2**70, dtype=object),
    "a number of Python beyond 64 bits": lambda x: kernel(lambda v: 2 ** int(v.sum() * 10))(x),
    "a text": lambda x: kernel(lambda v: f"{v.max()} records")(x),
    "an array of texts": lambda x: kernel(lambda v: np.array(["a" * int(v[0])]))(x),
    "bytes": lambda x: kernel(lambda v: v.tobytes())(x),
    "a result among others": lambda x: kernel(lambda v: (v, "yes" if v.sum() > 3 else "no"))(x),
}


@pytest.mark.parametrize("look", TYPES.values(), ids=TYPES)
def test_no_type_reveals_a_value(look):
    with pytest.raises(SealedError, match="mine: "):
        look(sealed())


def test_types_and_results_marked_whole_are_unchanged():
    x = sealed()
    assert x.astype(np.float32).dtype == np.float32
    assert np.sum(x, dtype=np.int64).dtype == np.int64
    box = kernel(lambda v: {"largest": str(v.max())}, rows=WHOLE)(x)
    assert open_values(box) == {"largest": "6.0"}


SEEN, WORK, TABLE = [], np.zeros(6), {"a": 1}
LAST = 0.0
CONSTANTS = np.arange(3.0)
CONSTANTS.flags.writeable = False
NAMES, WEIGHTS = MappingProxyType({"a": 2.0}), (0.5, (2.0, 3.0))


class Kept:
    largest = 0.0


def appended(v):
    SEEN.append(v.sum())
    return v


def written(v):
    WORK[:] = v
    return v


def looked_up(v):
    TABLE["b"] = v.max()
    return v


def set_global(v):
    global LAST
    LAST = v.sum()
    return v


def set_on_itself(v):
    set_on_itself.largest = v.max()
    return v


def set_on_a_class(v):
    Kept.largest = v.max()
    return v


def in_a_function_of_its_own(v):
    def inner(one):
        SEEN.append(one)
        return one

    return inner(v)


def given_first(weight, v):
    return appended_too(weight * v)


def appended_too(v):
    SEEN.append(v.sum())
    return v


OUTSIDE = {
    appended: "reads SEEN of its module, which is mutable",
    written: "reads WORK of its module",
    looked_up: "reads TABLE of its module",
    set_global: "sets LAST outside of it",
    set_on_itself: "sets largest outside of it",
    set_on_a_class: "sets largest outside of it",
    in_a_function_of_its_own: "reads SEEN of its module",
}


@pytest.mark.parametrize(
    ("function", "why"), OUTSIDE.items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_a_kernel_writes_nothing_into_its_module(function, why):
    for made in (kernel(function), kernel(partial(function))):
        for _ in range(2):
            with pytest.raises(SealedError, match=f"{function.__name__} {why}"):
                made(sealed())
    assert not SEEN
    assert not WORK.any()


def test_a_kernel_reads_what_can_not_be_changed():
    def scaled(v):
        return v * NAMES["a"] + WEIGHTS[0] + CONSTANTS.sum()

    np.testing.assert_array_equal(open_values(kernel(scaled)(sealed())), 2 * PLAIN + 3.5)
    # As documented: functions that a kernel calls are not watched.
    kernel(given_first)(2.0, sealed())
    assert SEEN.pop() == 2 * PLAIN.sum()


@pytest.mark.parametrize("number", [lambda m: 0 * m / 0, lambda m: m / (m - m)], ids=["NaN", "inf"])
def test_a_refused_answer_that_a_learner_catches_ends_its_fit(number):
    """Whether an answer is refused depends on exact values."""

    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()
        with contextlib.suppress(DoorError):
            curator.number(MARGIN, number(margin.astype(np.float64)))
        self.margin_, self.n_records_ = 0.0, records.n

    with pytest.raises(DoorError, match="exact values must be finite"):
        majority_with_release(release, epsilon=1.0).fit(X, Y)


def test_a_call_that_is_not_announced_ends_a_fit_that_catches_it():
    def release(self, records, curator):
        self.margin_ = curator.number(MARGIN, (records.counts * records.labels).sum())
        self.n_records_ = records.n
        with contextlib.suppress(DoorError):
            curator.call("another margin")

    with pytest.raises(DoorError, match="a call must be announced; 'another margin' is not"):
        majority_with_release(release, epsilon=1.0).fit(X, Y)
    assert np.isfinite(majority_with_release(release, epsilon=np.inf).fit(X, Y).margin_)


def test_a_copy_of_the_context_that_outlives_the_fit_is_no_leak():
    """An event loop keeps a context for each callback that is registered during the fit."""
    kept = []

    def release(self, records, curator):
        kept.append(contextvars.copy_context())
        self.margin_ = curator.number(MARGIN, (records.counts * records.labels).sum())

    assert np.isfinite(majority_with_release(release).fit(X, Y).margin_)
    assert kept


def test_only_statements_of_sealed_fits_say_sealed():
    result = "sealed, against accidental looks at exact values, not against intent"
    X, y = np.arange(400).reshape(200, 2) % 4, np.arange(200) % 2
    for name, parameters, is_sealed in (
        ("noisy_majority", {}, True),
        ("pate", {"public_columns": [0]}, False),
        ("bdpe", {"calibration": "published"}, False),
        ("noisy_majority", {"epsilon": np.inf}, False),
    ):
        given = {"epsilon": 1.0, "n_bins": 4, "classes": (0, 1), **parameters}
        statement = estimator_class(name)(**given).fit(X, y).privacy_
        assert (result in str(statement), statement.sealed) == (is_sealed, is_sealed), name
