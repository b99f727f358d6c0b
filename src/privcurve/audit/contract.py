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
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.replay_fits import OBJECTIVE, OtherCallsError, OtherMinimumError, Replay
from privcurve.audit.states import left_on
from privcurve.audit.watched_fits import faults
from privcurve.coding import Floats, Records, class_labels
from privcurve.learners import registry
from privcurve.learners.base import CodedClassifier
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.curator import ROUNDING, Curator, DoorError
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import GAUSSIAN, OBJECTIVES

CONTROL = "control"
POST_PROCESSING = "post-processing"
SENSITIVITY = "sensitivity"
NOISE = "noise"
CHARGE = "charge"

# What a sum of rounded numbers may exceed its bound by.
TOLERANCE = 1e-6

BINS = (2, 3)

# Tables of which one must be good for real fits.
MOST_TABLES = 5


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
        facts = Facts(n_bins, [True] * len(n_bins), self.n_classes)
        parameters, relation = dict(self.parameters), REPLACE_ONE
        if self.neighbours == PRIVATE_COLUMNS:
            facts = replace(facts, public_columns=(0,), public_label=True)
            parameters.pop("public_columns", None)
            relation = PRIVATE_COLUMNS
        made: CodedClassifier = registry.make(self.learner, facts, parameters, relation)
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
        if self.left is not None:
            text += f"\n  one table:   {_rows(self.left)}"
        if self.right is not None:
            text += f"\n  its neighbour: {_rows(self.right)}"
        return text


