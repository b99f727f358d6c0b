"""The contract: five conditions for a private learner, tested on small neighbouring tables.

1. *Control*: equal answers give equal calls, for a table and its neighbour.
2. *Post-processing*: equal answers give equal fitted models, bit for bit.
3. *Sensitivity*: the exact values of a call differ by at most the sensitivity in its ledger entry,
   and by at least half of it on some pair: otherwise the tables test too little, or the bound is
   idle (needlessly large).
4. *Noise*: in real fits, answer − exact value has the announced distribution, and the fit uses no
   noise twice.
5. *Charge*: the fit makes the announced calls, and they add up to at most the stated ε.

If the conditions hold for all tables, they prove ε with the theorem of the accountant, except for
floating-point noise of choices, labels and objectives (docs/proofs.md, 'Floating point'), and for
running time. The contract tests them on some tables. A *side* is one table of a pair.

If ε is for persons (`Case.at_most`), tables have a few persons with several records each, and
neighbours differ in all records of one person; only then `at_most` records per person are drawn.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.batches import try_other_batch
from privcurve.audit.pairs import records
from privcurve.audit.replay_fits import (
    CHARGE,
    CONTROL,
    NOISE,
    OBJECTIVE,
    POST_PROCESSING,
    SEALED,
    SENSITIVITY,
    BreachError,
    Event,
    Replay,
    overheard,
)
from privcurve.audit.states import is_same, numbers
from privcurve.audit.watched_fits import faults
from privcurve.coding import Floats, Records, limit_places
from privcurve.learners import base, registry
from privcurve.learners.base import CodedClassifier
from privcurve.learners.entry import Facts
from privcurve.learners.shared.sealing import replaced_methods
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE, budget_within_group
from privcurve.privacy.curator import ROUNDING, Curator, DoorError
from privcurve.privacy.ledger import DERIVED, LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import GAUSSIAN, OBJECTIVES
from privcurve.privacy.sealed import SealedError

# Tolerance for rounding: a change may exceed its bound by this share plus this amount.
TOLERANCE = 1e-6

# Number of bins of each column. In cases with public columns, the first column and the label are
# public.
BINS = (2, 3)

# A record: its bins and its class.
Record = tuple[int, ...]

# Largest number of persons in a table, in cases where ε is for persons.
PERSONS = 3

# For `check_at_size`: the number of bins of each column (every other column is ordered), and the
# number of records for each ε. At ε = 1 noise exceeds the exact counts; at 100 it is smaller.
REAL_BINS = (16, 12, 9, 5, 3, 2)
REAL_SIZES = {1.0: 60, 100.0: 200}
# The check compares the scores of two models on at most this number of rows.
MOST_ROWS = 2_000

# Number of pairs of tables of each size, for a case with a parameter at an end of its range.
FEW = 3

# Real fits try up to this number of tables, until the learner can train on one.
MOST_TABLES = 5


@dataclass(frozen=True)
class Case:
    """One setting of a learner that the contract checks."""

    learner: str
    parameters: Mapping[str, Any]  # of the estimator: ε, δ, and all values other than defaults
    n_classes: int = 2
    neighbours: str = REPLACE_ONE  # the relation of its guarantee
    # For each call with an idle bound, by its name without numbers: why the bound may be idle.
    idle: Mapping[str, str] = field(default_factory=dict)
    # Numbers of records of tables; the check tries more pairs with 1 or 2 records than with more.
    sizes: Sequence[int] = (1, 2, 3, 12)
    bins: Sequence[int] = BINS  # number of bins of each column of the tables
    # If ε and δ are for persons: the largest number of records of one person that a fit keeps.
    at_most: int | None = None
    # Whether a parameter is at an end of its range. Such a case has few pairs, and its changes need
    # not reach half of the bound.
    at_end: bool = False

    def estimator(self, n_bins: Sequence[int]) -> CodedClassifier:
        """Return the unfitted learner."""
        ordered = [self.bins == BINS or j % 2 == 0 for j in range(len(n_bins))]
        facts = Facts(n_bins, ordered, self.n_classes)
        parameters, relation = dict(self.parameters), REPLACE_ONE
        if self.neighbours == PRIVATE_COLUMNS:
            facts = replace(facts, public_columns=(0,), public_label=True)
            parameters.pop("public_columns", None)
            relation = PRIVATE_COLUMNS
        made: CodedClassifier = registry.make(self.learner, facts, parameters, relation)
        if self.at_most is not None:
            epsilon, delta = budget_within_group(made.epsilon, made.delta, self.at_most)
            made.set_params(epsilon=epsilon, delta=delta)
        return made

    @property
    def budget(self) -> tuple[float, float]:
        """The requested ε and δ, for a record or for a person."""
        learner = replace(self, at_most=None).estimator(self.bins)
        return learner.epsilon, learner.delta

    @property
    def group(self) -> int:
        """The largest number of differing records of two neighbours."""
        return self.at_most or 1

    @property
    def universe(self) -> list[Record]:
        """All possible records."""
        return list(itertools.product(*(range(k) for k in self.bins), range(self.n_classes)))

    @property
    def by_row(self) -> bool:
        """Whether each record needs its own row, as the learner releases an answer per row."""
        return bool(getattr(registry.estimator_class(self.learner), "scores_cost_answers", False))

    def table(self, rows: Sequence[Record], together: bool = False) -> Records:
        """Return `rows` as records of a learner, in the same order.

        With `together`, consecutive equal records become one row with a count.
        """
        table = np.array(rows, dtype=np.int64).reshape(len(rows), len(self.bins) + 1)
        begins = np.full(len(table), True)
        if together:
            begins[1:] = (table[1:] != table[:-1]).any(axis=1)
        counts = np.diff(np.append(np.flatnonzero(begins), len(table)))
        table = table[begins]
        labels = table[:, -1] if self.n_classes > 2 else 2 * table[:, -1] - 1
        return records(table[:, :-1], labels, self.bins, counts)

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        classes = f", {self.n_classes} classes" if self.n_classes > 2 else ""
        return f"{self.learner}({settings}){classes}"


@dataclass
class Verdict:
    """The findings about one case."""

    case: Case
    breach: BreachError | None = None  # the first broken condition
    # Largest change divided by its bound, and ledger entry, by a call's name without numbers.
    largest: dict[str, tuple[float, LedgerEntry]] = field(default_factory=dict)
    n_pairs: int = 0  # number of pairs that could be trained
    refusal: str = ""  # why the learner refused to train on pairs that `n_pairs` leaves out
    unseen: str = ""  # which answers of the fits the replay could not prescribe
    derived: bool = True  # whether each statement has the status `derived`


def check(case: Case, n_random: int = 30, seed: int = 0) -> Verdict:
    """Check the five conditions for one setting of a learner; stop at the first broken one.

    The check tries `n_random` pairs of each size above 2, and at most 4 times as many of the sizes
    1 and 2.
    """
    verdict = Verdict(case)
    tables: tuple[Records, ...] = ()
    n_random = min(n_random, FEW) if case.at_end else n_random
    try:
        if registry.entry(case.learner).peer:
            why = "its noise is drawn by the package of a peer, in which no call can be answered"
            raise BreachError(CHARGE, why)
        kind = registry.estimator_class(case.learner)
        if replaced := replaced_methods(kind, CodedClassifier):
            why = f"{kind.__name__} replaces {', '.join(replaced)}, which see open records"
            raise BreachError(SEALED, f"{why}: write _release")
        for k, tables in enumerate(neighbours(case, n_random, seed)):
            _check_pair(tables, (seed, k), verdict)
        tables = ()
        if not verdict.n_pairs:
            raise BreachError(CHARGE, f"no neighbours could be trained: {verdict.refusal}")
        # Where the replay cannot prescribe answers (noise drawn in a compiled loop), sensitivities
        # are untested. Report this first: below, it would look like an idle bound.
        if verdict.unseen:
            raise BreachError(CHARGE, verdict.unseen)
        # For persons, skip this: the bound is for more records than neighbours may differ in.
        compared = verdict.largest.items() if not case.at_end and case.at_most is None else ()
        for name, (part, entry) in compared:
            if part < 0.5 and name not in case.idle:
                why = (
                    f"{name}: no more than {part:.3g} of the announced {entry.sensitivity:.6g} was "
                    "seen: its answer is not made of the records, or the bound is idle"
                )
                raise BreachError(SENSITIVITY, why)
        _check_noise(case, seed)
    except BreachError as breach:
        breach.tables = breach.tables or tables
        verdict.breach = breach
    return verdict


def check_at_size(case: Case, seed: int = 0) -> Verdict:
    """Check conditions 1, 2, 3 and 5 on pairs of neighbours of real size, at two values of ε."""
    verdict = Verdict(case)
    tables: tuple[Records, ...] = ()
    try:
        for k, (epsilon, n) in enumerate(REAL_SIZES.items()):
            at = replace(case, parameters={**case.parameters, "epsilon": epsilon}, bins=REAL_BINS)
            tables = _real_pair(at, n, np.random.default_rng([seed, n]), relabel=k > 0)
            sides = compare_sides(at, tables, (seed, k))
            if not isinstance(sides, str):
                verdict.n_pairs += 1
                check_costs(*sides[:2], verdict)
    except BreachError as breach:
        breach.tables = tables
        verdict.breach = breach
    return verdict


def _real_pair(
    case: Case, n: int, rng: np.random.Generator, relabel: bool
) -> tuple[Records, Records]:
    """Return two tables that differ in one record, with labels that depend on the bins.

    The changed record is in the first bin of each column on the left side, and in the last bin on
    the right side. Its label differs only with `relabel`.
    """
    codes = rng.integers(case.bins, size=(n, len(case.bins)))
    codes[-1] = 0
    share = codes[:, 0] / case.bins[0] + codes[:, 3] / case.bins[3]
    labels = (share * case.n_classes / 2 + rng.random(n) / 2).astype(int) % case.n_classes
    table = [tuple(row) for row in np.column_stack([codes, labels]).tolist()]
    new = (*(k - 1 for k in case.bins), (table[-1][-1] + relabel) % case.n_classes)
    return case.table(table), case.table([*table[:-1], *_change_into(case, table[-1], new)])


def _check_pair(tables: Sequence[Records], seed: Sequence[int], verdict: Verdict) -> None:
    sides = compare_sides(verdict.case, tables, seed)
    if isinstance(sides, str):
        verdict.refusal = sides
        return
    first, second, model = sides
    verdict.n_pairs += 1
    verdict.unseen = verdict.unseen or first.all_unseen
    verdict.derived &= model._fitted_statement.status == DERIVED
    _check_stated(verdict.case, model)
    check_costs(first, second, verdict)
    refit, apart = partial(train, verdict.case, tables[0]), partial(_differences, model)
    try_other_batch(verdict.n_pairs, seed, first, refit, apart)


def compare_sides(
    case: Case, tables: Sequence[Records], seed: Sequence[int], fit: Fit | None = None
) -> tuple[Replay, Replay, CodedClassifier] | str:
    """Train on both sides with the same answers, and compare the two fits (conditions 1 and 2).

    `fit` trains on one side; the default is :func:`train`.

    Returns
    -------
    tuple or str
        The replays of both fits, and the first model; or why the learner refuses both tables.

    Raises
    ------
    BreachError
        If anything except exact values differs between the two fits.
    """
    first, fit = Replay(seed), fit or train
    one = _try_training(case, tables[0], first, fit)
    # If the first fit ended with an error, it has no answers to repeat: expect the same error.
    second = Replay(seed, None if isinstance(one, Exception) else first)
    other = _try_training(case, tables[1], second, fit)
    if isinstance(one, Exception) or isinstance(other, Exception):
        return _refusal(one, other)
    if first.progress != second.progress:
        raise BreachError(CONTROL, "progress reports differ between the two tables")
    if first.messages != second.messages:
        at = next(
            k for k, (a, b) in enumerate(zip_longest(first.messages, second.messages)) if a != b
        )
        messages = " and ".join(repr(one.messages[at : at + 1]) for one in (first, second))
        raise BreachError(
            POST_PROCESSING, f"the texts that a fit prints, warns of or logs differ: {messages}"
        )
    if first.stream != second.stream:
        raise BreachError(CONTROL, "the stream of noise follows from the records, not the seed")
    try:
        before = {name: numbers(value) for name, value in released(one).items()}
        apart = _differences(one, other)
        after = released(one).items()
        moved = [name for name, value in after if not is_same(numbers(value), before.get(name))]
    except Exception as error:
        why = f"the fitted models can't be compared: {_describe(error)}"
        raise BreachError(POST_PROCESSING, why) from error
    if apart:
        # Models may differ because of answers that the replay could not prescribe: say so.
        but = f"; but {first.all_unseen}" if first.all_unseen else ""
        raise BreachError(POST_PROCESSING, f"{', '.join(apart)} differ{but}")
    if moved:
        # Condition 2 includes scoring, as `tuned` scores the training records.
        why = f"scoring rows changes {', '.join(moved)} of the model, which may keep these rows"
        raise BreachError(POST_PROCESSING, why)
    return first, second, one


def _try_training(
    case: Case, side: Records, curator: Replay, fit: Fit
) -> CodedClassifier | Exception:
    """Return a fitted model, or the exception that ended the fit."""
    try:
        with overheard(curator.messages):
            model = fit(case, side, curator)
    except BreachError:
        raise
    except SealedError as error:
        raise BreachError(SEALED, str(error)) from error
    except DoorError as error:
        raise BreachError(CHARGE, str(error)) from error
    except Exception as error:
        return error
    curator.close()
    return model


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _refusal(*sides: CodedClassifier | Exception) -> str:
    """Return the message with which the learner refused both sides.

    Raises BreachError unless both fits end with the same ValueError.
    """
    errors = [side for side in sides if isinstance(side, Exception)]
    endings = list(dict.fromkeys(map(_describe, errors)))
    if len(errors) == 1:
        raise BreachError(CONTROL, f"only one side ends with {endings[0]}")
    if len(endings) == 2:
        raise BreachError(CONTROL, f"fits of the two tables end with {' and '.join(endings)}")
    if not isinstance(errors[0], ValueError):
        raise BreachError(CONTROL, f"both sides end with {endings[0]}")
    return endings[0]


def _check_stated(case: Case, model: Any) -> None:
    """Check that the model's statement promises at least the requested privacy."""
    stated = model._fitted_statement.of_persons(case.at_most)
    epsilon, delta = case.budget
    if stated.epsilon > epsilon * (1 + ROUNDING) or stated.delta > delta * (1 + ROUNDING):
        why = (
            f"the statement has epsilon = {stated.epsilon:g}, delta = {stated.delta:g}; "
            f"the request, {epsilon:g} and {delta:g}"
        )
        raise BreachError(CHARGE, why)
    if stated.neighbours != case.neighbours:
        why = f"the statement has neighbours = {stated.neighbours}; the request, {case.neighbours}"
        raise BreachError(CHARGE, why)


