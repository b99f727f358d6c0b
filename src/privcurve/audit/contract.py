"""The contract: five points that a private learner keeps on all small neighbours.

1. *Control*: the same answers give the same calls, for a table and its neighbour.
2. *Post-processing*: the same answers give the same fitted model, bit for bit.
3. *Sensitivity*: exact values of a call differ by no more than its ledger's entry announces; and
   by at least half of it somewhere, so that the bound is not idle and the neighbours tried are
   worth something.
4. *Noise*: in real fits, answer − exact has the announced distribution, and no noise serves twice.
5. *Charge*: what was called is what was announced, and adds up to no more than the ε stated.

Together they prove ε, but for the theorem of the accountant and what floating point and time show.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammainc

from privcurve.audit.replay_fits import (
    OBJECTIVE,
    OtherCallsError,
    OtherMinimumError,
    Replay,
    norms,
)
from privcurve.audit.states import left_on, numbers
from privcurve.coding import Records, class_labels
from privcurve.learners import registry
from privcurve.learners.base import CodedClassifier
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.curator import Call, Curator, DoorError, Vector
from privcurve.privacy.ledger import LedgerEntry, epsilon_of_ledger
from privcurve.privacy.mechanisms import GAUSSIAN, OBJECTIVES

CONTROL = "control"
POST_PROCESSING = "post-processing"
SENSITIVITY = "sensitivity"
NOISE = "noise"
CHARGE = "charge"
POINTS = (CONTROL, POST_PROCESSING, SENSITIVITY, NOISE, CHARGE)

# What a sum of rounded numbers may exceed its bound by.
TOLERANCE = 1e-6

# Of each claim that noise has a distribution; they are shared out over the calls of a case.
FALSE_ALARM = 1e-6

BINS = (2, 3)
# Real fits: until each mechanism has drawn so many numbers that half of its noise would show.
REAL_FITS = 60
MOST_FITS = 600
ENOUGH = 600


@dataclass(frozen=True)
class Case:
    """One setting of a learner that is tried.

    Attributes
    ----------
    learner : str
    parameters : mapping
        Of the estimator: ε, δ and all that is not at its default.
    n_classes : int
    neighbours : str
        The relation of its guarantee.
    idle : mapping of str to str
        Calls (without numbers) whose bound may be more than twice what is seen, and why.
    sizes : sequence of int
        Records of the tables: 1 and 2 are tried in full, larger ones at random.
    """

    learner: str
    parameters: Mapping[str, Any]
    n_classes: int = 2
    neighbours: str = REPLACE_ONE
    idle: Mapping[str, str] = field(default_factory=dict)
    sizes: Sequence[int] = (1, 2, 3, 12)

    def estimator(self, n_bins: Sequence[int]) -> CodedClassifier:
        """Return the learner, not trained."""
        ordered = [True] * len(n_bins)
        if self.neighbours != PRIVATE_COLUMNS:
            facts = Facts(n_bins, ordered, n_classes=self.n_classes)
            made: CodedClassifier = registry.make(self.learner, facts, self.parameters)
            return made
        facts = Facts(
            n_bins, ordered, n_classes=self.n_classes, public_columns=(0,), public_label=True
        )
        others = {k: value for k, value in self.parameters.items() if k != "public_columns"}
        made = registry.make(self.learner, facts, others, PRIVATE_COLUMNS)
        return made

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.learner}({said})"


@dataclass(frozen=True)
class Broken:
    """A point that a learner does not keep, and the neighbours that show it."""

    point: str
    why: str
    left: Records | None = None
    right: Records | None = None

    def __str__(self) -> str:
        text = f"{self.point}: {self.why}"
        if self.left is not None and self.right is not None:
            text += f"\n  one table:   {_rows(self.left)}\n  its neighbour: {_rows(self.right)}"
        return text


@dataclass
class Verdict:
    """What was found of one case.

    Attributes
    ----------
    case : Case
    broken : list of Broken
        Empty: it keeps all points.
    largest : dict of str to tuple of (float, LedgerEntry)
        For each call, without its numbers, the largest change seen as a part of what is announced.
    n_pairs : int
        Neighbours that were tried.
    refusal : str
        Why others were not, both sides alike.
    """

    case: Case
    broken: list[Broken] = field(default_factory=list)
    largest: dict[str, tuple[float, LedgerEntry]] = field(default_factory=dict)
    n_pairs: int = 0
    refusal: str = ""


def check(case: Case, n_random: int = 60, seed: int = 0) -> Verdict:
    """Try the five points on one setting of a learner; stop at the first that is broken.

    Parameters
    ----------
    case : Case
    n_random : int
        Pairs of each size above 2, and at most so many times 4 of the sizes 1 and 2.
    seed : int
    """
    found = Verdict(case)
    # Where no call of a fit can be reached, its bound is not idle but untried.
    for k, (left, right) in enumerate(neighbours(case, n_random, seed)):
        broken = _check_pair(case, left, right, (seed, k), found)
        if broken is not None:
            found.broken.append(broken)
            return found
    if not found.n_pairs:
        found.broken.append(Broken(CHARGE, f"no neighbours could be trained: {found.refusal}"))
        return found
    for name, (part, entry) in found.largest.items():
        if part < 0.5 and name not in case.idle:
            why = (
                f"{name}: no more than {part:.3g} of the announced {entry.sensitivity:.6g} was "
                "seen: its answer is not made of the records, or the bound is idle"
            )
            found.broken.append(Broken(SENSITIVITY, why))
            return found
    broken = _check_noise(case, seed)
    if broken is not None:
        found.broken.append(broken)
    return found


def _check_pair(
    case: Case, left: Records, right: Records, seed: Sequence[int], found: Verdict
) -> Broken | None:
    first = Replay(seed)
    try:
        one = _trained(case, left, first)
        # What was refused before a side could follow must be refused on the other side too.
        second = Replay(seed, None if isinstance(one, str) else first)
        other = _trained(case, right, second)
    except OtherCallsError as error:
        return Broken(CONTROL, str(error), left, right)
    except OtherMinimumError as error:
        return Broken(POST_PROCESSING, str(error), left, right)
    except DoorError as error:
        return Broken(CHARGE, str(error), left, right)
    if isinstance(one, str) or isinstance(other, str):
        if one == other:
            found.refusal = str(one)
            return None
        refused = one if isinstance(one, str) else other
        return Broken(CONTROL, f"one side is refused: {refused}", left, right)
    apart = _differences(one, other)
    if apart:
        return Broken(POST_PROCESSING, f"{', '.join(apart)} differ", left, right)
    found.n_pairs += 1
    return _check_costs(first, second, left, right, found)


def _trained(case: Case, records: Records, curator: Replay) -> CodedClassifier | str:
    """Train; of a refusal return what it says."""
    try:
        model = train(case, records, curator)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    curator.close()
    return model


def _check_costs(
    first: Replay, second: Replay, left: Records, right: Records, found: Verdict
) -> Broken | None:
    stated = first.statement
    assert stated is not None
    named = {entry.what: entry for entry in stated.ledger}
    losses: dict[LedgerEntry, list[NDArray[np.float64]]] = {}
    # A record is behind one holder's door: what all of them say of it adds up.
    for one, other in zip(first.all_events, second.all_events, strict=True):
        for key, apart in one.losses(other).items():
            if not key:
                if apart.any():
                    why = "records enter a call that is charged nothing"
                    return Broken(SENSITIVITY, why, left, right)
                continue
            entry = named[key] if isinstance(key, str) else key
            losses.setdefault(entry, []).append(apart)
    runs = max(1, len(first.inners))
    for entry, parts in losses.items():
        apart = np.concatenate(parts)
        loss = float(np.linalg.norm(apart) if entry.mechanism == GAUSSIAN else apart.sum())
        # Equal calls, each of which is charged; of a private selection, in each run.
        times = 1 if entry.parallel else runs * stated.ledger.count(entry)
        announced = announced_loss(entry) * (times**0.5 if entry.mechanism == GAUSSIAN else times)
        if loss > announced * (1 + TOLERANCE) + 1e-9:
            factor = loss / announced
            return Broken(
                SENSITIVITY,
                f"{entry.what}: the exact values change by {factor * entry.sensitivity:.6g}, "
                f"{factor:.3g} times what is announced ({entry.sensitivity:.6g})",
                left,
                right,
            )
        name = _without_numbers(entry.what)
        before = found.largest.get(name, (-1.0, entry))
        found.largest[name] = max(before, (loss / announced, entry), key=lambda pair: pair[0])
    for one, other in zip(first.all_events, second.all_events, strict=True):
        if one.kind == OBJECTIVE:
            (call,) = one.calls.ravel().tolist()
            factor = abs(one.log_jacobian - other.log_jacobian)
            paid = call.entry.epsilon - announced_loss(call.entry)
            if factor > paid * (1 + TOLERANCE) + TOLERANCE:
                why = f"the Jacobians differ by e^{factor:.6g}, paid for is e^{paid:.6g}"
                return Broken(SENSITIVITY, f"{call.entry.what}: {why}", left, right)
    spent = epsilon_of_ledger(stated.composition, stated.ledger, stated.delta, near=stated.epsilon)
    if spent > stated.epsilon * (1 + 1e-9):
        return Broken(CHARGE, f"the calls add up to epsilon = {spent}, not {stated.epsilon}")
    for inner, follower in zip(first.inners, second.inners, strict=True):
        assert isinstance(inner, Replay)
        assert isinstance(follower, Replay)
        broken = _check_costs(inner, follower, left, right, found)
        if broken is not None:
            return broken
    return None


def announced_loss(entry: LedgerEntry) -> float:
    """Return what an entry charges, in units of the noise: sensitivity over scale, or a range."""
    if entry.mechanism in (GAUSSIAN, *OBJECTIVES):
        # Of an objective the rest of its ε pays for the Jacobian.
        return entry.noise_rate * entry.sensitivity
    return entry.epsilon if entry.bounded_range is None else entry.bounded_range


def train(case: Case, records: Records, curator: Curator) -> CodedClassifier:
    """Train a learner on records through a curator."""
    learner = case.estimator(records.n_bins.tolist())
    labels = np.array(class_labels(case.n_classes))
    y = labels[records.labels] if case.n_classes > 2 else records.labels
    return learner._train(records.codes, y, [{}], [curator], records.counts)[0]


def _differences(left: CodedClassifier, right: CodedClassifier) -> list[str]:
    """Return the names of what two fits left on their models and is not the same."""
    states = [dict(left_on(model)) for model in (left, right)]
    for state, model in zip(states, (left, right), strict=True):
        state["measures_"] = model.measures_
        held = getattr(model, "_held", ())
        if held:
            # Scores are asked of what stays with the holder: they have noise of their own.
            state.update(dict.fromkeys(held))
        else:
            state["its scores"] = model._scores(_domain(model))
    names = dict.fromkeys([*states[0], *states[1]])
    return [name for name in names if not _same(*(state.get(name) for state in states))]


def _same(one: Any, other: Any) -> bool:
    if (one is None) != (other is None):
        return False
    return np.array_equal(numbers(one), numbers(other), equal_nan=True)


def _domain(model: CodedClassifier) -> NDArray[Any]:
    rows = list(itertools.product(*(range(k) for k in model.n_bins_.tolist())))
    return np.array(rows, dtype=np.uint8)


# Neighbours -----------------------------------------------------------------------------------


def neighbours(case: Case, n_random: int, seed: int) -> Iterator[tuple[Records, Records]]:
    """Generate neighbouring tables: all of one and two records, and random larger ones.

    Parameters
    ----------
    case : Case
    n_random : int
    seed : int
    """
    rng = np.random.default_rng([seed, 7])
    values = list(itertools.product(*(range(k) for k in BINS), range(case.n_classes)))
    for n in case.sizes:
        if n <= 2:
            pairs = [
                pair for table in itertools.product(values, repeat=n)
                for pair in _changes(case, table, values)
            ]  # fmt: skip
            kept = rng.permutation(len(pairs))[: 4 * n_random]
            yield from (_tables(case, *pairs[k]) for k in kept)
            continue
        for _ in range(n_random):
            # Few distinct records: the largest changes are those of tables that agree.
            pool = rng.integers(len(values), size=rng.integers(1, 5))
            table = tuple(values[k] for k in pool[rng.integers(len(pool), size=n)])
            changes = list(_changes(case, table, values))
            yield _tables(case, *changes[rng.integers(len(changes))])


def _changes(
    case: Case, table: tuple[Any, ...], values: Sequence[tuple[int, ...]]
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    if case.neighbours == ADD_REMOVE:
        for k in range(len(table)):
            yield table, table[:k] + table[k + 1 :]
        return
    for k in range(len(table)):
        for value in values:
            # The first column and the label are public, where columns are.
            public = case.neighbours == PRIVATE_COLUMNS
            if public and (value[0], value[-1]) != (table[k][0], table[k][-1]):
                continue
            if value != table[k]:
                yield table, (*table[:k], value, *table[k + 1 :])


def _tables(case: Case, *tables: tuple[Any, ...]) -> tuple[Records, Records]:
    left, right = (_records(case, table) for table in tables)
    return left, right


def _records(case: Case, table: Sequence[tuple[int, ...]]) -> Records:
    rows = np.array(table, dtype=np.int64).reshape(len(table), len(BINS) + 1)
    labels = rows[:, -1] if case.n_classes > 2 else (2 * rows[:, -1] - 1).astype(np.int8)
    counts = np.ones(len(rows), dtype=np.int64)
    return Records(rows[:, :-1].astype(np.uint8), labels, counts, np.array(BINS))


def _rows(records: Records) -> str:
    rows = zip(records.codes.tolist(), records.labels.tolist(), strict=True)
    return "; ".join(f"{codes} labelled {label:+d}" for codes, label in rows)


# Noise of real fits ----------------------------------------------------------------------------


class Watch(Curator):
    """A curator that draws real noise, and notes it."""

    def __init__(self, coins: np.random.Generator) -> None:
        super().__init__(coins)
        self.drawn: list[tuple[str, NDArray[np.float64]]] = []

    def _numbers(self, call: Call, exact: NDArray[np.float64]) -> NDArray[np.float64]:
        answer = super()._numbers(call, exact)
        self.drawn.append((call.mechanism, ((answer - exact) / call.scale).ravel()))
        return answer

    def _tilt(self, call: Call, dimension: int, old: bool) -> Vector:
        tilt = super()._tilt(call, dimension, old)
        # The norm has Gamma's distribution, which differs by dimension; its level is uniform.
        levels = gammainc(dimension, norms(call.mechanism, tilt[None]) / call.scale)
        self.drawn.append((call.mechanism, levels))
        return tilt

    def _noise(self, calls: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
        noise = super()._noise(calls, shape)
        if calls.size:
            self.drawn.append((calls.flat[0].mechanism, noise.ravel().copy()))
        return noise


DISTRIBUTIONS = {
    "exponential": stats.gumbel_r,
    "permute_and_flip": stats.expon,
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "noisy_label": stats.logistic,
    "gaussian": stats.norm,
    "objective_perturbation": stats.uniform,
    "box_perturbation": stats.uniform,
}


def _check_noise(case: Case, seed: int) -> Broken | None:
    """Train for real on one table, and hold the noise to what is announced."""
    rng = np.random.default_rng([seed, 11])
    values = list(itertools.product(*(range(k) for k in BINS), range(case.n_classes)))
    table = _records(case, [values[k] for k in rng.integers(len(values), size=max(case.sizes))])
    drawn: dict[str, list[NDArray[np.float64]]] = {}
    for k in range(MOST_FITS):
        # The norm of a linear term tells more than a number.
        few = [m for m, parts in drawn.items() if sum(map(len, parts)) < ENOUGH]
        if k >= REAL_FITS and set(few) <= set(OBJECTIVES):
            break
        curator = Watch(np.random.default_rng([seed, 13, k]))
        try:
            train(case, table, curator)
        except ValueError:
            return None
        for mechanism, noise in curator.drawn:
            drawn.setdefault(mechanism, []).append(noise)
    for mechanism, parts in drawn.items():
        noise = np.concatenate(parts)
        if mechanism in DISTRIBUTIONS:
            p = stats.kstest(noise, DISTRIBUTIONS[mechanism].cdf).pvalue
            if p < FALSE_ALARM:
                return Broken(NOISE, f"{mechanism} noise is not distributed as announced (p = {p})")
        if len(np.unique(noise)) < len(noise):
            return Broken(NOISE, f"a number of {mechanism} noise serves twice")
    return None


def _without_numbers(what: str) -> str:
    return re.sub(r"\d+(?!-rule)", "#", what)


def run(cases: Iterable[Case], n_random: int = 60, seed: int = 0) -> list[Verdict]:
    """Check many cases."""
    return [check(case, n_random, seed) for case in cases]


__all__ = ["POINTS", "Broken", "Case", "Verdict", "check", "run"]
