"""Sealed records: operations that a learner may use on exact values, and looks that end a fit."""

import contextlib
import copy
import pickle
import re
import warnings
from functools import partial

import numpy as np
import pytest
from broken_majority import X, Y, majority_with_release
from mistakes_any import replacement_of

from privcurve.audit.contract import Case, check_at_size
from privcurve.audit.replay_fits import POST_PROCESSING, SEALED
from privcurve.kernels import lazybb_rules
from privcurve.learners import tuned
from privcurve.learners.additive import residuals
from privcurve.learners.boosting import mst
from privcurve.learners.holders.sums import MessageNoise
from privcurve.learners.linear import dp_gradient_descent, dp_newton, joint
from privcurve.learners.linear.dp_newton import DPNewtonClassifier
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.learners.shared.voting import VotingClassifier
from privcurve.privacy.account import DoorError
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import Part, PartedRecords, Totals, digest_of, labels_of, seal_records
from privcurve.privacy.sealed import (
    WHOLE,
    Noise,
    SealedError,
    kernel,
    mechanism,
    open_values,
    seal,
    take,
)

pytestmark = pytest.mark.usefixtures("announced_margin")

RNG = np.random.default_rng(3)
PLAIN = RNG.integers(1, 9, (6, 4)).astype(np.float64)
COUNTS = np.arange(1, 7)


def sealed_by_row(values=PLAIN):
    return seal(values, "mine", 0)


def table(values=PLAIN):
    return seal(values, "mine")


class Adding:
    def __radd__(self, value):
        return value


LOOKS = {
    "bool": lambda x: bool(x[0, 0] > 3),
    "if": lambda x: 1 if x.sum() else 2,
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "round": lambda x: round(x.sum()),
    "index": lambda x: [1, 2, 3][x[0, 0].astype(int)],
    "iteration": list,
    "unpacking": lambda x: [*x],
    "in": lambda x: 3.0 in x,
    "print": print,
    "format": lambda x: f"{x.sum()}",
    "repr": repr,
    "hash": hash,
    "a key": lambda x: {x: 1},
    "pickle": pickle.dumps,
    "deepcopy": copy.deepcopy,
    "asarray": np.asarray,
    "array of them": lambda x: np.array([x[0, 0], x[0, 1]]),
    "into a plain array": lambda x: np.zeros(4).__setitem__(slice(None), x[0]),
    "out": lambda x: np.add(x, 1, out=np.zeros(x.shape)),
    "clip into": lambda x: np.clip(x, 0, 1, out=np.zeros(x.shape)),
    "sum into": lambda x: np.sum(x, 0, None, np.zeros(4)),
    "outer into": lambda x: np.outer(x[0], x[0], np.zeros((4, 4))),
    "an object for each": lambda x: x + np.array([1.0], dtype=object),
    "an object's own sum": lambda x: x + Adding(),
    "objects' own sums": lambda x: np.add(x[0], [Adding()] * 4),
    "a function for each": lambda x: np.frompyfunc(print, 1, 1)(x),
    "in place": lambda x: np.zeros(x.shape).__iadd__(x),
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x.sum().item(),
    "max": lambda x: max(x[0, 0], x[0, 1]),
    "unique": np.unique,
    "nonzero": np.nonzero,
    "a mask": lambda x: x[x > 3],
    "where": lambda x: np.where(x > 3),
    "split": lambda x: np.split(x, x[0, :1].astype(int)),
    "differences": lambda x: np.diff(x, x[0, 0].astype(int)),
    "a shape": lambda x: np.zeros_like(x, shape=x[0, :1].astype(int)),
    "an axis": lambda x: np.add.reduce(x, axis=(x[0, 0] > 3).astype(int)),
    "compress": lambda x: np.compress([True], x, axis=0),
    "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "bincount": lambda x: np.bincount(x[0].astype(int)),
    "an error": lambda x: (_ for _ in ()).throw(ValueError(f"too many: {x.sum()}")),
    "a warning": lambda x: warnings.warn(f"{x.sum()} records", stacklevel=1),
    "the digits of a number": lambda x: x.sum().astype(object).astype(str).dtype.itemsize,
    "isinstance of a number": lambda x: np.isclose(x.sum(), 3),
    "linear algebra": lambda x: np.linalg.eigvalsh(x[:4]),
    "a compiled loop": lambda x: lazybb_rules.count_votes(x, x, x, 0),
}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_look_names_learner_line_and_remedy(look):
    with pytest.raises(SealedError, match=r"mine: .*, line \d+ \(.*ask the curator"):
        look(table())