def check_costs(first: Replay, second: Replay, verdict: Verdict) -> None:
    """Check that exact values of neighbours differ as announced; store the largest changes."""
    stated = first.statement
    if stated is None:
        raise BreachError(CHARGE, "nothing was held to the ledger: a fit without a check")
    events = list(zip(first.all_events, second.all_events, strict=True))
    for entry, apart in _changes_of(stated, events).items():
        loss = float(np.linalg.norm(apart) if entry.mechanism == GAUSSIAN else apart.sum())
        # The ledger charges each of several equal entries, once per run of a private selection.
        times = 1 if entry.parallel else max(1, len(first.runs)) * stated.ledger.count(entry)
        announced = announced_loss(entry) * (times**0.5 if entry.mechanism == GAUSSIAN else times)
        announced *= verdict.case.group
        # `not <=` makes NaN a breach, too.
        if not loss <= announced * (1 + TOLERANCE) + TOLERANCE:
            factor = loss / announced
            raise BreachError(
                SENSITIVITY,
                f"{entry.what}: the exact values change by {factor * entry.sensitivity:.6g}, "
                f"{factor:.3g} times the announced sensitivity ({entry.sensitivity:.6g})",
            )
        name = re.sub(r"\d+(?!-rule)", "#", entry.what)
        if loss / announced > verdict.largest.get(name, (-1.0,))[0]:
            verdict.largest[name] = loss / announced, entry
    for one, other in events:
        if one.kind == OBJECTIVE:
            (call,) = one.calls.ravel().tolist()
            factor = abs(one.log_jacobian - other.log_jacobian)
            paid = verdict.case.group * (call.entry.epsilon - announced_loss(call.entry))
            if not factor <= paid * (1 + TOLERANCE) + TOLERANCE:
                why = f"the Jacobians differ by e^{factor:.6g}; the ledger pays for e^{paid:.6g}"
                raise BreachError(SENSITIVITY, f"{call.entry.what}: {why}")
    for run, follower in zip(first.runs, second.runs, strict=True):
        check_costs(run, follower, verdict)


