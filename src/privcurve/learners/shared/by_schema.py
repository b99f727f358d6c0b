"""Public facts, classes and training rows of a learner, from a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import privcurve
from privcurve.coding import Ints
from privcurve.given import are_positions, read_labels
from privcurve.learners.registry import entry
from privcurve.learners.shared.checks import MOST_NAMED, plain_number
from privcurve.privacy.budget import PRIVATE_COLUMNS, budget_within_group

if TYPE_CHECKING:
    from privcurve.datasets.public_schema import Schema


def schema_facts(learner: Any, schema: Schema, y: Any) -> dict[str, Any]:
    """Return the parameters of a learner that its schema decides; only the type of `y` counts.

    If the schema has a unit, ε and δ are what one row may cost. Raises ValueError if the
    learner already has one of these parameters, or its schema is no Schema.
    """
    if not isinstance(schema, privcurve.Schema):
        raise ValueError(
            f"schema must be a privcurve.Schema; got {schema!r:.60}: schema=Schema({{name: what "
            "the column can hold, …}, label=[negative, positive])"
        )
    for name in ("n_bins", "bounds", "classes"):
        if getattr(learner, name) is not None:
            raise ValueError(f"{name} follows from the schema: leave out one of the two")
    domain, registered = schema.domain, entry(learner._learner)
    facts: dict[str, Any] = {"n_bins": domain.n_bins, "classes": schema.classes_as(y)}
    for fact in (*registered.needs, *registered.takes, "mixed_bins"):
        if getattr(learner, fact) is None:
            facts[fact] = getattr(domain, fact)
    is_blank = registered.neighbours == (PRIVATE_COLUMNS,) and learner.public_columns is None
    # Such a learner takes the label for public: the schema has to say so.
    if is_blank and domain.public_label:
        facts["public_columns"] = domain.public_columns
    if schema.at_most is not None and registered.private:
        budget = plain_number(learner.epsilon), plain_number(learner.delta)
        epsilon, delta = budget_within_group(*budget, schema.at_most)
        facts |= {"epsilon": epsilon, "delta": delta}
    return facts


def explain_missing_schema(learner: str, names: list[Any]) -> str:
    """Say which parameter is missing for a raw frame with columns of these names."""
    some = ", ".join(f"{name!r}: …" for name in names[:MOST_NAMED])
    more = ", …" if len(names) > MOST_NAMED else ""
    return (
        f"{learner} has no schema: what each column can hold is public knowledge, and never read "
        f"from the rows. Give schema=Schema({{{some}{more}}}, label=[negative, positive]), of a "
        "number (lowest, highest) and of words the list of all; Schema.draft(frame, label=…) "
        "drafts one from a frame with its label. Of codes give n_bins=, how many each column has."
    )


def positions_of(schema: Schema, labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """Return the position of each label among a fit's classes; of others, by the schema."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    given = labels.tolist()
    if labels.dtype.kind != "M" and place.keys() >= set(given):
        return np.array([place[label] for label in given], dtype=np.int64)
    return schema.positions(labels)


def positions_need_rows(learner: Any, y: Any) -> bool:
    """Return whether only the records show that labels are positions of the classes.

    Without a label of 0 the labels 0 and 1 of the classes 1 and 2 would be the class 1.
    """
    if learner.schema is not None:
        return bool(learner.schema.positions_need_rows(y))
    if learner.classes is None:
        return False
    classes = np.asarray(learner.classes).tolist()
    numbers = range(len(classes))
    are = are_positions(read_labels(y), classes.__contains__, len(classes))
    return are and any(number in classes for number in numbers)


def training_rows(schema: Schema | None, X: Any, counts: Any) -> NDArray[np.intp] | slice:
    """Return which rows train: all, or some of each person if the schema has a unit."""
    if schema is None or schema.at_most is None:
        return slice(None)
    if counts is not None:
        raise ValueError("counts: with a unit in schema each row is one record; leave it out")
    return schema.training_rows(X)