def test_an_error_of_numpy_does_not_tell_how_many_rows_there_are():
    with pytest.raises(SealedError, match="ends with ValueError") as error:
        sealed_by_row() + sealed_by_row(PLAIN[:5])
    assert "(6,4)" not in str(error.value)


class Dividing:
    """A learner's helper whose NumPy calls warn of a division by 0."""

    def __init__(self, records):
        self.counts = records.counts
        self.shares()

    def shares(self):
        return (self.counts / (0 * self.counts.sum())).astype(np.int64)


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_warning_of_numpy_within_a_fit_reveals_nothing(monkeypatch, tmp_path, in_parts):
    path = tmp_path / "1.npy"
    np.save(path, np.zeros((2, 3), dtype=np.uint8))
    np.save(labels_of(path), np.ones(3, dtype=np.int8))
    part = Part(str(path), 3, digest_of(path), (2, 2))

    def release(self, records, curator):
        kernel(np.divide)(records.counts, 0 * records.counts)
        if in_parts:
            records = PartedRecords((part,), records.n_bins, learner="mine")
        Totals(records, Dividing).ask("shares")

    monkeypatch.setattr(NoisyMajorityClassifier, "_release", release)
    model = NoisyMajorityClassifier(n_bins=2, classes=(-1, 1), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DoorError, match="announced"):
            model.fit(np.zeros((4, 2), dtype=np.uint8), [1, 1, -1, 1])


def test_the_records_of_a_part_are_sealed():
    records = seal_records(
        "mine", PartedRecords((Part("1.npy", 3, "", (2,)),), np.array([2])), True
    )
    assert records.n == 3
    with pytest.raises(SealedError, match=r"mine: .*the records of a part"):
        [part.records() for part in records.parts]


ROWS = {
    "len": len,
    "zeros of its length": lambda x: np.zeros(x.shape[0]),
    "size": lambda x: int(x.size),
    "a place": lambda x: x[5],
    "places": lambda x: x[[0, 1]],
    "a public array along rows": lambda x: x + np.arange(6.0)[:, None],
    "a public product along rows": lambda x: np.ones(6) @ x,
    "the largest row": lambda x: np.max(x, axis=0),
    "sorted": lambda x: np.sort(x, axis=0),
    "reshaped": lambda x: x.reshape(-1),
    "the length of one row": lambda x: int(x[:, 0].reshape(1, -1).shape[1]),
    "a shape that fits or not": lambda x: x[:, 0].reshape(6),
    "values that fit or not": lambda x: x.__setitem__(slice(None), np.zeros((6, 3))),
    "an answer by row": lambda x: door().numbers("", x),
}


def door():
    """The curator of a fit."""
    curator = Curator(np.random.default_rng())
    curator.sealed_for = "mine"
    return curator


@pytest.mark.parametrize("look", ROWS.values(), ids=ROWS)
def test_how_many_rows_there_are_is_sealed(look):
    with pytest.raises(SealedError):
        look(sealed_by_row())


def as_of(other, values):
    """Return values, sealed if another array is sealed."""
    return np.array(values) if isinstance(other, np.ndarray) else sealed_by_row(np.array(values))