def _changes_of(
    stated: PrivacyStatement, events: Sequence[tuple[Event, Event]]
) -> dict[LedgerEntry, Floats]:
    """Return the changes of exact values by ledger entry, in units of the noise."""
    named = {entry.what: entry for entry in stated.ledger}
    changes: dict[LedgerEntry, list[Floats]] = {}
    # Join the changes of all parties; only the party with the changed record has nonzero changes.
    for one, other in events:
        for key, apart in one.losses(other).items():
            if key:
                entry = named[key] if isinstance(key, str) else key
                changes.setdefault(entry, []).append(apart)
            elif apart.any():
                raise BreachError(SENSITIVITY, "a call without a charge depends on records")
    return {entry: np.concatenate(parts) for entry, parts in changes.items()}


def announced_loss(entry: LedgerEntry) -> float:
    """Return the change of exact values that an entry pays for, in units of the noise scale."""
    if entry.mechanism in (GAUSSIAN, *OBJECTIVES):
        # For an objective, this change costs only a part of ε; the rest of ε pays for the Jacobian.
        return entry.noise_rate * entry.sensitivity
    # A choice with the bounded range r costs at most ρ = r²/8.
    of_rho = math.inf if entry.rho is None else math.sqrt(8 * entry.rho)
    of_range = math.inf if entry.bounded_range is None else entry.bounded_range
    return min(entry.epsilon, of_range, of_rho)


