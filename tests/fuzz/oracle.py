"""What must come of a mutation: one message that names the culprit, or the plain result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import plain_coding
from plain_yaml import RefusedError

from privcurve import datasets
from privcurve.datasets import Dataset, DatasetError

# Said beside the message itself: where to look for more.
HINT = "privcurve check "


def coded() -> tuple[Dataset | None, str]:
    """Return what the program makes of descriptions/mine.yaml, or its message."""
    try:
        return datasets.load("mine"), ""
    except DatasetError as error:
        return None, str(error)


def plain() -> tuple[Any, str]:
    """Return what the plain program makes of it, or why it refuses."""
    try:
        return plain_coding.coded("mine"), ""
    except RefusedError as error:
        return None, str(error)


def faults_of(names: Sequence[str]) -> list[str]:
    """Say what is wrong with what the program made of descriptions/mine.yaml: nothing, mostly.

    Parameters
    ----------
    names : sequence of str
        What a message may call the culprit.
    """
    dataset, message = coded()
    expected, reason = plain()
    if dataset is None:
        faults = faults_of_message(message, names)
        return faults if expected is None else [*faults, f"refused, but it is right: {message}"]
    if expected is None:
        return [f"accepted, but {reason}: {dataset.X.tolist()} {dataset.y.tolist()}"]
    return differences(dataset, expected)


def faults_of_message(message: str, names: Sequence[str]) -> list[str]:
    """Say what is wrong with a message: it must name the culprit, and say each thing once."""
    faults = []
    lines = [line for line in message.splitlines() if not line.startswith(HINT)]
    if not any(line.strip() for line in lines):
        return ["the message is empty"]
    twice = [line for line, count in Counter(lines).items() if count > 1 and line.strip()]
    if twice:
        faults.append(f"said twice: {twice[0]}")
    if names and not any(name in message for name in names):
        faults.append(f"none of {list(names)} is named: {message}")
    internal = [word for word in ("Traceback", "NoneType", "object at 0x") if word in message]
    if internal:
        faults.append(f"{internal[0]} in the message: {message}")
    return faults


def differences(dataset: Dataset, expected: Any) -> list[str]:
    """Compare codes, labels, numbers of clipped values, and the domain."""
    faults = []
    train = records_of(dataset.X, dataset.y)
    test = None if dataset.X_test is None else records_of(dataset.X_test, dataset.y_test)
    if isinstance(expected.train, list):
        same = train == expected.train
    else:
        same = expected.train.allows(train)
    if not same:
        faults.append(f"codes {train}, not {expected.train}")
    if test != expected.test:
        faults.append(f"codes of the test part {test}, not {expected.test}")
    if dataset.n_clipped + dataset.n_clipped_test != expected.clipped:
        clipped = dataset.n_clipped + dataset.n_clipped_test
        faults.append(f"{clipped} values clipped, not {expected.clipped}")
    for mine, plain in zip(domain_of(dataset.domain), plain_domain(expected.about), strict=False):
        if mine != plain:
            faults.append(f"domain: {mine}, not {plain}")
    return faults


def records_of(X: Any, y: Any) -> list[tuple[list[int], int]]:
    """Return codes and label of each record."""
    return list(zip(X.tolist(), y.tolist(), strict=True))


def domain_of(domain: Any) -> list[Any]:
    """Return what is public: of the label, then of each column, what its codes stand for."""
    label = domain.label
    facts: list[Any] = [len(domain.columns), (label.column, list(label.names), label.public)]
    for column in domain.columns:
        if column.edges if column.kind == "numeric" else False:
            codes = [rounded(edge) for edge in column.edges]
        else:
            codes = list(column.titles)
        facts.append((column.name, codes, column.n_bins, column.public))
    return facts


def plain_domain(about: Any) -> list[Any]:
    """Return the same of the plain program."""
    label = about.label
    facts: list[Any] = [len(about.columns), (label.column, label.names, about.public_label)]
    for column in about.columns:
        codes = (
            [rounded(edge) for edge in column.edges] if hasattr(column, "edges") else column.titles
        )
        facts.append((column.name, codes, column.n_codes, column.public))
    return facts


def rounded(edge: float) -> float:
    """Return an edge to twelve digits, which is what both agree on."""
    return float(f"{float(edge):.12g}") if math.isfinite(edge) else float(edge)
