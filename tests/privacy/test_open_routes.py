"""Each gap that docs/audit.md lists under "What the seal does not stop" is open."""

import contextlib
import re
import threading
import time
import warnings
from functools import wraps
from pathlib import Path

import numpy as np
import pytest
from broken_majority import X, Y, majority_with_release

from privcurve.kernels.arithmetic import compiled
from privcurve.learners.holders.holder import HolderRows, LocalHolder
from privcurve.learners.majority import MARGIN
from privcurve.privacy.curator import party_of
from privcurve.privacy.sealed import Noise, SealedError, kernel, mechanism, seal

pytestmark = pytest.mark.usefixtures("announced_margin")

PLAIN = np.arange(1.0, 7.0)
DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"
ROUTES = {}


def open_route(words):
    """Register a function that shows a sentence of the list; `words` are its first words."""

    def registered(show):
        ROUTES[words] = show
        return show

    return registered


def sealed():
    return seal(PLAIN, "mine")


@open_route("The seal protects against mistakes inside a fit, not against intent: private names")
def private_names(monkeypatch, tmp_path, capsys):
    assert sealed()._array.sum() == PLAIN.sum()


@open_route(
    "A kernel, or code that answers `Totals`, can reveal values by the shape, the type or the"
)
def shapes_types_and_numbers(monkeypatch, tmp_path, capsys):
    assert len(kernel(np.unique)(sealed())) == 6
    small = kernel(lambda v: v.astype(np.min_scalar_type(int(v.max()))))
    assert small(sealed()).dtype == np.uint8
    assert len(kernel(lambda v: tuple(v))(sealed())) == 6


def printed(v):
    print(v.sum())
    return v


def warned_of(v):
    warnings.warn(f"{v.sum()}", stacklevel=1)
    return v


@open_route("A kernel can print, warn or log")
def words(monkeypatch, tmp_path, capsys):
    kernel(printed)(sealed())
    assert capsys.readouterr().out == "21.0\n"
    with pytest.warns(UserWarning, match=r"21\.0"):
        kernel(warned_of)(sealed())


def saved(path, v):
    np.save(path, v)
    return v


SEEN = []


def noted(v):
    SEEN.append(v.sum())
    return v


def calls_another(v):
    return noted(v)


def calls_what_it_is_given(do, v):
    do(v.sum())
    return v


@open_route(
    "A kernel can write a file; a function that it calls, or gets as an argument, can write into a"
)
def writes(monkeypatch, tmp_path, capsys):
    kernel(saved)(str(tmp_path / "seen.npy"), sealed())
    assert np.array_equal(np.load(tmp_path / "seen.npy"), PLAIN)
    kernel(calls_another)(sealed())
    kernel(calls_what_it_is_given)(SEEN.append, sealed())
    assert [SEEN.pop(), SEEN.pop()] == [21.0, 21.0]


@open_route("A mechanism sees open values; the contract checks it")
def mechanisms(monkeypatch, tmp_path, capsys):
    assert mechanism(lambda noise, v: v)(Noise(np.zeros(6), "mine"), sealed()) is not None
    assert mechanism(lambda noise, v: float(v.sum()))(Noise(PLAIN, "mine"), sealed()) == 21.0


@open_route("An error in a thread of the learner's own does not end the fit")
def threads(monkeypatch, tmp_path, capsys):
    caught = []

    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()

        def ask():
            try:
                curator.call("another margin")
            except RuntimeError as error:
                caught.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        self.margin_, self.n_records_ = curator.number(MARGIN, margin), records.n

    assert np.isfinite(majority_with_release(release).fit(X, Y).margin_)
    assert "must be announced" in caught[0]


@open_route("A party in this process (`LocalHolder`) shows its number of records")
def sizes_of_parties(monkeypatch, tmp_path, capsys):
    rows = HolderRows(sealed()[None], sealed(), sealed().astype(np.int64))
    assert LocalHolder(rows, None, 2, party_of(1)).size == 21


@open_route("A user can pass records to a method of the learner other than `fit`")
def methods_other_than_fit(monkeypatch, tmp_path, capsys):
    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()
        self.margin_, self.n_records_ = curator.number(MARGIN, margin), records.n

    model = majority_with_release(release).fit(X, Y)
    type(model).calibrate = lambda self, X, y: setattr(self, "share_", np.mean(y))
    model.calibrate(X, Y)
    assert model.share_ == Y.mean()


@open_route("Time and memory depend on the records")
def time_spent(monkeypatch, tmp_path, capsys):
    begun = time.perf_counter()
    kernel(lambda v: (time.sleep(v[-1] / 100), v)[1])(sealed())
    assert time.perf_counter() - begun > 0.05


@pytest.mark.parametrize("show", ROUTES.values(), ids=lambda show: show.__name__)
def test_each_listed_gap_is_open(show, monkeypatch, tmp_path, capsys):
    show(monkeypatch, tmp_path, capsys)


def test_the_page_lists_exactly_these_gaps():
    text = DOCUMENT.read_text().split("### What the seal does not stop\n")[1].split("\n## ")[0]
    before, *items = re.sub(r"\s+", " ", text.replace("\n- ", "\0")).split("\0")
    items_of = {words: [item for item in (before, *items) if words in item] for words in ROUTES}
    assert not [words for words, named in items_of.items() if len(named) != 1]
    assert {item for named in items_of.values() for item in named} == {before, *items}


# Closed routes ----------------------------------------------------------------------------------


class Counting:
    """A kernel that stores values."""

    def __call__(self, v):
        self.largest = v.max()
        return v


def test_a_kernel_that_is_an_object_has_no_memory():
    with pytest.raises(SealedError, match="kernel Counting closes over a mutable variable"):
        kernel(Counting())(sealed())


def test_a_kernel_of_numpy_or_of_compiled_code_has_none():
    assert kernel(np.sort)(sealed()).ndim == 1
    assert kernel(compiled(twice))(sealed()).ndim == 1


def twice(v):
    return 2 * v


LOOKS = {
    "its size in memory": lambda x: x.nbytes,
    "its flags": lambda x: x.flags,
    "a comparison with what it may be": lambda x: 21.0 in [x.sum()],
    "an order": lambda x: sorted([x.sum(), 1.0]),
    "a length": lambda x: np.zeros(x.sum().astype(int)),
    "a range": lambda x: range(x.sum().astype(int)),
    "a key": lambda x: {x.sum(): 1},
    "a slice": lambda x: x[: x.sum().astype(int)],
    "a mask": lambda x: x[x > 2],
    "equality of arrays": lambda x: np.array_equal(x, PLAIN),
    "a match": lambda x: [1 for _ in x.sum()],
    "an object's ufunc": lambda x: np.frompyfunc(print, 1, 1)(x),
    "a function of each": lambda x: np.vectorize(float)(x),
    "a format": lambda x: f"{x.sum():.3f}",
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_look_is_refused(look):
    with pytest.raises(SealedError, match="exact values are sealed"):
        look(sealed())


def test_an_error_caught_by_the_learner_still_ends_its_fit():
    """Each look ends the fit of a learner that suppresses the error."""

    def release(look):
        def released(self, records, curator):
            margin = (records.counts * records.labels).sum()
            with contextlib.suppress(Exception):
                look(records.counts)
            self.margin_, self.n_records_ = curator.number(MARGIN, margin), records.n

        return wraps(look)(released)

    for look in LOOKS.values():
        with pytest.raises(SealedError):
            majority_with_release(release(look)).fit(X, Y)