def train(case: Case, side: Records, curator: Curator) -> CodedClassifier:
    """Train a learner on records through a curator."""
    learner = case.estimator(side.n_bins.tolist())
    return learner.fit_records(side, [{}], [curator])[0]


def train_by_fit(case: Case, side: Records, curator: Replay) -> CodedClassifier:
    """Call `fit` as a user does, but with `curator` in place of the one that `fit` would make."""
    learner = case.estimator(side.n_bins.tolist()).set_params(random_state=0)

    def scripted(stream: np.random.Generator) -> Curator:
        # A fit's stream depends on the number of records: under add-remove, streams may differ.
        if case.neighbours != ADD_REMOVE:
            curator.stream = repr(stream.bit_generator.state)
        return curator

    with mock.patch.object(base, "Curator", scripted):
        return learner.fit(side.codes, side.labels, side.counts)


Fit = Callable[[Case, Records, Replay], CodedClassifier]


def released(model: CodedClassifier) -> dict[str, Any]:
    """Return the attributes of a fitted model, except parts that stay with the data owner."""
    held = getattr(model, "_held", ()) if _is_held(model) else ()
    # Include the parameters: a fit may have changed one.
    return {name: value for name, value in vars(model).items() if name not in held}


def _is_held(model: CodedClassifier) -> bool:
    """Return whether a part of the model stays with the data owner; the learner's entry says so."""
    return registry.entry(model._learner).stays_open