COMPUTED = {
    "arithmetic": lambda x: (2 * x - 1) / (x + 1) ** 2,
    "in place": lambda x: x.__imul__(3),
    "comparison": lambda x: x > 3,
    "columns": lambda x: x[:, 1],
    "more axes": lambda x: x[:, None, 1:3],
    "the last axis": lambda x: x[..., 0],
    "a slice of rows": lambda x: x[1:3],
    "sums of rows": lambda x: x.sum(axis=1),
    "sums over rows": lambda x: x.sum(axis=0),
    "all": lambda x: x.sum(),
    "product": lambda x: x.T @ x,
    "scores": lambda x: x @ np.arange(4.0),
    "where": lambda x: np.where(x > 3, x, 0.0),
    "clip": lambda x: np.clip(x, 2, 4),
    "largest": lambda x: x.max(axis=0),
    "reduceat": lambda x: np.add.reduceat(x, [0, 2], axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "stack": lambda x: np.stack([x.sum(axis=0), x.sum(axis=0)]),
    "split": lambda x: np.split(x.sum(axis=0), [1, 3])[1],
    "diagonal": lambda x: np.diag(x.T @ x),
    "astype": lambda x: x.astype(np.int64),
    "sealed places": lambda x: x[as_of(x, [3, 1, 1])],
    "like": lambda x: np.full_like(x[:, 0], 7),
}  # fmt: skip


@pytest.mark.parametrize("compute", COMPUTED.values(), ids=COMPUTED)
def test_sealed_arrays_compute_what_numpy_computes(compute):
    got = compute(sealed_by_row(PLAIN.copy()))
    assert type(got).__name__ == "Sealed"
    wanted = compute(PLAIN.copy())
    np.testing.assert_array_equal(open_values(got), wanted)
    assert open_values(got).dtype == wanted.dtype
    # A result has its rows where its arguments have them, or as indices select them.
    along = [k for k, length in enumerate(wanted.shape) if length in (6, 2, 3)][:1]
    assert got._rows in (None, *along)


def test_a_kernel_opens_and_seals_and_writes_only_into_sealed_arrays():
    def add(values, total):
        total += values.sum(axis=0)
        return values * 2, len(values)

    opens, public, total = kernel(add, rows=(0, None)), np.zeros(4), table(np.zeros(4))
    doubled, n = opens(sealed_by_row(), public)
    assert (doubled._rows, n._rows, public.sum()) == (0, None, 0.0)
    opens(sealed_by_row(), total)
    np.testing.assert_array_equal(open_values(total), PLAIN.sum(axis=0))
    assert opens(PLAIN, public)[1] == 6
    np.testing.assert_array_equal(public, PLAIN.sum(axis=0))
    with pytest.raises(SealedError, match="a Generator as an argument of a kernel"):
        opens(sealed_by_row(), np.random.default_rng())
    box = kernel(lambda values: {"rows": len(values)}, rows=WHOLE)(sealed_by_row())
    assert box.shape == ()
    assert open_values(box) == {"rows": 6}
    np.testing.assert_array_equal(
        open_values(take(COUNTS, sealed_by_row(np.array([2, 0])))), [3, 1]
    )


def test_none_would_tell_whether_a_kernel_found_anything():
    def enough(x):
        return x if x.sum() > 3 else None

    def pair(x):
        return x, None

    def nested(x):
        return 1.0, pair(x)

    def no_more(x) -> None:
        return enough(x)

    for function, what in {
        enough: "None",
        pair: "None",
        nested: "None",
        no_more: "a value, although",
    }.items():
        with pytest.raises(SealedError, match=f"{function.__name__} returns {what}"):
            kernel(function)(table(np.ones(3) + (function is no_more)))
    assert enough(np.ones(3)) is None


def test_a_kernel_writes_into_nothing_around_it():
    work, total = np.zeros(4), 0.0

    def store(x):
        work[:] = x[0]
        return x

    def add_up(x):
        nonlocal total
        total += x.sum()
        return x

    def remember(x, seen=[]):  # noqa: B006
        seen.append(x.sum())
        return x

    def look_up(seen, x):
        return remember(x, seen)

    class Own:
        def remember(self, x):
            self.seen = x.sum()
            return x

    for function in (store, add_up, remember, Own().remember, partial(look_up, [])):
        name = getattr(function, "__name__", "look_up")
        with pytest.raises(SealedError, match=f"{name} closes over a mutable"):
            kernel(function)(table())
    with pytest.raises(SealedError, match="a kernel ends with IndexError") as error:
        kernel(partial(lambda k, x: x[k], 99))(table())
    assert error.value.__context__ is None


def test_errors_inside_a_kernel_do_not_tell():
    def fails(values):
        raise ValueError(f"the largest is {values.max()}")

    with pytest.raises(SealedError, match="fails ends with ValueError") as error:
        kernel(fails)(sealed_by_row())
    assert "largest" not in str(error.value)
    assert error.value.__context__ is None


def test_a_mechanism_needs_noise_of_the_curator():
    def choose(noise, scores):
        noise += scores
        return np.argmax(noise)

    chosen = mechanism(choose)
    assert chosen(Noise(np.zeros(4), "mine"), table(PLAIN[0])) == np.argmax(PLAIN[0])
    kept = mechanism(choose, released=False)(Noise(np.zeros(4), "mine"), table(PLAIN[0]))
    assert open_values(kept) == np.argmax(PLAIN[0])
    with pytest.raises(SealedError, match="choose without the curator's noise"):
        chosen(np.zeros(4), table(PLAIN[0]))


# Fits --------------------------------------------------------------------------------------------


@kernel
def refuse_many(labels):
    if labels.sum() > 40:
        raise ValueError("many")
    return labels.sum(keepdims=True)


@pytest.mark.parametrize("look", [refuse_many, bool])
def test_an_error_that_a_learner_catches_ends_its_fit(look):
    """An error of the kernel, or its absence, reveals exact values."""

    def release(self, records, curator):
        with contextlib.suppress(Exception):
            look(np.abs(records.labels.sum(keepdims=True)) + 50)
        self.margin_, self.n_records_ = 0.0, records.n
        curator.number(MARGIN, (records.counts * records.labels).sum())

    with pytest.raises(SealedError, match=r"noisy_majority: .*line \d+ \("):
        majority_with_release(release, epsilon=1.0).fit(X, Y)


def test_a_fit_looks_only_where_nothing_is_private():
    def release(self, records, curator):
        self.margin_ = float((records.counts * records.labels).sum())
        self.n_records_ = records.n

    assert majority_with_release(release, epsilon=np.inf).fit(X, Y).margin_ == (2 * Y - 1).sum()
    with pytest.raises(SealedError, match=r"noisy_majority: .*line \d+ \(self.margin_ = float"):
        majority_with_release(release).fit(X, Y)


class Told(float):
    """A number with an attribute, and a list of the module."""

    kept = []  # noqa: RUF012


@pytest.mark.parametrize(
    "hide",
    [
        lambda self, margin: setattr(self, "kept_", [{"margin": (margin,)}]),
        lambda self, margin: setattr(self.margin_, "exact", margin),
        lambda self, margin: setattr(self.classes, "exact", margin),
        lambda self, margin: setattr(self, "kept_", lambda: margin),
        lambda self, margin: setattr(self, "kept_", np.array([margin], dtype=object)),
        lambda self, margin: Told.kept.append(margin),
    ],
    ids=["list", "subclass of float", "attribute of a parameter", "closure", "objects", "module"],
)
def test_nothing_sealed_is_left_on_a_model_or_in_a_module(hide):
    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()
        self.margin_ = Told(curator.number(MARGIN, margin))
        hide(self, margin)

    model = majority_with_release(release)
    model.classes = type("Labels", (list,), {})([0, 1])
    with pytest.raises(SealedError):
        model.fit(X, Y)


def test_a_circle_of_sealed_values_that_is_garbage_is_no_leak():
    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()
        (circle := [margin]).append(circle)
        self.margin_ = curator.number(MARGIN, margin)

    assert np.isfinite(majority_with_release(release).fit(X, Y).margin_)


def test_public_coins_tell_nothing_of_noise():
    def release(self, records, curator):
        margin = (records.counts * records.labels).sum()
        twin = copy.deepcopy(curator.coins)
        noisy = curator.number(MARGIN, margin)
        self.margin_ = noisy - curator.call(MARGIN).scale * twin.laplace()

    exact = (2 * Y - 1).sum()
    for seed in range(5):
        model = majority_with_release(release, random_state=np.random.default_rng(seed)).fit(X, Y)
        assert abs(model.margin_ - exact) > 1e-3


def test_fits_that_see_open_records_have_a_reason():
    opened = {name: entry.sees_open for name, entry in LEARNERS.items() if entry.sees_open}
    assert opened.keys() <= {"pate", "bdpe", "boosting_for_people", "distributed_topdown"}
    assert all(len(why) > 20 for reasons in opened.values() for why in reasons.values())
    assert {name for name in opened if LEARNERS[name].stays_open} <= {"pate"}


# The contract at real size -----------------------------------------------------------------------


def defaults():
    """The defaults of each private learner, with each of its relations and kinds of δ."""
    for name, entry in LEARNERS.items():
        for relation in entry.neighbours if entry.private and not entry.peer else ():
            for delta in [0.0] * entry.pure + [1e-5] * entry.approximate:
                added = {"neighbours": relation} if relation == ADD_REMOVE else {}
                if added and name in ("privgam", "dp_gradient_descent", "dp_sgd"):
                    added["n_estimate"] = 100
                parameters = {"delta": delta, "calibration": "proved", **added}
                yield Case(name, parameters, neighbours=relation)


# These take a second each.
LONG = {"aim", "dp_bagging", "mst", "tuned"}


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=[pytest.mark.slow] * (one.learner in LONG)) for one in defaults()],
    ids=lambda case: f"{case}-{case.neighbours}",
)
def test_learners_keep_control_and_post_processing_at_real_size(case):
    verdict = check_at_size(case)
    assert str(verdict.breach or "") == ""
    assert verdict.n_pairs == 2


