"""The contract of a release: the files that leave follow from the answers of curators alone.

Two distant tables are released with the same answers. Every byte of the model's file, of its card,
but for the day, and of what ``privcurve evaluate --epsilon`` returns must then be equal.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from privcurve import models
from privcurve.audit.replay_fits import CONTROL, POST_PROCESSING, SEALED, BreachError, Replay
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.learners.registry import TUNED
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.sealed import SealedError
from privcurve.releases import evaluation
from privcurve.releases import release as releasing
from privcurve.releases.choice import CHOOSE
from privcurve.releases.released import CARD, MODEL, PAGE
from privcurve.releases.request import ESTIMATE, Request

DATASET, TABLE, TEST = "made_up", "table.csv", "test.csv"
HEADER = "age,town,ward,note,sick"
N, N_TEST = 60, 40
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

PERSONS, PARTS, CLASSES = "persons", "parts", "classes"
# Other descriptions, with which one learner is tried.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    PERSONS: {"unit": {"column": "note", "at_most": 2}},
    PARTS: {"rows_per_part": 20},
    CLASSES: {"label": {"column": "sick", "classes": ["no", "maybe", "yes"]}},
}
OF_ALL_KINDS = "privgam"

# What learners need for some neighbours.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    PRIVATE_COLUMNS: {"start": "public", "noise": "box"},
    ADD_REMOVE: {ESTIMATE: N},
}

# A line of a table: age, town, ward, note, label.
Line = tuple[Any, ...]


def requests(learner: str) -> Iterator[tuple[Request, str]]:
    """Yield the releases of a learner that are tried, each with the kind of its description.

    They are of each relation and kind of δ that it offers. `learner` may also be ``choose``. Raises
    ValueError if it can't be released.
    """
    entry = registry.entry(TUNED if learner == CHOOSE else learner)
    if learner not in releasable():
        raise ValueError(f"{learner} can't be released: there are {', '.join(releasable())}")
    for relation in entry.neighbours:
        for delta in [0.0] * entry.pure + [DELTA] * entry.approximate:
            settings = SETTINGS.get(relation, {})
            setting = {name: value for name, value in settings.items() if name in entry.parameters}
            accuracy = 0.5 if relation == REPLACE_ONE else 0.0
            request = Request(DATASET, 1.0, delta, learner, setting, relation, accuracy)
            for kind in KINDS if learner == OF_ALL_KINDS else [""]:
                yield request, kind


def releasable() -> list[str]:
    """Return the learners that can be released, with ``choose``."""
    names = [
        name
        for name, entry in LEARNERS.items()
        if entry.proved and not entry.requires and registry.estimator_class(name)._released
    ]
    return [*names, CHOOSE]


def check_release(request: Request, kind: str = "") -> BreachError | None:
    """Release two distant tables with the same answers; return the first difference."""
    try:
        leaders, first = _release(request, kind, _one(), [])
        followers, second = _release(request, kind, _other(request.relation), leaders)
    except BreachError as breach:
        return breach
    if len(followers) < len(leaders):
        return BreachError(CONTROL, "a curator less")
    for name, text in first.items():
        for k, (one, other) in enumerate(_lines(text, second[name]), 1):
            if one != other:
                apart = _around(one, other)
                return BreachError(POST_PROCESSING, f"{name}, line {k}: {apart}")
    return None


def _one() -> tuple[list[Line], list[Line]]:
    """Return many different records, and as many to test by."""
    train, test = (
        [
            # One age is beyond the bounds: it is clipped.
            (20 + 2 * k, TOWNS[k % 3], WARDS[k % 2], f"n{k // 2}", "yes" if k % every else "no")
            for k in range(n)
        ]
        for n, every in ((N, 4), (N_TEST, 2))
    )
    return train, test


def _other(relation: str) -> tuple[list[Line], list[Line]]:
    """Return records that are equal, but for one and for what the relation says is public."""
    public = relation == PRIVATE_COLUMNS
    train, test = (
        [
            (70, town if public else "Oslo", "b", note, label if public or k == 1 else "no")
            for k, (_, town, _, note, label) in enumerate(part)
        ]
        for part in _one()
    )
    return train[: N // 2 if relation == ADD_REMOVE else N], test


@contextlib.contextmanager
def _folder_of(relation: str, kind: str, tables: Mapping[str, list[Line]]) -> Iterator[None]:
    """Work in a folder with tables and their description alone."""
    description = {**DESCRIPTION, **KINDS[kind]}
    description |= {"n_rows": len(tables[TABLE]), "n_test": len(tables[TEST])}
    if relation == PRIVATE_COLUMNS:
        # No budget is for such neighbours.
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
) -> tuple[list[Replay], Mapping[str, str]]:
    """Release a table; return the replays, and the texts that leave by their names."""
    used: list[Replay] = []

    def scripted(*stream: Any, **options: Any) -> Replay:
        k = len(used)
        if leaders and k >= len(leaders):
            raise BreachError(CONTROL, "a curator more")
        used.append(Replay([k], leaders[k] if leaders else None))
        return used[-1]

    with (
        _folder_of(request.relation, kind, dict(zip((TABLE, TEST), tables, strict=True))),
        mock.patch.object(releasing, "Curator", scripted),
        mock.patch.object(evaluation, "Curator", scripted),
    ):
        try:
            released = releasing.release(request)
            day = released.release.facts["at"].partition("T")[0]
            texts = {
                # The second release may be of the next day.
                name: released.path(name).read_text().replace(day, "today")
                for name in (MODEL, CARD, PAGE)
            }
            # Of persons no counts are released.
            if kind != PERSONS:
                model, test = released.path(MODEL), Path(TEST)
                answers = evaluation.ask(models.load(model), test, "town", print)
                noisy = evaluation.release(answers, model, test, DATASET, "town", 0.5)
                texts["what evaluate --epsilon returns"] = "\n".join(map(repr, noisy.rows))
        except BreachError:
            raise
        except SealedError as error:
            raise BreachError(SEALED, str(error)) from error
        except Exception as error:
            why = f"a release ends with {type(error).__name__}: {error}"
            raise BreachError(CONTROL, why) from error
    for replay in used:
        replay.close()
    return used, texts


def _lines(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two texts side by side; a missing one is empty."""
    sides = one.splitlines(), other.splitlines()
    for k in range(max(map(len, sides))):
        yield tuple(side[k] if k < len(side) else "" for side in sides)  # type: ignore[misc]


def _around(one: str, other: str) -> str:
    """Return where two lines begin to differ, with what is around it."""
    sides = enumerate(zip(one, other, strict=False))
    k = next((k for k, (left, right) in sides if left != right), min(len(one), len(other)))
    return " and ".join(repr(line[max(0, k - 40) : k + 40]) for line in (one, other))