class BreachError(RuntimeError):
    """A point of the contract, and why it is not kept."""


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
    unseen : str
        What of the fits no script could answer.
    """

    case: Case
    broken: list[Broken] = field(default_factory=list)
    largest: dict[str, tuple[float, LedgerEntry]] = field(default_factory=dict)
    n_pairs: int = 0
    refusal: str = ""
    unseen: str = ""


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
    tables: tuple[Records, ...] = ()
    try:
        if registry.entry(case.learner).peer:
            why = "its noise is drawn by the package of a peer, in which no call can be answered"
            raise BreachError(CHARGE, why)
        for k, tables in enumerate(neighbours(case, n_random, seed)):
            _check_pair(case, *tables, (seed, k), found)
        tables = ()
        if not found.n_pairs:
            raise BreachError(CHARGE, f"no neighbours could be trained: {found.refusal}")
        # Where no call of a fit can be reached, its bound is not idle but untried.
        if found.unseen:
            raise BreachError(CHARGE, found.unseen)
        for name, (part, entry) in found.largest.items():
            if part < 0.5 and name not in case.idle:
                why = (
                    f"{name}: no more than {part:.3g} of the announced {entry.sensitivity:.6g} was "
                    "seen: its answer is not made of the records, or the bound is idle"
                )
                raise BreachError(SENSITIVITY, why)
        _check_noise(case, seed)
    except BreachError as breach:
        found.broken.append(Broken(*breach.args, *tables))
    return found


def _check_pair(
    case: Case, left: Records, right: Records, seed: Sequence[int], found: Verdict
) -> None:
    first = Replay(seed)
    try:
        one = _trained(case, left, first)
        # What was refused before a side could follow must be refused on the other side too.
        second = Replay(seed, None if isinstance(one, Refusal) else first)
        other = _trained(case, right, second)
        if isinstance(one, Refusal) or isinstance(other, Refusal):
            return _refused(one, other, found)
        apart = _differences(one, other)
    except BreachError:
        raise
    except OtherCallsError as error:
        raise BreachError(CONTROL, str(error)) from error
    except OtherMinimumError as error:
        raise BreachError(POST_PROCESSING, str(error)) from error
    except DoorError as error:
        raise BreachError(CHARGE, str(error)) from error
    except Exception as error:
        why = f"the fitted models can't be compared: {_said(error)}"
        raise BreachError(POST_PROCESSING, why) from error
    if apart:
        # Then it may be the choices in that loop that differ, as they may.
        but = f"; but {first.all_unseen}" if first.all_unseen else ""
        raise BreachError(POST_PROCESSING, f"{', '.join(apart)} differ{but}")
    found.n_pairs += 1
    found.unseen = found.unseen or first.all_unseen
    _check_stated(case, one)
    _check_costs(first, second, found)


class Refusal(NamedTuple):
    """Why a table was not trained on: by a ValueError, or by a fault of the learner."""

    why: str
    meant: bool


def _trained(case: Case, records: Records, curator: Replay) -> CodedClassifier | Refusal:
    try:
        model = train(case, records, curator)
    except (OtherCallsError, OtherMinimumError, DoorError):
        raise
    except Exception as error:
        return Refusal(_said(error), isinstance(error, ValueError))
    curator.close()
    return model


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _refused(
    one: CodedClassifier | Refusal, other: CodedClassifier | Refusal, found: Verdict
) -> None:
    """Hold refusals to be alike on both sides, and to be meant."""
    refusals = [side for side in (one, other) if isinstance(side, Refusal)]
    if len(refusals) == 1:
        raise BreachError(CONTROL, f"one side alone ends with {refusals[0].why}")
    if one != other:
        why = " and ".join(each.why for each in refusals)
        raise BreachError(CONTROL, f"the sides end with {why}")
    found.refusal = refusals[0].why
    if not refusals[0].meant:
        raise BreachError(CONTROL, f"both sides end with {found.refusal}")


def _check_stated(case: Case, model: Any) -> None:
    """Hold a statement to promise no less than was asked for."""
    stated = model._fitted_statement
    if stated.epsilon > model.epsilon * (1 + ROUNDING) or stated.delta > model.delta:
        why = (
            f"epsilon = {stated.epsilon:g}, delta = {stated.delta:g} is stated, "
            f"{model.epsilon:g}, {model.delta:g} was asked for"
        )
        raise BreachError(CHARGE, why)
    if stated.neighbours != case.neighbours:
        why = f"neighbours = {stated.neighbours} is stated, {case.neighbours} was asked for"
        raise BreachError(CHARGE, why)


def _check_costs(first: Replay, second: Replay, found: Verdict) -> None:
    stated = first.statement
    if stated is None:
        raise BreachError(CHARGE, "nothing was held to the ledger: a fit without a check")
    named = {entry.what: entry for entry in stated.ledger}
    losses: dict[LedgerEntry, list[Floats]] = {}
    # A record is behind one holder's door: what all of them say of it adds up.
    for one, other in zip(first.all_events, second.all_events, strict=True):
        for key, apart in one.losses(other).items():
            if not key:
                if apart.any():
                    raise BreachError(SENSITIVITY, "records enter a call that is charged nothing")
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
        # What is not a number is no small change.
        if not loss <= announced * (1 + TOLERANCE) + 1e-9:
            factor = loss / announced
            raise BreachError(
                SENSITIVITY,
                f"{entry.what}: the exact values change by {factor * entry.sensitivity:.6g}, "
                f"{factor:.3g} times what is announced ({entry.sensitivity:.6g})",
            )
        name = re.sub(r"\d+(?!-rule)", "#", entry.what)
        before = found.largest.get(name, (-1.0, entry))
        found.largest[name] = max(before, (loss / announced, entry), key=lambda pair: pair[0])
    for one, other in zip(first.all_events, second.all_events, strict=True):
        if one.kind == OBJECTIVE:
            (call,) = one.calls.ravel().tolist()
            factor = abs(one.log_jacobian - other.log_jacobian)
            paid = call.entry.epsilon - announced_loss(call.entry)
            if not factor <= paid * (1 + TOLERANCE) + TOLERANCE:
                why = f"the Jacobians differ by e^{factor:.6g}, paid for is e^{paid:.6g}"
                raise BreachError(SENSITIVITY, f"{call.entry.what}: {why}")
    spent = _spent(stated)
    if spent > stated.epsilon * (1 + ROUNDING):
        raise BreachError(CHARGE, f"the calls add up to epsilon = {spent}, not {stated.epsilon}")
    for inner, follower in zip(first.inners, second.inners, strict=True):
        assert isinstance(inner, Replay)
        assert isinstance(follower, Replay)
        _check_costs(inner, follower, found)


@lru_cache(maxsize=64)
def _spent(stated: PrivacyStatement) -> float:
    return stated.epsilon_spent


def announced_loss(entry: LedgerEntry) -> float:
    """Return what an entry charges, in units of the noise: sensitivity over scale, or a range."""
    if entry.mechanism in (GAUSSIAN, *OBJECTIVES):
        # Of an objective the rest of its ε pays for the Jacobian.
        return entry.noise_rate * entry.sensitivity
    return min(entry.epsilon, math.inf if entry.bounded_range is None else entry.bounded_range)


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
    """Return whether two values are the same, bit for bit, shapes, types and order included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.kind != "O":
            return one.tobytes() == other.tobytes()
        return _same(one.ravel().tolist(), other.ravel().tolist())
    if isinstance(one, (float, np.floating)):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    if one is None or isinstance(one, (bool, int, str, bytes, np.generic, set, frozenset)):
        return bool(one == other)
    if isinstance(one, Mapping):
        return _same(list(one.items()), list(other.items()))
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, PrivacyStatement):
        return one == other
    if callable(one) or not hasattr(one, "__dict__"):
        raise TypeError(f"a {type(one).__name__} that a fit left on its model can't be read")
    return _same(vars(one), vars(other))


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


def _check_noise(case: Case, seed: int) -> None:
    """Train for real on a table that is not refused, and hold the noise to what is announced."""
    rng = np.random.default_rng([seed, 11])
    values = list(itertools.product(*(range(k) for k in BINS), range(case.n_classes)))
    for _ in range(MOST_TABLES):
        places = rng.integers(len(values), size=max(case.sizes))
        table = _records(case, [values[k] for k in places])
        try:
            why = faults(partial(train, case, table), seed)
        except ValueError as error:
            why = f"no table could be trained on for real: {error}"
            continue
        except DoorError as error:
            raise BreachError(CHARGE, f"in a real fit: {error}") from error
        except Exception as error:
            raise BreachError(CONTROL, f"a real fit ends with {_said(error)}", table) from error
        break
    if why:
        raise BreachError(NOISE, why)