# Mistakes that act at real size: from the specification, earlier ones, and mistakes that a
# contributor could make after reading each learner.

NEWTON, DESCENT = (Case(name, {"delta": 1e-5}) for name in ("dp_newton", "dp_gradient_descent"))
ROUNDS = Case("privgam", {"delta": 1e-5})
MUTANTS = []


def mutant(owner, name, case, point=SEALED):
    def registered(change):
        MUTANTS.append((change.__name__, replacement_of(owner, name)(change), case, point))
        return change

    return registered


@mutant(dp_newton, "noisy_gram", NEWTON)
def eigenvalues_floored_by_the_exact_gram(own, *given):
    gram, deviation = own(*given)
    return gram, max(deviation, 0.1 * joint.packed_gram(*given[:-1])[0])


@mutant(dp_newton, "noisy_gram", NEWTON)
def a_ridge_of_the_exact_smallest_eigenvalue(own, *given):
    gram, deviation = own(*given)
    return gram + np.linalg.eigvalsh(joint.packed_gram(*given[:-1]).reshape(1, -1))[0], deviation


@mutant(dp_newton, "logistic_slopes", NEWTON)
def steps_left_out_from_the_fifth_on(own, *given, steps=[]):  # noqa: B006
    steps.append(own(*given))
    if len(steps) > 4 and np.abs(steps[-1]).max() < 1:
        return 0 * steps[-1]
    return steps[-1]


