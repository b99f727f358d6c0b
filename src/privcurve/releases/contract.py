"""Check that the files of a release depend on the records only through the answers of curators.

The check makes releases of two distant tables (`distant`), with the same answers of curators. Then
these outputs must have equal bytes: the model's file, its card (except for the date), the outputs
of ``explain`` and ``export``, and the result of ``privcurve evaluate --epsilon``. Also, each
curator must have its own random stream, the budget ledger must charge the costs of all curators,
and exact values on neighbouring tables must differ by no more than the announced sensitivities.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml

from privcurve import models
from privcurve.audit.contract import TOLERANCE, Case, Verdict, check_costs
from privcurve.audit.replay_fits import (
    CHARGE,
    CONTROL,
    NOISE,
    POST_PROCESSING,
    SEALED,
    BreachError,
    Replay,
)
from privcurve.errors import end_with_reader
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.learners.registry import TUNED
from privcurve.models.sql import query
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS
from privcurve.privacy.ledger import AUTHORS_WORD, CLAIMED, PrivacyStatement
from privcurve.privacy.sealed import SealedError
from privcurve.releases import evaluation, holdout
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import RELEASES, BudgetLedger
from privcurve.releases.choice import CHOOSE
from privcurve.releases.holdout import public_split
from privcurve.releases.released import CARD, MODEL, PAGE
from privcurve.releases.request import ESTIMATE, Request

DATASET, TABLE, TEST = "made_up", "table.csv", "test.csv"
HEADER = "age,town,ward,note,sick"
# N and N_TEST are the numbers of records of the training and of the test file, EPSILON is ε, and
# HOLDOUT is the share of held-out records. All are so large that the measures of the model exceed
# their noise.
N, N_TEST, EPSILON, HOLDOUT = 240, 39, 4.0, 0.5
# Name of the ledger entry of `evaluate --epsilon`.
EVALUATED = f"counts of {TEST} by town, label and answer"
DELTA = 1e-4
TOWNS = ("Oslo", "Rome, north", "?")
WARDS = ("a", "b")

DESCRIPTION: dict[str, Any] = {
    "title": "Are patients sick?",
    "citation": "none",
    "licence": "none",
    "files": {"train": {"local": TABLE}, "test": {"local": TEST}},
    "parser": {"kind": "delimited", "header": True},
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [0, 100], "source": "human life"},
        {"name": "town", "kind": "categorical", "categories": list(TOWNS)},
        {"name": "ward", "kind": "categorical", "categories": list(WARDS)},
    ],
    "label": {"column": "sick", "positive": "yes", "negative": "no"},
}

# LINES is the number of records of each person in the table, AT_MOST the maximum number of them
# that a training uses.
LINES, AT_MOST = 3, 2
PERSONS, PARTS, CLASSES = "persons", "parts", "classes"
# Variants of `DESCRIPTION`: for each variant, the keys that it changes. To save time, only the
# learner `OF_ALL_KINDS` is tried with all variants; other learners are tried with `DESCRIPTION`.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    PERSONS: {"unit": {"column": "note", "at_most": AT_MOST}},
    PARTS: {"rows_per_part": 80},
    CLASSES: {"label": {"column": "sick", "classes": ["no", "maybe", "yes"]}},
}
OF_ALL_KINDS = "privgam"

# Parameters that learners need for some relations.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    PRIVATE_COLUMNS: {"start": "public", "noise": "box"},
    ADD_REMOVE: {ESTIMATE: N},
}

# A line of a table: age, town, ward, note, label.
Line = tuple[Any, ...]


def requests(learner: str) -> Iterator[tuple[Request, str]]:
    """Yield the requests to check for a learner, each with a variant of the description (`KINDS`).

    For each neighbouring relation that the learner supports, there is a request with δ = 0 and one
    with δ > 0, unless the learner refuses this δ. `learner` may also be ``choose``. Raises
    ValueError if the learner can't be released.
    """
    entry = registry.entry(TUNED if learner == CHOOSE else learner)
    if learner not in releasable():
        raise ValueError(f"{learner} can't be released; choose one of: {', '.join(releasable())}")
    for relation in entry.neighbours:
        for delta in [0.0] * entry.pure + [DELTA] * entry.approximate:
            settings = SETTINGS.get(relation, {})
            setting = {name: value for name, value in settings.items() if name in entry.parameters}
            request = Request(DATASET, EPSILON, delta, learner, setting, relation, HOLDOUT)
            for kind in KINDS if learner == OF_ALL_KINDS else [""]:
                yield request, kind


def releasable() -> list[str]:
    """Return the names that a release accepts: learners, and ``choose``, which picks a learner."""
    names = [
        name
        for name, entry in LEARNERS.items()
        if entry.proved and not entry.requires and registry.estimator_class(name)._released
    ]
    return [*names, CHOOSE]


def check_release(request: Request, kind: str = "") -> BreachError | None:
    """Release distant and neighbouring tables with the same answers; return the first breach.

    `kind` is the description's key in `KINDS`. Returns None if the release keeps the contract.
    """
    relation, streams = request.relation, set[str]()
    case = Case(request.learner, {}, at_most=AT_MOST if kind == PERSONS else None)
    try:
        leaders, first = _release(request, kind, _one(), [], streams)
        followers, second = _release(request, kind, _other(relation), leaders, streams)
        if len(followers) < len(leaders):
            raise BreachError(CONTROL, "the second release uses fewer curators")
        for name, text in first.items():
            for k, (one, other) in enumerate(_lines(text, second[name]), 1):
                if one != other:
                    apart = _around(one, other)
                    raise BreachError(POST_PROCESSING, f"{name}, line {k}: {apart}")
        n_lines, n_kept = (LINES, AT_MOST) if kind == PERSONS else (1, 1)
        changed = set[bool]()
        for n_before in range(N // n_lines):
            # Try two neighbouring tables: the first differs in a record of one part (training or
            # hold-out), the second in a record of the other part.
            place = (N // n_lines - 1 - n_before) * n_kept
            held = bool(public_split(np.array([place]), HOLDOUT)[0])
            if held in changed or (changed and relation == ADD_REMOVE):
                continue
            changed.add(held)
            tables = _neighbour(relation, n_lines, n_before * n_lines)
            followers, _ = _release(request, kind, tables, leaders, streams)
            _check_one_part(leaders, followers)
            for leader, follower in zip(leaders, followers, strict=True):
                # Skip a fit that deals records to parts or parties: a changed record may also move
                # other records to another part, so the changes may exceed the sensitivities.
                if not (leader.dealt or leader.holders):
                    check_costs(leader, follower, Verdict(case))
    except BreachError as breach:
        return breach
    return None


def _check_one_part(leaders: Sequence[Replay], followers: Sequence[Replay]) -> None:
    """Raise BreachError if a changed record affects both the training and the hold-out."""
    moved = {
        _is_of(leader, holdout.WHAT)
        for leader, follower in zip(leaders, followers, strict=True)
        if not _is_of(leader, EVALUATED)
        for one, other in zip(leader.all_events, follower.all_events, strict=True)
        if not np.array_equal(one.exact, other.exact)
    }
    if len(moved) > 1:
        raise BreachError(
            CHARGE,
            "a changed record moves the training and the hold-out, but only one cost is charged",
        )


def _one() -> tuple[list[Line], list[Line]]:
    """Return a training and a test table of many different records."""
    train, test = (
        [
            # Some ages are out of bounds and get clipped.
            (
                20 + 2 * (k % 60),
                TOWNS[k % 3],
                WARDS[k % 2],
                f"n{k // LINES}",
                "yes" if k % every else "no",
            )
            for k in range(n)
        ]
        for n, every in ((N, 4), (N_TEST, 2))
    )
    return train, test


def _other(relation: str) -> tuple[list[Line], list[Line]]:
    """Return a training and a test table that differ from :func:`_one` in nearly all records.

    Within each table, records have equal values, except for notes and for the labels of one person.
    Under private-columns, all public values are as in :func:`_one`. Under add-remove, the training
    table has half as many records.
    """
    public = relation == PRIVATE_COLUMNS
    train, test = (
        [
            (70, town if public else "Oslo", "b", note, label if public or k < LINES else "no")
            for k, (_, town, _, note, label) in enumerate(part)
        ]
        for part in _one()
    )
    return train[: N // 2 if relation == ADD_REMOVE else N], test


def _neighbour(relation: str, n_lines: int, n_after: int = 0) -> tuple[list[Line], list[Line]]:
    """Return the tables of :func:`_one`; in each, `n_lines` records of one person are changed.

    In the training table, `n_after` records follow the changed ones; in the test table, the changed
    records are the last. Under add-remove, the last `n_lines` records of both tables are left out.
    """
    sides = _one()
    for part, after in zip(sides, (n_after, 0), strict=True):
        for k in range(len(part) - after - n_lines, len(part) - after):
            _, town, _, note, label = part[k]
            is_public = relation == PRIVATE_COLUMNS
            part[k] = (70, town if is_public else "Rome, north", "a", note,
                       label if is_public else "yes" if label == "no" else "no")  # fmt: skip
    train, test = sides
    return (train[:-n_lines], test[:-n_lines]) if relation == ADD_REMOVE else (train, test)


@contextlib.contextmanager
def _folder_of(relation: str, kind: str, tables: Mapping[str, list[Line]]) -> Iterator[None]:
    """Make the working folder a temporary one, which has only the tables and their description.

    `kind` is the description's key in `KINDS`.
    """
    description = {**DESCRIPTION, **KINDS[kind]}
    kept = {name: len(lines) for name, lines in tables.items()}
    if kind == PERSONS:
        kept = {name: n * AT_MOST // LINES for name, n in kept.items()}
    description |= {"n_rows": kept[TABLE], "n_test": kept[TEST]}
    if relation == PRIVATE_COLUMNS:
        # Give no budget: a budget can't be for private-columns neighbours.
        description |= {"public": ["town"], "public_label": True}
    else:
        description["budget"] = {"epsilon": 9, "delta": 0.5, "neighbours": relation}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, lines in tables.items():
            rows = [",".join(f'"{cell}"' for cell in line) for line in lines]
            Path(name).write_text("\n".join([HEADER, *rows]) + "\n")
        place = Path("resources/datasets") / f"{DATASET}.yaml"
        place.parent.mkdir(parents=True)
        place.write_text(yaml.safe_dump(description))
        with mock.patch.dict(os.environ, PRIVCURVE_SEEDS=f"{folder}/seeds"):
            yield


def _release(
    request: Request,
    kind: str,
    tables: tuple[list[Line], list[Line]],
    leaders: Sequence[Replay],
    streams: set[str],
) -> tuple[list[Replay], Mapping[str, str]]:
    """Make a release with replays as curators; return the replays, and the released texts by name.

    The replays repeat the answers of `leaders`, if there are any. `streams` has the states of the
    random streams of all curators so far: a new curator must have another stream.
    """
    used: list[Replay] = []

    def scripted(stream: np.random.Generator, **options: Any) -> Replay:
        k, state = len(used), repr(stream.bit_generator.state)
        if state in streams:
            raise BreachError(NOISE, "two curators of releases have the same stream of noise")
        streams.add(state)
        if leaders and k >= len(leaders):
            raise BreachError(CONTROL, "the second release uses more curators")
        used.append(Replay([k], leaders[k] if leaders else None))
        return used[-1]

    split = holdout.split

    def scripted_split(places: Any, request: Request, coins: Any = None) -> holdout.Parts:
        if coins is not None:
            state = repr(coins.bit_generator.state)
            if state in streams:
                raise BreachError(NOISE, "the split and a curator have the same stream")
            streams.add(state)
            coins = np.random.default_rng(0)
        return split(places, request, coins)

    with (
        _folder_of(request.relation, kind, dict(zip((TABLE, TEST), tables, strict=True))),
        mock.patch.object(releasing, "Curator", scripted),
        mock.patch.object(evaluation, "Curator", scripted),
        mock.patch.object(holdout, "split", scripted_split),
    ):
        try:
            released = releasing.release(request)
            day = released.release.facts["at"].partition("T")[0]
            texts = {
                # The date on the card changes if midnight comes between the two releases.
                name: released.path(name).read_text().replace(day, "today")
                for name in (MODEL, CARD, PAGE)
            }
            model, test = released.path(MODEL), Path(TEST)
            texts |= _texts_of(models.load(model))
            # `evaluate` refuses noisy counts if ε protects persons.
            if kind != PERSONS:
                answers = evaluation.ask(models.load(model), test, "town", print)
                noisy = evaluation.release(answers, model, test, DATASET, "town", 0.5)
                texts["what evaluate --epsilon returns"] = "\n".join(map(repr, noisy.rows))
            priced = BudgetLedger(RELEASES / DATASET).releases()
        except BreachError:
            raise
        except SealedError as error:
            raise BreachError(SEALED, str(error)) from error
        except Exception as error:
            why = f"a release ends with {type(error).__name__}: {error}"
            raise BreachError(CONTROL, why) from error
    for replay in used:
        replay.close()
        if replay.statement is None:  # answers outside of a fit have no statement yet
            spent = math.fsum(entry.epsilon for entry in replay.ledger), 0.0, request.relation
            replay.statement = PrivacyStatement(
                "release", *spent, None, BASIC, replay.ledger, status=CLAIMED, caveat=AUTHORS_WORD
            )
    size = AT_MOST if kind == PERSONS else 1
    for name in ("epsilon", "delta"):
        # Each record is either in the training or in the hold-out. So a person pays the larger of
        # these two costs, plus the cost of the evaluation.
        fit = [one for one in used if not _is_of(one, holdout.WHAT) and not _is_of(one, EVALUATED)]
        held = [one for one in used if _is_of(one, holdout.WHAT)]
        others = [one for one in used if _is_of(one, EVALUATED)]
        costs = [
            math.fsum(getattr(one.statement, name) for one in some if one.statement)
            for some in (fit, held, others)
        ]
        spent_by_all = size * (max(costs[:2]) + costs[2])
        charged = math.fsum(getattr(past.price, name) for past in priced)
        if not spent_by_all <= charged * (1 + TOLERANCE):
            why = f"{name} = {spent_by_all:g} is spent, and {charged:g} charged to the budget"
            raise BreachError(CHARGE, why)
    return used, texts


def _is_of(replay: Replay, what: str) -> bool:
    """Return whether the first answer of a curator is to the query `what`."""
    return [entry.what for entry in replay.ledger[:1]] == [what]


def _texts_of(model: models.Model) -> Mapping[str, str]:
    """Return the outputs of ``explain`` and ``export``, by command."""
    explanation = model.explain()
    try:
        exported = query(model, "records")
    except models.ModelError as error:
        exported = str(error)
    return {"explain": f"{explanation}\n{explanation.importances}", "export": exported}


def _lines(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts in pairs; a missing line is empty."""
    sides = one.splitlines(), other.splitlines()
    for k in range(max(map(len, sides))):
        yield tuple(side[k] if k < len(side) else "" for side in sides)  # type: ignore[misc]


def _around(one: str, other: str) -> str:
    """Return the text of both lines around their first difference."""
    sides = enumerate(zip(one, other, strict=False))
    k = next((k for k, (left, right) in sides if left != right), min(len(one), len(other)))
    return " and ".join(repr(line[max(0, k - 40) : k + 40]) for line in (one, other))


@end_with_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Check releases of learners; return 0, 1 if one breaks the contract, 2 for bad arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.releases.contract",
        description="Release two distant tables with the same answers, and check that the model's "
        "file, its card and a noisy evaluation are the same. By default, try all learners that can "
        "be released.",
    )
    parser.add_argument("learners", nargs="*", help="names of shipped learners, or choose")
    broken = tried = 0
    try:
        for name in parser.parse_args(arguments).learners or releasable():
            for request, kind in requests(name):
                breach = check_release(request, kind)
                broken, tried = broken + (breach is not None), tried + 1
                words = ", ".join(filter(None, (request.relation, f"{request.delta:g}", kind)))
                print(f"{name} ({words}): {breach or 'releases what follows from answers'}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{tried - broken} of {tried} releases keep the contract.")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
