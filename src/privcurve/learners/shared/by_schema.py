"""Derive a learner's public facts, classes and training rows from its `schema`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import privcurve
from privcurve.coding import Ints
from privcurve.given import are_positions, read_labels
from privcurve.learners.registry import entry
from privcurve.learners.shared.checks import MOST_NAMED, plain_number
from privcurve.privacy.budget import PRIVATE_COLUMNS, budget_within_group


def schema_facts(learner: Any, schema: Any, y: object) -> dict[str, Any]:
    """Return the parameters of a learner that its schema determines.

    The parameters are the public facts. If the schema has a unit of privacy (a person with several
    rows), ε and δ are among them, so much smaller that the guarantee for one row implies the
    requested guarantee for the unit. Only the type of `y` is read. Raises ValueError if the learner
    already has one of these public facts, or if `schema` is not a Schema.
    """
    if not isinstance(schema, privcurve.Schema):
        raise ValueError(
            f"schema must be a privcurve.Schema; got {schema!r:.60}. Write schema=Schema({{name: "
            "what the column can hold, …}, label=[negative, positive])"
        )
    for name in ("n_bins", "bounds", "classes"):
        if getattr(learner, name) is not None:
            raise ValueError(f"{name} is determined by the schema: leave out {name}, or the schema")
    domain, registered = schema.domain, entry(learner._learner)
    facts: dict[str, Any] = {"n_bins": domain.n_bins, "classes": schema.classes_as(y)}
    for fact in (*registered.needs, *registered.takes, "mixed_bins"):
        if getattr(learner, fact) is None:
            facts[fact] = getattr(domain, fact)
    is_blank = registered.neighbours == (PRIVATE_COLUMNS,) and learner.public_columns is None
    # A learner for private columns assumes a public label: the schema must declare it as public.
    if is_blank and domain.public_label:
        facts["public_columns"] = domain.public_columns
    if schema.at_most is not None and registered.private:
        budget = plain_number(learner.epsilon), plain_number(learner.delta)
        epsilon, delta = budget_within_group(*budget, schema.at_most)
        facts |= {"epsilon": epsilon, "delta": delta}
    return facts


def explain_missing_schema(learner: str, names: list[Any]) -> str:
    """Return the message for a raw frame, with columns of these names, that has no schema."""
    some = ", ".join(f"{name!r}: …" for name in names[:MOST_NAMED])
    more = ", …" if len(names) > MOST_NAMED else ""
    return (
        f"{learner} has no schema: the possible values of each column are public knowledge, and "
        "never read from the rows. Give "
        f"schema=Schema({{{some}{more}}}, label=[negative, positive]), with (lowest, highest) "
        "for numbers and a list of all values for words; Schema.draft(frame, label=…) drafts one "
        "from a frame with its label. For codes give n_bins=, the number of codes of each column."
    )


def positions_of(schema: Any, labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """Return the position of each label among the fitted classes.

    If some label differs from all classes, e.g. by its spelling, the schema converts the labels.
    """
    place = {label: k for k, label in enumerate(classes.tolist())}
    given = labels.tolist()
    if labels.dtype.kind != "M" and place.keys() >= set(given):
        return np.array([place[label] for label in given], dtype=np.int64)
    positions: Ints = schema.positions(labels)
    return positions


def positions_need_rows(learner: Any, y: Any) -> bool:
    """Return whether labels were read as positions of classes because of the records' values.

    Example: for the classes 1 and 2, the labels 0 and 1 are read as positions. If all labels were
    1, they would be read as the class 1. So how labels are read reveals that a 0 occurs.
    """
    if learner.schema is not None:
        return bool(learner.schema.positions_need_rows(y))
    if learner.classes is None:
        return False
    classes = np.asarray(learner.classes).tolist()
    numbers = range(len(classes))
    are = are_positions(read_labels(y), classes.__contains__, len(classes))
    return are and any(number in classes for number in numbers)


def training_rows(schema: Any, X: object, counts: object) -> NDArray[np.intp] | slice:
    """Return the rows to train on: all, or at most `schema.at_most` of each person (the unit)."""
    if schema is None or schema.at_most is None:
        return slice(None)
    if counts is not None:
        raise ValueError("counts must be left out if the schema has a unit: each row is one record")
    rows: Ints = schema.training_rows(X)
    return rows