@mutant(DPNewtonClassifier, "_model", NEWTON)
def a_last_step_without_noise(own, self, rows, width, records, curator):
    model = own(self, rows, width, records, curator)
    return model + joint.logistic_slopes(rows, records.labels, records.counts, model, 3)


@mutant(dp_gradient_descent, "logistic_slopes", DESCENT)
def a_rate_halved_from_the_fourth_step_on(own, *given, steps=[]):  # noqa: B006
    steps.append(own(*given))
    slow = len(steps) > 3 and (steps[-1] ** 2).sum() > 1
    return steps[-1] / (2 if slow else 1)


@mutant(residuals.BinSums, "sums", ROUNDS)
def bins_dropped_by_their_exact_sums(own, self, *scores):
    sums = own(self, *scores)
    return sums if sums[0].norm1() > 100 else [0 * one for one in sums]


@mutant(Curator, "whole_numbers", ROUNDS)
def empty_bins_without_noise(own, self, call, exact):
    return np.where(exact == 0, 0, own(self, call, exact))


@mutant(NoisyMajorityClassifier, "_release", Case("noisy_majority", {}))
def a_warning_that_tells(own, self, records, curator):
    own(self, records, curator)
    if (records.counts * records.labels).sum() > 0:
        warnings.warn("most are positive", stacklevel=1)


# Further mistakes.


@mutant(VotingClassifier, "_fit_batch", Case("lazybb", {}))
def boosting_ends_when_all_are_right(own, self, learners, records, curators):
    own(self, learners, records, curators)
    if (self._scores(records.codes) * records.labels > 0).all():
        self.model_ = None


@mutant(lazybb_rules, "_boost", Case("lazybb", {}), POST_PROCESSING)
def the_best_from_the_fifth_round_on(own, rows, positive, counts, weighed, rates, noise):
    """Noise is ignored from round five on. The seal can't see that, as mechanisms open values."""
    rates = np.where(np.arange(len(rates)) < 5, rates, np.inf)
    return own(rows, positive, counts, weighed, rates, noise)


@mutant(Curator, "numbers", Case("noisy_bayes", {}))
def numbers_that_are_never_negative_where_there_is_a_record(own, self, call, exact):
    answer = own(self, call, exact)
    return np.maximum(answer, 0) if (exact > 0).all() else answer


@mutant(mst, "spanning_tree", Case("mst", {"delta": 1e-5}))
def pairs_that_say_nothing_left_out(own, columns, tables, total, curator):
    some = {pair: cells for pair, cells in tables.items() if (cells > 0).sum() > 1}
    return own(columns, some, total, curator)


@mutant(tuned, "count_right", Case("tuned", {"learner": "noisy_bayes"}))
def runs_end_when_all_are_right(own, codes, labels, counts, scored):
    right = own(codes, labels, counts, scored)
    return right if right < counts.sum() else 2 * right


@mutant(MessageNoise, "message", Case("random_trees", {"delta": 1e-5}))
def leaves_of_few_records_left_out(own, self, exact, curator):
    return own(self, np.where(exact[..., -1:] < 1, 0, exact), curator) if exact.any() else exact


@pytest.mark.parametrize(
    ("change", "case", "point"), [m[1:] for m in MUTANTS], ids=[m[0] for m in MUTANTS]
)
def test_a_mistake_at_real_size_is_seen(monkeypatch, change, case, point):
    change(monkeypatch)
    breach = check_at_size(case).breach
    assert breach.point == point
    if point == SEALED:
        assert re.search(rf"{case.learner}: .*, line \d+ \(.*ask the curator", breach.why)