def _differences(left: CodedClassifier, right: CodedClassifier) -> list[str]:
    """Return the names of attributes (and scores) that differ in any bit between two models."""
    states = [released(model) for model in (left, right)]
    for state, model in zip(states, (left, right), strict=True):
        state["measures_"] = model.measures_
        # A model that stays with the data owner draws new noise for each score: leave scores out.
        if not _is_held(model):
            state["its scores"] = model.score_codes(_domain(model))
    names = dict.fromkeys([*states[0], *states[1]])
    return [name for name in names if not is_same(*(state.get(name) for state in states))]


def _domain(model: CodedClassifier) -> NDArray[Any]:
    if np.prod(model.n_bins_) > MOST_ROWS:
        codes = np.random.default_rng(0).integers(
            model.n_bins_, size=(MOST_ROWS, len(model.n_bins_))
        )
        return codes.astype(np.uint8)
    rows = list(itertools.product(*(range(k) for k in model.n_bins_.tolist())))
    return np.array(rows, dtype=np.uint8)


# Neighbours -----------------------------------------------------------------------------------


def neighbours(case: Case, n_random: int, seed: int) -> Iterator[tuple[Records, Records]]:
    """Yield random pairs of neighbouring tables, most of them with one or two records.

    In every second pair with more than two records, consecutive equal records form one row.
    """
    rng = np.random.default_rng([seed, 7])
    pairs: list[Any]
    universe = case.universe
    for n in case.sizes:
        if case.at_most is not None:
            pairs = [_random_persons(case, n, rng) for _ in range(n_random)]
        elif n <= 2:
            tables = itertools.product(universe, repeat=n)
            pairs = [(table, other) for table in tables for other in _neighbours_of(case, table)]
            pairs = [pairs[k] for k in rng.permutation(len(pairs))[: 4 * n_random]]
        else:
            pairs = [_random_pair(case, n, rng) for _ in range(n_random)]
        for k, pair in enumerate(pairs):
            together = n > 2 and k % 2 > 0 and not case.by_row
            one, other = (case.table(table, together) for table in pair)
            yield one, other


def _random_pair(
    case: Case, n: int, rng: np.random.Generator
) -> tuple[Sequence[Record], Sequence[Record]]:
    # Use at most four distinct records: tables of equal records show the largest changes of sums.
    universe = case.universe
    pool = rng.integers(len(universe), size=rng.integers(1, 5))
    table = tuple(universe[k] for k in pool[rng.integers(len(pool), size=n)])
    changed = list(_neighbours_of(case, table))
    return table, changed[rng.integers(len(changed))]


def _random_persons(
    case: Case, n: int, rng: np.random.Generator
) -> tuple[Sequence[Record], Sequence[Record]]:
    """Return tables that differ in all records of one person, who has at most `case.group`."""
    table, _ = _random_pair(case, n, rng)
    persons = [f"P{k}" for k in rng.integers(PERSONS, size=n)]
    one = persons[rng.integers(n)]
    new = case.universe[rng.integers(len(case.universe))]
    sides = []
    for is_changed in (False, True):
        rows = [
            _change_into(case, record, new) if is_changed and person == one else (record,)
            for record, person in zip(table, persons, strict=True)
        ]
        names = [person for person, row in zip(persons, rows, strict=True) for _ in row]
        there = [record for row in rows for record in row]
        sides.append([there[place] for place in limit_places(names, case.group, seed=0)])
    return sides[0], sides[1]


def _change_into(case: Case, old: Record, new: Record) -> Sequence[Record]:
    """Return what replaces the record `old`, under the relation of the case.

    This is nothing under add-remove, and otherwise the record `new`. Under private-columns, `new`
    gets the public values of `old`.
    """
    if case.neighbours == ADD_REMOVE:
        return ()
    return ((old[0], *new[1:-1], old[-1]) if case.neighbours == PRIVATE_COLUMNS else new,)


def _neighbours_of(case: Case, table: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the neighbours of a table."""
    for k, old in enumerate(table):
        before, after = table[:k], table[k + 1 :]
        if case.neighbours == ADD_REMOVE:
            yield (*before, *after)
            continue
        for new in case.universe:
            public = case.neighbours == PRIVATE_COLUMNS and (old[0], old[-1]) != (new[0], new[-1])
            if new != old and not public:
                yield (*before, new, *after)


# Noise of real fits ----------------------------------------------------------------------------


def _check_noise(case: Case, seed: int) -> None:
    """Compare the noise of real fits with the announced distribution (condition 4)."""
    rng = np.random.default_rng([seed, 11])
    universe, why = case.universe, ""
    for _ in range(MOST_TABLES):
        table = case.table([universe[k] for k in rng.integers(len(universe), size=max(case.sizes))])
        try:
            why = faults(partial(train, case, table), seed)
            break
        except ValueError as error:
            why = f"no table could be trained on with real noise: {error}"
        except DoorError as error:
            raise BreachError(CHARGE, f"in a real fit: {error}") from error
        except Exception as error:
            raise BreachError(CONTROL, f"a real fit ends with {_describe(error)}", table) from error
    if why:
        raise BreachError(NOISE, why)
